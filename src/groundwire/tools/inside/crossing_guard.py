"""The files of the assertions' side: what the candidate is shown, what of it may lie here, and what may not run.

The candidate sees what the tests name to it, and no other file; a name that they have from it shows it none of theirs.
It changes what the case that runs has named to it by its very name, and what it has made itself. What it has made is
data here: it is neither imported nor run, and no program is started beside the assertions, where a file of it could be
one.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH118, PTH119
from __future__ import annotations

import base64
import filecmp
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_codec import NotPlain, inside, type_of
    from groundwire.tools.inside.crossing_files import (
        FILE,
        FOLDER,
        GONE,
        OF_RUNNERS,
        PATHS_IN,
        SCRATCH,
        WORK,
        Place,
        SharedFiles,
        above_it,
        is_code,
    )
else:
    from _gw_crossing_codec import NotPlain, inside, type_of
    from _gw_crossing_files import (
        FILE,
        FOLDER,
        GONE,
        OF_RUNNERS,
        PATHS_IN,
        SCRATCH,
        WORK,
        SharedFiles,
        above_it,
        is_code,
    )

MAX_FROM_OTHER = 128 << 20
"""Bytes that the candidate may lay here in one run."""
STARTS = frozenset(("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork", "os.forkpty",
                    "pty.spawn", "os.startfile"))  # fmt: skip
SHOWS = ("linecache.py", "inspect.py", "traceback.py", "pkgutil.py", "zipimport.py")
OPENS_FOR_OTHERS = ("pathlib.py", "tokenize.py", "codecs.py", "io.py", "shutil.py", "genericpath.py")
MAX_NAME = 4096
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_frame: Callable[[int], Any] = vars(sys)["_getframe"]


def _signature(status: os.stat_result) -> tuple[int, int, object]:
    return stat.S_IFMT(status.st_mode), status.st_size, object()


class _Refused(Exception):
    """What the candidate has written can't lie here.

    Args:
        why: in a line.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class AskingFiles(SharedFiles):
    """See the module.

    Args:
        work: the work folder, without links.
        scratch: the folder for temporary files, without links.
        fixed: the files below the work folder that are not the candidate's, whole paths.
        withheld: those of them that do not lie over there, from the work folder on.
        unfit: ends this run: the tests need more than can be sent.
        fetch: asks for what lies at a place over there.
        case: the number of the case that runs.
    """

    def __init__(
        self,
        work: str,
        scratch: str,
        *,
        fixed: frozenset[str],
        withheld: Iterable[str],
        unfit: Callable[[str], NoReturn],
        fetch: Callable[[Place], None],
        case: Callable[[], int],
    ) -> None:
        super().__init__(work, scratch)
        self._unfit, self._fetch, self._case = unfit, fetch, case
        self._named_in = -1
        self._fixed = {place[1] for path in fixed if (place := self.place_of(path)) is not None}
        self._fixed_folders = {"/".join(p.split("/")[:n]) for p in self._fixed for n in range(1, p.count("/") + 1)}
        self._withheld = frozenset(withheld)
        self._withheld_folders = {above for path in self._withheld for _, above in above_it((WORK, path))}
        self._at_first = {place[1] for place, _ in self._all(work)}
        self._named: set[Place] = set()
        """By the case that runs."""
        self._shown: set[Place] = set()
        """By any case."""
        self._claimed: set[Place] = set()
        """What the candidate has named, and the tests had not."""
        self._ways: list[Place] = []
        self._theirs: set[Place] = set()
        self._laid: set[Place] = set()
        self._lost: set[Place] = set()
        self._changed: dict[Place, int] = {}
        """Files of the tests that the candidate has changed, with the case that had named them."""
        self._laid_bytes = 0
        self._quiet = 0
        end = r"[^\s\"'`,;:=|<>()\[\]{}*?!&\0]*"
        self._absolute = re.compile("|".join(f"{re.escape(folder)}(?:/{end})?" for folder in (scratch, work)))

    def start(self) -> None:
        """From now on it sees what is opened, written, imported and started here."""
        # that two names are of one file is no reason not to open it
        inside(filecmp)["_sig"] = _signature
        sys.addaudithook(self._seen)

    def _all(self, folder: str) -> Iterator[tuple[Place, str]]:
        for above, _folders, names in os.walk(folder):
            for name in names:
                path = os.path.join(above, name)
                place = self.place_of(path)
                if place is not None:
                    yield place, path

    # --- what the candidate is shown

    def told(self, fields: Iterable[Any]) -> list[Any] | None:
        """What goes with a message of these encoded fields: what they name, and what has changed of what they did.

        Raises:
            NotPlain: something that can't be shown.
        """
        self._quiet += 1
        try:
            if self._named_in != (number := self._case()):
                self._named_in = number
                self._named.clear()
            for place in self._places_in(fields):
                self._name(place)
            ways = [entry for place in self._ways if (entry := self._way(place)) is not None]
            self._ways.clear()
            news = self.changes()
            return [news[0], ways + news[1]] if news else [[], ways] if ways else None
        finally:
            self._quiet -= 1

    def _places_in(self, fields: Iterable[Any]) -> Iterator[Place]:
        """What these encoded fields name: by whole paths, wherever in a text, or from the current folder on."""
        here: frozenset[str] | None = None
        for text in _texts(fields):
            if any(folder in text for folder in self._folders):
                for found in self._absolute.finditer(text):
                    rest = text[found.start() :]
                    whole = len(rest) <= MAX_NAME and "\0" not in rest and self._status(rest) is not None
                    place = self.place_of(rest if whole else found.group())
                    if place is not None and place[1]:
                        yield place
            elif text and len(text) <= MAX_NAME and not text.startswith("/"):
                here = self._names_here() if here is None else here
                if text.partition("/")[0] in here and (place := self._from_here(text)) is not None:
                    yield place

    def _names_here(self) -> frozenset[str]:
        try:
            with self._scandir(self._getcwd()) as inner:
                return frozenset((".", "..", *(entry.name for entry in inner)))
        except OSError:  # it is gone
            return frozenset()

    def _from_here(self, text: str) -> Place | None:
        place, status = self.place_of(text), self._status(text)
        if place is None or not place[1] or status is None:
            return None
        # a word like `tests` is no path
        is_own_folder = stat.S_ISDIR(status.st_mode) and place[0] == WORK and place[1] in self._fixed_folders
        return place if "/" in text or not is_own_folder else None

    def _status(self, path: str) -> os.stat_result | None:
        try:
            return self._lstat(path)
        except (OSError, ValueError):
            return None

    def heard(self, fields: Iterable[Any]) -> None:
        """The candidate has sent these encoded fields: what they name is not thereby the tests' to show, or to read."""
        self._quiet += 1
        try:
            self._claimed.update(place for place in self._places_in(fields) if not self._is_shown(place))
        finally:
            self._quiet -= 1

    def _is_shown(self, place: Place) -> bool:
        return place in self._shown or any(above in self._shown for above in above_it(place))

    def _is_answered_with(self, place: Place) -> bool:
        """True for a file of the tests that the candidate was first to name: it could pass it off as its own."""
        if place not in self._claimed:
            return False
        if place[0] == WORK and place[1] in self._at_first:
            return place[1] in self._withheld
        if place[0] == WORK and place[1] in self._withheld_folders:
            return True
        status = self._status(self.path_of(place))
        if status is None or stat.S_ISDIR(status.st_mode):
            return False
        self._quiet += 1
        try:
            return not self._is_theirs(place, status)
        finally:
            self._quiet -= 1

    def _name(self, place: Place) -> None:
        if self._is_answered_with(place):
            raise NotPlain(f"{place[1]}, a file of the tests that the code under test has named first")
        self._named.add(place)
        self._shown.add(place)
        for above in reversed([*above_it(place)]):  # where something of that name may be made over there
            if above not in self._known and not (above[0] == WORK and above[1] in self._fixed_folders):
                self._ways.append(above)
        if not self._is_stand_in(place):
            self.look_at(place)
        status = self._status(self.path_of(place))
        if status is not None and stat.S_ISLNK(status.st_mode):  # a link of the tests: what it leads to is meant
            target = self.place_of(os.path.realpath(self.path_of(place)))
            if target is not None and target not in self._named:
                self._name(target)

    def _way(self, place: Place) -> list[Any] | None:
        status = self._status(self.path_of(place))
        return self._entry(place, status, [0]) if status is not None and stat.S_ISDIR(status.st_mode) else None

    def is_program(self, path: str) -> bool:
        """True for a file that is the candidate's: where a stand-in lies, or nothing that the tests could have made."""
        place = self.place_of(path)
        if place is None or place[0] != WORK or not place[1]:
            return False
        return self._is_stand_in(place) or self._status(self.path_of(place)) is None

    def _is_stand_in(self, place: Place) -> bool:
        return place[0] == WORK and place[1] in self._at_first and place[1] not in self._fixed

    def _told(self, place: Place, status: Any) -> bool:
        if self._is_stand_in(place):
            return False
        if place[0] == WORK and place[1] in self._fixed and place[1].endswith(".py"):
            raise NotPlain(f"{place[1]}, a file of the tests")
        return True

    def _entry(self, place: Place, status: os.stat_result, sizes: list[int]) -> list[Any] | None:
        entry = super()._entry(place, status, sizes)
        if entry is not None:
            self._theirs.discard(place)  # the tests have written it since
        return entry

    # --- what of the candidate may lie here

    def take(self, told: Any) -> None:
        """Lays out what the candidate has written.

        Raises:
            ValueError: it is nothing that may come.
        """
        self._quiet += 1
        try:
            self.apply(told)
        except _Refused as problem:
            self._unfit(problem.why)
        except OSError as problem:
            self._unfit(f"what the code under test writes can't be laid out here ({problem.strerror})")
        finally:
            self._quiet -= 1

    def _lay(self, place: Place, kind: str, mode: int, changed_ns: int, body: str) -> bool:
        number, path = place
        if kind not in (FILE, FOLDER, GONE) or OF_RUNNERS.intersection(path.split("/")):
            raise ValueError("not a file")
        for above in above_it(place):
            status = self._status(self.path_of(above))
            if status is not None and not stat.S_ISDIR(status.st_mode):
                raise ValueError("a file, or a link, where a folder would have to be")
        if number == WORK and (path in self._at_first or path in self._fixed_folders):
            if kind == FOLDER:
                return False
            raise _Refused(f"the code under test writes {path}, which lies beside the tests")
        if number == WORK and is_code(path):
            raise _Refused(f"the code under test writes {path}, where the tests look for modules")
        there = self._status(self.path_of(place))
        if kind == FOLDER and there is not None and stat.S_ISDIR(there.st_mode):
            return False
        if (there is not None and not self._is_theirs(place, there)) or place in self._lost:
            same = kind == GONE or (kind == FILE and there is not None and self._holds(place, there, body))
            below_named = same and any(above in self._named for above in above_it(place))
            if place not in self._named and not below_named:
                raise _Refused(f"the code under test changes {path}, a file of the tests that it was not given")
            if kind == GONE:
                self._lost.add(place)
            self._changed[place] = self._case()
        self._laid_bytes += len(body)
        if self._laid_bytes > MAX_FROM_OTHER:
            raise _Refused("the code under test writes too much")
        self._laid.add(place)
        self._theirs.add(place)
        return super()._lay(place, kind, mode, changed_ns, body)

    def _holds(self, place: Place, status: os.stat_result, body: str) -> bool:
        """True if the file that is there has this content: nothing but its mode, or its time, is another."""
        if not stat.S_ISREG(status.st_mode):
            return False
        try:
            return self._content(place, status) == base64.b64decode(body, validate=True)
        except NotPlain:
            return False

    def _is_theirs(self, place: Place, status: os.stat_result) -> bool:
        """True for what the candidate has made, and nobody has written since."""
        if place not in self._theirs:
            return False
        try:
            return super()._entry(place, status, [0]) is None
        except NotPlain:
            return False

    # --- what is done here

    def _seen(self, event: str, args: tuple[Any, ...]) -> None:
        if self._quiet:
            return
        if event == "open":
            self._opened(*args[:3])
        elif event == "exec":
            self._runs(args[0].co_filename)
        elif event == "import":
            self._runs(args[1])
        elif event == "ctypes.dlopen":
            self._runs(args[0])
        elif event in STARTS:
            self._unfit("the tests start another program")
        elif event in PATHS_IN:
            for number in PATHS_IN[event]:
                self._wrote(args[number])

    def _runs(self, file: Any) -> None:
        """What the candidate has written is data here, and where a module of it would lie there is none."""
        if type_of(file) is not str or file.startswith("<"):
            return
        place = self.place_of(file)
        if place is not None and (place in self._laid or self._is_stand_in(place)):
            self._unfit(f"the tests run {place[1]}, which is the code under test's")

    def _opened(self, path: Any, _mode: Any, flags: Any) -> None:
        if type_of(path) not in (str, bytes):
            return
        place = self.place_of(path)
        if type_of(flags) is int and flags & _WRITES:
            if flags & os.O_TRUNC and place is not None:
                self._changed.pop(place, None)
            self._wrote(path)
            return
        if place is not None and self._is_answered_with(place):
            self._unfit(f"the code under test names {place[1]}, a file of the tests, and they read it")
        if place is not None and self._changed.get(place, self._case()) != self._case():
            self._unfit(f"a case reads {place[1]}, which the code under test changed for another one")
        if place is None or place[0] == SCRATCH or place[1] in self._fixed:
            return
        if place[1] in self._at_first:
            if not _is_shown():
                self._unfit(f"the tests read {place[1]}, which is the code under test's")
        elif self._status(self.path_of(place)) is None and not is_code(place[1]) and not _is_shown():
            self._fetch(place)

    def _wrote(self, path: Any) -> None:
        place = self.place_of(path)
        if place is None or not place[1]:
            return
        is_told = place[0] == WORK or place in self._known or any(above in self._named for above in above_it(place))
        if is_told and not self._is_stand_in(place):
            self.look_at(place)


def _texts(fields: Iterable[Any]) -> Iterator[str]:
    pending = [*fields]
    while pending:
        field = pending.pop()
        if type_of(field) is str:
            yield field
        elif type_of(field) is list:
            pending += field
        elif type_of(field) is dict:
            pending += field.values()


def _is_shown() -> bool:
    """True if a file is opened for a traceback, or by what imports and collects."""
    frame = _frame(2)
    while frame is not None and os.path.basename(frame.f_code.co_filename) in (*OPENS_FOR_OTHERS, _OWN):
        frame = frame.f_back
    if frame is None:
        return True
    file = frame.f_code.co_filename
    return file.startswith("<frozen") or os.path.basename(file) in SHOWS or "/_pytest/" in file or "/_gw_" in file


_OWN = os.path.basename(__file__)
