"""An object of a pydantic class from a model: schema out, answer checked, bad ones sent back, but not for ever."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from guessing import ANSWER, Check, answer
from pydantic import BaseModel, field_validator

from groundwire import Budget, FeedbackGraph, StopReason, Task
from groundwire.agents import ask_for
from groundwire.agents.prompting._structured import Structured
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError, ModelReplyInvalid
from groundwire.core._models import Backend, Completion, Message, Request
from groundwire.core._records import ModelCall
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

ASK = Request(messages=(Message(role="user", content="guess"),), max_tokens=50, purpose="propose")
TASK = Task(id="guess", family="words", tree=Tree({ANSWER: b"nothing"}))


class Guess(BaseModel):
    word: str

    @field_validator("word")
    @classmethod
    def _short(cls, word: str) -> str:
        if len(word) > 5:
            raise ValueError("too long a word")
        return word


class Asker:
    """Proposes the word that it was given."""

    def __init__(self, backend: ScriptedBackend, samples: int = 1) -> None:
        self.backend = backend
        self.request = ASK.model_copy(update={"n": samples})
        self.got: list[Structured[Guess]] = []

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        self.got.append(await ask_for(Guess, context.call, self.backend, self.request, repairs=2))
        return [answer(context.task, self.got[-1].values[0].word)]


def run(actor: Asker, budget: Budget | None = None) -> tuple[StopReason, list[ModelCall]]:
    store = InMemoryStore()
    graph = FeedbackGraph().add_actor("write", actor).add_tool("test", Check()).add_edge("write", "test")
    result = graph.refine("test", to="write").compile(store=store, budget=budget).run(TASK)
    return result.stop_reason, [r for r in asyncio.run(store.records(result.episode_id)) if isinstance(r, ModelCall)]


def test_a_bad_answer_is_sent_back_with_what_is_wrong() -> None:
    backend = ScriptedBackend(["no json", '{"word": "far too long"}', '{"word": "right"}'])
    actor = Asker(backend)
    reason, calls = run(actor)
    assert reason is StopReason.VERIFIED
    assert [call.purpose for call in calls] == ["propose", "correct", "correct"], "each is a call of its own"
    assert [bool(call.error) for call in calls] == [True, False, False]
    assert actor.got[0].repairs == 2
    assert all(r.json_schema == Guess.model_json_schema() for r in backend.requests)
    second, third = (request.messages for request in backend.requests[1:])
    assert "it is not JSON" in second[-1].content
    assert third[-2].content == '{"word": "far too long"}'
    assert "at word: Value error, too long a word" in third[-1].content
    assert second[:1] == third[:1] == ASK.messages, "what stays the same comes first"


def test_a_wrong_form_for_ever_ends() -> None:
    backend = ScriptedBackend(lambda _request: '{"wort": 1}')
    reason, calls = run(Asker(backend))
    assert reason is StopReason.MODEL_ERROR
    assert len(calls) == len(backend.requests) == 3


def test_repairs_are_paid_from_the_same_budget() -> None:
    backend = ScriptedBackend(lambda _request: "x" * 40)
    reason, _ = run(Asker(backend), Budget(tokens=100))
    assert reason is StopReason.BUDGET_TOKENS
    assert len(backend.requests) == 1


def test_samples_that_can_be_read_are_taken() -> None:
    actor = Asker(ScriptedBackend(["no", '{"word": "right"}', '{"word": "far too long"}']), samples=3)
    run(actor)
    assert [value.word for value in actor.got[0].values] == ["right"]


async def test_arguments_and_the_last_complaint() -> None:
    async def call(backend: object, request: Request) -> object:
        raise ModelReplyInvalid("it said nothing")

    backend = ScriptedBackend([])
    with pytest.raises(ConfigError):
        await ask_for(Guess, call, backend, ASK, repairs=-1)  # pyright: ignore[reportArgumentType]  never called
    with pytest.raises(ModelReplyInvalid, match="a Guess in 1 calls; the last complaint: it said nothing"):
        await ask_for(Guess, call, backend, ASK, repairs=0)  # pyright: ignore[reportArgumentType]  it only raises


async def test_an_object_is_read_out_of_what_stands_around_it() -> None:
    class Raw(ScriptedBackend):
        """A backend of somebody's that checks nothing."""

        async def complete(self, request: Request) -> Completion:
            return await super().complete(request.model_copy(update={"json_schema": None}))

    async def call(backend: Backend, request: Request) -> Completion:
        return await backend.complete(request)

    dressed = ("```json\n{'word': 'right',}\n```", 'As {"type": "object"} says:\n{"word": "right"}\n{"word": "right"}')
    for text in dressed:
        got = await ask_for(Guess, call, Raw([text]), ASK)
        assert (got.values[0].word, got.repairs) == ("right", 0)
    two = await ask_for(Guess, call, Raw(['{"word": "a"} or {"word": "b"}', '{"word": "b"}']), ASK)
    assert (two.values[0].word, two.repairs) == ("b", 1), "two that differ are sent back"
