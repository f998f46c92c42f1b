"""Model trouble over the wire: every fault ends in one typed error, after a bounded number of requests that the server
counted, with the model's name and what to do in its text, and no key."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import sys
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dying_server
import pytest

from groundwire.core._errors import ModelError, ModelRejected, ModelReplyInvalid, ModelRetryable
from groundwire.core._models import Message, Request
from groundwire.models._litellm import LiteLLMBackend
from groundwire.models._openai_compatible import OpenAICompatibleBackend

if TYPE_CHECKING:
    from conftest import OpenAIStub, Reply

    Reach = Callable[..., LiteLLMBackend | OpenAICompatibleBackend]


SERVER = Path(dying_server.__file__)

ASK = Request(messages=(Message(role="user", content="hi"),))


async def failing(backend: LiteLLMBackend | OpenAICompatibleBackend) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await backend.complete(ASK)
    error = caught.value
    assert backend.model in error.what
    assert error.do, "each error says what to do"
    whole = "".join(str(e) for e in (error, error.__cause__) if e)
    assert "sk-test" not in whole
    return error


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
async def test_passing_trouble_is_tried_again(stub: OpenAIStub, reach: Reach, status: int) -> None:
    stub.play(stub.failure(status, "busy"), stub.failure(status, "busy"), stub.completion("at last"))
    answer = await reach().complete(ASK)
    assert (answer.texts, answer.attempts, len(stub.seen)) == (("at last",), 3, 3)


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("most", [1, 3])
async def test_attempts_are_bounded(stub: OpenAIStub, reach: Reach, status: int, most: int) -> None:
    stub.play(stub.failure(status, "busy"))
    error = await failing(reach(max_attempts=most))
    assert isinstance(error, ModelRetryable)
    assert f"({status})" in error.what and f"(attempts: {most})" in error.what
    assert len(stub.seen) == most


@pytest.mark.parametrize(
    "headers",
    [{"retry-after": "0.2"}, {"Retry-After-Ms": "200"}, {"retry-after": "0.2", "x-should-retry": "true"}],
)
async def test_retry_after_is_honoured(stub: OpenAIStub, reach: Reach, headers: dict[str, str]) -> None:
    stub.play(stub.failure(429, "slow down", headers=headers), stub.completion("x"))
    began = time.monotonic()
    answer = await reach().complete(ASK)
    assert answer.attempts == 2
    assert time.monotonic() - began >= 0.2


async def test_too_long_a_wait_is_not_waited_for(stub: OpenAIStub, reach: Reach) -> None:
    stub.play(stub.failure(429, "tomorrow", headers={"retry-after": "86400"}))
    error = await failing(reach())
    assert isinstance(error, ModelRetryable) and error.retry_after_s == 86400.0
    assert len(stub.seen) == 1


async def test_retry_after_as_a_date_in_the_past_is_no_wait(stub: OpenAIStub, reach: Reach) -> None:
    stub.play(stub.failure(503, "x", headers={"retry-after": formatdate(0, usegmt=True)}), stub.completion("x"))
    assert (await reach().complete(ASK)).attempts == 2


@pytest.mark.parametrize("after", [-1, 0, 5])
async def test_connection_cut(stub: OpenAIStub, reach: Reach, after: int) -> None:
    whole = stub.completion("hello")
    stub.play(stub.Reply(body=whole.body, headers=whole.headers, cut_after=after))
    error = await failing(reach(max_attempts=2))
    assert isinstance(error, ModelRetryable) and "connection" in error.what
    assert len(stub.seen) == 2


async def test_nothing_listens(reach: Reach) -> None:
    error = await failing(reach(url="http://127.0.0.1:9/v1", max_attempts=2))
    assert isinstance(error, ModelRetryable) and "connection" in error.what and "api_base" in error.do


@pytest.mark.parametrize("how", ["hang", "dribble"])
@pytest.mark.usefixtures("forgets_what_was_cut_off")
async def test_hung_server(stub: OpenAIStub, reach: Reach, how: str) -> None:
    stub.play(stub.Reply(hang=how == "hang", dribble=how == "dribble"))
    began = time.monotonic()
    error = await failing(reach(max_attempts=4, timeout_s=1.0))
    assert isinstance(error, ModelRetryable) and "within 1 s" in error.what and "--model-seconds" in error.do
    assert time.monotonic() - began < 60
    assert len(stub.seen) == 1, "who was waited for in vain is not waited for once more"


async def test_a_machine_that_takes_no_connection(reach: Reach, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its backlog is full, as behind a firewall that drops what is sent: that is bounded by itself."""
    monkeypatch.setattr("groundwire.models._slots.CONNECT_S", 0.5)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/v1"
        with contextlib.ExitStack() as full:
            for _ in range(4):
                waiting = full.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(deaf.getsockname())
            error = await failing(reach(url=url, max_attempts=4, timeout_s=20.0))
    assert isinstance(error, ModelRetryable) and error.unreached
    assert "took no connection within 0.5 s. (attempts: 1)" in error.what


