"""Model calls: the intent is in the ledger before the call, the price is held, the answer is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from dying import dies_and_goes_on
from guessing import Check, answer

from groundwire import Budget, FeedbackGraph, Observation, StopReason, Task
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, ToolContext
from groundwire.core._errors import ModelRejected, ModelReplyInvalid
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import Intent, ModelCall
from groundwire.core._signals import Origin, Signal
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

ASK = Request(messages=(Message(role="user", content="guess"),), max_tokens=50, purpose="propose")


class Asker:
    """Proposes what the model says."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        completion = await context.call(self.backend, ASK)
        return [answer(context.task, completion.texts[0])]


class Priced(ScriptedBackend):
    """A script whose answers cost money."""

    usd: float | None = 0.4

    def price(self, request: Request) -> float | None:
        return self.usd

    async def complete(self, request: Request) -> Completion:
        return (await super().complete(request)).model_copy(update={"usd": self.usd})


def asking(backend: Any, check: Check | None = None) -> FeedbackGraph:
    graph = FeedbackGraph().add_actor("write", Asker(backend)).add_tool("test", check or Check())
    return graph.add_edge("write", "test").refine("test", to="write")


def calls(store: InMemoryStore, episode_id: str) -> list[Intent | ModelCall]:
    return [r for r in asyncio.run(store.records(episode_id)) if isinstance(r, (Intent, ModelCall))]


def test_each_call_has_its_intent_and_its_answer(task: Task) -> None:
    store = InMemoryStore()
    result = asking(ScriptedBackend(["wrong", "right"])).compile(store=store).run(task)
    written = calls(store, result.episode_id)
    assert [type(r).__name__ for r in written] == ["Intent", "ModelCall"] * 2
    intent, call = written[:2]
    assert isinstance(intent, Intent)
    assert isinstance(call, ModelCall)
    assert (call.intent_id, call.request_digest, call.purpose) == (intent.id, intent.digest, "propose")
    assert Completion.model_validate_json(call.completion).texts == ("wrong",)
    assert result.tokens == sum(r.prompt_tokens + r.completion_tokens for r in written if isinstance(r, ModelCall))


def test_a_call_that_could_cost_too_much_is_never_sent(task: Task) -> None:
    backend = Priced(["wrong", "worse", "right"])
    result = asking(backend).compile(budget=Budget(usd=1.0)).run(task)
    assert (result.stop_reason, result.exit_code, round(result.usd, 2)) == (StopReason.BUDGET_USD, 4, 0.8)
    assert len(backend.requests) == 2


def test_an_unknown_price_is_refused_under_a_money_limit(task: Task) -> None:
    backend = Priced(["right"])
    backend.usd = None
    result = asking(backend).compile(budget=Budget(usd=1.0)).run(task)
    assert result.stop_reason is StopReason.BUDGET_USD
    assert backend.requests == []  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize(
    "error", [ModelRejected("no such model", do="Choose another."), ModelReplyInvalid("gibberish")]
)
def test_model_trouble_ends_the_episode_with_all_of_it_on_file(task: Task, error: Exception) -> None:
    store = InMemoryStore()
    result = asking(ScriptedBackend(["wrong", error])).compile(store=store).run(task)
    assert (result.stop_reason, result.exit_code, result.error) == (StopReason.MODEL_ERROR, 5, error)
    assert result.signals == 1
    last = calls(store, result.episode_id)[-1]
    assert isinstance(last, ModelCall)
    assert type(error).__name__ in last.error


def test_an_unreadable_answer_was_paid_for(task: Task) -> None:
    backend = Priced([ModelReplyInvalid("gibberish")])
    result = asking(backend).compile(budget=Budget(usd=1.0)).run(task)
    assert result.usd == pytest.approx(0.4)


def test_a_tool_that_asks_a_model_gives_another_models_opinion(task: Task) -> None:
    class Judge(Check):
        async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
            await context.call(ScriptedBackend(["looks right"]), ASK)
            return await super().judge(candidate, task, context)

    store = InMemoryStore()
    result = asking(ScriptedBackend(["right"]), Judge()).compile(store=store).run(task)
    assert result.stop_reason is StopReason.INTERNAL_PASS
    (signal,) = [r for r in asyncio.run(store.records(result.episode_id)) if isinstance(r, Signal)]
    assert signal.origin is Origin.OTHER_MODEL


def test_a_call_paid_for_before_a_crash_is_not_paid_again(task: Task) -> None:
    store = InMemoryStore()
    backend = ScriptedBackend(["right"])
    app = asking(backend).compile(store=store)

    result = asyncio.run(dies_and_goes_on(app, task, lambda record: isinstance(record, ModelCall)))
    assert result.stop_reason is StopReason.VERIFIED
    assert len(backend.requests) == 1
    assert len(calls(store, result.episode_id)) == 2


class Urgent(ScriptedBackend):
    """A script that serves by priority, and keeps what it was asked."""

    prioritises = True

    def __init__(self, replies: Sequence[str]) -> None:
        super().__init__(list(replies))
        self.priorities: list[int] = []

    async def complete(self, request: Request) -> Completion:
        self.priorities.append(request.priority)
        return await super().complete(request)


def test_episodes_near_success_are_served_first_and_the_ledger_does_not_depend_on_it(task: Task) -> None:
    store, backend = InMemoryStore(), Urgent(["a", "a b", "a b c"])
    result = asking(backend, Check(wanted=("a", "b", "c"))).compile(store=store).run(task)
    assert result.stop_reason is StopReason.VERIFIED
    assert backend.priorities == [100, 2, 1], "nothing known, then the cases that the best candidate fails"
    bodies = [r.body for r in calls(store, result.episode_id) if isinstance(r, Intent)]
    assert set(bodies) == {ASK.canonical()} and "priority" not in bodies[0]
    assert '"priority":3' in ASK.model_copy(update={"priority": 3}).canonical()
