"""What the candidate gets hold of in the assertions' process: as what it is sent, and what may be done with it."""

# os.path on purpose: tests like to fake pathlib
# ruff: noqa: PTH100
from __future__ import annotations

import os
import sys
import types
import unittest
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.crossing_classes import Asks, Bound, CandidateEnded, borrowed
    from groundwire.tools.inside.crossing_codec import (
        KNOWN,
        SPECIAL,
        Lent,
        NotPlain,
        dir_signature,
        inside,
        named,
        specials_of,
        type_of,
    )
    from groundwire.tools.inside.crossing_modules import Module
    from groundwire.tools.inside.crossing_stubs import Stubs
else:
    from _gw_crossing_classes import Bound, CandidateEnded, borrowed
    from _gw_crossing_codec import KNOWN, SPECIAL, Lent, NotPlain, dir_signature, inside, named, specials_of, type_of
    from _gw_crossing_modules import Module

NOT_HANDED_OUT = ("_pytest", "pytest", "pluggy", "unittest", "_gw_", "hypothesis", "groundwire")
"""Packages whose objects steer the run: the candidate is not given any of these."""
OF_OBJECTS = frozenset(dir(type)) | frozenset(dir(object)) | {"__getattr__", "__del__"}
NAMES_OF_FUNCTIONS = ("__name__", "__qualname__", "__doc__", "__module__")


class Lending:
    """Lends objects of this process to the other one, and does with them what it asks for.

    Args:
        asks: the conversation.
        stubs: what stands here for objects of the other process.
        root: the work folder, without links.
        encode: encodes what goes with an object, as deep as it lies.
    """

    def __init__(self, asks: Asks, stubs: Stubs, root: str, encode: Callable[[Any, int], Any]) -> None:
        self._asks = asks
        self._stubs = stubs
        self._root = root
        self._encode = encode
        self._lent = Lent()
        self._kinds: dict[int, Any] = {}
        self._placed: dict[tuple[str, str], Any] = {}

    def forget(self) -> None:
        """The other process is gone: nobody holds anything any more."""
        self._lent = Lent()
        self._kinds = {}
        self._placed = {}

    def __getitem__(self, number: object) -> Any:
        """The object of this number; see `Lent`."""
        return self._lent[number]

    def placed(self, module: Any, name: Any) -> Any:
        """What both processes have by that name, where this one has handed it over.

        Raises:
            ValueError: it has not.
        """
        if type_of(module) is not str or type_of(name) is not str or (module, name) not in self._placed:
            raise ValueError("a name that was not given out")
        return self._placed[module, name]

    def release(self, number: Any, times: Any) -> None:
        """The other process has let go of an object; see `Lent`."""
        self._lent.release(number, times)

    # --- as what it is sent

    def refer(self, value: Any, depth: int) -> list[Any]:
        """What stands for an object that is not sent by value; see `Codec`."""
        kind = type_of(value)
        ref = borrowed(value)
        if ref is not None:
            return ["h", self._number(value, ref)]
        if kind is Module:
            return ["m", value.__name__]
        if kind is Bound:
            _, thing, name = value.groundwire
            return ["a", self._encode(thing, depth), name]
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
                self._placed[place] = value
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
        if ref is not None and self._stubs.current(ref):
            return ["h", ref.number]
        base = next(k for k in kind.__mro__ if named(k) in KNOWN and KNOWN[named(k)] is k)
        return ["x", self._lent.lend(value), self._encode(base, depth), str(kind.__module__), str(kind.__name__),
                self._encode(value.args, depth)]  # fmt: skip

    def _place(self, value: Any) -> tuple[str, str] | None:
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
        return (module, name) if found is value else None

    def _is_outside(self, module: str) -> bool:
        found = sys.modules.get(module)
        file = getattr(found, "__file__", None)
        if found is None or type_of(found) is Module or module == "__main__":
            return False
        return not (isinstance(file, str) and os.path.abspath(file).startswith(self._root + os.sep))

    def _number(self, value: Any, ref: Any) -> int:
        if self._stubs.current(ref):
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
        again = self._asks.ask("path", *path)
        fresh = borrowed(again)
        if fresh is None:
            raise CandidateEnded("the object's process has ended")
        if again is not value:
            object.__setattr__(value, "_groundwire_ref", fresh)
        return fresh.number

    # --- what may be done with it

    def handler(self, what: Any) -> Callable[..., Any]:
        """What does this with an object.

        Raises:
            ValueError: it is nothing that may be asked for.
        """
        handler = {"special": self._back_special, "get": self._back_get, "set": self._back_set,
                   "signature": self._back_signature}.get(what)  # fmt: skip
        if handler is None:
            raise ValueError("not a call back")
        return handler

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
            self._asks.unfit(f"an attribute of the test itself ({type_of(thing).__name__}) is set")
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


def vars_of(value: Any) -> dict[str, Any]:
    """An object's own attributes, past a property of that name."""
    try:
        return {"_groundwire_path": object.__getattribute__(value, "_groundwire_path")}
    except AttributeError:
        return {}


def is_lent(field: Any) -> bool:
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