def malformed(stub: OpenAIStub, name: str) -> Reply:
    headers = {"content-type": "application/json"}
    bodies = {
        "not json": b'{"id": oops',
        "a page": b"<html><body>Bad gateway</body></html>",
        "a list": b"[1, 2]",
        "null": b"null",
        "wrong object": b'{"choices": 3}',
        "no message": b'{"choices": [{}]}',
        "no text": b'{"choices": [{"message": 3}]}',
    }
    return stub.Reply(body=bodies[name], headers=headers)


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize(
    "name",
    ["not json", "a page", "a list", "null", "wrong object", "no message", "no text"],
)
async def test_malformed_reply_is_invalid_at_once(stub: OpenAIStub, reach: Reach, name: str) -> None:
    stub.play(malformed(stub, name))
    assert isinstance(await failing(reach()), ModelReplyInvalid)
    assert len(stub.seen) == 1


@pytest.mark.parametrize("texts", [("",), (None,), (" \n", "")])
async def test_empty_reply_is_invalid_at_once(stub: OpenAIStub, reach: Reach, texts: tuple[str | None, ...]) -> None:
    stub.play(stub.completion(*texts))
    error = await failing(reach())
    assert isinstance(error, ModelReplyInvalid) and "empty reply" in error.what
    assert len(stub.seen) == 1


async def test_all_tokens_spent_on_thinking(stub: OpenAIStub, reach: Reach) -> None:
    stub.play(stub.completion("", finish="length"))
    error = await failing(reach())
    assert isinstance(error, ModelReplyInvalid) and "max_tokens" in error.do


@pytest.mark.parametrize(
    ("status", "message", "code", "says", "does"),
    [
        (401, "Incorrect API key provided: KEY", "invalid_api_key", "refused the key", "_API_KEY"),
        (403, "Not allowed with KEY", None, "refused the key", "_API_KEY"),
        (404, "The model `some-model` does not exist", "model_not_found", "not known to its provider", "name"),
        (400, "This model's maximum context length is 9", "context_length_exceeded", "too long", "context_tokens"),
        (400, "the request exceeds the available context size", None, "too long", "context_tokens"),
        (400, "Your request was flagged", "content_policy_violation", "content policy", "task's text"),
        (400, "Only one completion choice is allowed", None, "Only one completion", "Change"),
        (402, "Payment required", None, "no credit", "billing"),
        (413, "Request too large", None, "413", "Change"),
        (422, "Unprocessable", None, "422", "Change"),
        (429, "You exceeded your current quota", "insufficient_quota", "no credit", "billing"),
        (501, "Not implemented", None, "501", "Change"),
    ],
)  # fmt: skip
async def test_what_can_never_work_is_one_request(
    stub: OpenAIStub, reach: Reach, status: int, message: str, code: str | None, says: str, does: str
) -> None:
    stub.play(stub.failure(status, message.replace("KEY", stub.key), code=code))
    error = await failing(reach())
    assert isinstance(error, ModelRejected)
    assert says in error.what and does in error.do
    assert len(stub.seen) == 1


async def test_withheld_answer_is_rejected(stub: OpenAIStub, reach: Reach) -> None:
    stub.play(stub.completion("", finish="content_filter"))
    assert isinstance(await failing(reach()), ModelRejected)
    assert len(stub.seen) == 1


