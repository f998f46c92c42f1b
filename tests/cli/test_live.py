"""Live progress is the ledger in words, with nothing of it raw."""

from __future__ import annotations

import io

from rich.console import Console

from groundwire.cli._live import LiveView
from groundwire.core._records import CandidateRecord, EpisodeEnd, ModelCall, ReflectionRecord, StopReason, TrialRecord
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Signal, Verdict

MINT = Mint("r", b"k" * 32)


def signal(
    trial: int, *results: bool, origin: Origin = Origin.TESTS, message: str = "", digest: str = "c", detail: str = ""
) -> Signal:
    cases = tuple(
        CaseOutcome(
            id=f"t.py::test_{i}",
            result=CaseResult.PASSED if ok else CaseResult.FAILED,
            message="" if ok else message,
        )
        for i, ok in enumerate(results)
    )
    seen = Observation(
        verdict=Verdict.PASS if all(results) and not detail else Verdict.FAIL,
        origin=origin,
        evidence=Evidence(cases=cases, detail=detail),
    )
    return MINT.signal(seen, episode_id="e", trial=trial, issuer="test", candidate_digest=digest)


def printed(*records: object) -> str:
    out = io.StringIO()
    view = LiveView(Console(file=out, width=200, highlight=False))
    for record in records:
        view(record)  # pyright: ignore[reportArgumentType]
    view.close()
    return out.getvalue()


def test_a_repair_reads_like_a_story() -> None:
    text = printed(
        signal(0, True, False, message="AssertionError: assert 2 == 3"),
        TrialRecord(episode_id="e", trial=1),
        CandidateRecord(episode_id="e", trial=1, digest="a"),
        ModelCall(intent_id="i", episode_id="e", trial=1, model="m", request_digest="d", prompt_tokens=1200, usd=0.001),
        signal(1, False, False, message="ValueError: no"),
        ReflectionRecord(
            episode_id="e", trial=1, signal_id="s", candidate_digest="c", task_id="t", text="I was wrong.\nTwice."
        ),
        TrialRecord(episode_id="e", trial=2),
        signal(2, True, True),
        signal(2, True, True, True, origin=Origin.HIDDEN_TESTS),
        EpisodeEnd(episode_id="e", verdict=Verdict.PASS, stop_reason=StopReason.VERIFIED),
    )
    assert text.splitlines() == [
        "baseline ✗ 1/2 tests   test_1: assert 2 == 3",
        "trial 1  ✗ 0/2 tests   test_0: ValueError: no   1.2k tok  $0.001",
        "         ↳ reflection: I was wrong. Twice.   (remembered)",
        "trial 2  ✓ 2/2 tests   hidden ✓ 3/3",
    ]


def test_a_file_that_can_t_be_imported_says_what_was_raised_and_not_where_pytest_stood() -> None:
    told = '/venv/_pytest/python.py:528: in importtestmodule\n    mod = import_path(\nE     File "a.py", line 1\n'
    case = CaseOutcome(id="t.py", result=CaseResult.ERROR, message=f"{told}E   SyntaxError: invalid syntax")
    seen = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, evidence=Evidence(cases=(case,)))
    broken = MINT.signal(seen, episode_id="e", trial=0, issuer="test", candidate_digest="c")
    text = printed(broken, TrialRecord(episode_id="e", trial=1))
    assert text == "baseline ✗ 0/1 tests   t.py: SyntaxError: invalid syntax\n"


def test_a_wide_trial_shows_its_best() -> None:
    text = printed(TrialRecord(episode_id="e", trial=1), signal(1, False, False), signal(1, True, False))
    assert printed() == ""
    assert "trial 1" not in text  # still open
    end = EpisodeEnd(episode_id="e", verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED)
    both = signal(1, False, False, digest="a"), signal(1, True, False, digest="b")
    text = printed(TrialRecord(episode_id="e", trial=1), *both, end)
    assert "trial 1  ✗ 1/2 tests   best of 2 judged" in text


def test_of_a_run_that_left_cases_out_it_is_said_how_many_were_asked() -> None:
    end = EpisodeEnd(episode_id="e", verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED)
    seen = signal(1, False)
    evidence = seen.evidence.model_copy(update={"collected": 14, "deselected": 2})
    narrow = seen.model_copy(update={"evidence": evidence, "partial": True})
    text = printed(TrialRecord(episode_id="e", trial=1), narrow, end)
    assert text.startswith("trial 1  ✗ 0/1 tests, 1 of 12 asked   ")


def test_of_several_looks_at_one_candidate_the_last_counts() -> None:
    end = EpisodeEnd(episode_id="e", verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED)
    text = printed(TrialRecord(episode_id="e", trial=1), signal(1, False, False), signal(1, True, False), end)
    assert text.startswith("trial 1  ✗ 1/2 tests")
    assert "best of" not in text


def test_a_rule_that_finds_a_standstill_is_told() -> None:
    end = EpisodeEnd(episode_id="e", verdict=Verdict.FAIL, stop_reason=StopReason.STUCK)
    rule = signal(1, origin=Origin.RULE, detail="oscillation: the failure of two trials ago is back: a")
    text = printed(TrialRecord(episode_id="e", trial=1), signal(1, False), rule, end)
    assert "↳ rule: oscillation: the failure of two trials ago is back: a" in text
    assert "trial 1  ✗ 0/1 tests" in text


def test_hostile_text_is_inert() -> None:
    end = EpisodeEnd(episode_id="e", verdict=Verdict.FAIL, stop_reason=StopReason.EXHAUSTED)
    text = printed(signal(0, False, message="\x1b[2J[red]boo[/red]\x07"), end)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "[red]boo[/red]" in text


def test_no_verdict_says_why() -> None:
    seen = Observation(
        verdict=Verdict.NONE,
        origin=Origin.TESTS,
        reason=NoVerdict.NOTHING_COLLECTED,
        evidence=Evidence(detail="no tests in tests/"),
    )
    none = MINT.signal(seen, episode_id="e", trial=0, issuer="baseline", candidate_digest="c")
    end = EpisodeEnd(episode_id="e", verdict=Verdict.NONE, stop_reason=StopReason.NO_VERDICT)
    assert "baseline ? none   nothing_collected: no tests in tests/" in printed(none, end)


def test_what_a_model_writes_is_shown_as_it_is_written_inert_and_masked() -> None:
    out = io.StringIO()
    view = LiveView(Console(file=out, width=200, highlight=False, force_terminal=True, color_system=None))
    view(TrialRecord(episode_id="e", trial=1))
    view.close()  # so that the next piece is shown at once
    view.on_text(0, "thinking\nx = '\x1b]0;own\x07' # sk-proj-abcdefghijklmnop123456\n")
    view.on_text(1, "another sample")
    view.close()
    shown = out.getvalue()
    assert "trial 1: 57 characters written" in shown
    assert "[masked key]" in shown and "abcdefghijklmnop" not in shown
    assert "\x1b]0;own" not in shown and "another sample" not in shown


def test_nothing_moves_where_no_terminal_is() -> None:
    out = io.StringIO()
    view = LiveView(Console(file=out, width=200))
    view.on_text(0, "text")
    assert out.getvalue() == ""
