"""Values that are a little different from a given one, of the same type."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, cast

__all__ = ["mutated"]

LETTERS = "abzAZ 01,.()"
DONOR_SHARE = 0.1
LARGE = 1e15


def mutated(value: Any, donors: Sequence[Any], source: random.Random) -> Any:
    """A changed copy; the value itself where nothing is known about its type.

    Args:
        value: what is changed.
        donors: values of which one of the same type may be taken instead.
        source: of chance.
    """
    kind = cast("type[Any]", type(value))
    change = _CHANGES.get(kind)
    if change is None:
        return value
    alike = [d for d in donors if type(d) is kind and d != value]
    if alike and source.random() < DONOR_SHARE:
        return copy.deepcopy(source.choice(alike))
    return change(value, donors, source)


def _bool(value: bool, _donors: Sequence[Any], _source: random.Random) -> bool:
    return not value


def _int(value: int, _donors: Sequence[Any], source: random.Random) -> int:
    near = [value + 1, value - 1, value + 2, 0, 1, 2, -value, value // 2, value + source.randint(3, 9)]
    return source.choice([*near, value * 2, source.randint(0, 20), source.randint(0, max(2, abs(value)))])


def _float(value: float, _donors: Sequence[Any], source: random.Random) -> float:
    if not abs(value) < LARGE:
        return 1.0  # beyond that, and with infinities, most changes are none
    near = [value + 1, value - 1, value + 0.5, 0.0, -value, value * 2, value / 2]
    return source.choice([*near, float(round(value)), round(source.uniform(-10, 10), 1)])


def _str(value: str, _donors: Sequence[Any], source: random.Random) -> str:
    if not value:
        return source.choice(("a", "A", "ab", " "))
    i, j = sorted(source.choices(range(len(value)), k=2))
    letter = source.choice((value[i], value[j], source.choice(LETTERS)))
    made = [
        value[:i] + value[i + 1 :], value[:i] + letter + value[i:], value[:i] + letter + value[i + 1 :],
        value[:i] + value[i] + value[i:], value[:j], value[i:], value[::-1], value + value, value.swapcase(),
        "".join(source.sample(value, len(value))), "",
    ]  # fmt: skip
    return source.choice(made)


def _list(value: Sequence[Any], donors: Sequence[Any], source: random.Random) -> list[Any]:
    items = copy.deepcopy(list(value))
    if not items:
        full = [cast("Sequence[Any]", d) for d in donors if isinstance(d, (list, tuple)) and d]
        return copy.deepcopy(list(source.choice(full)[:1])) if full else [1]
    i, j = sorted(source.choices(range(len(items)), k=2))
    match source.randrange(9):
        case 0:
            del items[i]
        case 1:
            items.insert(i, copy.deepcopy(items[j]))
        case 2:
            items[i] = mutated(items[i], donors, source)
        case 3:
            items.reverse()
        case 4:
            items[i], items[j] = items[j], items[i]
        case 5:
            items.insert(i, mutated(items[i], donors, source))
        case 6:
            items = [mutated(item, donors, source) if source.random() < 0.5 else item for item in items]
        case 7:
            items = items[: j + 1]
        case _:
            items = items[i:] if source.random() < 0.8 else []
    return items


def _tuple(value: tuple[Any, ...], donors: Sequence[Any], source: random.Random) -> tuple[Any, ...]:
    # a tuple's length tends to mean something
    items = list(value)
    if items:
        place = source.randrange(len(items))
        items[place] = mutated(items[place], donors, source)
    return tuple(items)


def _set(value: set[Any], donors: Sequence[Any], source: random.Random) -> set[Any]:
    return {item for item in _list(sorted(value, key=repr), donors, source) if isinstance(item, Hashable)}


def _dict(value: dict[Any, Any], donors: Sequence[Any], source: random.Random) -> dict[Any, Any]:
    items = copy.deepcopy(value)
    if items:
        key = source.choice(list(items))
        match source.randrange(3):
            case 0:
                del items[key]
            case 1:
                items[key] = mutated(items[key], donors, source)
            case _:
                items[mutated(key, donors, source)] = mutated(items[key], donors, source)
    return items


_CHANGES: Mapping[type, Callable[[Any, Sequence[Any], random.Random], Any]] = {
    bool: _bool, int: _int, float: _float, str: _str, list: _list, tuple: _tuple, set: _set, dict: _dict,
}  # fmt: skip
