"""What can be seen of a function or an object before it runs: the values that its code names and holds.

Seeing more than is used costs a declaration that was not needed; what is not seen is refused when it happens.
"""

from __future__ import annotations

import dis
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

MOST = 5_000
"""Objects that are looked at, so that a large one (an engine, a data set) costs a moment and no more."""
MOST_ITEMS = 200
"""Items of one container."""

_READS_A_NAME = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"})
_READS_AN_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM"})
_LEAVES = (str, bytes, bytearray, int, float, complex, bool, type(None), type, BuiltinFunctionType)
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))


@dataclass
class Sight:
    """What was seen.

    Args:
        values: each value once.
        unresolved: names that the code uses and whose value is not known yet, such as those of local imports.
    """

    values: list[object] = field(default_factory=list[object])
    unresolved: set[str] = field(default_factory=set[str])


def look(root: object, *, stop_at: tuple[type, ...] = ()) -> Sight:
    """Looks through a function or object: names its code uses, closures, attributes, containers and helper functions.

    Args:
        root: where to begin.
        stop_at: instances of these are seen, but not looked into.
    """
    sight = Sight()
    seen: set[int] = set()
    pending: list[object] = [root]
    while pending and len(seen) < MOST:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        sight.values.append(value)
        if not isinstance(value, (*stop_at, *_LEAVES)):
            pending.extend(_parts(value, sight))
    return sight


def _parts(value: object, sight: Sight) -> Iterable[object]:
    match value:
        case FunctionType():
            return _of_function(value, sight)
        case MethodType():
            return value.__func__, value.__self__
        case partial():
            whole = cast("partial[Any]", value)
            return whole.func, *whole.args, *whole.keywords.values()
        case Mapping():
            return list(cast("Mapping[Any, Any]", value).values())[:MOST_ITEMS]
        case list() | tuple() | set() | frozenset():
            return list(cast("Iterable[Any]", value))[:MOST_ITEMS]
        case ModuleType():
            return ()
        case _:
            return _of_object(value)


def _of_object(value: object) -> Iterator[object]:
    yield from list(getattr(value, "__dict__", {}).values())
    for kind in type(value).__mro__:
        for attribute in list(vars(kind).values()):
            function: object = getattr(attribute, "__func__", attribute)
            if isinstance(function, FunctionType) and _is_the_users(function):
                yield function
        for slot in _slots(kind):
            yield getattr(value, slot, None)


def _slots(kind: type) -> Iterable[str]:
    slots: Any = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else slots


def _of_function(function: FunctionType, sight: Sight) -> Iterator[object]:
    yield from (cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield getattr(function, "__wrapped__", None)
    if not _is_the_users(function):
        return
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    known = function.__globals__ | {name: cell.cell_contents for name, cell in cells.items() if _is_filled(cell)}
    for code in _codes(function.__code__):
        yield from _named(code, known, sight)


def _named(code: CodeType, known: Mapping[str, object], sight: Sight) -> Iterator[object]:
    """The values that a piece of code names, also as attributes of modules (`types.Command`)."""
    base: object = None
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if instruction.opname in _READS_A_NAME:
            base = known.get(name)
            if name in known:
                yield base
            else:
                sight.unresolved.add(name)
        elif instruction.opname in _READS_AN_ATTRIBUTE:
            base = getattr(base, name, None) if isinstance(base, ModuleType) else None
            if base is None:
                sight.unresolved.add(name)
            else:
                yield base


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # a function that is not bound yet
        return False


def _is_the_users(function: FunctionType) -> bool:
    """True unless it belongs to a library, whose inside is not looked at."""
    return not (
        function.__code__.co_filename.startswith((*_LIBRARIES, "<frozen"))
        or (function.__module__ or "").startswith("groundwire.")
    )
