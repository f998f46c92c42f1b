"""An episode's outcome for people and for scripts."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from groundwire.cli._text import NOT_ISOLATED
from groundwire.core._candidates import count_lines
from groundwire.core._records import StopReason
from groundwire.core._signals import Isolation, Verdict
from groundwire.core._tasks import Task
from groundwire.core._text import plain, plural

if TYPE_CHECKING:
    from groundwire.graphs.run._account import Controlled, OwnWord, VerdictAccount, WrittenTests
    from groundwire.graphs.run._result import EpisodeResult
    from groundwire.graphs.run._strength import Strength


# What an episode's verdicts rest on, in lines for people and as data for scripts.

NAMES_SHOWN = 5
TRADE_OFFS_SHOWN = 3
SURVIVORS_SHOWN = 3


def account_lines(account: VerdictAccount) -> Iterator[tuple[str, str]]:
    """(text, style) of what a person should know; nothing where all went plainly."""
    if not account.isolated:
        yield NOT_ISOLATED, "yellow"
    for note in account.notes:
        yield plain(note, limit=300), "yellow"
    if account.flaky:
        yield f"flaky, so never acted on: {_named(account.flaky)}", "yellow"
    if account.rejudged or account.retries:
        parts: list[str] = []
        if account.rejudged:
            parts.append(f"{plural(account.rejudged, 'verdict')} judged again ({account.rejudged_s:.1f} s)")
        if account.retries:
            parts.append(f"{plural(account.retries, 'judging')} repeated after trouble")
        yield ", ".join(parts), "dim"
    for controlled in account.controls:
        yield _controls(controlled)
    for word in account.own_words:
        if word.own_equality:
            yield _own_word(word)
    if account.trade_offs:
        yield f"{plural(len(account.trade_offs), 'trade-off')} refused: fixes some cases, breaks others", "yellow"
        for trade in account.trade_offs[:TRADE_OFFS_SHOWN]:
            yield f"  trial {trade.trial}: fixes {_named(trade.fixes)}; breaks {_named(trade.breaks)}", "dim"
    if account.written is not None:
        yield _written(account.written), "yellow"
    if account.disagrees:
        yield f"the model's own tests disagree: {plain(account.disagrees, limit=200)}", "yellow"
    if account.hidden_accesses:
        times = "once" if account.hidden_accesses == 1 else f"{account.hidden_accesses} times"
        yield (
            f"hidden tests used {times}, {account.steering} of these before the last proposal",
            ("red" if account.steering else "dim"),
        )
    if account.opinions:
        yield f"opinions were trusted here: {', '.join(account.opinions)}", "yellow"
    if account.oracle:
        yield "oracle: the answer key was used", "yellow"


def account_data(account: VerdictAccount) -> dict[str, Any]:
    """The same for `--json`, whole."""
    return asdict(account)


def strength_lines(strength: Strength) -> Iterator[tuple[str, str]]:
    """(text, style) of how strong the tests are."""
    said = f"test strength: the tests notice {strength.killed} of {plural(strength.judged, 'mutant')} of the patch"
    if not strength.judged:
        yield "test strength: no mutant of the patch could be judged", "dim"
    elif not strength.survived:
        yield said, "dim"
    else:
        yield f"{said}; not {plain('; '.join(strength.survived[:SURVIVORS_SHOWN]), limit=300)}", "yellow"
    if strength.anti_patterns:
        shown = plain("; ".join(strength.anti_patterns[:SURVIVORS_SHOWN]), limit=300)
        yield f"the patch may fit these tests alone: {shown}", "yellow"


def _named(names: tuple[str, ...]) -> str:
    shown = plain(", ".join(names[:NAMES_SHOWN]), limit=300)
    return f"{shown} and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else shown


def _controls(controls: Controlled) -> tuple[str, str]:
    if not controls.any:
        return f"{plain(controls.by)}: no controls", "dim"
    can = controls.changed_value + controls.negation
    every = can + controls.uncontrolled + controls.passed
    said = f"{plain(controls.by)}: controls show that {can} of {every} cases can fail"
    parts = [f"{controls.negation} by negation alone"] if controls.negation else []
    parts += [f"{controls.uncontrolled} not controlled"] if controls.uncontrolled else []
    parts += [f"{controls.left_out} left out, which can't fail on the base tree either"] if controls.left_out else []
    parts += [f"{controls.passed} passed what had to fail"] if controls.passed else []
    named = f": {_named(controls.cannot_fail)}" if controls.cannot_fail else ""
    return "; ".join([said, *parts]) + named, "yellow" if controls.passed or controls.left_out else "dim"


def _own_word(word: OwnWord) -> tuple[str, str]:
    said = (
        f"{plain(word.by)}: in {word.own_equality} of {plural(word.of, 'case')} a comparison that the patch's own code"
        " makes decided something"
    )
    asked = f"; objects of {_named(word.classes)} were asked" if word.classes else ""
    return said + (f": {_named(word.cases)}" if word.cases else "") + asked, "yellow"


def _written(written: WrittenTests) -> str:
    checked = "checked against a reference" if written.validated else "not checked against anything"
    return f"{plural(written.kept, 'test')} written by a model, {written.dropped} dropped, {checked}"


HIDDEN_SHOWN = 3

SAID = {
    StopReason.ALREADY_PASSING: "nothing to repair: the tests pass as they are",
    StopReason.INTERNAL_PASS: "internal pass, not verified",
    StopReason.HIDDEN_FAILED: "no patch: the visible tests pass, the hidden ones do not",
    StopReason.HIDDEN_LEAK: "stopped: text of the hidden tests was about to leak",
    StopReason.EXHAUSTED: "unsolved: there is nothing new left to propose",
    StopReason.STUCK: "unsolved: only repeats of earlier answers",
    StopReason.REFUSED: "stopped: the gate refused the signal",
    StopReason.NO_VERDICT: "no verdict",
    StopReason.BUDGET_TRIALS: "unsolved: the trials are used up",
    StopReason.BUDGET_STEPS: "unsolved: the steps are used up",
    StopReason.BUDGET_USD: "stopped: the money budget is used up",
    StopReason.BUDGET_TOKENS: "stopped: the tokens are used up",
    StopReason.BUDGET_CALLS: "stopped: the model calls are used up",
    StopReason.BUDGET_RUN: "stopped: the run's total budget is used up",
    StopReason.BUDGET_SECONDS: "stopped: the time is used up",
    StopReason.BUDGET_REFINEMENTS: "unsolved: no more refinements are allowed after signals of this kind",
    StopReason.MODEL_ERROR: "stopped: the model could not be used",
    StopReason.STORAGE_ERROR: "stopped: the ledger could not be written",
    StopReason.INTERNAL_ERROR: "stopped: an error in a part of the graph",
    StopReason.CONTRADICTION: "no patch: the actor says that a test contradicts the task",
    StopReason.INTERRUPTED: "interrupted",
}


def print_outcome(
    console: Console,
    result: EpisodeResult,
    task: Task,
    patch_file: Path | None,
    applied: bool,
    apart: Path | None = None,
    strength: Strength | None = None,
) -> None:
    """Prints the last lines of a repair.

    Args:
        console: where to.
        result: what it came to.
        task: what was repaired.
        patch_file: where the verified patch is.
        applied: True if it is in the project too.
        apart: where the patch is of a candidate that was not confirmed.
    """
    if result.stop_reason is StopReason.VERIFIED and result.best is not None:
        changes = result.best.candidate.changes
        added, removed = count_lines(task.tree, changes)
        is_weak = strength is not None and strength.is_weak
        line = Text("verified patch, weak tests: " if is_weak else "verified patch: ", style="bold green")
        line.append(plain(str(patch_file)) if patch_file else "(not written)", style="default")
        line.append(f" ({plural(len(changes), 'file')}, +{added} −{removed})", style="dim")
        line.append(f"   tests untouched   {plural(result.signals, 'signal')} sealed", style="dim")
        if result.isolation is not None:
            forgeable = result.isolation is not Isolation.TWO_BOXES
            line.append(f"   {result.isolation.in_words}", style="yellow" if forgeable else "dim")
        console.print(line, soft_wrap=True)
        if applied:
            console.print(Text("applied to the project", style="green"))
    else:
        style = "green" if result.verdict is Verdict.PASS else "yellow"
        line = Text(SAID[result.stop_reason], style=f"bold {style}")
        if result.detail and result.verdict is not Verdict.PASS:
            line.append(f"\n  {plain(result.detail, limit=400)}", style="default")
        if result.error is not None and result.error.do:
            line.append(f"\n  {plain(result.error.do, limit=400)}", style="default")
        console.print(line, soft_wrap=True)
    if result.unconfirmed is not None:
        passed = plural(len(result.unconfirmed.signal.evidence.passed()), "test")
        line = Text(f"not confirmed: {plain(str(apart)) if apart else '(not written)'}", style="bold yellow")
        line.append(f"   it passed {passed}, and the end came before that was judged again", style="dim")
        console.print(line, soft_wrap=True)
    if result.candidates:
        console.print(Text(f"{plural(result.candidates, 'candidate')}, {result.judged} judged", style="dim"))
    if task.hidden is not None and result.hidden is None and result.stop_reason is not StopReason.ALREADY_PASSING:
        console.print(
            Text("the hidden tests were not asked: nothing had passed the visible ones for good", style="dim")
        )
    if result.stop_reason is StopReason.HIDDEN_FAILED and result.hidden_evidence is not None:
        for case in result.hidden_evidence.failed()[:HIDDEN_SHOWN]:
            said = plain(f"{case.id}: {case.message}", limit=200)
            console.print(Text(f"  {said}   (shown here only, stored nowhere)", style="dim"), soft_wrap=True)
    if strength is not None:
        for said, style in strength_lines(strength):
            console.print(Text(said, style=style), soft_wrap=True)
    for said, style in account_lines(result.account):
        console.print(Text(said, style=style), soft_wrap=True)
    run = result.run_id[:13]
    look = f"record: groundwire show {run}   in a browser: groundwire view {run}"
    console.print(Text(look, style="dim"), soft_wrap=True)


def as_data(
    result: EpisodeResult,
    task: Task,
    patch_file: Path | None,
    applied: bool,
    ledger: str,
    apart: Path | None = None,
    strength: Strength | None = None,
) -> dict[str, Any]:
    """The same for `--json`."""
    best, hidden = result.best, result.hidden
    return {
        "run_id": result.run_id,
        "episode_id": result.episode_id,
        "task_id": result.task_id,
        "verdict": result.verdict,
        "stop_reason": result.stop_reason,
        "exit_code": result.exit_code,
        "detail": result.detail,
        "error": str(result.error) if result.error else None,
        **_patch_data(result.patch_bytes),
        "patch_file": str(patch_file) if patch_file else None,
        "applied": applied,
        "unconfirmed": {
            "patch_file": str(apart) if apart else None,
            "changed_files": sorted(result.unconfirmed.candidate.changes),
            **_patch_data(result.unconfirmed_patch),
        }
        if result.unconfirmed
        else None,
        "changed_files": sorted(best.candidate.changes) if best else [],
        "edits": list(best.candidate.edits) if best else [],
        "tests": {"passed": len(best.signal.evidence.passed()), "cases": len(best.signal.evidence.cases)}
        if best
        else None,
        "hidden": {
            "verdict": hidden.verdict,
            "passed": len(hidden.evidence.passed()),
            "cases": len(hidden.evidence.cases),
            "accesses": result.account.hidden_accesses,
            "steering": result.account.steering,
            "lines_known_by_heart": result.lines_known_by_heart,
        }
        if hidden
        else None,
        "isolation": result.isolation,
        "unforgeable": None if result.isolation is None else result.isolation is Isolation.TWO_BOXES,
        "trials": result.trials,
        "candidates": result.candidates,
        "judged": result.judged,
        "hidden_asked": None if task.hidden is None else result.hidden is not None,
        "signals": result.signals,
        "reflections": result.reflections,
        "usd": result.usd,
        "tokens": result.tokens,
        "completion_tokens": result.completion_tokens,
        "critical_tokens": result.critical_tokens,
        "seconds": round(result.seconds, 3),
        "grounded": result.grounded,
        "oracle": result.oracle,
        "test_strength": strength.as_data() if strength else None,
        "account": account_data(result.account),
        "sandbox": best.signal.sandbox.model_dump(mode="json") if best and best.signal.sandbox else None,
        "ledger": ledger,
    }


def _patch_data(patch: bytes) -> dict[str, Any]:
    """The patch, and how it is written: JSON holds no bytes that are not UTF-8."""
    if not patch:
        return {"patch": None, "patch_encoding": None}
    try:
        return {"patch": patch.decode(), "patch_encoding": "utf-8"}
    except UnicodeDecodeError:
        return {"patch": base64.b64encode(patch).decode(), "patch_encoding": "base64"}
