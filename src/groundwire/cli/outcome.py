"""An episode's outcome for people and for scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from groundwire.cli.account import account_data, account_lines
from groundwire.cli.text import plain, plural
from groundwire.core.candidates import count_lines
from groundwire.core.records import StopReason
from groundwire.core.signals import Verdict
from groundwire.core.tasks import Task
from groundwire.graphs.run.result import EpisodeResult

__all__ = ["SAID", "as_data", "print_outcome"]

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
