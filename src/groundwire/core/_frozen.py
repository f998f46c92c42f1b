"""Frozen dataclasses that are made in a third of the time.

    @quickly_made
    @dataclass(frozen=True)
    class Judged: …

`dataclass(frozen=True)` sets each field by a call of `object.__setattr__`, so that a record of fourteen fields takes
five times as long to make as one that may be changed. An episode of three trials makes two hundred, and whoever reads a
ledger makes all of its records again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


class _Unsaid:
    """Stands where a field is not given and its default is made each time."""

    def __repr__(self) -> str:
        return "<factory>"


_UNSAID = _Unsaid()


def quickly_made(kind: type[T]) -> type[T]:
    """Gives a frozen dataclass, one without slots, an `__init__` that fills in what it keeps its fields in."""
    space: dict[str, Any] = {"_unsaid": _UNSAID}
    by_place: list[str] = []
    by_name: list[str] = []
    lines = ["own = self.__dict__"]
    for field in fields(kind):  # pyright: ignore[reportArgumentType]  # which no type says of a class
        name, value, said = field.name, field.name, field.name
        if field.default is not MISSING:
            space[f"_default_{name}"] = field.default
            said = f"{name}=_default_{name}"
        elif field.default_factory is not MISSING:
            space[f"_make_{name}"] = field.default_factory
            said, value = f"{name}=_unsaid", f"_make_{name}() if {name} is _unsaid else {name}"
        (by_name if field.kw_only else by_place).append(said)
        lines.append(f"own[{name!r}] = {value}")
    if hasattr(kind, "__post_init__"):
        lines.append("self.__post_init__()")
    taken = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    # only names of our own classes' fields are in it, as in what `dataclass` itself runs
    exec("\n ".join([f"def __init__({taken}):", *lines]), space)
    made: Callable[..., None] = space["__init__"]
    made.__qualname__, made.__module__ = f"{kind.__qualname__}.__init__", kind.__module__
    made.__annotations__ = kind.__init__.__annotations__
    kind.__init__ = made
    return kind
