"""Keeps the assertions in a process of their own: the candidate's modules are imported, and used, in another one.

That one lies in another box, where there is a line to it; else it is started here, in this one. In this process stubs
take the place of the candidate's modules, classes and objects (`crossing_stubs`). Plain values go back and forth by
value, so that the candidate can't reach the runner, the report or its key, and compares nothing. Where the tests use
more than can be sent, the run is `unfit`: it ends at once, and says why.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH100, PTH109, PTH113, PTH118
# ruff: noqa: B905  Python 3.9
from __future__ import annotations

import builtins
import contextlib
import os
import sys
import threading
import types
import unittest
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_codec import (
        KNOWN,
        SPECIAL,
        Codec,
        Lent,
        NotPlain,
        dir_signature,
        inside,
        named,
        specials_of,
        type_of,
    )
    from groundwire.tools.inside.crossing_files import Place
    from groundwire.tools.inside.crossing_given import Given
    from groundwire.tools.inside.crossing_guard import AskingFiles
    from groundwire.tools.inside.crossing_stubs import (
        LIBRARY,
        PLAIN_NUMBERS,
        Bound,
        CandidateEnded,
        Module,
        Stubs,
        borrowed,
        module_named,
    )
    from groundwire.tools.inside.crossing_wire import Line, Spawned, Wire
    from groundwire.tools.inside.crossing_world import World, from_root
else:
    from _gw_crossing_codec import (
        KNOWN,
        SPECIAL,
        Codec,
        Lent,
        NotPlain,
        dir_signature,
        inside,
        named,
        specials_of,
        type_of,
    )
    from _gw_crossing_given import Given
    from _gw_crossing_stubs import LIBRARY, PLAIN_NUMBERS, Bound, CandidateEnded, Module, Stubs, borrowed, module_named
    from _gw_crossing_wire import Line, Spawned
    from _gw_crossing_world import World, from_root

PR_SET_DUMPABLE = 4
UNFIT_STATUS = 97
MAX_NESTED = 30
"""How deep the two processes may call each other."""
NOT_HANDED_OUT = ("_pytest", "pytest", "pluggy", "unittest", "_gw_", "hypothesis", "groundwire")
"""Packages whose objects steer the run: the candidate is not given any of these."""
OF_OBJECTS = frozenset(dir(type)) | frozenset(dir(object)) | {"__getattr__", "__del__"}
NAMES_OF_FUNCTIONS = ("__name__", "__qualname__", "__doc__", "__module__")


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
        self._brought = frozenset(asked)
        self._own_names = frozenset(names)
        self._finder = _Finder(self)
        self._wire: Any = None
        self._gone: list[int] = []
        self._lent = Lent()
        self._kinds: dict[int, Any] = {}
        self._code = self._codec()
        self._imported: list[str] = []
        self._nested = 0
        self._turn = threading.RLock()
        self._world = World(self, root)
        self._given = Given(self, root, self.fixed)
        self._files: AskingFiles | None = _files_of(self, scratch, withheld, case) if scratch else None
        self.stubs = Stubs(self, self._gone)

    def start(self) -> None:
        """From now on the candidate's modules are imported over there."""
        _hide()
        sys.meta_path.insert(0, self._finder)
        if self._files is not None:
            self._files.start()
        self._given.start()  # first, since what is replaced from now on is replaced over there too
        self._world.watch()

    def come_first(self) -> None:
        """Puts our finder before those that were added since: what is the candidate's is loaded by none of them."""
        sys.meta_path[:] = [self._finder, *(f for f in sys.meta_path if f is not self._finder)]

    def holds(self, origin: str | None) -> bool:
        """True for a file of the candidate: all that lies below the work folder and is not fixed."""
        if origin is None:
            return False
        place = os.path.realpath(origin)
        return place.startswith(self.root + os.sep) and place not in self.fixed

    def may_bring(self, module: str) -> bool:
        """True for a module that may lie over there, though nothing stands for it here."""
        top, _, inner = module.partition(".")
        parent = sys.modules.get(module.rpartition(".")[0])
        return type_of(parent) is Module if inner else top in self._brought

    def hides(self, module: Any, name: str, bound: Mapping[str, Any]) -> bool:
        """True where `from module import *` would put what the project has not in the place of what tests compare by.

        That is a built-in name, that of a module of the library for anything but that module, and any name that
        already stands for something else than an object of the candidate.

        Args:
            module: the candidate's.
            name: one of its public names.
            bound: the names of the module that imports it.
        """
        if name in self._own_names:
            return False
        if name in bound:
            return type_of(bound[name]) is not Module and borrowed(bound[name]) is None
        if not (name in LIBRARY or hasattr(builtins, name)):
            return False
        return name not in sys.modules or getattr(module, name, None) is not sys.modules[name]

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
            if kind != "back" or not _is_lent(rest[1]):
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
            self._lent.release(number, times)
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
        handler = {"special": self._back_special, "get": self._back_get, "set": self._back_set,
                   "signature": self._back_signature}.get(what)  # fmt: skip
        if handler is None:
            raise ValueError("not a call back")
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

    def _back_special(self, thing: Any, name: Any, args: Any, pairs: Any) -> Any:
        if name not in SPECIAL or type_of(args) is not tuple:
            raise ValueError("not a call back")
        named_args = dict(pairs)
        if name == "__call__":
            return thing(*args, **named_args)
        return getattr(type_of(thing), name)(thing, *args, **named_args)

    def _back_get(self, thing: Any, name: Any) -> Any:
        if type_of(name) is not str or not _may_see(thing, name):
            raise AttributeError(f"{type_of(thing).__name__!r} object has no attribute {name!r}")
        return getattr(thing, name)

    def _back_set(self, thing: Any, name: Any, value: Any) -> None:
        if _is_test(thing):
            self.unfit(f"an attribute of the test itself ({type_of(thing).__name__}) is set")
        if (
            type_of(name) is not str
            or name.startswith("_")
            or not hasattr(thing, "__dict__")
            or isinstance(thing, type)
            or _asserts(thing, name)
        ):
            raise AttributeError(f"{type_of(thing).__name__!r} object's attribute {name!r} can't be set from outside")
        setattr(thing, name, value)

    def _back_signature(self, thing: Any) -> Any:
        return dir_signature(thing)

    # --- objects of this process, as the other one sees them

    def _codec(self) -> Codec:
        changed = None if self._controls is None else self._controls.changed_there
        return Codec(odd=False, refer=self._refer, resolve=self._resolve, changed=changed)

    def _refer(self, value: Any, depth: int) -> list[Any]:
        kind = type_of(value)
        ref = borrowed(value)
        if ref is not None:
            return ["h", self._number(value, ref)]
        if kind is Module:
            return ["m", value.__name__]
        if kind is Bound:
            _, thing, name = value.groundwire
            return ["a", self._code.encode(thing, depth), name]
        if issubclass(kind, types.ModuleType):
            if not self._is_outside(value.__name__):
                raise NotPlain(f"the module {value.__name__}")
            return ["m", value.__name__]
        if issubclass(kind, type) or kind in (
            types.FunctionType,
            types.BuiltinFunctionType,
            types.MethodDescriptorType,
        ):
            place = self._place(value)
            if place is not None:
                return ["y.", *place]
        if issubclass(kind, BaseException):
            return self._refer_error(value, kind, depth)
        if kind.__module__.partition(".")[0].startswith(NOT_HANDED_OUT) and not kind.__module__.startswith(
            "unittest.mock"
        ):
            raise NotPlain(f"a value of type {named(kind)}")
        if kind in (types.FrameType, types.CodeType, types.TracebackType, types.CoroutineType):
            raise NotPlain(f"a value of type {named(kind)}")
        number = self._lent.lend(value)
        if id(kind) in self._kinds:
            return ["b", number, id(kind)]
        self._kinds[id(kind)] = kind
        described = [kind.__module__, kind.__qualname__, list(specials_of(kind)), kind is types.FunctionType]
        return ["b", number, id(kind), described]

    def _refer_error(self, value: Any, kind: Any, depth: int) -> list[Any]:
        ref = inside(value).get("_groundwire_ref")
        if ref is not None and self.stubs.current(ref):
            return ["h", ref.number]
        base = next(k for k in kind.__mro__ if named(k) in KNOWN and KNOWN[named(k)] is k)
        return ["x", self._lent.lend(value), self._code.encode(base, depth), str(kind.__module__), str(kind.__name__),
                self._code.encode(value.args, depth)]  # fmt: skip

    def _place(self, value: Any) -> list[str] | None:
        """Module and name of what the other process has too: classes and functions of installed packages."""
        module: Any = getattr(value, "__module__", None)
        name: Any = getattr(value, "__qualname__", None)
        if module is None and type_of(value) is types.MethodDescriptorType:
            module = value.__objclass__.__module__
        if not isinstance(module, str) or not isinstance(name, str) or "<" in name or not self._is_outside(module):
            return None
        if module.partition(".")[0].startswith(NOT_HANDED_OUT):
            return None
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        return [module, name] if found is value else None

    def _is_outside(self, module: str) -> bool:
        found = sys.modules.get(module)
        file = getattr(found, "__file__", None)
        if found is None or type_of(found) is Module or module == "__main__":
            return False
        return not (isinstance(file, str) and os.path.abspath(file).startswith(self.root + os.sep))

    def _number(self, value: Any, ref: Any) -> int:
        if self.stubs.current(ref):
            return ref.number
        path = vars_of(value).get("_groundwire_path")
        if isinstance(value, type):
            again = inside(value).get("_groundwire_again")
            if again is not None:
                again()
                return borrowed(value).number
            path = (value.__module__, value.__qualname__)
        if path is None:
            raise CandidateEnded("the object's process has ended")
        again = self.ask("path", *path)
        fresh = borrowed(again)
        if fresh is None:
            raise CandidateEnded("the object's process has ended")
        if again is not value:
            object.__setattr__(value, "_groundwire_ref", fresh)
        return fresh.number

    # --- objects of the other process

    def _resolve(self, value: list[Any], depth: int) -> Any:
        mark = value[0]
        if mark == "H":
            return self.stubs.instance(value, self._code.decode)
        if mark == "K":
            return self.stubs.kind(value, self._code.decode)
        if mark == "g":
            return self._lent[value[1]]
        if mark == "M":
            name = value[1]
            if type_of(name) is not str:
                raise ValueError("not a module")
            return module_named(name, self, self.is_theirs)
        raise ValueError("not a value")

    def is_program(self, path: str) -> bool:
        """True for a file of the candidate that the tests may start."""
        return self._files is not None and self._files.is_program(path)

    def is_theirs(self, module: str) -> bool:
        """True for the name of a module of the candidate."""
        parts = module.split(".")
        if not all(part.isidentifier() for part in parts):
            return False
        return self.may_bring(module) or any(
            os.path.isfile(path) and self.holds(path)
            for place in {os.path.abspath(p or os.getcwd()) for p in sys.path}
            for path in (os.path.join(place, *parts) + ".py", os.path.join(place, *parts, "__init__.py"))
        )

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
        self._lent = Lent()
        self._kinds = {}
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


