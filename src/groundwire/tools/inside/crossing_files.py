"""Files that both processes see, though no folder is in reach of both: each tells the other what it has changed.

What lies in a place that both know is read where it was written and laid out by whoever is told, with the next message,
as its bytes. So nobody finds a link, a pipe or a device there that he has not made himself, and nothing changes between
two looks of his own. The places are below two folders: the work folder and the one for temporary files.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH118, PTH120
from __future__ import annotations

import base64
import os
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_codec import NotPlain, type_of
else:
    from _gw_crossing_codec import NotPlain, type_of

Place = tuple[int, str]
"""One of the two folders, and what is below it: no `.`, no `..`, no double slash; empty: the folder itself."""
WORK, SCRATCH = 0, 1
FILE, FOLDER, LINK, GONE = "f", "d", "l", "x"
MAX_FILE_BYTES = 8 << 20
MAX_BYTES = 24 << 20
"""Of all files in one message."""
MAX_ENTRIES = 4000
MAX_LOOKS = 32
"""Places that are looked at before each message: those that were named or written last."""
MAX_DEPTH = 40
MAX_OUTPUT = 16 << 20
"""Bytes of a program's output that are told."""
UNSETTLED_NS = 50_000_000
"""A file that was changed so short a time ago may be changed again without its time of change telling."""
OF_RUNNERS = frozenset(("__pycache__", ".pytest_cache", ".hypothesis"))
ON_THE_WIRE = b"/.groundwire-box"
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _Seen(NamedTuple):
    """How something was when both sides had the same: its kind, mode, and for a file what tells a change."""

    kind: str
    mode: int
    size: int = 0
    changed_ns: int = 0
    inode: int = 0
    digest: bytes = b""
    settled: bool = True


