"""An episode's outcome for people and for scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from groundwire.cli._text import plural
from groundwire.core._candidates import count_lines
from groundwire.core._records import StopReason
from groundwire.core._signals import Verdict
from groundwire.core._tasks import Task
from groundwire.core._text import plain

if TYPE_CHECKING:
    from groundwire.graphs.run._account import Account, WrittenTests
    from groundwire.graphs.run._result import EpisodeResult


# What an episode's verdicts rest on, in lines for people and as data for scripts.

NAMES_SHOWN = 5
TRADE_OFFS_SHOWN = 3


def account_lines(account: Account) -> Iterator[tuple[str, str]]:
    """(text, style) of what a person should know; nothing where all went plainly."""
    if account.flaky:
        yield f"flaky, so never acted on: {_named(account.flaky)}", "yellow"
    if account.rejudged or account.retries:
        parts: list[str] = []
        if account.rejudged:
            parts.append(f"{plural(account.rejudged, 'verdict')} judged again ({account.rejudged_s:.1f} s)")
        if account.retries:
            parts.append(f"{plural(account.retries, 'judging')} repeated after trouble")
        yield ", ".join(parts), "dim"
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
            f"hidden tests laid out {times}, {account.steering} of these before the last proposal",
            ("red" if account.steering else "dim"),
        )
    if account.opinions:
        yield f"opinions count here: {', '.join(account.opinions)}", "yellow"
    if account.oracle:
        yield "oracle: the answer key was used", "yellow"


def account_data(account: Account) -> dict[str, Any]:
    """The same for `--json`, whole."""
    return asdict(account)


def _named(names: tuple[str, ...]) -> str:
    shown = plain(", ".join(names[:NAMES_SHOWN]), limit=300)
    return f"{shown} and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else shown


def _written(written: WrittenTests) -> str:
    checked = "checked against a reference" if written.validated else "not checked against anything"
    return f"{plural(written.kept, 'test')} written by a model, {written.dropped} dropped, {checked}"


HIDDEN_SHOWN = 3

SAID = {
    StopReason.ALREADY_PASSING: "nothing to repair: the tests pass as they are",
    StopReason.INTERNAL_PASS: "internal pass, not verified",
    StopReason.HIDDEN_FAILED: "no patch: the visible tests pass, the hidden ones do not",
    StopReason.HIDDEN_LEAK: "stopped: text of the hidden tests was about to leak",
    StopReason.EXHAUSTED: "unsolved: nothing new is left to propose",
    StopReason.STUCK: "unsolved: only the same answers again",
    StopReason.REFUSED: "stopped: the gate refused the signal",
    StopReason.NO_VERDICT: "no verdict",
    StopReason.BUDGET_TRIALS: "unsolved: the trials are used up",
    StopReason.BUDGET_STEPS: "unsolved: the steps are used up",
    StopReason.BUDGET_USD: "stopped: the money is used up",
    StopReason.BUDGET_TOKENS: "stopped: the tokens are used up",
    StopReason.BUDGET_CALLS: "stopped: the model calls are used up",
    StopReason.BUDGET_RUN: "stopped: the run has used up what its episodes may use together",
    StopReason.BUDGET_SECONDS: "stopped: the time is used up",
    StopReason.BUDGET_REFINEMENTS: "unsolved: signals of this kind have opened as many refinements as they may",
    StopReason.MODEL_ERROR: "stopped: the model can't be used",
    StopReason.STORAGE_ERROR: "stopped: the ledger can't be written",
    StopReason.INTERNAL_ERROR: "stopped: an error in a part of the graph",
    StopReason.INTERRUPTED: "interrupted",
}


def print_outcome(console: Console, result: EpisodeResult, task: Task, patch_file: Path | None, applied: bool) -> None:
    """Prints the last lines of a repair."""
    if result.stop_reason is StopReason.VERIFIED and result.best is not None:
        changes = result.best.candidate.changes
        added, removed = count_lines(task.tree, changes)
        line = Text("verified patch: ", style="bold green")
        line.append(str(patch_file), style="default")
        line.append(f" ({plural(len(changes), 'file')}, +{added} −{removed})", style="dim")
        line.append(f"   tests untouched   {plural(result.signals, 'signal')} sealed", style="dim")
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
    if result.stop_reason is StopReason.HIDDEN_FAILED and result.hidden_evidence is not None:
        for case in result.hidden_evidence.failed()[:HIDDEN_SHOWN]:
            said = plain(f"{case.id}: {case.message}", limit=200)
            console.print(Text(f"  {said}   (shown to you, kept nowhere)", style="dim"), soft_wrap=True)
    for said, style in account_lines(result.account):
        console.print(Text(said, style=style), soft_wrap=True)
    console.print(Text(f"record: groundwire show {result.run_id[:13]}", style="dim"))


def as_data(result: EpisodeResult, task: Task, patch_file: Path | None, applied: bool, ledger: str) -> dict[str, Any]:
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
        "patch": result.patch or None,
        "patch_file": str(patch_file) if patch_file else None,
        "applied": applied,
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
        "trials": result.trials,
        "candidates": result.candidates,
        "signals": result.signals,
        "reflections": result.reflections,
        "usd": result.usd,
        "tokens": result.tokens,
        "completion_tokens": result.completion_tokens,
        "critical_tokens": result.critical_tokens,
        "seconds": round(result.seconds, 3),
        "grounded": result.grounded,
        "oracle": result.oracle,
        "account": account_data(result.account),
        "sandbox": best.signal.sandbox.model_dump(mode="json") if best and best.signal.sandbox else None,
        "ledger": ledger,
    }
