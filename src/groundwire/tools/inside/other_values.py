"""Another value of the same type and shape, for controls: what a check is asked to be equal to in place of its own.

Only values of types that are known here are changed: built-in ones, the standard library's value types, dataclasses,
numpy's arrays and numbers, pytest's `approx`. Of anything else it is not known what another one would be.
"""

# Python 3.9 knows no zip(strict=…)
# ruff: noqa: B905
from __future__ import annotations

import copy
import dataclasses
import math
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from enum import Enum
from typing import Any

NOTHING: Any = object()
"""There is no other value."""
MAX_DEPTH = 20
FAR = 1e6


class Unlike:
    """Equal to nothing but itself; stands where a type has no second value, None's for example."""

    def __repr__(self) -> str:
        return "another value"


UNLIKE = Unlike()


def another(value: Any, depth: int = 0) -> Any:
    """Another value, or `NOTHING`.

    Args:
        value: never changed itself.
        depth: how many containers it lies in.
    """
    if depth > MAX_DEPTH:
        return NOTHING
    try:
        found = _made(value, depth)
        tolerant = hasattr(value, "expected")  # to be equal to what it tolerates is what it is for
        return NOTHING if found is NOTHING or (not tolerant and _equal(found, value)) else found
    except Exception:  # a value that can't be copied, ordered or compared
        return NOTHING


def far_from(value: Any) -> Any:
    """A number so far away that hardly any tolerance spans it; another value of what is no number."""
    if _kind_of(value) in (int, float):
        return _further(value) if math.isfinite(value) else another(value)
    return another(value)


def around(value: Any) -> list[Any]:
    """Other values on either side of one that has an order, near and far; others of its type where it has none.

    Args:
        value: never changed itself.
    """
    try:
        found = _around(value)
    except Exception:  # a type that is bounded more narrowly than others of its kind
        found = [another(value)]
    return [item for item in found if item is not NOTHING]


def _around(value: Any) -> list[Any]:
    kind = _kind_of(value)
    if kind in (int, float) or (kind.__module__ in ("decimal", "fractions") and hasattr(value, "real")):
        if value != value or value in (math.inf, -math.inf):
            return [kind(0), kind(1), kind(-1), kind(-value)]
        return [value + kind(sign * step) for step in (1, 3, 40, 700, 10**7, 10**12) for sign in (1, -1)]
    if kind in (str, bytes):
        text = value if kind is str else value.decode("latin-1")
        found = [another(text), "", "!", f"{text}x", text[:-1], "~" * (len(text) + 1), text[::-1], "0", "m", "Q7"]
        return [other if kind is str else other.encode("latin-1") for other in found if other != text]
    if kind in (tuple, list):
        sides = (around(value[0]) if value else [0]) + [another(value[0]) if value else 1]
        return [kind(), another(value), *(kind([side, *value[1:]]) for side in sides if side is not NOTHING)]
    if kind.__module__ == "datetime" and hasattr(kind, "min") and not getattr(value, "tzinfo", None):
        return [another(value), kind.min, kind.max]
    return [another(value)]


def _kind_of(value: object) -> Any:
    return type(value)


def _equal(first: Any, second: Any) -> bool:
    same = first == second
    if type(same) is bool:
        return same
    if hasattr(same, "all"):  # numpy compares element by element
        return bool(same.all()) if same.size else first.shape == second.shape
    return bool(same)


def _made(value: Any, depth: int) -> Any:
    kind = _kind_of(value)
    simple = _SIMPLE.get(kind)
    if simple is not None:
        return simple(value)
    if kind in _CONTAINERS:
        return _container(value, kind, depth)
    if tuple in kind.__mro__ and hasattr(kind, "_fields"):
        changed = _one_changed(list(value), depth)
        return NOTHING if changed is None else kind._make(changed)
    if issubclass(kind, Enum):
        members: list[Any] = list(kind)
        return next((member for member in members if member is not value), UNLIKE)
    if value is None or value is Ellipsis or value is NotImplemented:
        return UNLIKE
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value, depth)
    for module, make in _BY_MODULE:
        if kind.__module__.partition(".")[0] == module:
            return make(value, depth)
    return NOTHING


# --- numbers and texts


def _float(value: float) -> float:
    if math.isnan(value):
        return 1.0
    if math.isinf(value):
        return -value
    far = value + max(1.0, abs(value))
    return far if math.isfinite(far) else value / 2


def _text(value: str) -> str:
    """As long, one letter changed, so that neither case nor layout makes up for it."""
    if not value:
        return "x"
    place = next((i for i in range(len(value) - 1, -1, -1) if value[i].isalnum()), len(value) - 1)
    return value[:place] + ("y" if value[place] in "xX" else "x") + value[place + 1 :]


def _bytes(value: bytes) -> bytes:
    return value[:-1] + bytes([(value[-1] + 1) % 256]) if value else b"x"


