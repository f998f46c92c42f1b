"""Keeps the assertions in a process of their own: the candidate's modules are imported, and called, in another one.

In this process stand-ins take the place of the candidate's modules. Values go back and forth as plain data, so that
the candidate can't reach the runner, the report or its key. Where the tests use more than functions of plain values (a
class, a generator, a callback), the run is `unfit`: it ends at once, and groundwire judges in one process and says so.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH100, PTH109, PTH118
from __future__ import annotations

import builtins
import contextlib
import importlib
import os
import signal
import sys
import types
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from groundwire.tools.inside.apart_codec import NotPlain, pack, type_of, unpack
    from groundwire.tools.inside.apart_wire import read_message, write_message
else:
    from _gw_apart_codec import NotPlain, pack, type_of, unpack
    from _gw_apart_wire import read_message, write_message

PR_SET_DUMPABLE = 4
UNFIT_STATUS = 97

Unfit = Callable[[str], None]
"""Writes down why the tests can't be run apart from the candidate."""


class CandidateEnded(Exception):
    """The candidate's process ended in the middle of a call."""

    __module__ = "builtins"  # shown without a module of ours in front


class Apart:
    """The other process, and how to ask it.

    Args:
        files: the candidate's modules, relative to the work folder.
        root: the work folder.
        support: where our modules lie.
        unfit: told once, right before the run ends.
    """

    def __init__(self, files: Sequence[str], root: str, support: str, unfit: Unfit) -> None:
        self._root = root
        self._support = support
        self._unfit = unfit
        self._files = frozenset(os.path.join(root, path) for path in files)
        self._pid = 0
        self._to = self._from = -1
        self._imported: list[str] = []
        self._exceptions: dict[tuple[str, str], type[BaseException]] = {}

    def start(self) -> None:
        """From now on the candidate's modules are imported over there."""
        _hide()
        sys.meta_path.insert(0, _Finder(self))

    def holds(self, origin: str | None) -> bool:
        """True for a file of the candidate."""
        return origin is not None and os.path.abspath(origin) in self._files

    # --- asking

    def load(self, module: str) -> dict[str, Any]:
        """Imports a module over there; raises here what it raised."""
        answer = self._ask({"do": "import", "module": module, "path": list(sys.path)})
        self._imported.append(module)
        return answer

    def get(self, module: str, name: str) -> Any:
        """An attribute of a module over there, or what stands for it.

        Raises:
            AttributeError: there is none.
        """
        found = self._ask({"do": "get", "module": module, "name": name})
        kind = found.get("is")
        if kind == "value":
            return found["value"]
        if kind == "function":
            return RemoteFunction(self, module, name, found.get("doc"))
        if kind == "module":
            return importlib.import_module(found["name"])
        if kind == "exception":
            return self._exception(found["kinds"])
        if kind == "nothing":
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return self.stand_in(str(found.get("what")))

    def call(self, module: str, name: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Calls a function over there; arguments that it changes are changed here too."""
        answer = self._ask({"do": "call", "module": module, "name": name, "args": args, "named": named})
        if "changed" in answer:
            new_args, new_named = answer["changed"]
            for place, old in enumerate(args):
                _become(old, new_args[place])
            for key, old in named.items():
                _become(old, new_named[key])
        if "raised" in answer:
            raise self._error(answer)
        return answer["value"]

    def unfit(self, why: str) -> NoReturn:
        """Ends this run: the tests need more than can be sent."""
        self._unfit(why)
        os._exit(UNFIT_STATUS)

    def stand_in(self, what: str) -> Any:
        """Something that can't be sent: to look at it is fine, to use it is not."""
        apart = self

        class Kind(type):
            """Every use of the stand-in ends here."""

            def __call__(cls, *_args: Any, **_named: Any) -> NoReturn:
                apart.unfit(what)

            def __getattr__(cls, _name: str) -> NoReturn:
                apart.unfit(what)

            def __instancecheck__(cls, _instance: Any) -> NoReturn:
                apart.unfit(what)

            def __subclasscheck__(cls, _subclass: type) -> NoReturn:
                apart.unfit(what)

            def __eq__(cls, _other: object) -> NoReturn:
                apart.unfit(what)

            def __iter__(cls) -> NoReturn:
                apart.unfit(what)

            def __len__(cls) -> NoReturn:
                apart.unfit(what)

            def __getitem__(cls, _key: Any) -> NoReturn:
                apart.unfit(what)

            __hash__ = type.__hash__

        return Kind("StandIn", (), {"__init_subclass__": classmethod(lambda _cls: apart.unfit(what))})

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            body = pack(question)
        except NotPlain as error:
            self.unfit(f"{question.get('module')}.{question.get('name')} is given {error.what}")
        if not self._pid:
            self._spawn()
        try:
            write_message(self._to, body)
            reply = read_message(self._from)
            answer: Any = None if reply is None else unpack(reply)
        except (OSError, ValueError) as error:
            self._end()
            raise CandidateEnded(f"the code under test broke off: {error}") from None
        except BaseException:
            # a case that took too long, say: what is over there still works on it
            self._end()
            raise
        if type_of(answer) is not dict:
            self._end()
            raise CandidateEnded("the code under test ended its process")
        sys.stdout.write(str(answer.pop("out", "")))
        sys.stderr.write(str(answer.pop("err", "")))
        if "unfit" in answer:
            self.unfit(str(answer["unfit"]))
        if "raised" in answer and question["do"] != "call":
            raise self._error(answer)
        return answer

    # --- the other process

    def _spawn(self) -> None:
        theirs, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        for fd in (theirs, theirs_out):
            os.set_inheritable(fd, True)
        boot = (
            f"import sys; sys.path.insert(0, {self._support!r}); import _gw_apart_candidate as c; "
            f"sys.path.pop(0); c.serve({theirs}, {theirs_out})"
        )
        arguments = [sys.executable, "-S", "-c", boot] if sys.flags.no_site else [sys.executable, "-c", boot]
        self._pid = os.posix_spawn(sys.executable, arguments, os.environ)
        os.close(theirs)
        os.close(theirs_out)
        again, self._imported = self._imported, []
        for module in again:
            self.load(module)

    def _end(self) -> None:
        pid, self._pid = self._pid, 0
        for fd in (self._to, self._from):
            os.close(fd)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    # --- exceptions

    def _exception(self, kinds: Sequence[Sequence[str]]) -> type[BaseException]:
        """The class of this name here: a built-in one, or one that stands for the candidate's."""
        (module, name), *bases = kinds
        if module == "builtins":
            found = getattr(builtins, name, None)
            return found if isinstance(found, type) and issubclass(found, BaseException) else Exception
        key = (module, name)
        if key not in self._exceptions:
            base = self._exception(bases) if bases else Exception
            made: Any = type(name.rpartition(".")[2], (base,), {"__module__": module})
            self._exceptions[key] = made
        return self._exceptions[key]

    def _error(self, answer: dict[str, Any]) -> BaseException:
        kind = self._exception(answer["raised"])
        error = kind.__new__(kind, *answer["args"])
        error.args = tuple(answer["args"])
        for name, value in answer["state"].items():
            setattr(error, str(name), value)
        return error


def make_apart(settings: dict[str, Any], recorder: Any) -> Callable[[], None]:
    """What starts keeping the candidate apart, once the import path is what it will be; nothing if that was not asked.

    Args:
        settings: see `recorder.read_settings`.
        recorder: learns it where the tests need more.
    """
    files = settings.get("apart")
    if not files:
        return lambda: None

    def unfit(why: str) -> None:
        recorder.emit("unfit", m=why)

    apart = Apart(files, os.getcwd(), os.environ["GROUNDWIRE_SUPPORT"], unfit)
    return apart.start


class RemoteFunction:
    """A function of the candidate. It can be called, and nothing else."""

    def __init__(self, apart: Apart, module: str, name: str, doc: str | None) -> None:
        self.__name__ = self.__qualname__ = name
        self.__module__ = module
        self.__doc__ = doc
        self._groundwire_apart = apart

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Calls it over there."""
        return self._groundwire_apart.call(self.__module__, self.__name__, args, named)

    def __getattr__(self, name: str) -> Any:
        # what runners ask of every function they see
        if name.startswith("_") or name == "pytestmark":
            raise AttributeError(name)
        return self._groundwire_apart.unfit(f"{self.__module__}.{self.__name__}.{name}, an attribute of a function")


class _Module(types.ModuleType):
    """Stands for a module of the candidate."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return vars(self)["__groundwire_apart__"].get(self.__name__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        # the import system's own; anything else would have to be changed over there
        if not (name.startswith("__") or isinstance(value, types.ModuleType)):
            vars(self)["__groundwire_apart__"].unfit(f"{self.__name__}.{name} is replaced by the tests")
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted(vars(self)["__all__"])


class _Finder(MetaPathFinder, Loader):
    def __init__(self, apart: Apart) -> None:
        self._apart = apart

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target)
        if found is None or not self._apart.holds(found.origin):
            return None
        places = found.submodule_search_locations
        spec = ModuleSpec(fullname, self, origin=found.origin, is_package=places is not None)
        spec.submodule_search_locations = places
        return spec

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        inner = vars(module)
        inner["__groundwire_apart__"] = self._apart
        inner["__file__"] = module.__spec__.origin if module.__spec__ else None
        answer = self._apart.load(module.__name__)
        inner["__all__"] = [str(name) for name in answer["names"]]
        inner["__doc__"] = answer.get("doc")


def _become(old: Any, new: Any) -> None:
    kind = type_of(old)
    if kind in (list, bytearray):
        old[:] = new
    elif kind in (dict, set):
        old.clear()
        old.update(new)


def _hide() -> None:
    """Other processes of this user can't look into this one any more: it holds the report's key."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass
