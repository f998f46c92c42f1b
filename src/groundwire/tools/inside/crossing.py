"""Keeps the assertions in a process of their own: the candidate's modules are imported, and used, in another one.

That one lies in another box, where there is a line to it; else it is started here, in this one. In this process stubs
take the place of the candidate's modules (`crossing_modules`), classes and objects (`crossing_stubs`). Plain values go
back and forth by value, so that the candidate can't reach the runner, the report or its key, and compares nothing.
Where the tests use more than can be sent, the run is `unfit`: it ends at once, and says why.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH109, PTH118
# ruff: noqa: B905  Python 3.9
from __future__ import annotations

import contextlib
import os
import sys
import threading
import types
import unittest
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_classes import CandidateEnded
    from groundwire.tools.inside.crossing_codec import Codec, NotPlain, named, type_of
    from groundwire.tools.inside.crossing_files import Place
    from groundwire.tools.inside.crossing_given import Given
    from groundwire.tools.inside.crossing_guard import AskingFiles
    from groundwire.tools.inside.crossing_instances import PLAIN_NUMBERS
    from groundwire.tools.inside.crossing_lending import Lending, is_lent, vars_of
    from groundwire.tools.inside.crossing_modules import CandidateModules, module_named
    from groundwire.tools.inside.crossing_stubs import Stubs
    from groundwire.tools.inside.crossing_wire import Line, Spawned, Wire
    from groundwire.tools.inside.crossing_world import World, from_root
else:
    from _gw_crossing_classes import CandidateEnded
    from _gw_crossing_codec import Codec, NotPlain, named, type_of
    from _gw_crossing_given import Given
    from _gw_crossing_instances import PLAIN_NUMBERS
    from _gw_crossing_lending import Lending, is_lent, vars_of
    from _gw_crossing_modules import CandidateModules, module_named
    from _gw_crossing_stubs import Stubs
    from _gw_crossing_wire import Line, Spawned
    from _gw_crossing_world import World, from_root

PR_SET_DUMPABLE = 4
UNFIT_STATUS = 97
MAX_NESTED = 30
"""How deep the two processes may call each other."""


class Peer(Protocol):
    """The other process, as it is reached and ended: see `crossing_wire.Line` and `crossing_wire.Spawned`."""

    def open(self) -> Wire:
        """This end of what leads to it.

        Raises:
            OSError: it has ended, and there is no other one.
        """
        ...

    def close(self) -> None:
        """Ends it."""
        ...


Unfit = Callable[[str], None]
"""Writes down why the tests can't be run apart from the candidate."""