_SIMPLE: dict[type, Callable[[Any], Any]] = {
    bool: lambda value: not value,
    int: lambda value: value + max(1, abs(value)),
    float: _float,
    complex: lambda value: complex(_float(value.real), value.imag),
    str: _text,
    bytes: _bytes,
    bytearray: lambda value: bytearray(_bytes(bytes(value))),
    range: lambda value: range(value.start + 1, value.stop + 2, value.step) if value else range(1),
}


# --- containers

_SETS = frozenset({set, frozenset})
_CONTAINERS = _SETS | {list, tuple, dict, OrderedDict, defaultdict, Counter, deque}


def _one_changed(items: list[Any], depth: int) -> list[Any] | None:
    """The items with the last one changed that can be; None where none can."""
    for place in range(len(items) - 1, -1, -1):
        other = another(items[place], depth + 1)
        if other is not NOTHING:
            return [*items[:place], other, *items[place + 1 :]]
    return None


def _container(value: Any, kind: Any, depth: int) -> Any:
    if kind is Counter:
        return value + Counter({next(iter(value), UNLIKE): 1})
    if issubclass(kind, dict):
        made = copy.copy(value)
        changed = _one_changed(list(value.values()), depth)
        if changed is None:
            made[UNLIKE] = UNLIKE
        else:
            made.update(zip(value, changed))
        return made
    items: list[Any] = list(value)
    if kind in _SETS:
        other = another(items[0], depth + 1) if items else UNLIKE
        return kind([*items[1:], UNLIKE if other is NOTHING or other in value else other])
    changed = _one_changed(items, depth)
    return kind([*items, UNLIKE] if changed is None else changed)


def _dataclass(value: Any, depth: int) -> Any:
    for field in dataclasses.fields(value):
        other = another(getattr(value, field.name), depth + 1) if field.compare else NOTHING
        if other is not NOTHING:
            made = copy.copy(value)
            object.__setattr__(made, field.name, other)
            return made
    return NOTHING


# --- types of modules that need not be there


def _decimal(value: Any, _depth: int) -> Any:
    return type(value)(1) if not value.is_finite() else value + max(type(value)(1), abs(value))


def _fraction(value: Any, _depth: int) -> Any:
    return value + max(1, abs(value))


def _moment(value: Any, _depth: int) -> Any:
    import datetime

    if isinstance(value, datetime.timedelta):
        return value + datetime.timedelta(days=1)
    if isinstance(value, datetime.time):
        return value.replace(hour=(value.hour + 1) % 24)
    if isinstance(value, datetime.date):
        return value.replace(year=value.year + (4 if value.year < 9990 else -4))
    return NOTHING


def _path(value: Any, _depth: int) -> Any:
    return value.with_name(_text(value.name)) if value.name else value / "x"


def _uuid(value: Any, _depth: int) -> Any:
    return type(value)(int=value.int ^ 1)


def _numpy(value: Any, _depth: int) -> Any:
    numpy = sys.modules["numpy"]
    if type(value) is not numpy.ndarray:
        return value.dtype.type(_simple(value.item())) if isinstance(value, numpy.generic) else NOTHING
    if not value.size:
        return numpy.append(value, numpy.zeros(1, value.dtype))
    made = value.copy()
    # the last number that is one: nan and inf are often taken as they come
    places = range(value.size - 1, -1, -1)
    finite = (i for i in places if value.dtype.kind not in "fc" or numpy.isfinite(value.flat[i]))
    place = next(finite, value.size - 1)
    if value.dtype.kind in "mM":
        made.flat[place] = value.flat[place] + 1
    elif value.dtype.kind == "O":
        other = another(value.flat[place])
        made.flat[place] = UNLIKE if other is NOTHING else other
    elif value.dtype.kind == "u":
        made.flat[place] = 1 if value.flat[place] != 1 else 2
    else:
        made.flat[place] = _simple(value.flat[place].item())
    return made


def _simple(value: Any) -> Any:
    return _SIMPLE[type(value)](value)


def _approximate(value: Any, depth: int) -> Any:
    """pytest's `approx`: as tolerant as before, and around another value."""
    made: Any = NOTHING
    if not hasattr(value, "expected"):
        return made
    nothing = 0 if type(value.expected) in (int, float) else NOTHING  # of which a share is nothing as well
    for expected in (another(value.expected, depth + 1), nothing, _further(value.expected)):
        if expected is not NOTHING:
            made = copy.copy(value)
            made.expected = expected
            if not _equal(value.expected, made):
                return made
    return made  # so tolerant that nothing is beyond it, which has to be seen


def _further(expected: Any) -> Any:
    return expected * FAR + FAR if type(expected) in (int, float) else NOTHING


_BY_MODULE: tuple[tuple[str, Callable[[Any, int], Any]], ...] = (
    ("decimal", _decimal),
    ("fractions", _fraction),
    ("datetime", _moment),
    ("pathlib", _path),
    ("uuid", _uuid),
    ("numpy", _numpy),
    ("_pytest", _approximate),
)
