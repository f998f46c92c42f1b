"""Model trouble that only LiteLLM knows: providers, their keys, and samples that are requests of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from groundwire.core._errors import ModelError, ModelRejected, ModelReplyInvalid, ModelRetryable
from groundwire.core._models import Message, Request
from groundwire.models._litellm import LiteLLMBackend

if TYPE_CHECKING:
    from conftest import OpenAIStub

    Connect = Callable[..., LiteLLMBackend]


ASK = Request(messages=(Message(role="user", content="hi"),))


async def failing(backend: LiteLLMBackend) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await backend.complete(ASK)
    return caught.value


# the first failure cancels the other two, and LiteLLM may not have begun a coroutine that it has made
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_every_single_of_n_has_its_own_bounded_attempts(stub: OpenAIStub, connect: Connect) -> None:
    stub.play(stub.failure(500, "busy"))
    with pytest.raises(ModelRetryable):
        await connect("mistral/m", max_attempts=2).complete(ASK.model_copy(update={"n": 3}))
    assert len(stub.seen) <= 6


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai/m", "OPENAI_API_KEY"),
        ("anthropic/m", "ANTHROPIC_API_KEY"),
        ("gemini/m", "GEMINI_API_KEY"),
    ],
)
async def test_missing_key_names_its_variable(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, model: str, variable: str
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    error = await failing(connect(model, api_key=None, api_base=None, max_attempts=1, timeout_s=60.0))
    assert isinstance(error, ModelRejected)
    assert variable in error.do


async def test_own_server_needs_no_key(stub: OpenAIStub, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    stub.play(stub.completion("x"), stub.failure(401, "a key is needed"))
    backend = connect(api_key=None)
    assert (await backend.complete(ASK)).texts == ("x",)
    error = await failing(backend)
    assert "Set OPENAI_API_KEY" in error.do


@pytest.mark.parametrize("model", ["no-such-model", "nobody/some-model", "/", "a/"])
async def test_unknown_provider_shows_how_to_write_it(connect: Connect, model: str) -> None:
    error = await failing(connect(model, api_base=None))
    assert isinstance(error, ModelRejected) and "provider/model" in error.do


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize("body", [b"[1, 2]", b'{"choices": [{"message": 3}]}'])
async def test_malformed_reply_where_litellm_reads_it_itself(stub: OpenAIStub, connect: Connect, body: bytes) -> None:
    stub.play(stub.Reply(body=body, headers={"content-type": "application/json"}))
    assert isinstance(await failing(connect("hosted_vllm/m")), ModelReplyInvalid)
    assert len(stub.seen) == 1
