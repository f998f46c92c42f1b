"""Odd replies of real servers, byte for byte over loopback: what becomes of each, on both paths, streamed and not."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import replace
from typing import Any

import pytest
from odd_replies import KNOWN, ODD_REPLIES, ByteServer, Odd, Wire, good

from groundwire.core._errors import ModelError, ModelRejected, ModelReplyInvalid, ModelRetryable
from groundwire.core._models import Completion, Message, Request
from groundwire.models._guard import allow_model_calls
from groundwire.models._litellm import LiteLLMBackend
from groundwire.models._openai_compatible import OpenAICompatibleBackend

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier:UserWarning"),
    # LiteLLM reads and writes what odd servers send in ways that pydantic warns of
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    pytest.mark.usefixtures("forgets_what_was_cut_off"),
]

KEY = "sk-test-Zx81QwErTyUiOp"
ASK = Request(messages=(Message(role="user", content="say hello, there"),))
TEXT = "hello, there"
ERRORS = {"repair": ModelReplyInvalid, "rejected": ModelRejected, "silent": ModelRetryable}
Backend = LiteLLMBackend | OpenAICompatibleBackend
Connect = Callable[[str, float], Backend]


@pytest.fixture
def server() -> Generator[ByteServer]:
    opened = ByteServer()
    yield opened
    opened.close()


@pytest.fixture
async def connect(server: ByteServer) -> AsyncGenerator[Connect]:
    made: list[Backend] = []

    def make(path: str, timeout_s: float) -> Backend:
        given: dict[str, Any] = {"api_key": KEY, "timeout_s": timeout_s, "backoff_s": 0.001}
        given["usd_per_token"] = (0.5, 2.0)
        if path == "litellm":
            made.append(LiteLLMBackend("openai/m", api_base=server.url, **given))
        else:
            made.append(OpenAICompatibleBackend(server.url, "m", **given))
        return made[-1]

    with allow_model_calls():
        yield make
    for backend in made:
        await backend.aclose()


async def asked(backend: Backend, streams: bool) -> Completion:
    return await (backend.stream(ASK, lambda _index, _text: None) if streams else backend.complete(ASK))


def as_met(odd: Odd, path: str, streams: bool) -> Odd:
    """What is to be expected on that path."""
    is_blind = path == "litellm" and streams and odd.litellm_streams
    return replace(odd, kind=odd.litellm_streams, says="broke off") if is_blind else odd


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("path", ["litellm", "native"])
async def test_what_becomes_of_each(server: ByteServer, connect: Connect, path: str, streams: bool) -> None:
    backend, impatient = connect(path, 20.0), connect(path, 1.0)
    wrong: list[str] = []
    for odd in ODD_REPLIES:
        wire = odd.events if streams else odd.whole
        if wire is None:
            continue
        met = as_met(odd, path, streams)
        try:
            await _check(server, impatient if met.kind == "silent" else backend, met, wire, streams)
        except (AssertionError, ModelError, pytest.fail.Exception) as error:
            wrong.append(f"{odd.name}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


async def _check(server: ByteServer, backend: Backend, odd: Odd, wire: Callable[[str], Wire], streams: bool) -> None:
    server.play(wire(TEXT), good(TEXT, streams=streams))
    if odd.kind in ERRORS:
        with pytest.raises(ERRORS[odd.kind]) as caught:
            await asked(backend, streams)
        assert server.asked == 1
        _check_error(caught.value, odd, odd.used)
        return
    completion = await asked(backend, streams)
    assert completion.texts[0].startswith(TEXT)
    assert TEXT not in completion.texts[0][1:]
    used = (completion.prompt_tokens, completion.completion_tokens)
    if odd.kind == "text":
        assert (completion.attempts, server.asked) == (1, 1)
        assert completion.thinking == ((odd.thinking,) if odd.thinking else ())
        if odd.used:
            assert used == odd.used
        else:
            assert 0 < sum(used) < 50, "estimated"
    else:
        assert (completion.attempts, server.asked) == (2, 2)
        wasted = odd.used or (0, 0)
        assert used == (KNOWN[0] + wasted[0], KNOWN[1] + wasted[1])
        server.play(wire(TEXT))
        with pytest.raises(ModelRetryable) as failed:
            await asked(backend, streams)
        assert server.asked == 4
        _check_error(failed.value, odd, odd.used and (4 * odd.used[0], 4 * odd.used[1]))
    assert completion.usd == used[0] * 0.5 + used[1] * 2.0
    assert Completion.model_validate_json(completion.model_dump_json()) == completion


def _check_error(error: ModelError, odd: Odd, used: tuple[int, int] | None) -> None:
    assert odd.says in error.what and error.do
    shown = str(error)
    assert KEY not in shown and "\x1b" not in shown
    assert (error.used and (error.used.prompt_tokens, error.used.completion_tokens)) == used
    if error.used:
        assert error.used.usd == error.used.prompt_tokens * 0.5 + error.used.completion_tokens * 2.0
