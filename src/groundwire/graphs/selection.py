"""Which candidate is the answer: the best one, or, as published self-repair loops have it, the last one.

With `best` a candidate reaches the confirming tool only after it has passed. With `last` the last one goes there when
the loop ends, whatever was said of it before; nothing is proposed after that, so hidden tests judge once and steer
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from groundwire.graphs.episode import Episode
from groundwire.graphs.state import Route
from groundwire.records import StopReason
from groundwire.signals import NoVerdict, Signal
from groundwire.trees import Candidate

__all__ = ["LastAnswer", "Select"]

Select = Literal["best", "last"]

ENDS_OF_THE_LOOP = frozenset(
    {
        StopReason.EXHAUSTED,
        StopReason.STUCK,
        StopReason.NO_VERDICT,
        StopReason.BUDGET_TRIALS,
        StopReason.BUDGET_STEPS,
        StopReason.BUDGET_USD,
        StopReason.BUDGET_TOKENS,
        StopReason.BUDGET_CALLS,
        StopReason.BUDGET_REFINEMENTS,
    }
)
NOT_ITS_DOING = frozenset({NoVerdict.SANDBOX, NoVerdict.RUNNER_MISSING, NoVerdict.USAGE})
"""Where there is no verdict for one of these, the loop did not end: it could not go on."""


@dataclass(frozen=True)
class LastAnswer:
    """Hands in the last candidate when the loop ends without a PASS.

    Args:
        needs_hidden: True if it goes to a tool that judges hidden tests, so that a task must have some.
    """

    needs_hidden: bool = True

    def after_judging(self, update: Mapping[str, Any], signal: Signal, episode: Episode) -> Mapping[str, Any]:
        """What follows a judging: as `update` says, but for an end of the loop."""
        ends = update.get("route") is Route.STOP and update["stop_reason"] in ENDS_OF_THE_LOOP
        if not ends or signal.reason in NOT_ITS_DOING or not self._stands(signal.candidate_digest, episode):
            return update
        return {"route": Route.CONFIRM}

    def after_proposing(
        self, update: Mapping[str, Any], current: str, repeated: Candidate | None, trial: int, episode: Episode
    ) -> Mapping[str, Any]:
        """What follows where an actor had nothing new.

        Args:
            update: what would follow otherwise; it counts a new trial already.
            current: digest of the candidate that was judged last.
            repeated: what the actor said instead of something new; that is its last answer then.
            trial: the trial that was judged last.
            episode: the episode.
        """
        digest = repeated.digest if repeated else current
        seen = episode.ladder.look(digest)
        if seen is None or not self._stands(digest, episode):
            return update
        kept = {key: value for key, value in update.items() if key not in ("stop_reason", "detail")}
        place = update["trial"] if repeated else trial
        return {**kept, "trial": place, "candidate": digest, "signal": seen.id, "route": Route.CONFIRM}

    def _stands(self, digest: str, episode: Episode) -> bool:
        """False for what nobody proposed, and where there is nothing to judge by."""
        return digest != episode.history.base.digest and (episode.task.hidden is not None or not self.needs_hidden)
