"""Fallbacks and cooldowns through LiteLLM's Router: one owner of retries, and every request counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from groundwire.core._errors import ModelRejected, ModelRetryable
from groundwire.core._models import Message, Request
from groundwire.models._litellm import LiteLLMBackend

if TYPE_CHECKING:
    from conftest import OpenAIStub, Reply, Seen

    Connect = Callable[..., LiteLLMBackend]


ASK = Request(messages=(Message(role="user", content="hi"),))


@pytest.fixture
def failing(stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch) -> dict[str, Reply]:
    """What each model answers that is not well; the fallbacks are reached through the environment, as a user's are."""
    monkeypatch.setenv("OPENAI_API_BASE", stub.url)
    monkeypatch.setenv("OPENAI_API_KEY", stub.key)
    ill: dict[str, Reply] = {}

    def answer(seen: Seen) -> Reply:
        model = str(seen.body["model"])
        well = stub.completion(f"from {model}", model=model)
        return ill.get(model, stub.streamed(well) if seen.body.get("stream") else well)

    stub.play(answer)
    return ill


def asked(stub: OpenAIStub) -> list[str]:
    models = [str(seen.body["model"]) for seen in stub.seen]
    stub.seen.clear()
    return models


async def test_the_next_model_answers_and_the_first_is_left_alone(
    stub: OpenAIStub, connect: Connect, failing: dict[str, Any]
) -> None:
    backend = connect("openai/a", fallbacks=("openai/b", "openai/c"), usd_per_token=(1.0, 1.0))
    assert backend.model == "openai/a,openai/b,openai/c"
    assert (await backend.complete(ASK)).texts == ("from a",)
    failing["a"] = stub.failure(429, "busy", headers={"retry-after": "20"})
    asked(stub)
    async with asyncio.timeout(15):  # another model need not wait for what the first one's provider said
        answer = await backend.complete(ASK)
    assert (answer.texts, answer.model, answer.attempts, answer.usd) == (("from b",), "b", 2, 12.0)
    assert asked(stub) == ["a", "b"]
    failing["b"] = stub.failure(500, "down")
    answer = await backend.stream(ASK, lambda _index, _text: None)
    assert (answer.texts, answer.model, answer.attempts) == (("from c",), "c", 2)
    assert asked(stub) == ["b", "c"], "a is cooling down"


async def test_all_of_them_down_is_bounded(stub: OpenAIStub, connect: Connect, failing: dict[str, Any]) -> None:
    failing.update({model: stub.failure(503, "down") for model in "ab"})
    backend = connect("openai/a", fallbacks=("openai/b",), max_attempts=2, cooldown_s=500.0)
    with pytest.raises(ModelRetryable):
        await backend.complete(ASK)
    assert asked(stub) == ["a", "b"]
    with pytest.raises(ModelRetryable, match="left alone for now"):
        await backend.complete(ASK)
    assert asked(stub) == [], "nobody is asked while all cool down"


async def test_what_can_never_work_is_not_passed_on(
    stub: OpenAIStub, connect: Connect, failing: dict[str, Any]
) -> None:
    failing["a"] = stub.failure(400, "This model's maximum context length is 9", code="context_length_exceeded")
    with pytest.raises(ModelRejected, match="too long"):
        await connect("openai/a", fallbacks=("openai/b",)).complete(ASK)
    assert asked(stub) == ["a"]


async def test_the_price_is_that_of_whichever_answered(
    stub: OpenAIStub, connect: Connect, failing: dict[str, Any]
) -> None:
    backend = connect("openai/gpt-4o-mini", fallbacks=("openai/gpt-4o",))
    cheap = (await backend.complete(ASK)).usd
    failing["gpt-4o-mini"] = stub.failure(500, "down")
    dear = (await backend.complete(ASK)).usd
    most = backend.price(ASK)
    assert cheap is not None and dear is not None and most is not None
    assert 10 * cheap < dear <= most
    assert connect("openai/gpt-4o", fallbacks=("openai/unheard-of",)).price(ASK) is None
