"""What is noted of each case before anybody can touch its report, and what may not be replaced."""

from __future__ import annotations

import builtins
import unittest
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import _pytest.assertion.rewrite
import _pytest.python
import _pytest.reports
import _pytest.runner
import pytest

if TYPE_CHECKING:
    from groundwire.tools.inside.recorder import cut, explain, origin_of
else:
    from _gw_recorder import cut, explain, origin_of

_skips: tuple[type, ...] = (pytest.skip.Exception, unittest.SkipTest, pytest.xfail.Exception)
BAD = ("failed", "error")
RANK = {"": 0, "passed": 1, "skipped": 2, "xfailed": 3, "xpassed": 4, "error": 5, "failed": 6}


def unique(ids: Iterable[str]) -> list[str]:
    """Tells equal ids apart as our side of the wall does: the second `x` becomes `x#2`."""
    seen: dict[str, int] = {}
    names: list[str] = []
    for name in ids:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def watched() -> dict[str, Any]:
    """The functions that decide what a case's outcome is; none of them may be replaced by the code under test."""
    runner: Any = _pytest.runner
    rewrite: Any = _pytest.assertion.rewrite
    return {
        "AssertionError": builtins.AssertionError,
        "CallInfo.from_call": runner.CallInfo.from_call.__func__,
        "call_and_report": runner.call_and_report,
        "runtestprotocol": runner.runtestprotocol,
        "TestReport.from_item_and_call": _pytest.reports.TestReport.from_item_and_call.__func__,
        "Function.runtest": _pytest.python.Function.runtest,
        "rewrite_asserts": rewrite.rewrite_asserts,
        "AssertionRewriter.run": rewrite.AssertionRewriter.run,
        "TestCase.run": unittest.TestCase.run,
        "TestCase.assertEqual": unittest.TestCase.assertEqual,
        "TestCase.assertTrue": unittest.TestCase.assertTrue,
        "TestCase.fail": unittest.TestCase.fail,
        "pytest.raises": pytest.raises,
    }


class Canary(pytest.Item):
    """A case that must fail. If it passes, something took the outcomes over."""

    def runtest(self) -> None:
        """Fails, unless the exception is swallowed on its way."""
        raise AssertionError("canary")

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:
        """Short: nobody reads it."""
        return "canary"


class Phase:
    """What was seen of one phase (set-up, call, tear-down) before anybody could touch its report."""

    def __init__(self, report: Any, call: Any, root: str) -> None:
        self.report = report  # kept, so that its identity is not reused
        self.raised = call.excinfo is not None and not isinstance(call.excinfo.value, _skips)
        error = call.excinfo.value if call.excinfo is not None else None
        trace = error.__traceback__ if error is not None else None
        self.origin = origin_of(trace, root)
        if error is None or type(error).__name__ == "FixtureLookupError":
            self.message = cut(str(report.longreprtext))  # here pytest's own words say more
        else:
            self.message = explain(error, trace, root)


def result_of(report: Any, seen: Phase | None) -> tuple[str, str]:
    """A report's part of the outcome, and a message where the report itself is at fault."""
    excused = hasattr(report, "wasxfail")
    if seen is not None and seen.raised and report.outcome == "passed" and not excused:
        return "failed", f"The case raised, but its report says that it passed.\n{seen.message}"
    if report.when == "call":
        table = {"passed": "xpassed" if excused else "passed", "skipped": "xfailed" if excused else "skipped"}
        return table.get(report.outcome, "failed" if report.outcome == "failed" else ""), ""
    if report.outcome == "failed":
        return "error", ""
    if report.outcome == "skipped":
        return "xfailed" if excused else "skipped", ""
    return "", ""