class SharedFiles:
    """One side's view.

    Args:
        work: the work folder, without links.
        scratch: the folder for temporary files, without links.
    """

    def __init__(self, work: str, scratch: str) -> None:
        # references of our own: tests like to fake `os` and `time`
        self._lstat, self._scandir, self._open, self._read, self._write = (
            os.lstat,
            os.scandir,
            os.open,
            os.read,
            os.write,
        )
        self._close, self._mkdir, self._unlink, self._rmdir = os.close, os.mkdir, os.unlink, os.rmdir
        self._chmod, self._utime, self._readlink, self._symlink = os.chmod, os.utime, os.readlink, os.symlink
        self._now, self._getcwd = time.time_ns, os.getcwd
        self._folders = (work, scratch)
        self._own = os.path.dirname(work).encode()
        self._known: dict[Place, _Seen] = {}
        self._looks: dict[Place, set[Place]] = {}
        self._new_looks: list[Place] = []

    # --- names

    def place_of(self, path: Any) -> Place | None:
        """Where a path lies, as the current folder makes it; None outside of both folders."""
        try:
            text = os.fsdecode(path)
            whole = os.path.normpath(text if text.startswith("/") else os.path.join(self._getcwd(), text))
        except (TypeError, ValueError, OSError):
            return None
        for number, folder in enumerate(self._folders):
            if whole == folder:
                return number, ""
            if whole.startswith(folder + "/"):
                return number, whole[len(folder) + 1 :]
        return None

    def path_of(self, place: Place) -> str:
        """The path here."""
        return os.path.join(self._folders[place[0]], place[1]) if place[1] else self._folders[place[0]]

    def outward(self, body: bytes) -> bytes:
        """A message with the two folders named as both sides can read it."""
        return body.replace(self._own + b"/", ON_THE_WIRE + b"/") if self._own != b"/box" else body

    def inward(self, body: bytes) -> bytes:
        """A message with the two folders named as they are here."""
        return body.replace(ON_THE_WIRE + b"/", self._own + b"/") if self._own != b"/box" else body

    # --- telling

    def look_at(self, place: Place) -> None:
        """What lies there, and below, is told from now on when it changes."""
        if not place[1] or OF_RUNNERS.intersection(place[1].split("/")):
            return
        covering = next((above for above in (place, *above_it(place)) if above in self._looks), None)
        if covering is None:
            self._looks[place] = {known for known in self._known if _is_below(known, place)}
            self._new_looks.append(place)
        else:
            self._looks[covering] = self._looks.pop(covering)

    def wrote(self, path: Any, flags: int = os.O_WRONLY) -> None:
        """This side has opened something, or made, moved or removed it."""
        if flags & _WRITES and (place := self.place_of(path)) is not None:
            self.look_at(place)

    def changes(self) -> list[Any] | None:
        """`[places to look at from now on, what has changed]`; None if there is neither.

        Raises:
            NotPlain: something that can't be sent lies there.
        """
        entries: list[list[Any]] = []
        sizes = [0]
        for look, below in list(self._looks.items()):
            there = dict(self._found(look))
            gone = [p for p in sorted(below - there.keys(), reverse=True) if self._known.pop(p, None) is not None]
            entries += [[*place, GONE, 0, 0, ""] for place in gone if self._told(place, "")]
            for place, status in there.items():
                entry = self._entry(place, status, sizes) if self._told(place, status) else None
                if entry is not None:
                    entries.append(entry)
            self._looks[look] = set(there)
            if len(entries) > MAX_ENTRIES:
                raise NotPlain(f"more than {MAX_ENTRIES} files at once")
        while len(self._looks) > MAX_LOOKS:
            del self._looks[next(iter(self._looks))]
        looks, self._new_looks = self._new_looks, []
        return [[list(look) for look in looks], entries] if looks or entries else None

    def _told(self, place: Place, status: Any) -> bool:
        """False for what is not told to the other side.

        Args:
            place: where it lies.
            status: how it is; empty where it is gone.
        """
        return True

    def _found(self, look: Place) -> Iterator[tuple[Place, os.stat_result]]:
        pending = [look]
        count = 0
        while pending:
            place = pending.pop()
            path = self.path_of(place)
            try:
                status = self._lstat(path)
                yield place, status
                if stat.S_ISDIR(status.st_mode):
                    with self._scandir(path) as inner:
                        names = sorted(entry.name for entry in inner)
                    pending += [
                        (place[0], f"{place[1]}/{name}".lstrip("/")) for name in names if name not in OF_RUNNERS
                    ]
            except OSError:
                continue
            count += 1
            if count > MAX_ENTRIES:
                raise NotPlain(f"a folder of more than {MAX_ENTRIES} files")

    def _entry(self, place: Place, status: os.stat_result, sizes: list[int]) -> list[Any] | None:
        """What is to be told of what lies there; None if it is known."""
        mode, known = stat.S_IMODE(status.st_mode) & 0o777, self._known.get(place)
        if stat.S_ISDIR(status.st_mode):
            self._known[place] = _Seen(FOLDER, mode)
            return None if known == self._known[place] else [*place, FOLDER, mode, 0, ""]
        if stat.S_ISLNK(status.st_mode):
            target = self._readlink(self.path_of(place))
            self._known[place] = _Seen(LINK, 0, digest=os.fsencode(target))
            return None if known == self._known[place] else [*place, LINK, 0, 0, target]
        if not stat.S_ISREG(status.st_mode):
            raise NotPlain(f"{place[1]}, which is no file")
        as_it_is = (mode, status.st_size, status.st_mtime_ns, status.st_ino)
        if known is not None and known.settled and known.kind == FILE and known[1:5] == as_it_is:
            return None
        content = self._content(place, status)
        sizes[0] += len(content)
        if sizes[0] > MAX_BYTES:
            raise NotPlain(f"files of more than {MAX_BYTES >> 20} MiB at once")
        seen = self._known[place] = self._as_seen(status, content)
        if known is not None and (known.kind, known.mode, known.digest) == (FILE, mode, seen.digest):
            sizes[0] -= len(content)
            return None
        return [*place, FILE, mode, status.st_mtime_ns, base64.b64encode(content).decode("ascii")]

    def _as_seen(self, status: os.stat_result, content: bytes) -> _Seen:
        settled = self._now() - status.st_mtime_ns > UNSETTLED_NS
        mode = stat.S_IMODE(status.st_mode) & 0o777
        digest = blake2b(content, digest_size=16).digest()
        return _Seen(FILE, mode, status.st_size, status.st_mtime_ns, status.st_ino, digest, settled)

    def _content(self, place: Place, status: os.stat_result) -> bytes:
        if status.st_size > MAX_FILE_BYTES:
            raise NotPlain(f"{place[1]}, a file of more than {MAX_FILE_BYTES >> 20} MiB")
        try:
            file = self._open(self.path_of(place), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError:
            return b""  # who may not read it here may not there
        except OSError as problem:
            raise NotPlain(f"{place[1]}, which can't be read ({problem.strerror})") from None
        try:
            parts: list[bytes] = []
            size = 0
            while part := self._read(file, 1 << 20):
                parts.append(part)
                size += len(part)
                if size > MAX_FILE_BYTES:
                    raise NotPlain(f"{place[1]}, a file of more than {MAX_FILE_BYTES >> 20} MiB")
            return b"".join(parts)
        finally:
            self._close(file)

    # --- being told

    def apply(self, told: Any) -> None:
        """Lays out what the other side has told.

        Raises:
            ValueError: it is nothing that `changes` makes, or nothing that this side takes.
            OSError: it can't be laid out.
        """
        if type_of(told) is not list or len(told) != 2 or type_of(told[0]) is not list or type_of(told[1]) is not list:
            raise ValueError("not a list of files")
        looks, entries = told
        modes: list[tuple[str, int]] = []
        if len(entries) > 2 * MAX_ENTRIES or len(looks) > MAX_ENTRIES:
            raise ValueError("too many files")
        for entry in entries:
            if type_of(entry) is not list or len(entry) != 6 or type_of(entry[3]) is not int:
                raise ValueError("not a file")
            place, kind = _checked(entry[:2]), entry[2]
            if type_of(kind) is not str or type_of(entry[5]) is not str or type_of(entry[4]) is not int:
                raise ValueError("not a file")
            if self._lay(place, kind, entry[3] & 0o777, entry[4], entry[5]) and kind == FOLDER:
                modes.insert(0, (self.path_of(place), entry[3] & 0o777))
        for path, mode in modes:  # once all lies in them
            self._chmod(path, mode)
        for look in looks:
            self.look_at(_checked(look))
        self._new_looks = []

    def _lay(self, place: Place, kind: str, mode: int, changed_ns: int, body: str) -> bool:
        """Lays out one thing; False if it is left as it is."""
        path = self.path_of(place)
        if kind == GONE:
            self._remove(path)
            self._known.pop(place, None)
            return True
        self._make_way(place)
        if kind == FOLDER:
            self._folder(path)
            self._known[place] = _Seen(FOLDER, mode)
        elif kind == LINK:
            self._remove(path)
            self._symlink(body, path)
            self._known[place] = _Seen(LINK, 0, digest=os.fsencode(body))
        elif kind == FILE:
            content = base64.b64decode(body, validate=True)
            self._put(path, content, mode)
            if 0 < changed_ns < 1 << 62:
                self._utime(path, ns=(changed_ns, changed_ns))
            self._known[place] = self._as_seen(self._lstat(path), content)
        else:
            raise ValueError("not a file")
        for look, below in self._looks.items():
            if _is_below(place, look):
                below.add(place)
        return True

    def _make_way(self, place: Place) -> None:
        """Makes the folders above it that are missing."""
        parts = place[1].split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            above = (place[0], "/".join(parts[:depth]))
            try:
                self._mkdir(self.path_of(above), 0o755)
            except FileExistsError:
                continue

    def _folder(self, path: str) -> None:
        try:
            if not stat.S_ISDIR(self._lstat(path).st_mode):
                self._unlink(path)
                self._mkdir(path)
        except FileNotFoundError:
            self._mkdir(path)

    def _put(self, path: str, content: bytes, mode: int) -> None:
        """Writes into the file that is there, so that whoever has it open sees it as he would on one disk."""
        try:
            status = self._lstat(path)
            if stat.S_ISREG(status.st_mode):
                self._chmod(path, 0o600)
            else:
                self._remove(path)
        except FileNotFoundError:
            pass
        file = self._open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[self._write(file, view) :]
        finally:
            self._close(file)
        self._chmod(path, mode)

    def _remove(self, path: str) -> None:
        try:
            if stat.S_ISDIR(self._lstat(path).st_mode):
                self._rmdir(path)
            else:
                self._unlink(path)
        except FileNotFoundError:
            pass


PATHS_IN: dict[str, tuple[int, ...]] = {
    "os.mkdir": (0,), "os.remove": (0,), "os.rmdir": (0,), "os.rename": (0, 1), "os.symlink": (1,), "os.link": (1,),
    "os.truncate": (0,), "os.chmod": (0,), "os.utime": (0,), "shutil.rmtree": (0,), "sqlite3.connect": (0,),
}  # fmt: skip
"""Events of Python's audit hooks by which files change → which of their arguments are paths."""


class AnsweringFiles(SharedFiles):
    """The view of the candidate's side, which sees what its own process writes.

    Args:
        work: the work folder, without links.
        scratch: the folder for temporary files, without links.
    """

    def __init__(self, work: str, scratch: str) -> None:
        super().__init__(work, scratch)
        self._at_first = {at: _state(status) for at, status in self._found((WORK, ""))}

    def start(self) -> None:
        """From now on it does."""
        sys.addaudithook(self._seen)

    def fetched(self, place: Place) -> None:
        """What lies there is told, though it lay there before."""
        self._at_first.pop(place, None)
        self.look_at(place)

    def _seen(self, event: str, args: tuple[Any, ...]) -> None:
        if event == "open":
            if type_of(args[2]) is int and args[2] & _WRITES:
                self.wrote(args[0])
        elif event in PATHS_IN:
            for number in PATHS_IN[event]:
                self.wrote(args[number])

    def _told(self, place: Place, status: Any) -> bool:
        return not status or self._at_first.get(place) != _state(status)

    def _entry(self, place: Place, status: os.stat_result, sizes: list[int]) -> list[Any] | None:
        entry = super()._entry(place, status, sizes)
        if entry is not None and place[0] == WORK and is_code(place[1]):
            raise NotPlain(f"{place[1]}, code in the work folder")
        if entry is not None and entry[2] == LINK:
            raise NotPlain(f"{place[1]}, a link")
        return entry

    def run_program(
        self,
        words: Sequence[str],
        given: bytes,
        changed: Sequence[tuple[str, str | None]],
        folder: str | None,
        timeout: float | None,
        together: bool,
    ) -> tuple[int | None, bytes, bytes]:
        """Runs a program. What it writes below its folder is told too.

        Args:
            words: of the command line; `python` first: this interpreter.
            given: on its standard input.
            changed: variables that it gets otherwise than this process has them; None: not at all.
            folder: where it runs; None: where this process is.
            timeout: wall seconds; None: as long as it takes.
            together: both streams are one.

        Returns:
            Its exit status, None where it did not end in time; and what it wrote on its two streams.
        """
        import subprocess  # here: few tests start programs

        env = dict(os.environ)
        for name, value in changed:
            if value is None:
                env.pop(name, None)
            else:
                env[name] = value
        command = [sys.executable if words[0] in ("python", "python3") else words[0], *words[1:]]
        err = subprocess.STDOUT if together else subprocess.PIPE
        place = self.place_of(self._getcwd() if folder is None else folder)
        before = {} if place is None else {at: _state(status) for at, status in self._found(place)}
        try:
            done = subprocess.run(
                command, input=given, stdout=subprocess.PIPE, stderr=err, cwd=folder, env=env, timeout=timeout
            )
        except subprocess.TimeoutExpired as late:
            return None, late.stdout or b"", late.stderr or b""
        finally:
            for at, status in () if place is None else self._found(place):
                if before.get(at) != _state(status) and not stat.S_ISDIR(status.st_mode):
                    self.look_at(at)
        return done.returncode, done.stdout[:MAX_OUTPUT], (done.stderr or b"")[:MAX_OUTPUT]


def _state(status: os.stat_result) -> tuple[int, ...]:
    return () if stat.S_ISDIR(status.st_mode) else (status.st_mtime_ns, status.st_size, status.st_mode)


def is_code(path: str) -> bool:
    """True for what the interpreter or a runner could take up by itself, if it lay where modules are looked for."""
    return path.endswith(CODE) or any(part.endswith(ABOUT) for part in path.split("/"))


CODE = (".py", ".pyc", ".pyo", ".pyw", ".pyd", ".so", ".pth", ".zip", ".egg", ".whl", ".ini", ".cfg")
ABOUT = (".dist-info", ".egg-info", ".egg-link", ".egg")


def _checked(value: Any) -> Place:
    """A place that the other side has named.

    Raises:
        ValueError: it is none.
    """
    if type_of(value) is not list or len(value) != 2 or type_of(value[0]) is not int or type_of(value[1]) is not str:
        raise ValueError("not a place")
    number, path = value
    parts = path.split("/")
    if number not in (WORK, SCRATCH) or len(parts) > MAX_DEPTH or "\0" in path:
        raise ValueError("not a place")
    if any(part in ("", ".", "..") or len(os.fsencode(part)) > 255 for part in parts):
        raise ValueError("not a place")
    return number, path


def above_it(place: Place) -> Iterator[Place]:
    """The folders that it lies in, from the innermost on; neither of the two themselves."""
    path = place[1]
    while "/" in path:
        path = path.rpartition("/")[0]
        yield place[0], path


def _is_below(place: Place, folder: Place) -> bool:
    """True for the folder too."""
    return place == folder or (place[0] == folder[0] and place[1].startswith(folder[1] + "/"))
