"""What the rewritten assertions of the tests are answered: the value that is expected, or in its place another one.

Imported by the test modules that `control_sites` has rewritten, under a name that no code can write.
"""

from __future__ import annotations

import functools
import itertools
import operator
import unittest
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.control_case import Case, fire, is_true, outcome, turns, under_way
    from groundwire.tools.inside.control_probes import (
        asked_for_a_no,
        holds_of_what_was_lent,
        of_any_kind,
        one_changed,
        probe_for,
        probed,
        said_of,
    )
    from groundwire.tools.inside.control_sites import CHANGED_VALUE, NEGATION
    from groundwire.tools.inside.other_values import NOTHING, another, far_from
else:
    from _gw_control_case import fire, is_true, outcome, turns, under_way
    from _gw_control_probes import (
        asked_for_a_no,
        holds_of_what_was_lent,
        of_any_kind,
        one_changed,
        probe_for,
        probed,
        said_of,
    )
    from _gw_control_sites import CHANGED_VALUE, NEGATION
    from _gw_other_values import NOTHING, another, far_from

SIZED = frozenset({list, tuple, str, bytes, range, dict, set, frozenset})
ASKED, FEW = 24, 4
"""How many other values a function is asked about that said yes, and how many of these say too little."""


class Unrelated(Exception):
    """What no code raises: asked for in place of an exception that has to come out then."""


class UnrelatedWarning(UserWarning):
    """The same for warnings."""


def equal(site: int, side: int, again: Callable[[], Any] | None, left: Any, right: Any) -> Any:
    """`left == right`, where the side that is expected (0 or 1) may be another value; `again` works that side out."""
    case = under_way.case
    if case is not None and again is not None and case.changed and case.active:
        given = left if side else right
        if is_true(lambda: left == right) and not holds_of_what_was_lent(case, given, again):
            case.deceived = site
    return _compared(site, side, left, right, operator.eq)


def same(site: int, side: int, left: Any, right: Any) -> Any:
    """`left is right`, likewise."""
    return _compared(site, side, left, right, operator.is_)


def _compared(site: int, side: int, left: Any, right: Any, compare: Callable[[Any, Any], Any]) -> Any:
    case = under_way.case
    if case is None or not case.active:
        return compare(left, right)
    if turns(case, site):
        other = another(right if side else left)
        ask = (lambda: compare(left, other)) if side else (lambda: compare(other, right))
        first = None if other is NOTHING or next(under_way.tosses) else outcome(ask)
        answer = compare(left, right)
        if not is_true(lambda: answer):
            case.caught = True
            return answer  # one that is expected to fail, and is caught, can't be controlled
        fire(case, site, NEGATION if other is NOTHING else CHANGED_VALUE)
        said = not answer if other is NOTHING else ask() if first is None else first()
        case.turned_false = case.turned_false or not is_true(lambda: said)
        return said
    other = probe_for(case, right if side else left)
    if other is NOTHING:
        return compare(left, right)
    ask = (lambda: compare(left, other)) if side else (lambda: compare(other, right))
    return probed(case, site, lambda: compare(left, right), ask)


def truth(site: int, value: Any) -> Any:
    """The value of an assertion's expression, or its contrary."""
    case = under_way.case
    if case is not None and case.active and turns(case, site):
        if is_true(lambda: value):
            fire(case, site, NEGATION)
            return not value
        case.caught = True
    return value


