"""What an episode came to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from groundwire.contexts import Judged
from groundwire.errors import GroundwireError, PartError
from groundwire.graphs.account import Account
from groundwire.records import StopReason
from groundwire.signals import Evidence, Signal, Verdict

__all__ = ["EXIT_CODES", "EpisodeResult"]

EXIT_CODES = {
    StopReason.VERIFIED: 0,
    StopReason.ALREADY_PASSING: 0,
    StopReason.INTERNAL_PASS: 1,
    StopReason.HIDDEN_FAILED: 1,
    StopReason.HIDDEN_LEAK: 1,
    StopReason.EXHAUSTED: 1,
    StopReason.STUCK: 1,
    StopReason.REFUSED: 1,
    StopReason.NO_VERDICT: 3,
    StopReason.BUDGET_TRIALS: 4,
    StopReason.BUDGET_STEPS: 4,
    StopReason.BUDGET_USD: 4,
    StopReason.BUDGET_TOKENS: 4,
    StopReason.BUDGET_CALLS: 4,
    StopReason.BUDGET_SECONDS: 4,
    StopReason.BUDGET_RUN: 4,
    StopReason.BUDGET_REFINEMENTS: 4,
    StopReason.TOOL_EXHAUSTED: 1,
    StopReason.REJECTED: 1,
    StopReason.MODEL_ERROR: 5,
    StopReason.STORAGE_ERROR: 6,
    StopReason.INTERNAL_ERROR: PartError.exit_code,
    StopReason.INTERRUPTED: 130,
}


@dataclass(frozen=True)
class EpisodeResult:
    """One episode's outcome.

    Args:
        run_id: its run.
        episode_id: its id in the ledger.
        task_id: what was to be solved.
        verdict: PASS only if something outside the model said so.
        stop_reason: why it ended.
        detail: one line for people.
        best: the best verified candidate with its signal; None where nothing was judged.
        patch: the verified candidate as a patch that `git apply` takes; empty unless the verdict is PASS.
        trials: trials after the baseline.
        signals: how many were sealed.
        reflections: how many were written.
        candidates: how many were proposed.
        usd: US dollars spent on models.
        tokens: prompt and completion tokens.
        seconds: wall seconds.
        completion_tokens: tokens that models wrote, of all calls together (B_total).
        critical_tokens: of these, those that had to wait for one another (B_seq): of calls that an actor makes side by
            side only the longest counts.
        grounded: False if a part of the graph revises its own text without a signal: a control.
        error: what ended it, where an error did; `PartError` for one that is none of ours, which is its `__cause__`.
        hidden: the hidden tests' signal, if they were reached; it holds no word of them.
        account: what the verdicts rest on: flaky cases, judgings repeated, trade-offs, accesses to the hidden tests.
        hidden_evidence: what the hidden tests showed, in full, for the person who reads this; it is kept nowhere.
        lines_known_by_heart: lines of the hidden tests that a model wrote without having been shown them.
    """

    run_id: str
    episode_id: str
    task_id: str
    verdict: Verdict
    stop_reason: StopReason
    detail: str = ""
    best: Judged | None = None
    patch: str = ""
    trials: int = 0
    signals: int = 0
    reflections: int = 0
    candidates: int = 0
    usd: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    completion_tokens: int = 0
    critical_tokens: int = 0
    grounded: bool = True
    error: GroundwireError | None = None
    hidden: Signal | None = None
    account: Account = field(default_factory=Account)
    hidden_evidence: Evidence | None = None
    lines_known_by_heart: int = 0
    interrupts: Sequence[object] = ()

    @property
    def oracle(self) -> bool:
        """True if the answer key was used: such a result can't be compared with one that had none."""
        return self.account.oracle

    @property
    def exit_code(self) -> int:
        """The process exit code that stands for it."""
        return EXIT_CODES[self.stop_reason]
