"""Real checkpointers: positions, approval by a person across restarts, and what a checkpoint holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from crashing import ANSWERS
from guessing import ANSWER, Check, Guesser, Noter, answer, loop, no_verdict
from langgraph.types import interrupt
from savers import checkpoints, opened

from groundwire import (
    Budget,
    EpisodeState,
    FeedbackGraph,
    NoVerdict,
    Observation,
    Origin,
    StopReason,
    Task,
    Verdict,
)
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._signals import Evidence
from groundwire.memory import InMemoryStore, SqlStore


async def test_an_episode_runs_and_leaves_its_last_position(saver_url: str, task: Task) -> None:
    async with opened(saver_url) as saver:
        graph = loop(Guesser([["wrong"], ["right"]]), Check(), Noter())
        app = graph.compile(checkpointer=saver)
        result = await app.arun(task)
        assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 2)
        (last,) = await checkpoints(app, result.episode_id)
        assert last.values["episode_id"] == result.episode_id
        assert last.next == ()


@pytest.mark.parametrize("durability", ["async", "sync"])
async def test_every_superstep_is_kept_where_that_is_asked_for(saver_url: str, task: Task, durability: Any) -> None:
    async with opened(saver_url) as saver:
        app = loop(Guesser([["wrong"], ["right"]]), Check()).compile(checkpointer=saver, durability=durability)
        result = await app.arun(task, config={"configurable": {"thread_id": "mine"}})
        assert [s.next for s in await checkpoints(app, "mine")] == [
            ("__start__",), ("write",), ("test",), ("write",), ("test",), (),
        ]  # fmt: skip
        assert await checkpoints(app, result.episode_id) == []


async def test_plain_nodes_are_kept_step_by_step_unless_told_otherwise(task: Task) -> None:
    async with opened("memory") as saver:
        graph = loop(Guesser([["right"], ["right"]]), Check()).add_node("begin", lambda state: {}, role="pure")
        graph.set_entry("begin").add_edge("begin", "write")
        by_itself, told = graph.compile(checkpointer=saver), graph.compile(checkpointer=saver, durability="exit")
        for app, kept in ((by_itself, 5), (told, 1)):
            result = await app.arun(task)
            assert len(await checkpoints(app, result.episode_id)) == kept


def approving() -> FeedbackGraph:
    """A person is asked before each judging."""

    def ask(state: EpisodeState) -> dict[str, Any]:
        interrupt(f"May trial {state.trial} be judged?")
        return {}

    graph = FeedbackGraph().add_actor("write", Fixed()).add_tool("test", Check())
    graph.add_node("ask", ask, role="pure").add_edge("write", "ask").add_edge("ask", "test")
    return graph.refine("test", to="write")


class Fixed:
    """An actor without a memory of its own, for runs that go on in another process."""

    calls = 0

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        self.calls += 1
        return [answer(context.task, ANSWERS[context.trial])]


@pytest.mark.parametrize("durability", ["exit", "async", "sync"])
async def test_a_person_approves_across_restarts(
    durable_saver_url: str, task: Task, durability: Any, tmp_path: Path
) -> None:
    """Each answer comes to a new app with a new connection, as it would in another process."""
    ledger = f"sqlite:///{tmp_path}/ledger.db"

    async def step(run_id: str, episode_id: str | None, resume: Any) -> Any:
        store = SqlStore(ledger)
        async with opened(durable_saver_url) as saver:
            app = approving().compile(store=store, checkpointer=saver, durability=durability)
            result = await app.arun(task, run_id=run_id, episode_id=episode_id, resume=resume)
        await store.aclose()
        return result

    store = SqlStore(ledger)
    run_id = await approving().compile(store=store).start_run()
    await store.aclose()
    first = await step(run_id, None, None)
    again = await step(run_id, first.episode_id, None)
    second = await step(run_id, first.episode_id, "yes")
    third = await step(run_id, first.episode_id, "yes")
    assert [r.stop_reason for r in (first, again, second, third)] == [
        *[StopReason.INTERRUPTED] * 3,
        StopReason.VERIFIED,
    ]
    assert [r.interrupts[0].value for r in (first, again, second)] == [
        "May trial 1 be judged?", "May trial 1 be judged?", "May trial 2 be judged?",
    ]  # fmt: skip
    assert (third.stop_reason, third.trials, third.signals) == (StopReason.VERIFIED, 2, 2)


async def test_langgraph_can_stop_before_and_after_nodes(saver_url: str, task: Task) -> None:
    async with opened(saver_url) as saver:
        store = InMemoryStore()
        graph = loop(Guesser([["wrong"], ["right"]]), Check())
        app = graph.compile(store=store, checkpointer=saver, interrupt_before=["test"], interrupt_after=["test"])
        run_id = await app.start_run()
        result = await app.arun(task, run_id=run_id)
        stops = 0
        while result.stop_reason is StopReason.INTERRUPTED:
            stops += 1
            result = await app.arun(task, run_id=run_id, episode_id=result.episode_id)
        assert (result.stop_reason, stops) == (StopReason.VERIFIED, 3)


class Walks:
    """Appends a kilobyte a step, so that bodies in the state would show."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        before = context.failing.candidate.changes[ANSWER] if context.failing else b""
        return [answer(context.task, f"{(before or b'').decode()}{'step' * 256}")]


async def test_the_state_does_not_grow_with_the_steps_and_holds_no_body(task: Task) -> None:
    check = Check(override=lambda text: no_verdict(NoVerdict.GO_ON, Origin.ENVIRONMENT))
    graph = FeedbackGraph().add_actor("act", Walks()).add_tool("world", check)
    graph.add_edge("act", "world").advance("world", to="act")
    async with opened("memory") as saver:
        app = graph.compile(checkpointer=saver, durability="sync", budget=Budget(steps=40))
        result = await app.arun(task)
        assert result.verdict is Verdict.NONE or result.stop_reason is StopReason.BUDGET_STEPS
        sizes = [
            len(saver.serde.dumps_typed(item.checkpoint)[1])
            async for item in saver.alist({"configurable": {"thread_id": result.episode_id}})
        ]
        assert len(sizes) > 60
        late, early = max(sizes[:10]), max(sizes[-20:-10])
        assert late <= early + 8
        assert late < 3_000


async def test_an_observation_never_reaches_a_checkpoint(task: Task) -> None:
    marker = "observed-by-the-tool"

    def sees(text: str) -> Observation:
        evidence = Evidence(detail=marker, stdout=marker)
        return Observation(verdict=Verdict.FAIL, origin=Origin.VERIFIER, evidence=evidence)

    async with opened("memory") as saver:
        app = loop(Guesser([["one"], ["two"]]), Check(override=sees)).compile(
            checkpointer=saver, durability="sync", budget=Budget(trials=2)
        )
        result = await app.arun(task)
        saved = [item async for item in saver.alist({"configurable": {"thread_id": result.episode_id}})]
        running = [item for item in saved if not item.checkpoint["channel_values"].get("stop_reason")]
        assert marker.encode() not in b"".join(saver.serde.dumps_typed(item.checkpoint)[1] for item in running)
