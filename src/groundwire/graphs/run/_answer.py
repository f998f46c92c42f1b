"""Which candidate stands, and which is the answer.

Tests that a model wrote may ask for another try after the user's own have passed, and never take that PASS back. So
the candidate is on record as standing before they are asked. However the loop ends (stuck, exhausted, out of budget, by
a model's error) without anything better, what stands is the answer. Where another tool has the last word, hidden tests,
every node of the loop leads there then (`Route.HAND_IN`), and nothing is proposed any more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.runtime import Runtime

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Judged
from groundwire.core._errors import BudgetExceeded, ModelError
from groundwire.core._records import Intent, StopReason
from groundwire.core._signals import NoVerdict, Signal, Verdict, canonical
from groundwire.graphs.build._bounds import Node
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._history import History
from groundwire.graphs.run._state import EpisodeState, Route

# Which candidate is the answer: the best one, or, as published self-repair loops have it, the last one.
#
# With `best` a candidate reaches the confirming tool only after it has passed. With `last` the last one goes there
# when the loop ends, whatever was said of it before; nothing is proposed after that, so hidden tests judge once and
# steer nothing.

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
NOT_ITS_DOING = frozenset({NoVerdict.SANDBOX, NoVerdict.RUNNER_MISSING, NoVerdict.MODULE_MISSING, NoVerdict.USAGE})
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


# What stands: a candidate that passed what may verify it, before tests of a weaker kind were asked.

ENDS = ENDS_OF_THE_LOOP | {
    StopReason.BUDGET_SECONDS,
    StopReason.BUDGET_RUN,
    StopReason.MODEL_ERROR,
    StopReason.INTERNAL_ERROR,
    StopReason.TOOL_EXHAUSTED,
    StopReason.REJECTED,
    StopReason.CONTRADICTION,
}


async def let_stand(episode: Episode, trial: int, digest: str, *, issuer: str, by: str) -> None:
    """Puts on record, once, that a candidate stands whatever a weaker tool will say of it.

    Args:
        episode: the running episode.
        trial: where it passed.
        digest: the candidate.
        issuer: the weaker tool's node.
        by: the node that must judge it before it counts; "" where it counts as it is.
    """
    if not any((r.trial, r.digest) == (trial, digest) for r in episode.history.passes_on_record):
        body = canonical({"issuer": issuer, "by": by})
        await episode.record(Intent(episode_id=episode.id, trial=trial, kind="stands", digest=digest, body=body))


def what_stands(episode: Episode, reason: StopReason, by: str = "") -> Intent | None:
    """The record of what is handed out where the loop ends for `reason`: the best candidate if it stands, else the
    newest that does.

    Args:
        episode: the episode.
        reason: why the loop ends.
        by: the node that must judge it first; "": none.
    """
    history = episode.history
    if reason not in ENDS:
        return None
    kept = [r for r in history.passes_on_record if json.loads(r.body)["by"] == by and _still_stands(r, history)]
    best = history.best.candidate.digest if history.best else ""
    return next((r for r in reversed(kept) if r.digest == best), kept[-1] if kept else None)


def passed_by(stands: Intent, history: History) -> Judged:
    """What stands, with the PASS that it stands by."""
    weaker = json.loads(stands.body)["issuer"]
    return next(j for j in _looks(stands, history) if j.signal.issuer != weaker)


def said_against(history: History, digest: str) -> str:
    """What the weaker tool said of what is handed out all the same; "" where it was content or not asked."""
    stands = next((r for r in reversed(history.passes_on_record) if r.digest == digest), None)
    if stands is None:
        return ""
    weaker = json.loads(stands.body)["issuer"]
    looks = history.looks(stands.trial, weaker, digest)
    if not looks:
        return "the model's own tests were not to be had"
    last = looks[-1]
    if last.verdict is Verdict.PASS:
        return ""
    said = "disagree" if last.verdict is Verdict.FAIL else f"gave no verdict ({last.reason})"
    return f"the model's own tests {said}: {last.evidence.detail}"


def handing_in(node: Node, by: str) -> Node:
    """A node which leads to `by` where it would end the loop and something stands; a model's error ends it too."""

    async def run(state: EpisodeState, runtime: Runtime[Episode]) -> Mapping[str, Any]:
        episode = runtime.context
        try:
            update: Mapping[str, Any] = await node(state, runtime)
        except (BudgetExceeded, ModelError) as trouble:
            is_budget = isinstance(trouble, BudgetExceeded)
            reason = StopReason(f"budget_{trouble.kind}") if is_budget else StopReason.MODEL_ERROR
            stands = what_stands(episode, reason, by)
            if stands is None:
                raise
            return _hand_in(stands, episode, reason, trouble.what)
        if update.get("route") is not Route.STOP:
            return update
        reason = StopReason(update["stop_reason"])
        stands = what_stands(episode, reason, by)
        return update if stands is None else _hand_in(stands, episode, reason, update["detail"])

    return run


def _hand_in(stands: Intent, episode: Episode, reason: StopReason, detail: str) -> Mapping[str, Any]:
    return {
        "trial": stands.trial,
        "candidate": stands.digest,
        "signal": passed_by(stands, episode.history).signal.id,
        "admission": "",
        "reflection": "",
        "route": Route.HAND_IN,
        "detail": f"after that: {reason}{f', {detail}' if detail else ''}",
    }


def _looks(record: Intent, history: History) -> list[Judged]:
    return [j for j in history.judged_of(record.trial) if j.candidate.digest == record.digest]


def _still_stands(record: Intent, history: History) -> bool:
    """False once anything but the weaker tool has said other than PASS."""
    weaker = json.loads(record.body)["issuer"]
    return all(j.signal.verdict is Verdict.PASS or j.signal.issuer == weaker for j in _looks(record, history))