def yes(site: int, name: str, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What a function of the project says of something, or its contrary.

    One that says yes to whatever it is given says nothing, unless the tests ask it for a no as well.
    """
    said = function(*args, **named)
    case = under_way.case
    if case is None or not case.active or not turns(case, site) or not is_true(lambda: said):
        return truth(site, said)
    others = itertools.islice(one_changed(args, named, of_any_kind), ASKED)
    answers = [said_of(lambda given: function(*given[0], **given[1]), other) for other in others]
    if said is True and len(answers) > FEW and all(a is True for a in answers) and not asked_for_a_no(name):
        case.deceived = site
    return truth(site, said)


def other(site: int, value: Any) -> Any:
    """One operand of several."""
    return _in_place_of(site, value, another)


def far(site: int, value: Any) -> Any:
    """One of two operands whose distance is asked for: beyond whatever is tolerated."""
    return _in_place_of(site, value, far_from)


def _in_place_of(site: int, value: Any, other_than: Callable[[Any], Any]) -> Any:
    case = under_way.case
    if case is not None and case.active and turns(case, site):
        found = other_than(value)
        if found is not NOTHING:
            fire(case, site, CHANGED_VALUE)
            return found
        case.kept = site
    return value


def kept(site: int, value: Any) -> Any:
    """An assertion's expression with such an operand: its contrary, where there was no other value for that."""
    case = under_way.case
    if case is None or case.kept != site or not is_true(lambda: value):
        return value
    case.kept = None
    fire(case, site, NEGATION)
    return not value


def call(
    site: int, place: int, again: Callable[[], Any] | None, function: Callable[..., Any], *args: Any, **named: Any
) -> Any:
    """An assertion that is a call; `place` is the expected argument, -1 where there is none; `again`: see `equal`."""
    case = under_way.case
    if case is None or not case.active:
        return function(*args, **named)
    if again is not None and case.changed and not holds_of_what_was_lent(case, args[1 - place], again):
        function(*args, **named)
        case.deceived = site
    if not turns(case, site):
        found = NOTHING if place < 0 else probe_for(case, args[place])
        if found is not NOTHING:
            given = args[1 - place]
            return probed(case, site, lambda: function(*args, **named), lambda: given == found, plain_holds=True)
        return function(*args, **named)
    found = NOTHING if place < 0 else another(args[place])
    case.active = place < 0  # where this one can be turned by a value, none inside of it is turned before
    try:
        ask = functools.partial(function, *args[:place], found, *args[place + 1 :], **named)
        once = found is NOTHING or any(hasattr(arg, "__next__") for arg in args)
        first = None if once or next(under_way.tosses) else outcome(ask)
        function(*args, **named)
    except BaseException:
        case.caught = True
        raise
    finally:
        case.active = True
    if case.fired not in (None, site):
        return None  # an assertion inside of it was turned, and its failure caught
    if found is not NOTHING:
        fire(case, site, CHANGED_VALUE)
        return ask() if first is None else first()
    fire(case, site, NEGATION)
    raise AssertionError("turned round: the assertion holds")


def called(site: int, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """An assertion of a mock about the arguments that it was given: another one is asked for."""
    case = under_way.case
    if case is None or not case.active or not turns(case, site):
        return function(*args, **named)
    function(*args, **named)
    for given, by_name in one_changed(args, named, lambda value: [another(value)]):
        fire(case, site, CHANGED_VALUE)
        return function(*given, **by_name)
    fire(case, site, NEGATION)
    raise AssertionError("turned round: the assertion holds")


def side_by_side(
    site: int, expected: Sequence[int], function: Callable[..., Any], *args: Any, **named: Any
) -> Iterator[Any]:
    """`zip` or `map`: where the other side has no items at all, those that are expected were compared with nothing.

    Args:
        site: of no assertion.
        expected: the places of the arguments that do not come from the project.
        function: `zip` or `map`.
        args: its arguments.
        named: those that have names.
    """
    case, rows = under_way.case, function(*args, **named)
    if case is None or not case.active or not any(type(args[n]) in SIZED and args[n] for n in expected):
        return rows
    return _noting_none(rows, case, site)


def _noting_none(rows: Iterator[Any], case: Case, site: int) -> Iterator[Any]:
    nothing = True
    for row in rows:
        nothing = False
        yield row
    if nothing and case.deceived is None:
        case.deceived = site


def error(site: int, kinds: Any) -> Any:
    """The exceptions that are expected, or one that nobody raises, so that the expected one comes out."""
    return _raising(site, kinds, Unrelated, (Exception, SystemExit))  # runners note a SystemExit as any failure


def warning(site: int, kinds: Any) -> Any:
    """The same for warnings."""
    return _raising(site, kinds, UnrelatedWarning, (Warning,))


def _raising(site: int, kinds: Any, unrelated: type, most: tuple[type, ...]) -> Any:
    case = under_way.case
    if case is None or not case.active or not turns(case, site):
        return kinds
    given = _all_of(kinds)
    for kind in given:  # what interrupts a run, or skips a case, must not come out of it
        if not (isinstance(kind, type) and issubclass(kind, most)) or issubclass(kind, unittest.SkipTest):
            return kinds
    fire(case, site, CHANGED_VALUE)
    case.wanted = tuple(given) if unrelated is Unrelated else None
    return unrelated


def _all_of(kinds: Any) -> list[Any]:
    return [*kinds] if type(kinds) is tuple else [kinds]
