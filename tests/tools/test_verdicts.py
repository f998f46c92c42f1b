"""The verdict rule: whatever a report says, a pass needs all of it to fit together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._sandboxes import ExecResult
from groundwire.core._signals import CaseOutcome, CaseResult, NoVerdict, Verdict
from groundwire.tools._reports import ReportProblem, RunReport, read_report
from groundwire.tools._verdicts import Situation, decide, without_report

KEY = bytes(32)
OK = (CaseResult.PASSED, CaseResult.XPASSED)


def case(name: str, result: CaseResult = CaseResult.PASSED) -> CaseOutcome:
    return CaseOutcome(id=name, result=result)


def sealed(events: Sequence[dict[str, Any]], key: bytes = KEY) -> bytes:
    """Writes events as our recorder does."""
    mac, lines = b"", b""
    for event in events:
        body = json.dumps(event).encode()
        mac = hashlib.blake2b(mac + body, key=key, digest_size=16).hexdigest().encode()
        lines += mac + b" " + body + b"\n"
    return lines


def run_of(*outcomes: str, status: int = 0) -> list[dict[str, Any]]:
    ids = [f"t{i}" for i in range(len(outcomes))]
    events: list[dict[str, Any]] = [{"e": "begin"}, {"e": "collected", "ids": ids, "deselected": 0}]
    for number, outcome in enumerate(outcomes):
        events += [{"e": "start", "i": number}, {"e": "case", "i": number, "r": outcome, "m": "", "d": 0.1}]
    return [*events, {"e": "finish", "stopped": ""}, {"e": "exit", "status": status}]


def verdict_of(body: bytes, end: ExecResult | None = None) -> Verdict:
    try:
        report = read_report(body, KEY)
    except ReportProblem:
        return Verdict.NONE
    return decide(report, Situation(end or ExecResult(0))).verdict


results = st.sampled_from(CaseResult)
names = st.text("abc", min_size=1, max_size=2)
reports = st.builds(
    RunReport,
    selected=st.none() | st.lists(names, max_size=4).map(tuple),
    deselected=st.integers(0, 2),
    cases=st.lists(st.builds(case, names, results), max_size=4).map(tuple),
    unrun=st.lists(names, max_size=1).map(tuple),
    unfinished=st.none() | names,
    broken=st.lists(st.builds(case, names, st.just(CaseResult.ERROR)), max_size=1).map(tuple),
    passed_over=st.lists(st.builds(case, names, st.just(CaseResult.SKIPPED)), max_size=1).map(tuple),
    skipped_by=st.dictionaries(names, st.sampled_from(["mod.py", "test.py"]), max_size=2),
    internal=st.sampled_from(["", "", "broke"]),
    missing=st.sampled_from(["", "", "pytest"]),
    usage=st.booleans(),
    canary=st.booleans(),
    replaced=st.dictionaries(names, st.sampled_from(["", "mod.py"]), max_size=1),
    status=st.none() | st.integers(0, 5),
)
ends = st.builds(
    ExecResult,
    exit_code=st.none() | st.sampled_from([0, 0, 0, 1, 2, 127, 137]),
    signal=st.none() | st.sampled_from([9, 11, 15]),
    limit_hit=st.none() | st.sampled_from(["wall_s", "memory_bytes", "output_bytes"]),
)


@given(reports, ends, st.none() | st.dictionaries(names, results, max_size=3))
def test_a_pass_needs_everything_to_fit(
    report: RunReport, end: ExecResult, expected: dict[str, CaseResult] | None
) -> None:
    decision = decide(report, Situation(end, expected=expected, changed=frozenset({"mod.py"})))
    if decision.verdict is not Verdict.PASS:
        return
    assert report.selected and sorted(report.selected) == sorted(c.id for c in report.cases)
    assert all(c.result.ok for c in decision.cases) and any(c.result in OK for c in decision.cases)
    assert not (report.broken or report.unfinished or report.internal or report.missing or report.usage)
    assert report.canary and not report.replaced
    assert report.status == end.exit_code == 0 and end.signal is None
    assert end.limit_hit in (None, "output_bytes")
    assert not any(report.skipped_by.get(c.id) == "mod.py" for c in report.cases)
    now = {c.id: c.result for c in report.cases}
    for name, before in (expected or {}).items():
        assert now[name] in OK or now[name] is before


@given(reports, ends)
def test_a_fail_names_a_bad_case(report: RunReport, end: ExecResult) -> None:
    decision = decide(report, Situation(end))
    if decision.verdict is Verdict.FAIL:
        assert any(not c.result.ok for c in decision.cases)
    assert (decision.verdict is Verdict.NONE) == (decision.reason is not None)
    assert decision.detail


@given(st.lists(results, min_size=1, max_size=5), st.data())
def test_a_report_that_was_cut_off_never_gains_a_pass(outcomes: list[CaseResult], data: st.DataObject) -> None:
    body = sealed(run_of(*outcomes, status=0 if all(r.ok for r in outcomes) else 1))
    whole = verdict_of(body)
    cut = body[: data.draw(st.integers(0, len(body) - 1))]
    assert verdict_of(cut) is not Verdict.PASS
    if any(not r.ok for r in outcomes):
        assert whole is not Verdict.PASS


@given(st.integers(0), st.integers(1, 255))
def test_one_changed_byte_never_passes(position: int, flip: int) -> None:
    body = bytearray(sealed(run_of("passed", "passed")))
    assert verdict_of(bytes(body)) is Verdict.PASS
    body[position % len(body)] ^= flip
    assert verdict_of(bytes(body)) is not Verdict.PASS


@given(st.lists(st.integers(0, 7), max_size=10))
def test_lines_that_are_dropped_repeated_or_reordered_never_pass(order: list[int]) -> None:
    lines = sealed(run_of("passed", "passed")).splitlines(keepends=True)
    body = b"".join(lines[i] for i in order)
    assert len(lines) == 8
    assert (verdict_of(body) is Verdict.PASS) == (order == list(range(8)))


@given(st.binary(max_size=300))
def test_any_bytes_can_be_read(body: bytes) -> None:
    assert verdict_of(body) is Verdict.NONE
    assert verdict_of(body + b"\n") is Verdict.NONE


def test_another_nonce_is_another_report() -> None:
    with pytest.raises(ReportProblem, match="did not write"):
        read_report(sealed(run_of("passed"), key=b"\x01" * 32), KEY)


@pytest.mark.parametrize(
    "event",
    [
        {"e": "collected", "ids": 3, "deselected": 0},
        {"e": "collected", "ids": ["a"], "deselected": "many"},
        {"e": "no such event"},
        {"e": "case", "i": 0},
        {"no": "event"},
        {"e": "case", "i": 0, "r": "great", "m": "", "d": 0},
        {"e": "checked", "canary": True, "replaced": 4},
    ],
)
def test_a_sealed_line_that_makes_no_sense_is_malformed(event: dict[str, Any]) -> None:
    with pytest.raises(ReportProblem) as caught:
        read_report(sealed([event]), KEY)
    assert caught.value.reason is NoVerdict.REPORT_MALFORMED


def test_times_that_can_not_be_are_zero() -> None:
    events = run_of("passed", "passed", "passed")
    for event, seconds in zip([e for e in events if e["e"] == "case"], [float("nan"), -1, 1e300], strict=True):
        event["d"] = seconds
    assert [c.duration_s for c in read_report(sealed(events), KEY).cases] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (ExecResult(127), NoVerdict.RUNNER_MISSING),
        (ExecResult(126), NoVerdict.RUNNER_MISSING),
        (ExecResult(0), NoVerdict.REPORT_MISSING),
        (ExecResult(1), NoVerdict.REPORT_MISSING),
        (ExecResult(None, signal=11), NoVerdict.RUNNER_CRASHED),
        (ExecResult(None, signal=9, limit_hit="wall_s"), NoVerdict.LIMIT_HIT),
    ],
)
def test_no_report(end: ExecResult, reason: NoVerdict) -> None:
    decision = without_report(Situation(end))
    assert (decision.verdict, decision.reason) == (Verdict.NONE, reason)


def test_a_runner_killed_from_outside_in_a_case_is_no_verdict() -> None:
    running = RunReport(selected=("a", "b"), unfinished="a")
    for end in (ExecResult(None, signal=9), ExecResult(137), ExecResult(143)):
        decision = decide(running, Situation(end))
        assert (decision.verdict, decision.reason) == (Verdict.NONE, NoVerdict.RUNNER_CRASHED)
    for end in (ExecResult(None, signal=9, limit_hit="memory_bytes"), ExecResult(None, signal=11), ExecResult(0)):
        decision = decide(running, Situation(end))
        assert (decision.verdict, decision.partial) == (Verdict.FAIL, True)
        assert "did not finish" in decision.cases[0].message


def test_only_time_speaks_against_it() -> None:
    ended = ExecResult(None, signal=9, limit_hit="wall_s")
    assert decide(RunReport(selected=("a", "b"), cases=(case("a"),), unfinished="b"), Situation(ended)).out_of_time
    bad = RunReport(selected=("a", "b"), cases=(case("a", CaseResult.FAILED),), unfinished="b")
    assert not decide(bad, Situation(ended)).out_of_time
    late = RunReport(selected=("a",), cases=(case("a", CaseResult.FAILED),), late=frozenset("a"), status=1)
    assert decide(late, Situation(ExecResult(1))).out_of_time
