"""Temporary folders for commands on the host's own file system, and what a killed groundwire left of its own.

All boxes of one process lie in one home folder, in which a lock file is held for as long as the process lives: a home
whose lock can be had belongs to nobody any more. The kernel gives a lock up however its holder ends, and knows it
across containers, where process numbers mean nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from groundwire.trees import check_path

__all__ = ["Boxes"]

PREFIX = "groundwire-boxes-"
UNFINISHED = ".groundwire-boxes-"
LOCK = "lock"
MAX_ENVIRON = 1 << 17


class Boxes:
    """Makes boxes; closes with all that is left of them.

    Args:
        uid: the user that boxes belong to; None: ours.
        folder: where the home is made; None: the folder for temporary files.
    """

    def __init__(self, uid: int | None = None, folder: Path | None = None) -> None:
        self._uid = uid
        self._folder = folder or Path(tempfile.gettempdir())
        _remove_orphans(self._folder)
        made = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=self._folder))
        made.chmod(0o711)
        self._lock = _locked(made)
        # under its final name only now that it is locked, so that no other process takes it for an orphan
        self.home = made.rename(made.with_name(made.name.replace(UNFINISHED, PREFIX)))

    @contextmanager
    def box(self, support: Mapping[str, bytes]) -> Generator[str]:
        """A folder with the support files in it; afterwards it is removed, and whoever still works in it ends."""
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
        finally:
            _end_survivors(box)
            _remove(box)

    def close(self) -> None:
        """Removes the home; a second time nothing happens."""
        if self._lock >= 0:
            _remove(self.home)
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
                    _end_survivors(str(home))
                    _remove(home)
                finally:
                    os.close(lock)


def _end_survivors(folder: str) -> None:
    # only what is left when a keeper itself was killed: the box's name in the environment gives it away
    mark = f"GROUNDWIRE_OUT={folder}/".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError), (entry / "environ").open("rb") as environ:
                if mark in environ.read(MAX_ENVIRON):
                    os.kill(int(entry.name), signal.SIGKILL)


def _remove(folder: str | Path) -> None:
    for parent, names, _ in os.walk(folder):
        for name in names:
            # the command may have locked its own folders
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
