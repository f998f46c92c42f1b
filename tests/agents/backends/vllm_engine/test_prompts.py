"""Prompts are read side by side, by copies of the tokenizer that each serve one caller at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from groundwire.agents.backends.vllm_engine.prompts import THREADS, Prompts
from groundwire.completions import Message
from groundwire.errors import ModelRejected


class Tokenizer:
    """One caller at a time: a second one is an error, as with the real ones."""

    chat_template: str | None = "a template"

    def __init__(self) -> None:
        self._busy = False
        self.together = threading.Barrier(THREADS)

    def __deepcopy__(self, _memo: Any) -> Tokenizer:
        copied = Tokenizer()
        copied.together = self.together
        return copied

    def apply_chat_template(self, chat: Sequence[dict[str, str]], **_options: Any) -> str:
        return "".join(message["content"] for message in chat)

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert not self._busy and not add_special_tokens
        self._busy = True
        self.together.wait(20)
        self._busy = False
        return [ord(letter) for letter in text]


def ask(text: str) -> tuple[Message, ...]:
    return (Message(role="user", content=text),)


async def test_as_many_prompts_as_threads_are_read_at_once() -> None:
    prompts = Prompts(Tokenizer())
    texts = [chr(ord("a") + number) for number in range(2 * THREADS)]
    read = await asyncio.gather(*(prompts.tokens(ask(text), model="m") for text in texts))
    assert read == [[ord(text)] for text in texts]
    prompts.close()


async def test_what_a_template_refuses_is_told_to_who_asked() -> None:
    tokenizer = Tokenizer()
    tokenizer.chat_template = None
    prompts = Prompts(tokenizer)
    type(tokenizer).chat_template = None
    try:
        with pytest.raises(ModelRejected, match="m has no chat template"):
            await prompts.tokens(ask("x"), model="m")
    finally:
        type(tokenizer).chat_template = "a template"
        prompts.close()
