"""What can't be undone is done at most once: that it begins is in the ledger before it does."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.contexts import ActingTool, ToolContext
from groundwire.graphs.episode import Episode
from groundwire.records import Intent
from groundwire.signals import Evidence, NoVerdict, Observation, Origin, Verdict, canonical
from groundwire.tasks import Task
from groundwire.trees import Candidate

__all__ = ["CutOff", "begin_acts"]

ACT = "act"
"""The kind of intent that stands for one."""


class CutOff:
    """Stands in for a tool that an earlier process had begun to act with, and never heard of again."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """Nothing is done; a person has to look."""
        return Observation(
            verdict=Verdict.NONE,
            reason=NoVerdict.CUT_OFF,
            origin=Origin.EXECUTION,
            evidence=Evidence(detail="an earlier process ended during this call; look whether it was carried out"),
        )


async def begin_acts(
    name: str, tool: ActingTool, candidates: Sequence[Candidate], trial: int, episode: Episode
) -> bool:
    """Writes down what is about to be done, where it can't be undone.

    Args:
        name: the tool node.
        tool: its tool.
        candidates: what it is about to judge.
        trial: the trial.
        episode: the running episode.

    Returns:
        False where that had begun before and its end is not known: it may not be begun again.
    """
    body = canonical({"issuer": name})
    acts = [c.digest for c in candidates if not tool.can_be_undone(c)]
    if any((trial, digest, body) in episode.history.acts for digest in acts):
        return False
    for digest in acts:
        await episode.record(Intent(episode_id=episode.id, trial=trial, kind=ACT, digest=digest, body=body))
    return True
