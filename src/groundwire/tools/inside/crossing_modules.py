"""The candidate's modules: which ones are, how they are found, and what stands for them where the tests import them."""

# os.path on purpose: tests like to fake pathlib
# ruff: noqa: PTH100, PTH109, PTH113, PTH118
from __future__ import annotations

import builtins
import importlib
import opcode
import os
import sys
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_classes import Asks, borrowed, is_instance, is_unseen
    from groundwire.tools.inside.crossing_codec import inside, type_of
else:
    from _gw_crossing_classes import Asks, borrowed, is_instance, is_unseen
    from _gw_crossing_codec import inside, type_of

LIBRARY: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset(("dataclasses", "subprocess", "json", "queue")))
_IMPORTS_STAR: int = opcode.opmap.get("IMPORT_STAR", opcode.opmap.get("CALL_INTRINSIC_1", -1))
_frame: Callable[[int], types.FrameType] = vars(sys)["_getframe"]


class Module(types.ModuleType):
    """Stands for a module of the candidate."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return self._public(_frame(1))
        if is_unseen(name) or name in ("__path__", "__warningregistry__"):
            raise AttributeError(name)
        found = inside(self)["__groundwire_crossing__"].ask("get", self, name)
        if is_instance(found):
            object.__setattr__(found, "_groundwire_path", (self.__name__, name))
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in (
            "__spec__",
            "__loader__",
            "__package__",
            "__path__",
            "__file__",
            "__cached__",
            "__class__",
            "__name__",
        ):
            super().__setattr__(name, value)
        elif isinstance(value, Module):
            pass  # the import system binds a submodule to its package, as it did over there
        elif isinstance(value, types.ModuleType) and value.__name__ == f"{self.__name__}.{name}":
            super().__setattr__(name, value)  # a module of the tests inside of a package of the candidate
        else:
            inside(self)["__groundwire_crossing__"].ask("set", self, name, value)

    def __delattr__(self, name: str) -> None:
        if name in inside(self):
            super().__delattr__(name)
        else:
            inside(self)["__groundwire_crossing__"].ask("del", self, name)

    def _public(self, caller: types.FrameType) -> list[str]:
        """Its public names; those that may be bound where a module is in the midst of importing `*`."""
        names: list[str] = inside(self)["__groundwire_names__"]
        if caller.f_code.co_code[caller.f_lasti] != _IMPORTS_STAR:
            return list(names)
        crossing, bound = inside(self)["__groundwire_crossing__"], caller.f_globals
        return [name for name in names if "pytest" not in name and not crossing.modules.hides(self, name, bound)]

    def __dir__(self) -> list[str]:
        names = inside(self)["__groundwire_names__"]
        return sorted({*(n for n in inside(self) if n.startswith("__") and n[2:12] != "groundwire"), *names})


def module_named(name: str, asks: Asks, holds: Callable[[str], bool]) -> Any:
    """A module that the candidate has handed over: one of its own, one that the tests have too, or what stands for it.

    Nothing is imported here because the candidate says so, but stubs for the candidate's own modules.
    """
    found = sys.modules.get(name)
    if found is None and holds(name):
        return importlib.import_module(name)
    if found is None or name in ("__main__", "groundwire") or name.startswith(("_gw_", "_pytest")):
        found = Module(name)
        inside(found)["__groundwire_crossing__"] = asks
        inside(found)["__groundwire_names__"] = []
    return found


class Loads(Asks, Protocol):
    """The conversation, as modules use it."""

    def load(self, module: str) -> tuple[list[str], str | None, bool]:
        """Imports a module over there: its public names, its text, and if it is a package."""
        ...


class CandidateModules(MetaPathFinder, Loader):
    """Finds the candidate's modules, and says which ones are.

    Args:
        loads: imports them over there.
        root: the work folder, without links.
        fixed: the files below it that are not the candidate's.
        asked: top-level modules that the candidate may bring where this process finds none.
        names: built-in names, and such of the library's modules, that the project itself has for things of its own.
    """

    def __init__(
        self, loads: Loads, root: str, *, fixed: Collection[str], asked: Sequence[str], names: Sequence[str]
    ) -> None:
        self._loads = loads
        self._root = root
        self._fixed = fixed
        self._brought = frozenset(asked)
        self._own_names = frozenset(names)

    def come_first(self) -> None:
        """Comes before all other finders: what is the candidate's is loaded by none of them."""
        sys.meta_path[:] = [self, *(f for f in sys.meta_path if f is not self)]

    def holds(self, origin: str | None) -> bool:
        """True for a file of the candidate: all that lies below the work folder and is not fixed."""
        if origin is None:
            return False
        place = os.path.realpath(origin)
        return place.startswith(self._root + os.sep) and place not in self._fixed

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

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        found = PathFinder.find_spec(fullname, path, target)
        if found is None:
            return ModuleSpec(fullname, self) if self.may_bring(fullname) and not _is_built_in(fullname) else None
        if not self.holds(found.origin):
            return None
        places = found.submodule_search_locations
        spec = ModuleSpec(fullname, self, origin=found.origin, is_package=places is not None)
        spec.submodule_search_locations = places
        return spec

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        inner = inside(module)
        inner["__groundwire_crossing__"] = self._loads
        inner["__file__"] = module.__spec__.origin if module.__spec__ else None
        names, inner["__doc__"], package = self._loads.load(module.__name__)
        inner["__groundwire_names__"] = names
        if package and "__path__" not in inner:
            inner["__path__"] = []  # what lies in it, only the other side can find


def _is_built_in(module: str) -> bool:
    return any(finder.find_spec(module) is not None for finder in (BuiltinImporter, FrozenImporter))
