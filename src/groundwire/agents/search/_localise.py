"""Fault localisation: which lines to blame, from what each test ran and how it ended.

Ochiai: Abreu, Zoeteweij, van Gemund, "On the accuracy of spectrum-based fault localization", TAICPART-MUTATION 2007.
DStar: Wong, Debroy, Gao, Li, "The DStar method for effective software fault localization", IEEE Transactions on
Reliability 63(1), 2014.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

Line = tuple[str, int]
"""Path and 1-based line."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How often a line ran in tests that failed and that passed.

    Args:
        failed_ran: failing tests that ran it.
        failed_not: failing tests that did not.
        passed_ran: passing tests that ran it.
    """

    failed_ran: int
    failed_not: int
    passed_ran: int


def ochiai(c: Counts) -> float:
    """Ochiai, 0 to 1: the cosine between "the line ran" and "the test failed"."""
    below = math.sqrt((c.failed_ran + c.failed_not) * (c.failed_ran + c.passed_ran))
    return c.failed_ran / below if below else 0.0


def dstar(c: Counts, star: int = 2) -> float:
    """DStar with its exponent; infinite where every failing test and no passing test ran the line.

    Args:
        c: the line's counts.
        star: the exponent; the authors recommend 2.
    """
    below = c.failed_not + c.passed_ran
    if not below:
        return math.inf if c.failed_ran else 0.0
    return c.failed_ran**star / below


def counts(
    coverage: Mapping[str, Mapping[str, tuple[int, ...]]], failed: Set[str], passed: Set[str]
) -> dict[Line, Counts]:
    """Counts of every line that a failing test ran.

    Args:
        coverage: case id → path → lines that ran; what ran outside of all cases (imports) stands under an empty id and
            counts as run by each of them.
        failed: ids of the failing cases.
        passed: ids of the passing cases.
    """
    ran: dict[Line, list[int]] = {}
    totals = [0, 0]
    for case, files in coverage.items():
        place = 0 if case in failed else 1 if case in passed else None
        if place is not None:
            totals[place] += 1
            for line in _lines(files):
                ran.setdefault(line, [0, 0])[place] += 1
    for line in _lines(coverage.get("", {})):
        ran[line] = list(totals)
    return {line: Counts(f, totals[0] - f, p) for line, (f, p) in ran.items() if f}


def _lines(files: Mapping[str, tuple[int, ...]]) -> set[Line]:
    return {(path, line) for path, lines in files.items() for line in lines}


def suspiciousness(table: Mapping[Line, Counts], formula: Callable[[Counts], float] = ochiai) -> dict[Line, float]:
    """Suspiciousness of every counted line, scaled so that the largest is 1.

    Args:
        table: counts by line.
        formula: `ochiai` or `dstar`.
    """
    raw = {line: formula(c) for line, c in table.items()}
    finite = [value for value in raw.values() if math.isfinite(value)]
    most = max(finite, default=0.0)
    if any(math.isinf(value) for value in raw.values()):
        # an infinite score outranks all finite ones without flattening them
        return {line: 1.0 if math.isinf(v) else 0.9 * v / most if most else 0.0 for line, v in raw.items()}
    return {line: value / most if most else 0.0 for line, value in raw.items()}
