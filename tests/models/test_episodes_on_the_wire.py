"""Whole episodes against a server that fails in every way: the ledger has each call, and the server's count is ours."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest
from guessing import ANSWER, Check, answer
from pydantic import BaseModel

from groundwire import Budget, EpisodeResult, FeedbackGraph, StopReason, Task
from groundwire.agents import ask_for
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import EpisodeEnd, Intent, ModelCall
from groundwire.memory import InMemoryStore
from groundwire.models._litellm import LiteLLMBackend
from groundwire.models._openai_compatible import OpenAICompatibleBackend

if TYPE_CHECKING:
    from conftest import OpenAIStub

    Reach = Callable[..., LiteLLMBackend | OpenAICompatibleBackend]


ASK = Request(messages=(Message(role="user", content="guess"),), max_tokens=50, purpose="propose")
TASK = Task(id="guess", family="words", tree=Tree({ANSWER: b"nothing"}))


class Guess(BaseModel):
    word: str


class Asker:
    """Proposes the word that the model gave."""

    def __init__(self, backend: LiteLLMBackend | OpenAICompatibleBackend) -> None:
        self.backend = backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        got = await ask_for(Guess, context.call, self.backend, ASK, repairs=2)
        return [answer(context.task, got.values[0].word)]


async def ran(
    backend: LiteLLMBackend | OpenAICompatibleBackend, budget: Budget | None = None
) -> tuple[EpisodeResult, list[Intent], list[ModelCall]]:
    """The episode, watched by somebody, and what the ledger has of its calls: each intent with its call, in order."""
    store = InMemoryStore()
    graph = FeedbackGraph().add_actor("write", Asker(backend)).add_tool("test", Check()).add_edge("write", "test")
    app = graph.refine("test", to="write").compile(store=store, budget=budget)
    result = await app.arun(TASK, on_text=lambda _index, _text: None)
    records = await store.records(result.episode_id)
    assert isinstance(records[-1], EpisodeEnd)
    intents = [r for r in records if isinstance(r, Intent)]
    calls = [r for r in records if isinstance(r, ModelCall)]
    assert [intent.id for intent in intents] == [call.intent_id for call in calls]
    if result.signals:  # where nothing was judged, there is nothing to replay
        replayed = await app.areplay(TASK, run_id=result.run_id, episode_id=result.episode_id)
        assert replayed.difference is None, "it can be played from the ledger alone"
    return result, intents, calls


async def test_an_episode_that_survives_it_all(stub: OpenAIStub, reach: Reach) -> None:
    wrong, right = (
        stub.streamed(stub.completion('{"word": "wrong"}')),
        stub.streamed(stub.completion('{"word": "right"}')),
    )
    stub.play(
        stub.failure(429, "busy", headers={"retry-after": "0"}),
        stub.streamed(stub.completion("in no form at all")),
        stub.failure(500, "down"),
        stub.streamed(stub.completion('{"word": "wro', "")),
        stub.streamed(stub.completion('{"word": "wrong"}'), whole_lines=3),
        wrong,
        stub.Reply(body=right.body, headers=right.headers, cut_after=-1),
        right,
    )
    result, _, calls = await ran(reach(usd_per_token=(0.01, 0.02)), Budget(usd=100.0))
    assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, 2)
    assert [(call.purpose, call.error.partition(":")[0]) for call in calls] == [
        ("propose", "ModelReplyInvalid"),
        ("correct", "ModelReplyInvalid"),
        ("correct", ""),
        ("propose", ""),
    ]
    answered = [Completion.model_validate_json(call.completion) for call in calls if not call.error]
    assert [completion.attempts for completion in answered] == [2, 2]
    assert all(completion.first_token_s is not None for completion in answered)
    assert len(stub.seen) == 8, "two for each call, and none for the replay"
    booked = [call.usd for call in calls if call.usd is not None]
    assert booked == [pytest.approx(7 * 0.01 + 5 * 0.02)] * 4
    assert result.usd == pytest.approx(sum(booked)), "what answered in no form was paid for too, as it was counted"


@pytest.mark.parametrize(
    ("how", "requests", "calls_made", "says"),
    [
        ("down", 3, 1, "ModelRetryable"),
        ("no such key", 1, 1, "ModelRejected"),
        ("context too long", 1, 1, "ModelRejected"),
        ("wrong form for ever", 3, 3, "ModelReplyInvalid"),
        ("empty for ever", 3, 3, "ModelReplyInvalid"),
        ("hangs", 1, 1, "ModelRetryable"),
    ],
)
@pytest.mark.usefixtures("forgets_what_was_cut_off")
async def test_an_episode_that_ends(
    stub: OpenAIStub, reach: Reach, how: str, requests: int, calls_made: int, says: str
) -> None:
    replies = {
        "down": stub.failure(503, "down"),
        "no such key": stub.failure(401, "no such key"),
        "context too long": stub.failure(400, "maximum context length is 9", code="context_length_exceeded"),
        "wrong form for ever": stub.streamed(stub.completion('{"wort": 1}')),
        "empty for ever": stub.streamed(stub.completion("")),
        "hangs": stub.Reply(hang=True),
    }
    stub.play(replies[how])
    async with asyncio.timeout(300):
        result, _, calls = await ran(reach(max_attempts=3, timeout_s=1.0 if how == "hangs" else 60.0))
    assert (result.stop_reason, result.exit_code) == (StopReason.MODEL_ERROR, 5)
    assert len(stub.seen) == requests
    assert [call.error.partition(":")[0] for call in calls] == [says] * calls_made
