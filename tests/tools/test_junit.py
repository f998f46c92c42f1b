"""JUnit XML of many writers, and of none too friendly ones."""

# reports as their writers write them, in long lines
# ruff: noqa: E501
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._sandboxes import ExecResult
from groundwire.core._signals import CaseResult, NoVerdict, Verdict
from groundwire.tools._command_tool import MAX_DEPTH, read_junit
from groundwire.tools._reports import ReportProblem, RunReport
from groundwire.tools._verdicts import Situation, decide

SUREFIRE = b"""<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" name="a.B" time="1,234.5" tests="4" errors="1" skipped="1" failures="1">
  <properties><property name="k" value="v"/></properties>
  <testcase name="ok" classname="a.B" time="0.1"/>
  <testcase name="bad" classname="a.B" time="0.2"><failure message="expected 1" type="AssertionError"><![CDATA[at a.B(B.java:3)]]></failure></testcase>
  <testcase name="err" classname="a.B" time="nan"><error type="X">boom</error><system-out>said</system-out></testcase>
  <testcase name="skip" classname="a.B" time="-1"><skipped message="later"/></testcase>
</testsuite>
"""
GTEST = b"""<testsuites tests="3" failures="0" disabled="1" errors="0"><testsuite name="S" tests="3" failures="0" disabled="1">
<testcase name="A" status="run" result="completed" classname="S"/><testcase name="B" status="notrun" result="suppressed" classname="S"/>
<testcase name="A" status="run" result="completed" classname="S"/></testsuite></testsuites>"""


def results(report: RunReport) -> dict[str, CaseResult]:
    return {c.id: c.result for c in report.cases}


def test_a_report_of_surefire() -> None:
    report = read_junit(SUREFIRE, 1)
    assert results(report) == {
        "a.B::ok": CaseResult.PASSED,
        "a.B::bad": CaseResult.FAILED,
        "a.B::err": CaseResult.ERROR,
        "a.B::skip": CaseResult.SKIPPED,
    }
    assert report.cases[1].message == "expected 1\nat a.B(B.java:3)"
    assert [c.duration_s for c in report.cases] == [0.1, 0.2, 0.0, 0.0]


def test_equal_names_and_disabled_cases() -> None:
    assert results(read_junit(GTEST, 0)) == {
        "S::A": CaseResult.PASSED,
        "S::B": CaseResult.SKIPPED,
        "S::A#2": CaseResult.PASSED,
    }


def test_expected_failures_of_pytest() -> None:
    xml = b'<testsuite><testcase name="a"><skipped type="pytest.xfail"/></testcase></testsuite>'
    assert results(read_junit(xml, 0)) == {"a": CaseResult.XFAILED}


def test_the_worst_of_several_notes_counts() -> None:
    xml = b'<testsuite><testcase name="a"><skipped/><error/><failure/><error/></testcase></testsuite>'
    assert results(read_junit(xml, 0)) == {"a": CaseResult.FAILED}


def test_nested_suites_are_counted_once() -> None:
    inner = b'<testsuite tests="1"><testcase name="a"/></testsuite>'
    assert len(read_junit(b'<testsuite tests="2">' + inner + inner + b"</testsuite>", 0).cases) == 2


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        (b"", NoVerdict.REPORT_MALFORMED),
        (b"\x00\x01", NoVerdict.REPORT_MALFORMED),
        (b"<testsuite>", NoVerdict.REPORT_MALFORMED),
        (b"<a/>", NoVerdict.REPORT_MALFORMED),
        (b'<?xml version="1.0" encoding="no-such"?><testsuite/>', NoVerdict.REPORT_MALFORMED),
        (b"<testsuite><testcase name='a'><testcase name='b'/></testcase></testsuite>", NoVerdict.REPORT_MALFORMED),
        (b"<testcase name='a'/>", NoVerdict.REPORT_MALFORMED),
        (b"<testsuite>&e;</testsuite>", NoVerdict.REPORT_MALFORMED),
        (b"<x>" * (MAX_DEPTH + 1), NoVerdict.REPORT_MALFORMED),
        (b'<!DOCTYPE t SYSTEM "file:///etc/passwd"><testsuite/>', NoVerdict.REPORT_MALFORMED),
        (b'<testsuite failures="1"><testcase name="a"/></testsuite>', NoVerdict.COUNT_MISMATCH),
        (b'<testsuite tests="0"><testcase name="a"/></testsuite>', NoVerdict.COUNT_MISMATCH),
    ],
)
def test_what_is_refused(xml: bytes, reason: NoVerdict) -> None:
    with pytest.raises(ReportProblem) as caught:
        read_junit(xml, 0)
    assert caught.value.reason is reason


def test_entities_are_never_expanded() -> None:
    bomb = b'<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><testsuite>&b;</testsuite>'
    with pytest.raises(ReportProblem, match="document type"):
        read_junit(bomb, 0)


def test_messages_are_bounded_and_harmless() -> None:
    xml = (
        b"<testsuite><testcase name='a\x7f'><failure>"
        + b"x" * 3_000_000
        + "\x9b".encode()
        + b"</failure></testcase></testsuite>"
    )
    (case,) = read_junit(xml, 1).cases
    assert len(case.message) < 2_100
    assert case.id == "a\\x7f"


@given(size=st.integers(0, len(SUREFIRE)))
def test_a_report_that_was_cut_off_never_passes(size: int) -> None:
    try:
        report = read_junit(SUREFIRE.replace(b"failure", b"passing").replace(b"error", b"passing")[:size], 0)
    except ReportProblem:
        return
    if size < len(SUREFIRE.rstrip()):
        assert decide(report, Situation(ExecResult(0))).verdict is not Verdict.PASS


@given(st.binary(max_size=200))
def test_any_bytes_are_a_report_or_a_problem(body: bytes) -> None:
    with pytest.raises(ReportProblem):
        read_junit(b"<" + body, 0)
