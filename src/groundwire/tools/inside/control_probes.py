"""Whether what an assertion compares with would agree to anything: it is asked about other values besides.

None of these questions turns an assertion round. What agrees to another value as well has deceived the case.
"""

# Python 3.9 knows no zip(strict=…)
# ruff: noqa: B905, PTH123
from __future__ import annotations

import ast
import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire.tools.inside.control_case import Case, is_true, under_way
    from groundwire.tools.inside.control_sites import NOWHERE, names_denied
    from groundwire.tools.inside.other_values import NOTHING, another, around
else:
    from _gw_control_case import Case, is_true, under_way
    from _gw_control_sites import NOWHERE, names_denied
    from _gw_other_values import NOTHING, another, around

PROBES = 500
"""Comparisons with another value in a case that is not turned."""
PROBED_ITEMS = 10_000
WORDS = 200
"""Comparisons of a case in which an object under test has the word, and is asked about other values as well."""
TOLD = (bool, int, float, complex)
REMADE = 12
"""Objects that are made of other values, in place of one."""
NEAR = slice(4, 8)
"""Of the values around one, those with which nothing grows without bounds."""


def probe_for(case: Case, expected: Any) -> Any:
    """Another value for an assertion that is not turned: it must not be equal to that as well."""
    if case.turning or case.probes >= PROBES:
        return NOTHING
    try:
        if len(expected) > PROBED_ITEMS:
            return NOTHING
    except Exception:  # most values have no length
        pass
    case.probes += 1
    return another(expected)


def probed(
    case: Case, site: int, plain: Callable[[], Any], probe: Callable[[], Any], *, plain_holds: bool = False
) -> Any:
    """The plain answer; the other comparison comes before or after it, as a coin falls."""
    before = next(under_way.tosses)
    said = before and is_true(probe)
    answer = plain()
    if (plain_holds or is_true(lambda: answer)) and (said or (not before and is_true(probe))):
        case.deceived = site
    return answer


def own_word_of(ask: Callable[[Any], Any], operand: Any, contrary: Callable[[Any], Any] | None) -> Any:
    """See `Controls.own_word_of`."""
    case = under_way.case
    others = _others(operand) if case is not None and case.active and case.words < WORDS else []
    if case is None or not others:
        return ask(operand)
    case.words += 1
    place = sum(next(under_way.tosses) << bit for bit in range(8)) % (len(others) + 1)
    said = [said_of(ask, other) for other in others[:place]]
    answer = ask(operand)
    said += [said_of(ask, other) for other in others[place:]]
    decides = type(answer) in TOLD and (contrary is not None or answer is not False)
    both = contrary is not None and answer is True and said_of(contrary, operand) is True
    if both or (decides and all(type(word) is type(answer) and word == answer for word in said)):
        case.deceived = NOWHERE if case.fired is None else case.fired
    return answer


def _others(operand: Any) -> list[Any]:
    """Other values; for an object that the tests have made of values, objects that are made of other ones."""
    try:
        kind, args, named = object.__getattribute__(operand, "_groundwire_made")
    except AttributeError:
        return around(operand)
    found: list[Any] = []
    for given, by_name in one_changed(args, named, lambda value: [another(value), *around(value)[NEAR]]):
        if len(found) >= REMADE:
            break
        with contextlib.suppress(Exception):  # it is made of no such value
            found.append(kind(*given, **by_name))
    return found


def of_any_kind(value: Any) -> list[Any]:
    """Other values, first of its own type, then of others."""
    try:
        object.__getattribute__(value, "_groundwire_made")
    except AttributeError:
        return [another(value), *around(value)[NEAR], None, [], "?", 1j]
    return _others(value)


def one_changed(
    args: tuple[Any, ...], named: dict[str, Any], others: Callable[[Any], list[Any]]
) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments with one of them another value."""
    for place, given in enumerate(args):
        for other in others(given):
            if other is not NOTHING:
                yield (*args[:place], other, *args[place + 1 :]), named
    for name, given in named.items():
        for other in others(given):
            if other is not NOTHING:
                yield args, {**named, name: other}


def said_of(ask: Callable[[Any], Any], other: Any) -> Any:
    """What is said of another value, or the error that comes of asking."""
    try:
        return ask(other)
    except Exception as error:  # that it can't say is another answer
        return error


def asked_for_a_no(name: str) -> bool:
    """True if in a file of the tests something is asserted of that function's answer but that it is a yes."""
    for path in under_way.files:
        with contextlib.suppress(OSError, SyntaxError, ValueError, RecursionError):
            with open(path, "rb") as file:
                content = file.read()
            if name.encode() in content and name in names_denied(ast.parse(content)):
                return True
    return False


# --- what the tests have lent


def holds_of_what_was_lent(case: Case, given: Any, again: Callable[[], Any]) -> bool:
    """False where something is only equal to what is expected of arguments that were emptied or replaced meanwhile."""
    changed = [(thing, before) for thing, before in case.changed.values() if _is_gone(thing, before)]
    gone = [(thing, before) for thing, before in changed if not thing or thing is not given]  # it may give back its own
    if not gone:
        return True
    now = [copy.copy(thing) for thing, _ in gone]
    try:
        for thing, before in gone:
            _put(thing, before)
        wanted = copy.copy(again())
    except Exception:  # it can't be worked out of them
        return True
    finally:
        for (thing, _), items in zip(gone, now):
            _put(thing, items)
    return is_true(lambda: given == wanted)


def _is_gone(thing: Any, before: Any) -> bool:
    """True if a container held something, and nothing of that is left."""
    if type(thing) not in (list, set, dict) or not before:
        return False
    was = before[: len(before) // 2] if type(thing) is dict else before
    return not any(item in thing for item in was)


def _put(thing: Any, items: Any) -> None:
    """Makes a container hold these: a copy of it, or items as `Codec` notes them."""
    thing.clear()
    if not hasattr(thing, "keys"):
        (thing.extend if hasattr(thing, "extend") else thing.update)(items)
    else:
        half = len(items) // 2
        thing.update(items if hasattr(items, "keys") else zip(items[:half], items[half:]))
