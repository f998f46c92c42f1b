"""A trace that is not worth going on with: its connection is closed, so that the engine's slot is free at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from groundwire.agents.width._confident_vote import KillBelow, StreamsProbabilities
from groundwire.core._models import Message, Request
from groundwire.models._guard import allow_model_calls
from groundwire.models._openai_compatible import KILLED, OpenAICompatibleBackend

if TYPE_CHECKING:
    from conftest import OpenAIStub

ASK = Request(messages=(Message(role="user", content="why?"),), logprobs=True, top_logprobs=2, max_tokens=50)


async def test_a_trace_below_the_threshold_closes_its_connection_while_the_server_still_writes(
    stub: OpenAIStub,
) -> None:
    whole = stub.streamed(stub.completion("one two three four", logprobs=[-0.5] * 6, top=[-0.5, -1.5]))
    begin = b"\n\n".join(whole.body.split(b"\n\n")[:4]) + b"\n\n"  # the role, and three tokens
    held = stub.Reply(body=whole.body, headers=whole.headers, hold_after=len(begin))
    with allow_model_calls():
        backend = OpenAICompatibleBackend(stub.url, "m")
        assert isinstance(backend, StreamsProbabilities)
        stub.play(lambda _seen: held)
        ended = await KillBelow(backend, threshold=2.0, window=2).complete(ASK)
        assert (ended.finish_reasons, ended.completion_tokens) == ((KILLED,), 2)
        assert ended.prompt_tokens > 0 and ended.top_logprobs == (((-0.5, -1.5),) * 2,)
        assert await asyncio.to_thread(stub.dropped.wait, 10)
        stub.play(lambda _seen: whole)
        kept = await KillBelow(backend, threshold=0.5, window=2).complete(ASK)
        assert (kept.texts, kept.finish_reasons) == (("one two three four",), ("stop",))
        await backend.aclose()