class Crossing:
    """The other process, and how to ask it.

    Args:
        fixed: the files below the work folder that are not the candidate's, relative to it.
        asked: top-level modules that the candidate may bring where this process finds none.
        names: built-in names, and such of the library's modules, that the project itself has for things of its own.
        root: the work folder, without links.
        peer: leads to the other process, and ends it.
        unfit: told once, right before the run ends.
        own_word: told whenever a comparison of the candidate's own decides something.
        undecided: told whenever one was not asked, and what it would have said is not known.
        saw: told of each class of the candidate whose objects have come here, by its name.
        scratch: the folder for temporary files, where the tests share files with the code they test; else empty.
        withheld: those fixed files that do not lie over there; asked for where files are shared.
        case: the number of the case that runs.
        controls: the controls of this run, if it has any.
    """

    def __init__(
        self,
        fixed: Sequence[str],
        asked: Sequence[str],
        *,
        names: Sequence[str] = (),
        root: str,
        peer: Peer,
        unfit: Unfit,
        own_word: Callable[[], None] = lambda: None,
        undecided: Callable[[], None] = lambda: None,
        saw: Callable[[str], None] = lambda _name: None,
        scratch: str = "",
        withheld: Sequence[str] = (),
        case: Callable[[], int] = lambda: 0,
        controls: Any = None,
    ) -> None:
        self.root = root
        self._peer = peer
        self._unfit = unfit
        self.own_word = own_word
        self.undecided = undecided
        self.saw = saw
        self._controls = controls
        self.remembers = controls is not None
        self.fixed = frozenset(os.path.join(root, path) for path in fixed)
        self.modules = CandidateModules(self, root, fixed=self.fixed, asked=asked, names=names)
        self._wire: Any = None
        self._gone: list[int] = []
        self.stubs = Stubs(self, self._gone)
        self._lending = Lending(self, self.stubs, root, lambda value, depth: self._code.encode(value, depth))
        self._code = self._codec()
        self._imported: list[str] = []
        self._nested = 0
        self._turn = threading.RLock()
        self._world = World(self, root)
        self._given = Given(self, root, self.fixed)
        self._files: AskingFiles | None = _files_of(self, scratch, withheld, case) if scratch else None

    def start(self) -> None:
        """From now on the candidate's modules are imported over there."""
        _hide()
        self.modules.come_first()
        if self._files is not None:
            self._files.start()
        self._given.start()  # first, since what is replaced from now on is replaced over there too
        self._world.watch()

    def come_first(self) -> None:
        """Puts our finder before those that were added since: what is the candidate's is loaded by none of them."""
        self.modules.come_first()

    # --- asking

    def load(self, module: str) -> tuple[list[str], str | None, bool]:
        """Imports a module over there; raises here what it raised.

        Returns:
            Its public names, its text, and if it is a package.
        """
        names, doc, package = self.ask("import", module, [from_root(place, self.root) for place in sys.path])
        self._imported.append(module)
        return [str(name) for name in names], doc if isinstance(doc, str) else None, package is True

    def ask(self, verb: str, *fields: Any) -> Any:
        """Asks, and does what the other process asks for meanwhile, until it has answered.

        Raises:
            CandidateEnded: it ended, or what it said was no answer.
        """
        with self._turn:
            if self._nested >= MAX_NESTED:
                raise RecursionError("the tests and the code under test call each other too deep")
            if self._wire is None:
                self._open()
            self._nested += 1
            try:
                value, error = self._asked(verb, fields)
            except NotPlain as problem:
                self.unfit(f"{_shown(verb, fields)} is given {problem.what}")
            except (OSError, ValueError) as problem:
                self._end()
                raise CandidateEnded(f"the code under test broke off: {problem}") from None
            except BaseException:
                # a case that took too long, say: what is over there still works on it
                self._end()
                raise
            finally:
                self._nested -= 1
        if error is not None:
            raise error
        return value

    def own_word_of(
        self, ask: Callable[[Any], Any], operand: Any, *, contrary: Callable[[Any], Any] | None = None
    ) -> Any:
        """What an object of the candidate says of a value of the tests; with controls, it is asked of others too."""
        asked = None if self._controls is None else self._controls.own_word_of
        answer = ask(operand) if asked is None else asked(ask, operand, contrary)
        if contrary is not None or type_of(answer) in PLAIN_NUMBERS:
            self.own_word()
        return answer

    def derive(self, made: Any, place: tuple[str, str, str], bases: Any, members: Any) -> None:
        """Makes a class of the tests over there too, which calls back for what is defined here."""
        self.stubs.adopt(made, self.ask("derive", place, bases, members))

    def _asked(self, verb: str, fields: Sequence[Any]) -> tuple[Any, BaseException | None]:
        """The answer, or what was raised over there."""
        self._code.begin()
        if self._controls is not None and self._nested == 1:
            self._controls.asks_there()
        self._send(verb, [self._code.encode(field) for field in fields])
        while True:
            body = self._wire.receive()
            if body is None:
                raise OSError("it ended its process")
            if self._files is not None:
                body = self._files.inward(body)
            head, kind, *rest = self._code.unpack(body)
            if self._files is not None:
                self._files.heard([rest, head])
            if kind == "unfit":
                self.unfit(f"{_shown(verb, fields)} gives {rest[0]}")
            frames = rest.pop() if kind == "raised" else None
            found = [self._code.decode(field) for field in rest]
            warned = self._read_head(head) if head else None
            if kind == "ok":
                return found[0], warned
            if kind == "raised":
                return None, self._raised(found, frames)
            if kind != "back" or not is_lent(rest[1]):
                raise ValueError("not an answer")
            self._called_back(found, warned)

    def unfit(self, why: str) -> NoReturn:
        """Ends this run: the tests need more than can be sent."""
        self._end()
        self._unfit(why)
        os._exit(UNFIT_STATUS)

    def _send(self, verb: str, told: list[Any]) -> None:
        gone, self._gone[:] = list(self._gone), []
        changes = self._code.changes()
        forgotten = self._code.forgettable()
        world = self._world.changes(self._code.encode)
        files = None
        if self._files is not None and verb not in ("import", "share"):  # an import path hands no folder over
            files = self._files.told([told, changes, world])
        any_news = changes or gone or forgotten or world or files is not None
        body = self._code.pack([[changes, gone, forgotten, world, files] if any_news else 0, verb, *told])
        self._wire.send(body if self._files is None else self._files.outward(body))

    def _read_head(self, head: Any) -> Exception | None:
        """What comes with a message; a warning that a filter of the tests has made an error is given back."""
        changes, gone, out, err, warned, files = head
        if files is not None:
            if self._files is None:
                raise ValueError("not a message")
            self._files.take(files)
        self._code.apply(changes)
        for number, times in zip(gone[::2], gone[1::2]):
            self._lending.release(number, times)
        for stream, text in ((sys.stdout, out), (sys.stderr, err)):
            if text:
                with contextlib.suppress(ValueError, AttributeError):  # the tests have closed it
                    stream.write(str(text))
        for text, category, file, line in warned:
            kind: Any = self._code.decode(category)
            if not (isinstance(kind, type) and issubclass(kind, Warning)):
                kind = UserWarning
            try:
                warnings.warn_explicit(str(text), kind, str(file), int(line))
            except Warning as error:
                return error
        return None

    def _raised(self, found: list[Any], frames: Any) -> BaseException:
        error, why, suppressed = found
        if not isinstance(error, Exception):
            raise ValueError("not an exception")
        if isinstance(why, Exception) and why is not error:
            error.__cause__ = why
        error.__suppress_context__ = suppressed is True
        if type_of(frames) is list and not isinstance(error, CandidateEnded):
            with contextlib.suppress(AttributeError, TypeError):
                object.__setattr__(error, "_groundwire_frames", frames)
        return error

    # --- being asked

    def _called_back(self, given: list[Any], warned: Exception | None) -> None:
        what, *given = given
        handler = self._lending.handler(what)
        try:
            if warned is not None:
                raise warned
            value = handler(*given)
        except (unittest.SkipTest, CandidateEnded):
            raise
        except Exception as error:
            self._send("threw", [self._code.encode(error)])
            return
        self._send("done", [self._code.encode(value)])

    # --- objects of this process, as the other one sees them

    def _codec(self) -> Codec:
        changed = None if self._controls is None else self._controls.changed_there
        return Codec(odd=False, refer=self._lending.refer, resolve=self._resolve, changed=changed)

    # --- objects of the other process

    def _resolve(self, value: list[Any], depth: int) -> Any:
        mark = value[0]
        if mark == "H":
            return self.stubs.instance(value, self._code.decode)
        if mark == "K":
            return self.stubs.kind(value, self._code.decode)
        if mark == "g":
            return self._lending[value[1]]
        if mark == "y." and len(value) == 3:
            return self._lending.placed(*value[1:])
        if mark == "M":
            name = value[1]
            if type_of(name) is not str:
                raise ValueError("not a module")
            return module_named(name, self, self.modules.is_theirs)
        raise ValueError("not a value")

    def is_program(self, path: str) -> bool:
        """True for a file of the candidate that the tests may start."""
        return self._files is not None and self._files.is_program(path)

    def is_theirs(self, module: str) -> bool:
        """True for the name of a module of the candidate."""
        return self.modules.is_theirs(module)

    # --- the other process

    def _open(self) -> None:
        try:
            self._wire = self._peer.open()
        except OSError as problem:
            raise CandidateEnded(str(problem)) from None
        if self._files is not None:
            self.ask("share")
        again, self._imported = self._imported, []
        for module in again:
            self.load(module)

    def _end(self) -> None:
        if self._wire is None:
            return
        self._wire = None
        self._peer.close()
        self._gone = []
        self._lending.forget()
        self._code = self._codec()
        self._world.forget()
        self.stubs.forget(self._gone)