def vars_of(value: Any) -> dict[str, Any]:
    """An object's own attributes, past a property of that name."""
    try:
        return {"_groundwire_path": object.__getattribute__(value, "_groundwire_path")}
    except AttributeError:
        return {}


def make_crossing(settings: dict[str, Any], recorder: Any, controls: Any) -> Crossing | None:
    """What keeps the candidate apart, to be started once the import path is what it will be; None if nobody asked.

    Args:
        settings: see `recorder.read_settings`.
        recorder: learns it where the tests need more, and which cases the candidate's own comparisons had part in.
        controls: those of this run, if it has any.
    """
    told = settings.get("crossing")
    if not told:
        return None

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


def _is_lent(field: Any) -> bool:
    """True for an object that the tests have handed over: nothing else of this process is used from over there.

    A class of the library has a name on both sides, and could be made into what equals everything here.
    """
    return type_of(field) is list and field[:1] == ["g"]


def _asserts(thing: Any, name: str) -> bool:
    """True for what an object's class has, or tests assert by: a candidate does not put its own there."""
    if _is_mock(thing):
        return name.startswith("assert") or hasattr(type_of(thing), name)
    return name.startswith("assert_") or isinstance(
        getattr(type_of(thing), name, None), (types.FunctionType, types.MethodType)
    )


