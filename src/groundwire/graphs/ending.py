"""What an episode ends with: its last record, and its result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundwire.errors import GroundwireError
from groundwire.graphs.account import account_of
from groundwire.graphs.episode import Episode
from groundwire.graphs.result import EpisodeResult
from groundwire.graphs.standing import passed_by, said_against, what_stands
from groundwire.patches import make_patch
from groundwire.records import EpisodeEnd, StopReason
from groundwire.signals import Origin, Verdict

__all__ = ["end_of", "result_of"]


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
    account = account_of(history.records)
    end = history.end or end_of(episode, StopReason.INTERRUPTED, "Paused; the ledger holds all so far.")
    best = history.best
    verified = end.verdict is Verdict.PASS and best is not None
    return EpisodeResult(
        run_id=episode.run_id,
        episode_id=episode.id,
        task_id=task.id,
        verdict=end.verdict,
        stop_reason=end.stop_reason,
        detail=end.detail,
        best=best,
        patch=make_patch(task.tree, best.candidate.changes, best.candidate.modes) if verified and best else "",
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
        account=replace(account, trade_offs=episode.ladder.trade_offs),
        hidden_evidence=episode.hidden_evidence,
        lines_known_by_heart=len(episode.firewall.own_lines),
    )
