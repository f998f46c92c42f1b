"""From messages to token ids, beside the engine's loop: a long prompt takes milliseconds, and hundreds come at once."""

from __future__ import annotations

import asyncio
import copy
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from groundwire.agents.backends.vllm_engine.talk import prompt_text
from groundwire.completions import Message

__all__ = ["Prompts"]

THREADS = min(8, os.cpu_count() or 1)


class Prompts:
    """Reads prompts in a few threads.

    Args:
        tokenizer: the model's; each thread works with a copy, since a tokenizer serves one caller at a time.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._copying = threading.Lock()
        self._mine = threading.local()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="groundwire-prompts")

    async def tokens(self, messages: Sequence[Message], *, model: str) -> list[int]:
        """The prompt's token ids.

        Raises:
            ModelRejected: see `prompt_text`.
        """
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._read, messages, model)

    def _read(self, messages: Sequence[Message], model: str) -> list[int]:
        tokenizer = getattr(self._mine, "tokenizer", None)
        if tokenizer is None:
            with self._copying:
                tokenizer = self._mine.tokenizer = copy.deepcopy(self._tokenizer)
        text = prompt_text(tokenizer, messages, model=model)
        # the template has written the special tokens already
        return tokenizer.encode(text, add_special_tokens=False)

    def close(self) -> None:
        """Lets go of the threads; what they are at is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)
