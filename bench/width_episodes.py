"""One episode of an arm: to record what it asks, or to see what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from width_arms import Arm, Sizes

from groundwire.core import (
    Backend,
    Candidate,
    CandidateRecord,
    EpisodeRecord,
    Evidence,
    Observation,
    Origin,
    Record,
    StopReason,
    Task,
    ToolContext,
    Verdict,
)
from groundwire.graphs import Budget, EpisodeResult, FeedbackGraph, Rules, Sandboxes
from groundwire.memory import InMemoryStore

__all__ = ["Episode", "record", "run_episode"]

RULES = Rules(rejudge_fails=0, rejudge_passes=0)
"""The tests call pure functions, so that nothing has to be judged twice."""
BUDGET = Budget(trials=1)
"""One proposal: what is compared is what goes wide inside it."""


@dataclass(frozen=True)
class Episode:
    """What an episode left.

    Args:
        result: what it came to.
        proposed: the candidates, the best first.
        opened: its record.
        records: all others.
    """

    result: EpisodeResult
    proposed: Sequence[Candidate]
    opened: EpisodeRecord
    records: Sequence[Record]


async def record(arm: Arm, task: Task, model: Backend, sizes: Sizes, *, seed: int = 0) -> None:
    """Has an arm ask all that it asks; nothing is judged, so that no sandbox is needed where the model is.

    Raises:
        ModelError: the model can't be used.
        ConfigError: it returns no probabilities, and the arm needs them.
    """
    boxes = Sandboxes(None)
    await run_episode(arm.build(model, _Unjudged(), sizes), task, boxes, seed)
    await boxes.aclose()


async def run_episode(graph: FeedbackGraph, task: Task, boxes: Sandboxes, seed: int) -> Episode:
    """Runs one.

    Raises:
        ModelError: the model, or the recording, can't answer.
    """
    store = InMemoryStore()
    app = graph.compile(store=store, budget=BUDGET, rules=RULES)
    result = await app.arun(task, seed=seed, sandboxes=boxes)
    if result.stop_reason is StopReason.MODEL_ERROR and result.error is not None:
        raise result.error
    (opened,) = await store.episodes(result.run_id)
    records = await store.records(opened.id)
    written = [r.artifact for r in records if isinstance(r, CandidateRecord) and r.trial > 0]
    proposed = [Candidate.from_bytes(await store.artifact(digest)) for digest in written]
    return Episode(result, proposed, opened, records)


class _Unjudged:
    """Says FAIL to whatever it is given; for recordings, which hold no verdicts."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `Tool`."""
        return Observation(
            verdict=Verdict.FAIL, origin=Origin.EXECUTION, evidence=Evidence(detail="recorded, and not judged")
        )
