"""One task, many, or a stream; blocking twins; what a run's record tells."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest
from guessing import Check, Guesser, Noter, answer, loop

from groundwire import (
    Budget,
    FeedbackGraph,
    SandboxOptions,
    StopReason,
    Task,
)
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._records import EpisodeEnd
from groundwire.memory import InMemoryStore
from groundwire.sandbox import open_sandbox


def test_stream_yields_records_as_they_are_written_then_the_result(task: Task) -> None:
    app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile()
    items = list(app.stream(task))
    assert [type(i).__name__ for i in items[:3]] == ["EpisodeRecord", "TrialRecord", "Artifact"]
    assert isinstance(items[-2], EpisodeEnd)
    assert items[-1].stop_reason is StopReason.VERIFIED  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_a_stream_that_is_dropped_stops_the_episode(task: Task) -> None:
    actor = Guesser([[f"{i}"] for i in range(1000)])
    app = loop(actor, Check()).compile(budget=Budget(trials=1000))
    stream = app.stream(task)
    next(iter(stream))
    stream.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert len(actor.seen) < 1000


@pytest.mark.parametrize(("choice", "kind"), [(None, "default"), (SandboxOptions(kind="docker"), "docker")])
def test_the_run_tells_which_sandbox_was_asked_for(task: Task, choice: SandboxOptions | None, kind: str) -> None:
    store = InMemoryStore()
    loop(Guesser([["right"]]), Check()).compile(store=store, sandbox=choice).run(task)
    (run,) = asyncio.run(store.runs())
    assert json.loads(run.config)["sandbox"] == kind


async def test_the_run_tells_the_kind_of_a_sandbox_that_was_handed_in(task: Task) -> None:
    store = InMemoryStore()
    sandbox = await open_sandbox("subprocess")
    try:
        await loop(Guesser([["right"]]), Check()).compile(store=store, sandbox=sandbox).arun(task)
    finally:
        await sandbox.aclose()
    (run,) = await store.runs()
    assert json.loads(run.config)["sandbox"] == "subprocess"


def test_batch_shares_a_run_and_keeps_the_order(task: Task) -> None:
    store = InMemoryStore()

    class Echo:
        async def propose(self, context: ActorContext, n: int) -> list[Candidate]:
            await asyncio.sleep(0.001 if context.task.id == "t0" else 0)
            return [answer(context.task, "right")]

    graph = FeedbackGraph().add_actor("write", Echo()).add_tool("test", Check()).add_edge("write", "test")
    graph.refine("test", to="write")
    results = graph.compile(store=store).batch([replace(task, id=f"t{i}") for i in range(6)], at_once=3)
    assert [r.task_id for r in results] == [f"t{i}" for i in range(6)]
    assert len({r.run_id for r in results}) == 1
    assert len(asyncio.run(store.runs())) == 1


async def test_sync_wrappers_refuse_inside_a_loop_and_name_the_twin(task: Task) -> None:
    app = loop(Guesser([["right"]]), Check()).compile()
    with pytest.raises(ConfigError, match="arun"):
        app.run(task)
    with pytest.raises(ConfigError, match="abatch"):
        app.batch([task])
    with pytest.raises(ConfigError, match="astream"):
        next(iter(app.stream(task)))
