"""Reads anyone's JUnit XML report, which may be hostile: no document type, so no entities; bounded in every way."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn
from xml.parsers import expat

from groundwire.signals import CaseOutcome, CaseResult, NoVerdict
from groundwire.tools.reports import MESSAGE_CHARS, ReportProblem, RunReport, unique
from groundwire.tools.texts import harmless, shorten

__all__ = ["read_junit"]

MAX_CASES = 100_000
MAX_DEPTH = 64
MAX_TEXT = 64 * 1024
MAX_NAME = 1024
_NOT_RUN = frozenset({"notrun", "disabled", "suppressed", "skipped"})
_RANK = (CaseResult.PASSED, CaseResult.XFAILED, CaseResult.SKIPPED, CaseResult.ERROR, CaseResult.FAILED)


def read_junit(body: bytes, status: int | None) -> RunReport:
    """Reads a report. Ids are `classname::name`; equal ones are told apart by `#2`, `#3`, …

    Args:
        body: the XML.
        status: the exit status of the command that wrote it.

    Raises:
        ReportProblem: not well-formed, not a JUnit report, with a document type, or beyond our bounds; or its own
            counts contradict its cases.
    """
    handler = _Handler()
    parser = expat.ParserCreate()
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        _malformed(f"The JUnit report is not well-formed XML: {error}.")
    if not handler.is_junit:
        _malformed("The report is XML, but holds no <testsuite>.")
    _compare(handler)
    ids = tuple(unique(c.name for c in handler.cases))
    outcomes = tuple(c.outcome(i) for c, i in zip(handler.cases, ids, strict=True))
    return RunReport(selected=ids, cases=outcomes, status=status)


def _malformed(detail: str) -> NoReturn:
    raise ReportProblem(NoVerdict.REPORT_MALFORMED, harmless(detail))


def _refuse_doctype(*_ignored: object) -> None:
    _malformed("The JUnit report declares a document type; those are refused, since they can hold hostile entities.")


def _compare(handler: _Handler) -> None:
    """Where every case seems fine, the suites' own counts must say the same."""
    if any(not c.result.ok for c in handler.cases):
        return
    if handler.told_bad:
        _mismatch(f"The JUnit report counts {handler.told_bad} failures and errors, and shows none.")
    if handler.told_tests is not None and handler.told_tests != len(handler.cases):
        _mismatch(f"The JUnit report counts {handler.told_tests} tests, and shows {len(handler.cases)}.")


def _mismatch(detail: str) -> NoReturn:
    raise ReportProblem(NoVerdict.COUNT_MISMATCH, detail)


@dataclass
class _Case:
    name: str
    seconds: float
    result: CaseResult = CaseResult.PASSED
    message: str = ""

    def note(self, result: CaseResult, message: str) -> None:
        if _RANK.index(result) > _RANK.index(self.result):
            self.result, self.message = result, message

    def outcome(self, name: str) -> CaseOutcome:
        return CaseOutcome(
            id=name, result=self.result, message=shorten(self.message, MESSAGE_CHARS), duration_s=self.seconds
        )


@dataclass
class _Handler:
    is_junit: bool = False
    cases: list[_Case] = field(default_factory=list[_Case])
    told_tests: int | None = None
    told_bad: int = 0
    _depth: int = 0
    _suites: int = 0
    _case: _Case | None = None
    _note: CaseResult | None = None
    _text: list[str] = field(default_factory=list[str])
    _size: int = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH or len(self.cases) >= MAX_CASES:
            _malformed(f"The JUnit report is nested deeper than {MAX_DEPTH}, or has more than {MAX_CASES} cases.")
        name = tag.rpartition(":")[2]
        if name == "testsuite":
            self._start_suite(attributes)
        elif name == "testcase":
            self._start_case(attributes)
        elif self._case is not None and name in ("failure", "error", "skipped"):
            self._note = _result_of(name, attributes)
            self._text = [attributes.get("message", "")[:MAX_TEXT], "\n"]
            self._size = 0

    def end(self, tag: str) -> None:
        self._depth -= 1
        name = tag.rpartition(":")[2]
        if name == "testsuite":
            self._suites -= 1
        elif name == "testcase":
            self._case = None
        elif self._case is not None and self._note is not None and name in ("failure", "error", "skipped"):
            self._case.note(self._note, "".join(self._text).strip())
            self._note = None

    def text(self, data: str) -> None:
        if self._note is not None and self._size < MAX_TEXT:
            self._size += len(data)
            self._text.append(data)

    def _start_suite(self, attributes: Mapping[str, str]) -> None:
        self.is_junit = True
        if self._suites == 0:
            # a suite inside another is counted by the outer one
            tests = _number(attributes.get("tests"))
            if tests is not None:
                self.told_tests = (self.told_tests or 0) + tests
            self.told_bad += (_number(attributes.get("failures")) or 0) + (_number(attributes.get("errors")) or 0)
        self._suites += 1

    def _start_case(self, attributes: Mapping[str, str]) -> None:
        if self._case is not None or not self._suites:
            _malformed("The JUnit report has a <testcase> where none can be.")
        group = attributes.get("classname") or attributes.get("class") or attributes.get("file") or ""
        name = attributes.get("name", "")
        full = harmless((f"{group}::{name}" if group else name)[:MAX_NAME]) or "(no name)"
        self._case = _Case(full, _seconds(attributes.get("time", "")))
        state = attributes.get("result") or attributes.get("status") or ""
        if state.lower() in _NOT_RUN:
            self._case.note(CaseResult.SKIPPED, state)
        self.cases.append(self._case)


def _result_of(tag: str, attributes: Mapping[str, str]) -> CaseResult:
    if tag == "skipped":
        return CaseResult.XFAILED if attributes.get("type") == "pytest.xfail" else CaseResult.SKIPPED
    return CaseResult.FAILED if tag == "failure" else CaseResult.ERROR


def _number(text: str | None) -> int | None:
    try:
        return max(0, int(text)) if text is not None and len(text) < 10 else None
    except ValueError:
        return None


def _seconds(text: str) -> float:
    try:
        seconds = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and 0 <= seconds < 1e6 else 0.0
