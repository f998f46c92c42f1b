"""Which part of a prompt a provider is told to keep, and what it says it took from its cache."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from groundwire.core._models import Message, Request
from groundwire.models._litellm import LiteLLMBackend
from groundwire.models._prices import rates_from_cost_map

if TYPE_CHECKING:
    from conftest import OpenAIStub

    Connect = Callable[..., LiteLLMBackend]


MARK = {"type": "ephemeral"}
SYSTEM, TASK = Message(role="system", content="be brief"), Message(role="user", content="the task")
ANSWER, COMPLAINT = Message(role="assistant", content="x"), Message(role="user", content="not so")


def anthropic_answer(stub: OpenAIStub) -> Any:
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 0}
    body = {
        "id": "m1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "hello"}], "usage": usage,
    }  # fmt: skip
    return stub.Reply(body=json.dumps(body).encode(), headers={"content-type": "application/json"})


async def test_a_claude_is_told_what_comes_again(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(anthropic_answer(stub))
    backend = connect("anthropic/claude-sonnet-4-5", api_base=stub.url.removesuffix("/v1"))
    answer = await backend.complete(Request(messages=(SYSTEM, TASK)))
    assert (answer.texts, answer.prompt_tokens, answer.cached_prompt_tokens) == (("hello",), 100, 90)
    assert answer.usd is not None and answer.usd < 100 * 3e-6 + 5 * 15e-6, "cached tokens are cheaper"
    await backend.complete(Request(messages=(SYSTEM, TASK, ANSWER, COMPLAINT)))
    first, second = (seen.body for seen in stub.seen)
    assert first["system"][0]["cache_control"] == second["system"][0]["cache_control"] == MARK
    assert "cache_control" not in json.dumps(first["messages"]), "one question is not asked again"
    assert second["messages"][-1]["content"][0]["cache_control"] == MARK
    assert json.dumps(second["messages"]).count("cache_control") == 1


async def test_nobody_else_is(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.completion("x"))
    await connect("openai/gpt-4o").complete(Request(messages=(SYSTEM, TASK, ANSWER, COMPLAINT)))
    assert "cache_control" not in json.dumps(stub.seen[0].body)


def test_writing_into_a_cache_is_priced() -> None:
    entry = {"input_cost_per_token": 3.0, "output_cost_per_token": 15.0, "cache_creation_input_token_cost": 3.75}
    rates = rates_from_cost_map(entry)
    assert rates is not None and rates.prompt == 3.75