async def test_the_key_stays_out_of_logs_and_tracebacks(
    stub: OpenAIStub, reach: Reach, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    import traceback

    stub.play(stub.failure(401, f"bad key {stub.key}"))
    with caplog.at_level("DEBUG"), pytest.raises(ModelRejected) as caught:
        await reach().complete(ASK)
    shown = "".join(traceback.format_exception(caught.value))
    out = capfd.readouterr()
    assert stub.key not in shown + out.out + out.err
    assert not [record for record in caplog.records if stub.key in record.getMessage()]


@pytest.mark.usefixtures("forgets_what_was_cut_off")
async def test_a_failure_among_many_cancels_the_rest(stub: OpenAIStub, reach: Reach) -> None:
    stub.play(stub.failure(401, "no"), stub.Reply(hang=True))
    backend = reach()
    async with asyncio.timeout(120):
        with pytest.raises(ModelRejected):
            await backend.complete_many([ASK, ASK, ASK])


async def test_a_reply_of_megabytes_is_read(stub: OpenAIStub, reach: Reach) -> None:
    stub.play(stub.completion("x" * 2_000_000))
    answer: Any = await reach().complete(ASK)
    assert len(answer.texts[0]) == 2_000_000


@pytest.mark.parametrize("lines", [1, 3])
async def test_a_stream_that_breaks_off_is_tried_again(stub: OpenAIStub, reach: Reach, lines: int) -> None:
    """An answer that was cut must never pass for one that is whole; what had been shown begins anew."""
    whole = stub.completion("hello there")
    stub.play(stub.streamed(whole, whole_lines=lines), stub.streamed(whole))
    said: list[str] = []
    answer = await reach().stream(ASK, lambda _index, text: said.append(text))
    assert (answer.texts, answer.attempts, len(stub.seen)) == (("hello there",), 2, 2)
    assert "".join(said[said.index("") :]) == "hello there"


@pytest.mark.parametrize("cut", [-1, 40, 400])
async def test_a_connection_cut_in_the_middle_of_a_stream(stub: OpenAIStub, reach: Reach, cut: int) -> None:
    reply = stub.streamed(stub.completion("hello there, " * 20))
    stub.play(stub.Reply(body=reply.body, headers=reply.headers, cut_after=cut))
    with pytest.raises(ModelRetryable, match=r"connection .*\(attempts: 2\)"):
        await reach(max_attempts=2).stream(ASK, lambda _index, _text: None)
    assert len(stub.seen) == 2


@pytest.mark.parametrize("status", [429, 500])
async def test_streams_are_refused_and_tried_again_like_answers(stub: OpenAIStub, reach: Reach, status: int) -> None:
    stub.play(stub.failure(status, "busy"), stub.streamed(stub.completion("x")))
    answer = await reach().stream(ASK, lambda _index, _text: None)
    assert (answer.texts, answer.attempts) == (("x",), 2)


@pytest.mark.usefixtures("forgets_what_was_cut_off")
async def test_a_stream_that_hangs_ends_at_its_deadline(stub: OpenAIStub, reach: Reach) -> None:
    reply = stub.streamed(stub.completion("hello"))
    stub.play(stub.Reply(body=reply.body, headers=reply.headers, hold_after=400))
    with pytest.raises(ModelRetryable, match=r"within 0.3 s"):
        await reach(max_attempts=1, timeout_s=0.3).stream(ASK, lambda _index, _text: None)


async def test_a_stream_of_megabytes_is_read(stub: OpenAIStub, reach: Reach) -> None:
    stub.play(stub.streamed(stub.completion("x" * 2_000_000), piece=100_000))
    answer = await reach(timeout_s=60.0).stream(ASK, lambda _index, _text: None)
    assert len(answer.texts[0]) == 2_000_000


@pytest.mark.usefixtures("forgets_what_was_cut_off")
async def test_jumps_of_the_clock_do_not_matter(
    stub: OpenAIStub, reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set back or forward a day at every look, the wall clock neither ends a call nor keeps it from its end."""
    real, jumps = time.time, itertools.cycle((86_400.0, -86_400.0))
    stub.play(stub.failure(500, "busy"), stub.completion("x"), stub.Reply(hang=True))
    backend = reach(max_attempts=2, timeout_s=3.0)
    await reach(timeout_s=60.0).complete(ASK)  # what is loaded at the first call is loaded at a steady time
    stub.play(stub.failure(500, "busy"), stub.completion("x"), stub.Reply(hang=True))
    stub.seen.clear()
    monkeypatch.setattr(time, "time", lambda: real() + next(jumps))
    async with asyncio.timeout(300):
        answer = await backend.complete(ASK)
        assert (answer.texts, answer.attempts) == (("x",), 2)
        with pytest.raises(ModelRetryable, match="within 3 s"):
            await backend.complete(ASK)
    assert len(stub.seen) == 3


async def test_a_server_that_is_killed_and_comes_back(reach: Reach) -> None:
    """`kill -9` while a request is under way: each attempt is bounded, and a new server on the port is found."""
    server, out, port = await started(0, "hang")
    backend = reach(url=f"http://127.0.0.1:{port}/v1", max_attempts=3, timeout_s=60.0, backoff_s=0.01)
    try:
        async with asyncio.timeout(300):
            call = asyncio.create_task(backend.complete(ASK))
            assert await out.readline() == b"request\n"
            server.kill()
            with pytest.raises(ModelRetryable, match=r"connection .*\(attempts: 3\)"):
                await call
            assert await out.read() == b"", "nobody was there to get the other two"
            await server.wait()
            server, _, _ = await started(port)
            assert (await backend.complete(ASK)).texts == ("hello",)
    finally:
        server.kill()
        await server.wait()


async def started(port: int, *arguments: str) -> tuple[asyncio.subprocess.Process, asyncio.StreamReader, int]:
    server = await asyncio.create_subprocess_exec(
        sys.executable, SERVER, str(port), *arguments, stdout=asyncio.subprocess.PIPE
    )
    assert server.stdout is not None
    return server, server.stdout, int(await server.stdout.readline())
