"""What a user's own part raises stays what it is: no budget is blamed for it, whatever its name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from guessing import Check, Guesser, Noter, loop
from langgraph.errors import GraphRecursionError

from groundwire import Budget, EpisodeState, FeedbackGraph, Observation, RunBudget, StopReason, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, CriticContext, Reflection, ToolContext
from groundwire.core._environments import attempt, environment_task
from groundwire.core._records import EpisodeEnd
from groundwire.core._scenes import Scene
from groundwire.core._signals import NoVerdict, Signal
from groundwire.graphs.run._budget import Meter, RunMeter
from groundwire.tools.environments import EnvironmentTool


class Late:
    """An actor, critic and tool whose own file, server or lock was too slow."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        raise TimeoutError("the licence server")

    async def reflect(self, context: CriticContext) -> Reflection:
        raise TimeoutError("the licence server")

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        raise TimeoutError("the licence server")


GRAPHS: dict[str, Callable[[], FeedbackGraph]] = {
    "actor": lambda: loop(cast("Guesser", Late()), Check()),
    "critic": lambda: loop(Guesser([["wrong"]]), Check(), cast("Noter", Late())),
    "tool": lambda: loop(Guesser([["wrong"]]), Late()),
}


@pytest.mark.parametrize("seconds", [None, 600.0])
@pytest.mark.parametrize("part", GRAPHS)
async def test_a_part_s_own_time_out_is_no_budget(task: Task, part: str, seconds: float | None) -> None:
    app = GRAPHS[part]().compile(budget=Budget(seconds=seconds))
    with pytest.raises(TimeoutError, match="the licence server"):
        await app.arun(task)
    ((episode,),) = [await app.store.episodes(run.id) for run in await app.store.runs()]
    assert not [r for r in await app.store.records(episode.id) if isinstance(r, EpisodeEnd)], "it can be gone on with"


async def test_a_world_s_own_time_out_is_a_world_that_broke() -> None:
    class Slow:
        def reset(self, seed: int) -> Scene:
            return Scene("begun")

        def act(self, action: str) -> Scene:
            raise TimeoutError("the licence server")

        def close(self) -> None:
            pass

    class Push:
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            return [attempt(context.task, context.trial, ["push"])]

    graph = FeedbackGraph().add_actor("act", Push()).add_tool("world", EnvironmentTool(Slow)).add_edge("act", "world")
    app = graph.compile(budget=Budget(seconds=600))
    result = await app.arun(environment_task(Slow(), id="slow"))
    signals = [r for r in await app.store.records(result.episode_id) if isinstance(r, Signal)]
    assert (result.stop_reason, signals[-1].reason) == (StopReason.NO_VERDICT, NoVerdict.RUNNER_CRASHED)
    assert "the licence server" in result.detail


async def test_a_deadline_that_is_over_is_the_budget_whatever_the_part_makes_of_it(task: Task) -> None:
    class Stubborn(Guesser):
        async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                raise TimeoutError("given up") from None
            return []

    result = await loop(Stubborn([]), Check()).compile(budget=Budget(seconds=0.01)).arun(task)
    assert (result.stop_reason, result.detail) == (StopReason.BUDGET_SECONDS, "The 0.01 s are used up.")


def test_a_run_s_time_is_named_where_it_is_the_only_limit() -> None:
    """Also where its own clock has not quite come to the end: a timer may go off a tick early."""
    meter = Meter(Budget(), RunMeter(RunBudget(seconds=5.0), clock=lambda: 0.0))
    assert "The run's 5 s are used up" in meter.out_of_time().what


async def test_a_graph_of_a_plain_node_s_own_that_turns_for_ever_is_that_node_s_trouble(task: Task) -> None:
    def ask(state: EpisodeState) -> dict[str, Any]:
        raise GraphRecursionError("of another graph")

    graph = FeedbackGraph().add_actor("write", Guesser([["right"]])).add_tool("test", Check())
    graph.add_node("ask", ask, role="pure").add_edge("write", "ask").add_edge("ask", "test")
    with pytest.raises(GraphRecursionError, match="of another graph"):
        await graph.compile().arun(task)
