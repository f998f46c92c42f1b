"""What goes over the wire and comes back, through LiteLLM and directly: streams, tool calls, probabilities."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from groundwire.core._errors import ModelReplyInvalid
from groundwire.core._models import Completion, Message, Request, Streaming, ToolCall, ToolSpec
from groundwire.models._litellm import LiteLLMBackend
from groundwire.models._openai_compatible import OpenAICompatibleBackend

if TYPE_CHECKING:
    from conftest import OpenAIStub, Reply, Seen

    Reach = Callable[..., LiteLLMBackend | OpenAICompatibleBackend]


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "integer"}},
    "required": ["answer"],
    "additionalProperties": False,
}
LOOK = ToolSpec(name="look", description="Looks at a file.", parameters={**SCHEMA, "required": ["answer"]})


def ask(text: str = "say hi", **fields: Any) -> Request:
    return Request(messages=(Message(role="system", content="be brief"), Message(role="user", content=text)), **fields)


def plays_both(stub: OpenAIStub, reply: Reply) -> Callable[[Seen], Reply]:
    """The same answer, streamed where that was asked for."""
    return lambda seen: stub.streamed(reply) if seen.body.get("stream") else reply


async def both(
    stub: OpenAIStub, backend: Streaming, request: Request, reply: Reply
) -> tuple[Completion, Completion, list[str]]:
    stub.play(plays_both(stub, reply))
    said = [""] * request.n

    def on_text(index: int, text: str) -> None:
        said[index] += text

    assert isinstance(backend, LiteLLMBackend | OpenAICompatibleBackend)
    return await backend.complete(request), await backend.stream(request, on_text), said


async def test_a_streamed_answer_is_the_same(stub: OpenAIStub, reach: Reach) -> None:
    backend = reach(usd_per_token=(1.0, 2.0))
    reply = stub.completion("Grüße, 世界 END x", logprobs=[-0.5, float("-inf")], top=[-2.0, -0.5], cached=4)
    request = ask(stop=("END",), logprobs=True, top_logprobs=2, seed=3)
    whole, streamed, said = await both(stub, backend, request, reply)
    assert whole.texts == ("Grüße, 世界 ",)
    assert whole.logprobs == ((-0.5, -9999.0),), "minus infinity can't be written down"
    assert whole.top_logprobs == (((-0.5, -2.0), (-0.5, -2.0)),)
    assert (whole.cached_prompt_tokens, whole.usd, whole.first_token_s) == (4, 17.0, None)
    assert streamed.first_token_s is not None and streamed.first_token_s >= 0
    assert streamed.model_copy(update={"first_token_s": None}) == whole
    assert said == ["Grüße, 世界 END x"]
    asked, streamed_body = (seen.body for seen in stub.seen)
    assert asked["top_logprobs"] == 2
    assert streamed_body.pop("stream_options") == {"include_usage": True}
    assert streamed_body.pop("stream") is True
    assert {k: v for k, v in asked.items() if k != "stream"} == streamed_body
    assert Completion.model_validate_json(streamed.model_dump_json()) == streamed


async def test_several_samples_are_told_apart(stub: OpenAIStub, reach: Reach) -> None:
    whole, streamed, said = await both(stub, reach(), ask(n=3), stub.completion("one", "two", "three"))
    assert streamed.texts == whole.texts == ("one", "two", "three")
    assert streamed.finish_reasons == whole.finish_reasons == ("stop",) * 3
    assert said == ["one", "two", "three"]


async def test_text_is_seen_while_it_is_written(stub: OpenAIStub, reach: Reach) -> None:
    reply = stub.streamed(stub.completion("first second"), piece=6)
    stub.play(stub.Reply(body=reply.body, headers=reply.headers, hold_after=reply.body.index(b"second")))
    said: list[str] = []

    def on_text(_index: int, text: str) -> None:
        said.append(text)
        stub.go_on.set()  # the server goes on only once its first words were seen

    async with asyncio.timeout(120):
        answer = await reach(timeout_s=120.0).stream(ask(), on_text)
    assert answer.texts == ("first second",)
    assert said[0] == "first "


@pytest.mark.parametrize("streams", [False, True])
async def test_tool_calls_are_data(stub: OpenAIStub, reach: Reach, streams: bool) -> None:
    """They come back as they were asked for, are never run, and what follows them goes out again."""
    arguments = '{"answer": 7}'
    request = ask(tools=(LOOK,), tool_choice="required")
    backend = reach()
    whole, streamed, _ = await both(stub, backend, request, stub.completion(None, calls=[("look", arguments)] * 2))
    answer = streamed if streams else whole
    wanted = tuple(ToolCall(id=f"call-{i}", name="look", arguments=arguments) for i in range(2))
    assert answer.tool_calls == (wanted,)
    assert answer.texts == ("",)
    body = stub.seen[0].body
    assert body["tools"][0]["function"]["name"] == "look"
    assert body["tool_choice"] == "required"
    stub.play(stub.completion("done"))
    result = Message(role="tool", content="it is red", answers="call-0")
    said = Message(role="assistant", content="", tool_calls=wanted[:1])
    await backend.complete(Request(messages=(*request.messages, said, result), tools=(LOOK,)))
    sent = stub.seen[-1].body["messages"]
    assert sent[2]["tool_calls"][0]["function"] == {"name": "look", "arguments": arguments}
    assert sent[3] == {"role": "tool", "content": "it is red", "tool_call_id": "call-0"}


@pytest.mark.parametrize(
    ("calls", "says"),
    [
        ([("rm", "{}")], "a tool 'rm', which was not offered"),
        ([("look", "{oops")], "in the arguments of look, it is not JSON"),
        ([("look", '{"answer": "x"}')], "in the arguments of look, at $.answer"),
        ([], "it uses no tool"),
    ],
)
async def test_tool_calls_are_checked_here(
    stub: OpenAIStub, reach: Reach, calls: list[tuple[str, str]], says: str
) -> None:
    stub.play(stub.completion("text", calls=calls))
    with pytest.raises(ModelReplyInvalid) as caught:
        await reach().complete(ask(tools=(LOOK,), tool_choice="required"))
    assert says in caught.value.what
    assert len(stub.seen) == 1


async def test_a_schema_that_can_be_strict_is(stub: OpenAIStub, reach: Reach) -> None:
    stub.play(stub.completion('{"answer": 1}'))
    await reach().complete(ask(json_schema=SCHEMA))
    named = {"name": "reply", "schema": SCHEMA, "strict": True}
    assert stub.seen[0].body["response_format"] == {"type": "json_schema", "json_schema": named}


async def test_text_that_no_file_can_hold_is_made_whole(stub: OpenAIStub, reach: Reach) -> None:
    reply = stub.completion("half \ud83d")
    stub.play(stub.Reply(body=reply.body.replace(b"\\\\", b"\\"), headers=reply.headers))
    answer = await reach().complete(ask())
    assert answer.texts == ("half \ufffd",)
    assert json.loads(answer.model_dump_json())


@pytest.mark.usefixtures("forgets_what_was_cut_off")
async def test_cancelling_closes_the_connection_at_once(stub: OpenAIStub, reach: Reach) -> None:
    """So that a server can free what the answer took; streamed or not."""
    backend = reach(max_in_flight=1, timeout_s=60.0)
    held = stub.streamed(stub.completion("first second"), piece=6)
    for reply in (stub.Reply(hang=True), stub.Reply(body=held.body, headers=held.headers, hold_after=400)):
        stub.play(reply)
        stub.arrived.clear()
        stub.dropped.clear()
        call = asyncio.create_task(
            backend.complete(ask()) if reply.hang else backend.stream(ask(), lambda _index, _text: None)
        )
        assert await asyncio.to_thread(stub.arrived.wait, 120)
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(stub.dropped.wait, 120)
    stub.play(stub.completion("x"))
    assert (await backend.complete(ask())).texts == ("x",)
