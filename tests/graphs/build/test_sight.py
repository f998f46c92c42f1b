"""What a look through a function or object finds, and where it stops."""

from __future__ import annotations

from typing import Any

from groundwire.graphs.build._reachable import MOST, MOST_ITEMS, look


class Box:
    def __init__(self, **content: Any) -> None:
        self.__dict__.update(content)


def finds(root: object, wanted: object, **options: Any) -> bool:
    return any(value is wanted for value in look(root, **options).values)


def test_a_cycle_of_objects_ends_and_each_is_seen_once() -> None:
    one, other = Box(), Box()
    one.other, other.one = other, one  # type: ignore[attr-defined]
    values = look(one).values
    assert sum(value is one for value in values) == 1
    assert sum(value is other for value in values) == 1


def test_what_it_stops_at_is_seen_but_not_looked_into() -> None:
    hidden = object()

    class Closed(Box): ...

    closed = Closed(hidden=hidden)
    assert finds(Box(closed=closed), closed, stop_at=(Closed,))
    assert finds(Box(closed=closed), hidden)
    assert not finds(Box(closed=closed), hidden, stop_at=(Closed,))


def test_it_is_bounded() -> None:
    wanted = object()
    assert not finds([*range(1000, 1000 + MOST_ITEMS), wanted], wanted)
    assert finds([*range(1000, 1000 + MOST_ITEMS - 1), wanted], wanted)
    deep: Any = [object()]
    for _ in range(2 * MOST):
        deep = [deep]
    assert len(look(deep).values) == MOST


def test_the_inside_of_libraries_is_not_looked_at() -> None:
    import textwrap

    def uses(text: str) -> str:
        return textwrap.fill(text)

    values = look(uses).values
    assert textwrap.fill in values
    assert textwrap.TextWrapper not in values
