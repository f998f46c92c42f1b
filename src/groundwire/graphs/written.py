"""Tests that a model writes: once an episode, on record before the first candidate is judged by them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace

from groundwire.contexts import ToolContext, WritingTool, WrittenCases
from groundwire.graphs.episode import Episode
from groundwire.graphs.model_calls import EpisodeCaller
from groundwire.records import Intent
from groundwire.signals import canonical

__all__ = ["written_cases"]


async def written_cases(tool: WritingTool, issuer: str, context: ToolContext, episode: Episode) -> ToolContext:
    """The context with the episode's cases; they are written at first use.

    Args:
        tool: what has them written and judges by them.
        issuer: its node's name.
        context: what it works with.
        episode: the running episode.

    Raises:
        ModelError, BudgetExceeded: from the model that writes.
    """
    known = episode.history.written.get(issuer)
    if known is not None:
        return replace(context, written=_read(known))
    # a caller of its own: that a model wrote the tests does not make what they say a model's opinion
    written = await tool.write(episode.task.public(), replace(context, call=EpisodeCaller(episode, context.trial)))
    body = canonical({"issuer": issuer, **asdict(written)})
    digest = hashlib.sha256(body.encode()).hexdigest()
    await episode.record(
        Intent(episode_id=episode.id, trial=context.trial, kind="model_tests", digest=digest, body=body)
    )
    return replace(context, written=written)


def _read(record: Intent) -> WrittenCases:
    body = json.loads(record.body)
    return WrittenCases(
        cases=tuple(body["cases"]),
        dropped=tuple((source, why) for source, why in body["dropped"]),
        by=body["by"],
        validated=body["validated"],
    )
