"""What the episodes of a run may use together, with real episodes at once and over more than one process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from guessing import Check, answer

from groundwire import Budget, FeedbackApp, FeedbackGraph, RunBudget, StopReason, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ModelReplyInvalid
from groundwire.core._models import Completion, Message, Request
from groundwire.graphs.run._budget import Cost, spent_on
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

ASK = Request(messages=(Message(role="user", content="guess"),), max_tokens=50, purpose="propose")


class Endless:
    """A paid model that is always wrong; every third answer can't be read, and nobody answers at once."""

    model = "endless"

    def __init__(self, fails: int = 0) -> None:
        self.asked = 0
        self.under_way = 0
        self.most_at_once = 0
        self._fails = fails

    def price(self, request: Request) -> float | None:
        return 0.5

    async def complete(self, request: Request) -> Completion:
        self.asked += 1
        mine = self.asked
        self.under_way += 1
        self.most_at_once = max(self.most_at_once, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        if self._fails and mine % self._fails == 0:
            raise ModelReplyInvalid("gibberish")
        return Completion(texts=(f"wrong {mine}",), usd=0.4, prompt_tokens=7, completion_tokens=3)

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        return [await self.complete(request) for request in requests]


class Asker:
    """Proposes what the model says."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        completion = await context.call(self.backend, ASK)
        return [answer(context.task, completion.texts[0])]


def app_of(backend: Any, store: InMemoryStore, run_budget: RunBudget | None, **budget: Any) -> FeedbackApp:
    graph = FeedbackGraph().add_actor("write", Asker(backend)).add_tool("test", Check())
    graph.add_edge("write", "test").refine("test", to="write")
    return graph.compile(store=store, budget=Budget(**budget), run_budget=run_budget)


async def used_in(store: InMemoryStore, run_id: str) -> Cost:
    return sum([spent_on(await store.records(e.id)) for e in await store.episodes(run_id)], Cost())


@pytest.mark.parametrize(
    ("limits", "asked"),
    [(RunBudget(usd=3.0), 7), (RunBudget(calls=5), 5), (RunBudget(trials=4), 4)],
    ids=["usd", "calls", "trials"],
)
async def test_episodes_at_once_stop_before_they_overspend_together(task: Task, limits: RunBudget, asked: int) -> None:
    backend, store = Endless(), InMemoryStore()
    results = await app_of(backend, store, limits, trials=100).abatch([task] * 6, at_once=6)
    assert {r.stop_reason for r in results} == {StopReason.BUDGET_RUN}
    assert {r.exit_code for r in results} == {4}
    assert backend.most_at_once > 1
    assert backend.asked == asked
    used = await used_in(store, results[0].run_id)
    assert (used.usd, used.tokens, used.calls) == (pytest.approx(0.4 * asked), 10 * asked, asked)
    assert sum(r.usd for r in results) == pytest.approx(used.usd)


async def test_one_episode_s_budget_does_not_stop_the_others(task: Task) -> None:
    backend, store = Endless(), InMemoryStore()
    results = await app_of(backend, store, RunBudget(calls=100), calls=2).abatch([task] * 3, at_once=3)
    assert [r.stop_reason for r in results] == [StopReason.BUDGET_CALLS] * 3
    assert backend.asked == 6


async def test_what_earlier_processes_used_in_the_run_counts(task: Task) -> None:
    """An answer that could not be read counts with all that was held for it, then and now."""
    store, limits = InMemoryStore(), RunBudget(usd=2.0)
    first = app_of(Endless(fails=2), store, limits, trials=100)
    run_id = await first.start_run()
    ended = await first.arun(task, run_id=run_id)
    assert ended.stop_reason is StopReason.MODEL_ERROR
    assert ended.usd == pytest.approx(0.9)
    used = await used_in(store, run_id)
    assert (used.usd, used.tokens, used.calls, used.trials) == (pytest.approx(0.9), ended.tokens, 2, 2)
    backend = Endless()
    later = await app_of(backend, store, limits, trials=100).arun(task, run_id=run_id)
    # 0.9 of 2.0 is used: a call may cost 0.5 and costs 0.4, so two more fit
    assert (later.stop_reason, backend.asked) == (StopReason.BUDGET_RUN, 2)
    assert "of the run's $2.0000" in str(later.error)


async def test_a_run_of_its_own_has_a_budget_of_its_own(task: Task) -> None:
    backend = Endless()
    app = app_of(backend, InMemoryStore(), RunBudget(calls=2), trials=100)
    assert [(await app.arun(task)).stop_reason for _ in range(2)] == [StopReason.BUDGET_RUN] * 2
    assert backend.asked == 4


async def test_a_replay_of_an_episode_that_others_stopped_is_compared_up_to_there(task: Task) -> None:
    backend, store = Endless(), InMemoryStore()
    app = app_of(backend, store, RunBudget(calls=3), trials=100)
    (result, _) = await app.abatch([task] * 2, at_once=2)
    replayed = await app.areplay(task, run_id=result.run_id, episode_id=result.episode_id)
    assert (replayed.difference, replayed.is_whole) == (None, False)
    assert replayed.compared > 5
    assert backend.asked == 3


async def test_the_ledger_and_the_meter_agree(task: Task) -> None:
    store = InMemoryStore()
    scripted = ScriptedBackend(["wrong", "right"])
    result = await app_of(scripted, store, None).arun(task)
    used = spent_on(await store.records(result.episode_id))
    assert (used.usd, used.tokens, used.calls, used.trials) == (result.usd, result.tokens, 2, 2)