def _is_test(thing: Any) -> bool:
    """True for what runs the assertions: a case of unittest, an instance of a class whose methods pytest collects."""
    kind = type_of(thing)
    collected = any(name.startswith("test_") for part in kind.__mro__ for name in inside(part))
    return issubclass(kind, unittest.TestCase) or (collected and kind.__name__.startswith("Test"))


def _is_mock(thing: Any) -> bool:
    return any(kind.__module__ == "unittest.mock" for kind in type_of(thing).__mro__)


def _may_see(thing: Any, name: str) -> bool:
    """True for what the candidate may read of an object that the tests have given it.

    That is every public name but those of frames; and methods like `__html__` that a class of Python code defines.
    """
    if name.startswith("__") and name.endswith("__"):
        defined = any(type_of(inside(kind).get(name)) is types.FunctionType for kind in type_of(thing).__mro__)
        return name in NAMES_OF_FUNCTIONS or (defined and name not in OF_OBJECTS)
    if _is_mock(thing) and _asserts(thing, name):
        return False
    return not name.startswith(("_", "gi_", "cr_", "ag_", "tb_", "f_"))


def _shown(verb: str, fields: Sequence[Any]) -> str:
    if verb == "import":
        return f"the import of {fields[0]}"
    thing = fields[0] if fields else None
    name = getattr(thing, "__name__", None) if isinstance(thing, (type, types.ModuleType)) else None
    more = f".{fields[1]}" if len(fields) > 1 and isinstance(fields[1], str) else ""
    path = vars_of(thing).get("_groundwire_path")
    return f"{'.'.join(path) if path else name or named(type_of(thing))}{more}"


class _Finder(MetaPathFinder, Loader):
    def __init__(self, crossing: Crossing) -> None:
        self._crossing = crossing

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target)
        if found is None:
            return (
                ModuleSpec(fullname, self)
                if self._crossing.may_bring(fullname) and not _is_built_in(fullname)
                else None
            )
        if not self._crossing.holds(found.origin):
            return None
        places = found.submodule_search_locations
        spec = ModuleSpec(fullname, self, origin=found.origin, is_package=places is not None)
        spec.submodule_search_locations = places
        return spec

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        inner = inside(module)
        inner["__groundwire_crossing__"] = self._crossing
        inner["__file__"] = module.__spec__.origin if module.__spec__ else None
        names, inner["__doc__"], package = self._crossing.load(module.__name__)
        inner["__groundwire_names__"] = names
        if package and "__path__" not in inner:
            inner["__path__"] = []  # what lies in it, only the other side can find


def _is_built_in(module: str) -> bool:
    return any(finder.find_spec(module) is not None for finder in (BuiltinImporter, FrozenImporter))


def _hide() -> None:
    """Other processes of this user can't look into this one any more: it holds the report's key."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass
