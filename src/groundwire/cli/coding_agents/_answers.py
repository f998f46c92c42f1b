"""What a coding agent is told, as data with a schema: no text of hidden tests, nothing that moves a terminal."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, Field

from groundwire.cli.coding_agents._judge_once import JudgedTree
from groundwire.core._contexts import Lesson
from groundwire.core._records import StopReason
from groundwire.core._signals import Isolation, Origin, Signal, Verdict
from groundwire.core._text import plain, plural
from groundwire.graphs import EpisodeResult

CASES_SHOWN = 20
MESSAGE_LINES = 12
MESSAGES_CHARS = 8_000
"""Of all messages of an answer together, about 2,000 tokens; cases behind that have one line each."""
LINE_CHARS = 200
NAME_CHARS = 300
NAMES_SHOWN = 30
PATCH_CHARS = 200_000


class FailingCase(BaseModel):
    """A test that failed."""

    id: str
    result: str
    message: str


class ControlsSaid(BaseModel):
    """Whether the cases that passed can fail: each was run once more with an assertion turned round."""

    can_fail: int
    not_controlled: int
    cannot_fail: list[str]


class VerifyAnswer(BaseModel):
    """What the project's tests say of a work tree."""

    verdict: Verdict
    project: str = Field(description="the folder that was judged")
    reason: str = Field(description="why there is no verdict, or how it ended; empty: tests fail")
    detail: str
    signal_id: str = Field(description="the sealed signal; a failing one is what `reflect` asks for")
    run_id: str
    passed: int
    cases: int
    failing: list[FailingCase]
    more_failing: int = Field(
        description="failing cases that are not listed; they are in the resource groundwire://signals/ID/2, 3, …"
    )
    hidden_tests: Verdict | None = Field(description="what they said, and nothing more; null: none, or not asked")
    controls: ControlsSaid | None
    unforgeable: bool | None = Field(description="tests and code were judged in two boxes; null: nothing passed")
    tests_from: str = Field(description="the commit whose tests judge; empty: those of the work tree")
    left_out: list[str] = Field(description="tests and configuration that differ from these, and were not used")
    candidate_digest: str
    next: str = Field(description="what to do now")


class RepairAnswer(BaseModel):
    """What a repair came to."""

    verdict: Verdict
    project: str = Field(description="the folder that was repaired")
    reason: str
    detail: str
    patch: str = Field(description="a verified patch for `git apply`, not applied; empty where there is none")
    changed_files: list[str]
    candidates: int
    run_id: str
    signal_id: str
    hidden_tests: Verdict | None
    tests_from: str
    left_out: list[str]
    next: str


class LessonSaid(BaseModel):
    """A lesson of earlier failures."""

    id: str
    text: str
    why: str


class RecallAnswer(BaseModel):
    """Lessons, best first."""

    lessons: list[LessonSaid]


class ReflectAnswer(BaseModel):
    """A lesson that was stored."""

    lesson_id: str
    signal_id: str


class RunSaid(BaseModel):
    """One run of the ledger."""

    run_id: str
    project: str = Field(description="its folder, as the tools take it")
    graph: str
    created_at: str
    verdict: str
    reason: str


class HistoryAnswer(BaseModel):
    """The newest runs on the folders that this server is for."""

    runs: list[RunSaid]


class AuditAnswer(BaseModel):
    """What the audit says of the loops of a graph."""

    exit_code: int = Field(description="0 nothing ungrounded, 1 a loop is ungrounded, 3 something can't be seen")
    report: str


def name(text: str) -> str:
    """A name from outside, inert."""
    return plain(text, limit=NAME_CHARS)


def names(found: list[str] | tuple[str, ...]) -> list[str]:
    """Names from outside, inert and not too many."""
    more = [f"… {len(found) - NAMES_SHOWN} more"] if len(found) > NAMES_SHOWN else []
    return [*map(name, found[:NAMES_SHOWN]), *more]


def said(text: str) -> str:
    """Lines from outside, inert: the last ones, where they are many."""
    lines = [plain(line, limit=LINE_CHARS) for line in text.strip().splitlines()]
    cut = [f"… {plural(len(lines) - MESSAGE_LINES, 'line')} before"] if len(lines) > MESSAGE_LINES else []
    return "\n".join([*cut, *lines[-MESSAGE_LINES:]])


def failing_cases(signal: Signal | None, page: int = 1) -> tuple[list[FailingCase], int]:
    """Those of visible tests that are shown, and how many are not.

    Args:
        signal: what a tool saw.
        page: which of them, `CASES_SHOWN` at a time, counted from 1.
    """
    found = signal.evidence.failed() if signal is not None and signal.origin is not Origin.HIDDEN_TESTS else ()
    shown: list[FailingCase] = []
    left = MESSAGES_CHARS
    for case in found[(page - 1) * CASES_SHOWN : page * CASES_SHOWN]:
        message = said(case.message)
        if len(message) > left:
            message = plain(message, limit=LINE_CHARS)
        left -= len(message)
        shown.append(FailingCase(id=name(case.id), result=str(case.result), message=message))
    return shown, len(found) - len(shown)


def reason_said(reason: StopReason | str) -> str:
    """Why an episode ended. One judging proposes nothing, so that nothing is left to propose says nothing."""
    return "" if reason == StopReason.EXHAUSTED else str(reason)


def verify_answer(judged: JudgedTree, folder: Path) -> VerifyAnswer:
    """A judging as it is told.

    Args:
        judged: what came of it.
        folder: what was judged.
    """
    signal, result, work = judged.signal, judged.result, judged.work
    evidence = signal.evidence if signal is not None and signal.origin is not Origin.HIDDEN_TESTS else None
    failing, more = failing_cases(signal)
    reason = str(signal.reason) if signal is not None and signal.reason is not None else reason_said(result.stop_reason)
    detail = result.detail if result.stop_reason is not StopReason.HIDDEN_FAILED else "the hidden tests fail"
    error = f" {result.error.do}" if result.error is not None and result.error.do else ""
    controls = evidence.controls if evidence is not None else None
    return VerifyAnswer(
        verdict=result.verdict,
        project=name(str(folder)),
        reason=reason,
        detail=plain(detail + error, limit=600),
        signal_id=signal.id if signal else "",
        run_id=result.run_id,
        passed=len(evidence.passed()) if evidence else 0,
        cases=len(evidence.cases) if evidence else 0,
        failing=failing,
        more_failing=more,
        hidden_tests=result.hidden.verdict if result.hidden else None,
        controls=None
        if controls is None
        else ControlsSaid(
            can_fail=controls.changed_value + controls.negation,
            not_controlled=controls.uncontrolled,
            cannot_fail=names(controls.cannot_fail),
        ),
        unforgeable=None if result.isolation is None else result.isolation is Isolation.TWO_BOXES,
        tests_from=work.tests_from,
        left_out=names(work.left_out),
        candidate_digest=signal.candidate_digest if signal else work.candidate.digest,
        next=_next(result, left_out=bool(work.left_out)),
    )


def _next(result: EpisodeResult, *, left_out: bool) -> str:
    ours = " Tests and configuration that you changed were not used: see left_out." if left_out else ""
    if result.verdict is Verdict.PASS:
        return f"Verified. Say so, and name the signal.{ours}"
    if result.stop_reason is StopReason.HIDDEN_FAILED:
        return "The visible tests pass and others do not: look at what the task asks for that no test shows."
    if result.verdict is Verdict.FAIL:
        return f"Mend what fails, and verify again. `recall` may know it; `reflect` takes this signal, once.{ours}"
    return f"Nothing is verified. Mend what the reason names: it is no failure of your change, and no success.{ours}"


def repair_answer(result: EpisodeResult, folder: Path, *, tests_from: str, left_out: tuple[str, ...]) -> RepairAnswer:
    """A repair as it is told.

    Args:
        result: what came of it.
        folder: what was to be repaired.
        tests_from: the commit whose tests judge.
        left_out: tests and configuration that were not used.
    """
    is_verified = result.stop_reason is StopReason.VERIFIED and result.best is not None
    patch = result.patch if is_verified else ""
    is_long = len(patch) > PATCH_CHARS
    detail = result.detail if result.stop_reason is not StopReason.HIDDEN_FAILED else "the hidden tests fail"
    then = "The patch is verified and not applied: apply it with `git apply`, then `verify`."
    if is_long:
        then = f"The patch is longer than {PATCH_CHARS} characters: groundwire show {result.run_id}"
    elif not is_verified:
        then = "No patch: nothing that was tried passes." if result.verdict is Verdict.FAIL else "Nothing to apply."
    return RepairAnswer(
        verdict=result.verdict,
        project=name(str(folder)),
        reason=str(result.stop_reason),
        detail=plain(detail, limit=600),
        patch="" if is_long else patch,
        changed_files=names(sorted(result.best.candidate.changes)) if is_verified and result.best else [],
        candidates=result.candidates,
        run_id=result.run_id,
        signal_id=result.best.signal.id if result.best else "",
        hidden_tests=result.hidden.verdict if result.hidden else None,
        tests_from=tests_from,
        left_out=names(left_out),
        next=then,
    )


def lesson_said(lesson: Lesson) -> LessonSaid:
    """A lesson as it is told."""
    return LessonSaid(id=lesson.id, text=said(lesson.text), why=plain(lesson.why))
