"""Temporary folders for commands on the host, in a home that says who is alive and what a killed groundwire left.

In its home a process holds a lock for as long as it lives: a home whose lock can be had belongs to nobody any more. The
kernel gives a lock up however its holder ends, and knows it across containers, where process numbers mean nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from groundwire.core._candidates import check_path
from groundwire.sandbox._process import kill_where

# A folder that says who is alive, and what a killed groundwire left of its own.

PREFIX = "groundwire-boxes-"
UNFINISHED = ".groundwire-boxes-"
LOCK = "lock"
MAX_ENVIRON = 1 << 17
LAUNCHERS = (b"bwrap\n",)
"""Names of the programs that inherit a claim."""


class WorkFolder:
    """This process's home. Making it removes those of the dead, with the processes that belong to them.

    Args:
        folder: where it is made; None: the folder for temporary files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or Path(tempfile.gettempdir())
        _remove_orphans(folder)
        made = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=folder))
        made.chmod(0o711)
        self._lock = _locked(made)
        # under its final name only now that it is locked, so that no other process takes it for an orphan
        self.path = made.rename(made.with_name(made.name.replace(UNFINISHED, PREFIX)))
        self.claim = os.open(self.path / LOCK, os.O_RDONLY | os.O_CLOEXEC)
        """A descriptor that a launcher inherits, by which it is known as ours; it does not hold the lock."""

    def close(self) -> None:
        """Removes it; a second time nothing happens."""
        if self._lock >= 0:
            remove_folder(self.path)
            os.close(self.claim)
            os.close(self._lock)
            self._lock = -1


def _locked(home: Path) -> int:
    """The home's lock, held.

    Raises:
        OSError: somebody holds it, or it can't be made.
    """
    fd = os.open(home / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _remove_orphans(folder: Path) -> None:
    for home in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            found = home.lstat()
            if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
                lock = _locked(home)
                try:
                    _end_launchers(home / LOCK)
                    end_survivors(str(home))
                    remove_folder(home)
                finally:
                    os.close(lock)


def _end_launchers(claim: Path) -> None:
    # bubblewrap asks to die with its parent a moment after it has forked: what was killed before waits for ever
    for process in _processes():
        kill_where(int(process.name), partial(_holds, process, claim))


def _holds(process: Path, claim: Path) -> bool:
    try:
        is_launcher = (process / "comm").read_bytes() in LAUNCHERS
        return is_launcher and any(fd.readlink() == claim for fd in (process / "fd").iterdir())
    except OSError:
        return False


def end_survivors(folder: str) -> None:
    """Ends the processes that were started with a box below `folder`, which their environment gives away.

    Only for what is left when a keeper itself was killed, and no control group holds it.
    """
    mark = f"GROUNDWIRE_OUT={folder}/".encode()
    while [process for process in _processes() if kill_where(int(process.name), partial(_bears, process, mark))]:
        pass


def _bears(process: Path, mark: bytes) -> bool:
    try:
        with (process / "environ").open("rb") as environ:
            return mark in environ.read(MAX_ENVIRON)
    except OSError:
        return False


def _processes() -> Iterator[Path]:
    own = str(os.getpid())
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and entry.name != own)


def remove_folder(folder: str | Path) -> None:
    """Removes a folder and all in it, whatever modes a command gave it."""
    for parent, names, _ in os.walk(folder):
        for name in names:
            # the command may have locked its own folders
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


# Temporary folders for commands on the host's own file system; all of one process lie in its home.


class WorkFolders:
    """Makes boxes; closes with all that is left of them.

    Args:
        uid: the user that boxes belong to; None: ours.
        folder: where the home is made; None: the folder for temporary files.
    """

    def __init__(self, uid: int | None = None, folder: Path | None = None) -> None:
        self._uid = uid
        self._folder = WorkFolder(folder)

    @property
    def home(self) -> Path:
        """The folder they lie in."""
        return self._folder.path

    @contextmanager
    def box(self, support: Mapping[str, bytes]) -> Generator[str]:
        """A folder with the support files in it, removed afterwards.

        Whoever may still work in it is ended where the command did not come to its proper end.
        """
        box = tempfile.mkdtemp(dir=self.home)
        try:
            if self._uid is not None:
                os.chown(box, self._uid, self._uid)
            for path, content in support.items():
                target = Path(box, "support", check_path(path))
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                target.chmod(0o444)
            yield box
        except BaseException:
            end_survivors(box)
            raise
        finally:
            remove_folder(box)

    def close(self) -> None:
        """Removes the home; a second time nothing happens."""
        self._folder.close()
