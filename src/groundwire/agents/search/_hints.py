"""What the words of a failure say about the kind of edit that is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping

from groundwire.core._signals import Signal

MAX_CASES = 20
MAX_CHARS = 4000

_SAID: tuple[tuple[re.Pattern[str], Mapping[str, float]], ...] = (
    (
        re.compile(r"TypeError: .*(required (positional|keyword-only) argument|positional arguments? but|"
                   r"unexpected keyword argument|multiple values for|expected (at least|at most|exactly)?\s?\d+ arg)"),
        {"args.add": 4.0, "args.drop": 4.0, "args.keyword": 6.0, "args.swap": 2.0, "call.swap": 2.0,
         "method.swap": 2.0},
    ),
    (
        re.compile(r"AttributeError: .*has no attribute"),
        {"attribute.swap": 4.0, "attribute.add": 3.0, "method.swap": 4.0, "method.add": 2.0, "name.swap": 2.0,
         "attribute.self": 3.0, "const.type": 2.0, "call.wrap": 2.0, "stmt.keep": 4.0, "args.drop": 1.5},
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
         "compare.shifted": 3.0, "loop.range_bounds": 3.0, "except.kind": 4.0, "index.to_slice": 2.0},
    ),
    (
        re.compile(r"KeyError: "),
        {"str.case": 2.0, "str.borrow": 2.0, "str.delete": 2.0, "except.kind": 4.0, "method.swap": 2.0,
         "compare.negate": 1.5, "name.swap": 1.5},
    ),
    (
        re.compile(r"DID NOT RAISE|(Error|Exception) not raised"),
        {"raise.early": 5.0, "stmt.borrow": 3.0, "cond.add_clause": 1.5, "stmt.delete": 0.5},
    ),
)  # fmt: skip
"""Text of a failure → operator → how many times likelier it is than its prior says."""


def hints(failure: Signal | None) -> Mapping[str, float]:
    """How many times likelier each operator is in view of a failure's words; absent: 1.

    Args:
        failure: of the base tree.
    """
    found: dict[str, float] = {}
    for case in failure.evidence.failed()[:MAX_CASES] if failure else ():
        said = case.message[-MAX_CHARS:]
        for pattern, factors in _SAID:
            if pattern.search(said):
                for name, factor in factors.items():
                    found[name] = max(found.get(name, 0.0), factor)
    return found


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