def _files_of(crossing: Crossing, scratch: str, withheld: Sequence[str], case: Callable[[], int]) -> AskingFiles:
    """What the tests and the code they test share; here, since most tests share nothing."""
    if TYPE_CHECKING:
        from groundwire.tools.inside.crossing_guard import AskingFiles as Files
        from groundwire.tools.inside.crossing_programs import stand_in
    else:
        from _gw_crossing_guard import AskingFiles as Files
        from _gw_crossing_programs import stand_in

    stand_in(crossing)

    def fetch(place: Place) -> None:
        crossing.ask("fetch", *place)

    return Files(
        crossing.root,
        scratch,
        fixed=crossing.fixed,
        withheld=withheld,
        unfit=crossing.unfit,
        fetch=fetch,
        case=case,
    )


def make_crossing(told: dict[str, Any], recorder: Any, controls: Any) -> Crossing:
    """What keeps the candidate apart, to be started once the import path is what it will be.

    Args:
        told: what the settings say of it.
        recorder: learns it where the tests need more, and which cases the candidate's own comparisons had part in.
        controls: those of this run, if it has any.
    """

    def unfit(why: str) -> None:
        recorder.emit("unfit", m=why)

    def saw(name: str) -> None:
        recorder.emit("kind", id=name)

    line = os.environ.pop("GROUNDWIRE_LINE", "")
    scratch = os.path.realpath(os.environ["TMPDIR"]) if line and told["files"] else ""
    return Crossing(
        told["fixed"],
        told["asked"],
        names=told["names"],
        root=os.path.realpath(os.getcwd()),
        peer=Line(int(line)) if line else Spawned(os.environ["GROUNDWIRE_SUPPORT"]),
        unfit=unfit,
        own_word=recorder.own_equality,
        undecided=recorder.undecided,
        saw=saw,
        scratch=scratch,
        withheld=told["withheld"],
        case=lambda: recorder.cases,
        controls=controls,
    )


def _shown(verb: str, fields: Sequence[Any]) -> str:
    if verb == "import":
        return f"the import of {fields[0]}"
    thing = fields[0] if fields else None
    name = getattr(thing, "__name__", None) if isinstance(thing, (type, types.ModuleType)) else None
    more = f".{fields[1]}" if len(fields) > 1 and isinstance(fields[1], str) else ""
    path = vars_of(thing).get("_groundwire_path")
    return f"{'.'.join(path) if path else name or named(type_of(thing))}{more}"


def _hide() -> None:
    """Other processes of this user can't look into this one any more: it holds the report's key."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass
