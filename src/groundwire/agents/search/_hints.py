"""What the words of a failure, and the two values of an assertion, say about the kind of edit that is missing."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, cast

from groundwire.core._signals import Signal

MAX_CASES = 20
MAX_CHARS = 4000
MAX_LINES = 6

_SAID: tuple[tuple[re.Pattern[str], Mapping[str, float]], ...] = (
    (
        re.compile(r"TypeError: .*(required (positional|keyword-only) argument|positional arguments? but|"
                   r"unexpected keyword argument|multiple values for|expected (at least|at most|exactly)?\s?\d+ arg)"),
        {"args.add": 4.0, "args.drop": 4.0, "args.keyword": 6.0, "args.swap": 2.0, "call.swap": 2.0,
         "method.swap": 2.0, "args.star": 6.0, "decorator.add": 6.0},
    ),
    (
        re.compile(r"'?NoneType'? (object )?(has no|is not|and|>|is|can)|not 'NoneType'|and 'NoneType'|not NoneType"),
        {"fallback.none": 6.0, "fallback.or": 5.0, "fallback.else": 5.0, "cond.none": 2.0, "cond.add_clause": 3.0,
         "cond.add_guard": 2.0, "return.add": 3.0, "init.value": 2.0, "return.early": 2.0},
    ),
    (
        re.compile(r"AttributeError: .*has no attribute"),
        {"attribute.swap": 4.0, "attribute.add": 3.0, "method.swap": 4.0, "method.add": 2.0, "name.swap": 2.0,
         "attribute.self": 3.0, "const.type": 2.0, "call.wrap": 2.0, "stmt.keep": 4.0, "args.drop": 1.5,
         "fallback.attribute": 6.0, "alternative.exception": 3.0, "decorator.add": 4.0, "fallback.caught": 3.0},
    ),
    (
        re.compile(r"NameError: |UnboundLocalError: "),
        {"name.swap": 3.0, "name.target": 4.0, "attribute.self": 5.0, "stmt.copy": 3.0, "stmt.borrow": 3.0,
         "stmt.update": 3.0, "stmt.move": 3.0, "stmt.dedent": 2.0},
    ),
    (
        re.compile(r"TypeError: .*(unsupported operand|can only concatenate|must be str|not supported between|"
                   r"object is not (iterable|subscriptable|callable)|indices must be|unhashable|has no len)"),
        {"call.wrap": 3.0, "method.add": 4.0, "attribute.add": 4.0, "const.type": 4.0, "const.name": 3.0,
         "name.swap": 2.0, "args.swap": 2.0, "name.element": 2.0, "index.add": 2.0, "index.from_slice": 3.0,
         "expr.hoist": 2.0, "cond.add_guard": 1.5, "cond.add_clause": 1.5},
    ),
    (
        re.compile(r"IndexError: "),
        {"index.off_by_one": 3.0, "slice.bounds": 2.0, "const.off_by_one": 2.0, "compare.boundary": 2.0,
         "compare.shifted": 3.0, "loop.range_bounds": 3.0, "except.kind": 4.0, "index.to_slice": 2.0,
         "alternative.exception": 6.0, "fallback.caught": 3.0},
    ),
    (
        re.compile(r"KeyError: "),
        {"str.case": 2.0, "str.borrow": 2.0, "str.delete": 2.0, "except.kind": 4.0, "method.swap": 2.0,
         "compare.negate": 1.5, "name.swap": 1.5, "fallback.get": 6.0, "alternative.exception": 6.0,
         "fallback.caught": 4.0},
    ),
    (
        re.compile(r"(ValueError|TypeError|OSError|StopIteration): "),
        {"alternative.exception": 4.0, "fallback.caught": 3.0, "except.kind": 2.0},
    ),
    (
        re.compile(r"ZeroDivisionError: "),
        {"fallback.else": 8.0, "return.early": 6.0, "cond.add_guard": 3.0, "fallback.or": 3.0, "cond.add_clause": 2.0,
         "call.bound": 4.0},
    ),
    (
        re.compile(r"RecursionError|maximum recursion depth"),
        {"return.early": 6.0, "arith.add_term": 3.0, "const.off_by_one": 2.0, "name.swap": 2.0, "expr.hoist": 2.0,
         "method.swap": 2.0, "call.swap": 2.0, "cond.add_guard": 2.0, "slice.add": 2.0},
    ),
    (
        re.compile(r"(arg is an empty sequence|iterable argument is empty|IndexError: )"),
        {"return.early": 3.0, "fallback.else": 4.0, "cond.add_guard": 1.5, "cond.add_clause": 1.5, "args.add": 1.5},
    ),
    (re.compile(r"Unicode(De|En)codeError: "), {"args.add": 4.0, "str.borrow": 1.5, "str.const": 1.5}),
    (
        re.compile(r"NameError: name '\w+' is not defined"),
        {"import.add": 4.0},
    ),
    (
        re.compile(r"changed size during iteration|mutated during iteration"),
        {"call.copy": 20.0, "call.wrap": 3.0, "loop.iterable": 3.0},
    ),
    (
        re.compile(r"DID NOT RAISE|(Error|Exception) not raised"),
        {"raise.early": 5.0, "stmt.borrow": 3.0, "cond.add_clause": 1.5, "stmt.delete": 0.5},
    ),
)  # fmt: skip
"""Text of a failure → operator → how many times likelier it is than its prior says."""


# What the two values of an assertion have to do with each other. Which of them was expected is not told, so each
# relation holds both ways.


def _are_numbers(a: object, b: object) -> bool:
    return type(a) in (int, float) and type(b) in (int, float)


def _one_apart(a: Any, b: Any) -> bool:
    return type(a) is type(b) is int and abs(a - b) == 1


def _negative(a: Any, b: Any) -> bool:
    return _are_numbers(a, b) and a == -b


def _reordered(a: Any, b: Any) -> bool:
    return _are_sequences(a, b) and len(a) == len(b) and sorted(map(repr, a)) == sorted(map(repr, b))


def _contained(a: Any, b: Any) -> bool:
    """One is a beginning, an end or a part of the other."""
    if not _are_sequences(a, b) or len(a) == len(b):
        return False
    short, long = sorted((a, b), key=len)
    return any(long[place : place + len(short)] == short for place in range(len(long) - len(short) + 1))


def _are_sequences(a: object, b: object) -> bool:
    return type(a) is type(b) and isinstance(a, (str, list, tuple))


def _nothing(a: object, b: object) -> bool:
    return (a is None) != (b is None)


def _of_other_kind(a: object, b: object) -> bool:
    return type(a) is not type(b) and not _are_numbers(a, b) and a is not None and b is not None


def _but_for_case(a: object, b: object) -> bool:
    return isinstance(a, str) and isinstance(b, str) and a.lower() == b.lower()


def _but_for_spaces(a: object, b: object) -> bool:
    return isinstance(a, str) and isinstance(b, str) and "".join(a.split()) == "".join(b.split())


_RELATIONS: tuple[tuple[Callable[[Any, Any], bool], Mapping[str, float]], ...] = (
    (
        _one_apart,
        {"compare.boundary": 1.5, "const.off_by_one": 1.5, "loop.range_bounds": 1.5, "arith.add_term": 1.5,
         "compare.shifted": 1.5, "init.value": 1.5},
    ),
    (_negative, {"arith.sign": 4.0, "arith.operands": 3.0, "arith.swap": 1.5, "args.swap": 1.5}),
    (
        _reordered,
        {"call.order": 4.0, "args.add": 2.0, "args.drop": 2.0, "slice.add": 2.0, "element.swap": 2.0, "call.swap": 2.0,
         "loop.iterable": 2.0, "assign.reversed": 3.0, "arith.operands": 2.0, "stmt.move": 1.5},
    ),
    (
        _contained,
        {"loop.range_bounds": 1.5, "slice.bounds": 2.0, "slice.add": 2.0, "compare.boundary": 1.5, "stmt.update": 2.0,
         "stmt.copy": 2.0, "stmt.dedent": 1.5, "cond.remove": 1.5, "call.collect": 2.0, "expr.hoist": 1.5},
    ),
    (_nothing, {"return.add": 4.0, "return.discarded": 3.0, "return.change": 2.0, "init.value": 2.0,
                "stmt.dedent": 1.5, "fallback.or": 4.0, "fallback.else": 3.0, "fallback.none": 3.0, "cond.none": 3.0,
                "fallback.get": 2.0}),
    (_of_other_kind, {"call.wrap": 2.0, "method.add": 2.0, "const.type": 2.0, "expr.hoist": 2.0, "init.value": 1.5}),
    (_but_for_case, {"call.wrap": 3.0, "method.swap": 4.0, "method.add": 3.0, "str.case": 4.0, "expr.hoist": 2.0}),
    (
        _but_for_spaces,
        {"str.const": 3.0, "str.insert": 4.0, "str.delete": 3.0, "call.wrap": 2.0, "method.add": 2.0,
         "method.swap": 2.0},
    ),
)  # fmt: skip
"""Relation of the two values → operator → how many times likelier it is."""
_MOST = 0.5
"""The part of the cases with two values that a relation has to hold for."""


_BETWEEN = (("assert ", " == "), (" differ: ", " != "), ("Error: ", " != "), (" diff: ", " != "), ("  ", " != "))
"""What stands before and between the two values in the words of an assertion; last, where pytest shows an item."""
_ABSENT = object()


def _values(message: str) -> tuple[object, object] | None:
    """The two values that an assertion found to differ, where both are literals: the only parts that differ."""
    for line in message[:MAX_CHARS].splitlines()[:MAX_LINES]:
        for before, between in _BETWEEN:
            one, found, other = line.partition(before)[2].partition(between)
            if not found:
                continue
            try:
                values = ast.literal_eval(one.strip()), ast.literal_eval(other.strip())
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                continue
            if repr(values[0]) != repr(values[1]):  # what was shortened can look the same
                return _apart(*values)
    return None


def _apart(one: object, other: object) -> tuple[object, object]:
    """The parts of two values that differ, as deep inside as there is only one."""
    differing = [pair for pair in _parts(one, other) if repr(pair[0]) != repr(pair[1])]
    return _apart(*differing[0]) if len(differing) == 1 and _ABSENT not in differing[0] else (one, other)


def _parts(one: Any, other: Any) -> list[tuple[object, object]]:
    """What two values of one shape hold at the same places."""
    if type(one) is type(other) is dict:
        mine, theirs = cast("dict[object, object]", one), cast("dict[object, object]", other)
        return [(mine.get(key, _ABSENT), theirs.get(key, _ABSENT)) for key in {**mine, **theirs}]
    if type(one) is type(other) and isinstance(one, (list, tuple)):
        first, second = cast("list[object]", one), cast("list[object]", other)
        return list(zip(first, second, strict=True)) if len(first) == len(second) else []
    return []


def hints(failure: Signal | None) -> Mapping[str, float]:
    """How many times likelier each operator is in view of a failure's words and values; absent: 1.

    Args:
        failure: of the base tree.
    """
    found: dict[str, float] = {}
    related: Counter[int] = Counter()
    compared = 0
    for case in failure.evidence.failed()[:MAX_CASES] if failure else ():
        said = case.message[-MAX_CHARS:]
        for pattern, factors in _SAID:
            if pattern.search(said):
                _raise(found, factors)
        if (values := _values(case.message)) is not None:
            compared += 1
            related.update(n for n, (holds, _) in enumerate(_RELATIONS) if holds(*values))
    for number, count in related.items():
        if count >= _MOST * compared:
            _raise(found, _RELATIONS[number][1])
    return found


def _raise(found: dict[str, float], factors: Mapping[str, float]) -> None:
    for name, factor in factors.items():
        found[name] = max(found.get(name, 0.0), factor)


_MISSING = re.compile(
    r"(?:AttributeError: .{0,200}has no attribute|(?:Name|UnboundLocal)Error: (?:cannot access local variable|name)"
    r"|unexpected keyword argument) '(\w{1,80})'"
)
_PRIVATE = re.compile(r"_[A-Za-z]\w*?(__\w+)")


def missing_names(failure: Signal | None) -> frozenset[str]:
    """The names, attributes and keywords that a failure says there are none of, as they stand in the source.

    Args:
        failure: of the base tree.
    """
    found: set[str] = set()
    for case in failure.evidence.failed()[:MAX_CASES] if failure else ():
        for name in _MISSING.findall(case.message[:MAX_CHARS]):
            private = _PRIVATE.fullmatch(name)
            found.add(private[1] if private else name)
    return frozenset(found)
