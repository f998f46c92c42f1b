"""The direct path to a server of one's own: what LiteLLM would do for us, done here."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any

import pytest

from groundwire.core._errors import ConfigError, ModelRejected, ModelReplyInvalid, ModelRetryable
from groundwire.core._models import Message, Request
from groundwire.models._faults import KEY_VARIABLE
from groundwire.models._guard import ENVIRONMENT_VARIABLE, allow_model_calls
from groundwire.models._openai_compatible import OpenAICompatibleBackend

if TYPE_CHECKING:
    from conftest import OpenAIStub

    Direct = Callable[..., OpenAICompatibleBackend]

ASK = Request(messages=(Message(role="user", content="hi"),))


@pytest.fixture
async def direct(stub: OpenAIStub) -> AsyncGenerator[Direct]:
    made: list[OpenAICompatibleBackend] = []

    def make(model: str = "", url: str = "", **options: Any) -> OpenAICompatibleBackend:
        given: dict[str, Any] = {"timeout_s": 5.0, "backoff_s": 0.001}
        made.append(OpenAICompatibleBackend(url or stub.url, model, **given | options))
        return made[-1]

    with allow_model_calls():
        yield make
    for backend in made:
        await backend.aclose()


async def test_one_answer(stub: OpenAIStub, direct: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-you")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    stub.play(stub.completion("hello"))
    answer = await direct("some-model", usd_per_token=(1.0, 2.0)).complete(ASK)
    assert (answer.texts, answer.model, answer.usd, answer.attempts) == (("hello",), "served-model", 17.0, 1)
    (seen,) = stub.seen
    assert seen.path == "/v1/chat/completions"
    assert "authorization" not in seen.headers, "OpenAI's key is not for a server that only speaks its language"
    assert seen.body == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.0,
        "max_tokens": 2048,
    }


async def test_a_key_with_a_line_in_it_is_refused_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "own-key\n-1")
    with pytest.raises(ConfigError, match="control character") as caught:
        OpenAICompatibleBackend("http://127.0.0.1:1/v1", "m")
    assert "own-key" not in str(caught.value)


@pytest.mark.parametrize("around", ["", "\n", " \r\n"])
async def test_the_key_of_its_own_variable_is_sent(
    stub: OpenAIStub, direct: Direct, monkeypatch: pytest.MonkeyPatch, around: str
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, f"own-key-1{around}")
    stub.play(stub.completion("x"))
    backend = direct("m")
    await backend.complete(ASK)
    assert stub.seen[0].headers["authorization"] == "Bearer own-key-1"
    assert "own-key" not in repr(backend)


async def test_the_only_model_is_asked_for_once(stub: OpenAIStub, direct: Direct) -> None:
    stub.play(stub.completion("x"))
    backend = direct()
    await backend.complete_many([ASK] * 3)
    assert {seen.body["model"] for seen in stub.seen} == {"served-model"}
    assert stub.listed == 1
    stub.models = ["a", "b\x1b[31m"]
    with pytest.raises(ModelRejected, match="lists 2: a, b") as caught:
        await direct().complete(ASK)
    assert "#MODEL" in caught.value.do and "\x1b" not in caught.value.what


async def test_a_path_of_its_own_and_none(stub: OpenAIStub, direct: Direct) -> None:
    stub.play(stub.completion("x"))
    for url in (stub.url.removesuffix("/v1"), f"{stub.url}/", stub.url.replace("/v1", "/proxy/v2")):
        await direct("m", url).complete(ASK)
    assert [seen.path for seen in stub.seen] == ["/v1/chat/completions"] * 2 + ["/proxy/v2/chat/completions"]


async def test_a_redirect_is_not_followed(stub: OpenAIStub, direct: Direct) -> None:
    stub.play(stub.Reply(307, headers={"location": "http://127.0.0.1:9/v1/chat/completions"}))
    with pytest.raises(ModelRejected, match=r"127\.0\.0\.1:9"):
        await direct("m", api_key="secret-key-1").complete(ASK)
    assert len(stub.seen) == 1


async def test_a_server_that_does_not_stream_is_understood(stub: OpenAIStub, direct: Direct) -> None:
    stub.play(stub.completion("at once", calls=[("look", "{}")]))
    said: list[str] = []
    answer = await direct("m").stream(ASK, lambda _, text: said.append(text))
    assert answer.texts == ("at once",)
    assert said == ["at once"]


@pytest.mark.parametrize(
    "event",
    [b'{"error": {"message": "engine died", "code": 500}}', b'{"error": "engine died"}', b'{"error": {"code": 429}}'],
)
async def test_an_error_in_a_stream_is_tried_again(stub: OpenAIStub, direct: Direct, event: bytes) -> None:
    whole = stub.streamed(stub.completion("hello"))
    broken = stub.Reply(body=whole.body[: whole.body.index(b"\n\n") + 2] + b"data: " + event, headers=whole.headers)
    stub.play(broken, whole)
    answer = await direct("m").stream(ASK, lambda _index, _text: None)
    assert (answer.texts, answer.attempts) == (("hello",), 2)


async def test_an_error_in_a_stream_that_can_never_work(stub: OpenAIStub, direct: Direct) -> None:
    event = b'data: {"error": {"message": "maximum context length is 9", "code": 400}}'
    stub.play(stub.Reply(body=event, headers={"content-type": "text/event-stream"}))
    with pytest.raises(ModelRejected, match="context is too long"):
        await direct("m").stream(ASK, lambda _index, _text: None)
    assert len(stub.seen) == 1


async def test_events_may_be_long_and_odd(stub: OpenAIStub, direct: Direct) -> None:
    whole = stub.streamed(stub.completion("x" * 300_000), piece=300_000)
    body = b": a comment\r\nevent: message\r\n" + whole.body.replace(b"\n\n", b"\r\n\r\n")
    stub.play(stub.Reply(body=body, headers=whole.headers))
    assert len((await direct("m").stream(ASK, lambda _index, _text: None)).texts[0]) == 300_000


async def test_an_answer_without_end_is_left(stub: OpenAIStub, direct: Direct, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("groundwire.models._http_client.MOST_BYTES", 1000)
    stub.play(stub.completion("x" * 5000))
    with pytest.raises(ModelReplyInvalid, match="longer than"):
        await direct("m").complete(ASK)
    stub.play(stub.streamed(stub.completion("x" * 5000)))
    with pytest.raises(ModelReplyInvalid, match="longer than"):
        await direct("m").stream(ASK, lambda _index, _text: None)


async def test_what_is_no_http_at_all(direct: Direct) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises((ModelReplyInvalid, ModelRetryable), match=r"127\.0\.0\.1"):
            await direct("m", f"http://127.0.0.1:{port}", max_attempts=1).complete(ASK)


async def test_calls_are_refused_unless_allowed(stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, "refuse")
    for backend in (OpenAICompatibleBackend(stub.url), OpenAICompatibleBackend(stub.url, "m")):
        with pytest.raises(ModelRejected, match="was refused"):
            await backend.complete(ASK)
    assert stub.seen == [] and stub.listed == 0


def test_each_event_loop_closes_its_connections(stub: OpenAIStub) -> None:
    """Also where nobody does: no warning, no leak; and LiteLLM is never loaded."""
    stub.play(stub.completion("x"))
    code = (
        "import asyncio, sys, warnings\n"
        "warnings.simplefilter('error')\n"
        "from groundwire.models import backend_for\n"
        "from groundwire.core._models import Message, Request\n"
        f"backend = backend_for('openai-compatible:{stub.url}')\n"
        "ask = Request(messages=(Message(role='user', content='hi'),))\n"
        "assert 'aiohttp' not in sys.modules\n"
        "for _ in range(3): assert asyncio.run(backend.complete(ask)).texts == ('x',)\n"
        "assert len(backend._client._open) == 1\n"
        "assert not {'litellm', 'openai', 'httpx'} & set(sys.modules)\n"
    )
    environment = {ENVIRONMENT_VARIABLE: "allow"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


async def test_without_its_client_the_extra_is_named_before_and_at_the_first_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = OpenAICompatibleBackend("http://127.0.0.1:9/v1", "m")
    monkeypatch.setitem(sys.modules, "aiohttp", None)

    def nowhere(_name: str) -> None: ...

    monkeypatch.setattr("importlib.util.find_spec", nowhere)
    with pytest.raises(ConfigError) as caught:
        backend.check_ready()
    assert caught.value.do == 'pip install "groundwire[openai-compatible]"'
    with allow_model_calls(), pytest.raises(ConfigError, match="aiohttp is not installed"):
        await backend.complete(Request(messages=(Message(role="user", content="?"),)))
