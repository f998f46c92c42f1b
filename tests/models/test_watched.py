"""A model that is listened to while it writes: cut where that is enough, and never otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from groundwire.core._models import Completion, Message, OnText, Request
from groundwire.models._scripted import ScriptedBackend
from groundwire.models._watched import CUT, WatchedBackend

ASKED = Request(messages=(Message(role="user", content="Count."),), max_tokens=1000)


class Pieces(ScriptedBackend):
    """Tells of given pieces, then hangs or ends; costs a tenth of a dollar a token."""

    def __init__(self, pieces: Sequence[str], *, hangs: bool = False) -> None:
        super().__init__(["".join(pieces)])
        self.pieces, self.hangs, self.was_cancelled = pieces, hangs, False

    def price(self, request: Request) -> float | None:
        return request.max_tokens / 10

    async def stream(self, request: Request, on_text: OnText) -> Completion:
        try:
            for piece in self.pieces:
                on_text(0, piece)
                await asyncio.sleep(0)
            if self.hangs:
                await asyncio.Event().wait()
            return await self.complete(request)
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise


async def test_it_is_cut_as_soon_as_that_is_enough_and_priced_by_what_was_written() -> None:
    inner = Pieces(["one ", "two ", "three ", "four "], hangs=True)
    heard: list[str] = []
    watched = WatchedBackend(inner, lambda text: heard.append(text) is None and "two" in text)
    said = await watched.complete(ASKED)
    assert (said.texts, said.finish_reasons, heard) == (("one two ",), (CUT,), ["one ", "one two "])
    assert inner.was_cancelled, "the model stops writing, and its slot is free"
    assert (said.completion_tokens, said.prompt_tokens, said.usd, said.model) == (3, 2, 0.3, "scripted")


async def test_what_is_never_enough_is_the_model_s_own_answer() -> None:
    said = await WatchedBackend(ScriptedBackend(["a b c"]), lambda text: False).complete(ASKED)
    assert (said.texts, said.finish_reasons) == (("a b c",), ("stop",))
    both = await WatchedBackend(ScriptedBackend(["a", "b"]), lambda text: False).complete_many([ASKED, ASKED])
    assert [c.texts for c in both] == [("a",), ("b",)]


async def test_an_answer_that_begins_anew_is_heard_anew() -> None:
    inner = Pieces(["bad", "", "good", "!"], hangs=True)
    said = await WatchedBackend(inner, lambda text: text == "good!").complete(ASKED)
    assert said.texts == ("good!",)


async def test_who_waits_for_it_may_still_be_cancelled() -> None:
    inner = Pieces(["one "], hangs=True)
    waiting = asyncio.create_task(WatchedBackend(inner, lambda text: False).complete(ASKED))
    for _ in range(5):  # until it listens
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert inner.was_cancelled
