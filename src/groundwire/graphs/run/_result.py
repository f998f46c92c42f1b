"""What an episode came to: its last record, and what a person or a script is handed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from groundwire.core._candidates import Tree, make_patch
from groundwire.core._contexts import Judged
from groundwire.core._errors import GroundwireError, PartError
from groundwire.core._records import EpisodeEnd, StopReason
from groundwire.core._signals import Evidence, Isolation, Origin, Signal, Verdict
from groundwire.graphs.run._account import VerdictAccount, account_of
from groundwire.graphs.run._answer import passed_by, said_against, what_stands
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._gate import WEAK

# What an episode came to.

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
    StopReason.CONTRADICTION: 8,
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
        judged: candidates that were judged at least once, of those that were proposed.
        unconfirmed: a candidate that passed the visible tests, and that nobody could judge again, or by the hidden
            tests, before the episode ended. It is not verified.
        lines_known_by_heart: lines of the hidden tests that a model wrote without having been shown them.
        before: the files that `best` and `unconfirmed` change, as they were.
    """

    run_id: str
    episode_id: str
    task_id: str
    verdict: Verdict
    stop_reason: StopReason
    detail: str = ""
    best: Judged | None = None
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
    account: VerdictAccount = field(default_factory=VerdictAccount)
    hidden_evidence: Evidence | None = None
    lines_known_by_heart: int = 0
    interrupts: Sequence[object] = ()
    judged: int = 0
    unconfirmed: Judged | None = None
    before: Tree = field(default_factory=lambda: Tree({}), repr=False)

    # made when somebody reads them: to compare a real file with what became of it takes milliseconds

    @cached_property
    def patch_bytes(self) -> bytes:
        """The verified candidate as a patch that `git apply` takes, in the files' own bytes; empty unless it passed."""
        return self._patch(self.best) if self.verdict is Verdict.PASS else b""

    @cached_property
    def unconfirmed_patch(self) -> bytes:
        """`unconfirmed` as a patch."""
        return self._patch(self.unconfirmed)

    def _patch(self, judged: Judged | None) -> bytes:
        return make_patch(self.before, judged.candidate.changes, judged.candidate.modes) if judged else b""

    @property
    def patch(self) -> str:
        """`patch_bytes` as text for people: bytes that are not UTF-8 are escaped."""
        return self.patch_bytes.decode("utf-8", "backslashreplace")

    @property
    def text(self) -> str:
        """The one file that the verified candidate writes, as text: an answer; empty unless the verdict is PASS.

        Raises:
            CandidateError: it writes several files.
        """
        return self.best.candidate.text if self.best is not None and self.verdict is Verdict.PASS else ""

    @property
    def oracle(self) -> bool:
        """True if the answer key was used: such a result can't be compared with one that had none."""
        return self.account.oracle

    @property
    def isolation(self) -> Isolation | None:
        """How far the assertions that had the last word on what stands were from it; None where nothing passed."""
        last = self.hidden if self.hidden is not None else self.best.signal if self.best else None
        return last.isolation if last is not None and last.verdict is Verdict.PASS and last.sandbox else None

    @property
    def exit_code(self) -> int:
        """The process exit code that stands for it."""
        return EXIT_CODES[self.stop_reason]


# What an episode ends with: its last record, and its result.


def end_of(episode: Episode, reason: StopReason, detail: str) -> EpisodeEnd:
    """The record that ends an episode; what stands is submitted, whatever ends the loop."""
    stands = what_stands(episode, reason)
    if stands is not None:
        against = said_against(episode.history, stands.digest)
        said = ", ".join(filter(None, (str(reason), detail)))
        episode.submit(passed_by(stands, episode.history))
        reason, detail = StopReason.VERIFIED, "; ".join(filter(None, (against, f"after that: {said}")))
    solved = reason in (StopReason.VERIFIED, StopReason.ALREADY_PASSING)
    best = episode.history.best
    unjudged = reason is StopReason.NO_VERDICT or (best is None and reason is not StopReason.HIDDEN_FAILED)
    return EpisodeEnd(
        episode_id=episode.id,
        verdict=Verdict.PASS if solved else Verdict.NONE if unjudged else Verdict.FAIL,
        stop_reason=reason,
        best_candidate=best.candidate.digest if best and not best.candidate.is_base else "",
        detail=detail,
    )


def result_of(
    episode: Episode,
    error: GroundwireError | None = None,
    interrupts: Sequence[object] = (),
    *,
    grounded: bool = True,
) -> EpisodeResult:
    """What the caller gets, also of an episode that paused."""
    history, meter, task = episode.history, episode.meter, episode.task
    account = account_of(history.records, episode.ladder.trade_offs)
    end = history.end or end_of(episode, StopReason.INTERRUPTED, "Paused; the ledger holds all so far.")
    best = history.best
    unconfirmed = _unconfirmed(episode, end)
    return EpisodeResult(
        run_id=episode.run_id,
        episode_id=episode.id,
        task_id=task.id,
        verdict=end.verdict,
        stop_reason=end.stop_reason,
        detail=end.detail,
        best=best,
        trials=max(history.proposed, default=0),
        signals=len(history.signals),
        reflections=len(history.reflections),
        candidates=len(history.candidates) - 1,
        usd=meter.used.usd,
        tokens=meter.used.tokens,
        seconds=meter.seconds,
        completion_tokens=history.tokens_written.total,
        critical_tokens=history.tokens_written.critical,
        grounded=grounded,
        error=error,
        hidden=next((s for s in history.signals.values() if s.origin is Origin.HIDDEN_TESTS), None),
        interrupts=interrupts,
        judged=len({s.candidate_digest for s in history.signals.values()} - {history.base.digest}),
        unconfirmed=unconfirmed,
        before=_before(task.tree, best, unconfirmed),
        account=account,
        hidden_evidence=episode.hidden_evidence,
        lines_known_by_heart=len(episode.firewall.own_lines),
    )


def _before(tree: Tree, *judged: Judged | None) -> Tree:
    """Of a tree the files that candidates change: a result is kept for long, and the tree may be large."""
    changed = {path for one in judged if one for path in one.candidate.changes} & tree.files.keys()
    return Tree({path: tree.files[path] for path in changed}, tree.executable & changed)


CUT_SHORT = frozenset(
    {StopReason.BUDGET_SECONDS, StopReason.BUDGET_RUN, StopReason.INTERRUPTED, StopReason.INTERNAL_ERROR}
)
"""Ends before everything was said of what had passed."""


def _unconfirmed(episode: Episode, end: EpisodeEnd) -> Judged | None:
    """The newest candidate that passed all that judged it, where the end came before it was confirmed."""
    if end.stop_reason not in CUT_SHORT:
        return None
    looks: dict[str, list[Signal]] = {}
    for signal in episode.history.signals.values():
        if signal.origin is not Origin.RULE:
            looks.setdefault(signal.candidate_digest, []).append(signal)
    passed = [
        seen[-1]
        for digest, seen in looks.items()
        if digest != episode.history.base.digest
        and all(s.verdict is Verdict.PASS for s in seen)
        and any(s.origin not in WEAK for s in seen)
    ]
    return episode.history.judged(passed[-1]) if passed else None
