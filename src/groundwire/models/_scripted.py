"""A backend that plays texts instead of asking a model: for demos, tests and offline work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from groundwire.core._errors import ConfigError, ModelRejected
from groundwire.core._models import Completion, OnText, Request
from groundwire.core._paths import expand_user
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of, cut_at_stop, reasoning_and_answer, valid_samples

Reply = str | Exception
"""A text to answer with, or an error to raise."""
STREAMED_CHARS = 4


def count_tokens(text: str) -> int:
    """The scripted backend's token rule: one token for every four bytes of UTF-8, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // 4)


class ScriptedBackend:
    """Answers from a script. Free, makes no network call, and gives the same answers every time.

    Each sample takes the next reply; an error is raised when its turn comes, and the replies before it that the same
    request had taken are lost. When the script runs out, the request is rejected.

    Args:
        replies: texts and errors in the order they are played, or a function that makes the text of one sample.
        model: the name it reports.
        latency_s: seconds each request waits before it answers.
        continues: True where its replies go on with an answer that is begun (`BackendTraits.continues`).

    Attributes:
        requests: every request it got, in order, also those that were not answered.
    """

    def __init__(
        self,
        replies: Sequence[Reply] | Callable[[Request], str],
        *,
        model: str = "scripted",
        latency_s: float = 0.0,
        continues: bool = False,
    ) -> None:
        if continues:
            self.traits = BackendTraits(continues=True)
        self._function = replies if callable(replies) else None
        self._script: tuple[Reply, ...] = () if callable(replies) else tuple(replies)
        self._model = model
        self._latency_s = latency_s
        self._played = 0
        self.requests: list[Request] = []

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptedBackend:
        """Reads a script: JSON lines, each a string or an object with the key `text`.

        Raises:
            ConfigError: the file can't be read, or a line is something else.
        """
        file = expand_user(path)
        try:
            lines = file.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"The script {file} can't be read: {error}.", do="Give a file of JSON lines.") from error
        replies = [_reply(line, f"{file}:{number}") for number, line in enumerate(lines, 1) if line.strip()]
        if not replies:
            raise ConfigError(f"The script {file} holds no reply.", do='Write one JSON string a line, like "text".')
        return cls(replies, model=f"scripted:{path}")

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._model

    @property
    def left(self) -> int | None:
        """Replies that were not played yet; None where a function makes them."""
        return None if self._function else len(self._script) - self._played

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        self.requests.append(request)
        said = [reasoning_and_answer(text, request) for text in self._take(request)]
        texts, thinking = [cut_at_stop(text, request.stop) for _, text in said], [thought for thought, _ in said]
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        kept = valid_samples(texts, request.json_schema, model=self._model)
        return Completion(
            texts=tuple(kept.values()),
            model=self._model,
            prompt_tokens=sum(count_tokens(m.content) for m in request.messages),
            completion_tokens=sum(count_tokens(text) for text in (*texts, *thinking)),
            usd=0.0,
            finish_reasons=("stop",) * len(kept),
            thinking=tuple(thinking[i] for i in kept) if any(thinking[i] for i in kept) else (),
        )

    async def stream(self, request: Request, on_text: OnText) -> Completion:
        """As `complete`, and tells `on_text` of each few characters, as a model does that writes."""
        completion = await self.complete(request)
        for sample, text in enumerate(completion.texts):
            for start in range(0, len(text), STREAMED_CHARS):
                on_text(sample, text[start : start + STREAMED_CHARS])
                await asyncio.sleep(0)
        return completion

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. Replies are handed out in the order of `requests`."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """Always free."""
        return 0.0

    def _take(self, request: Request) -> list[str]:
        if self._function is not None:
            return [self._function(request) for _ in range(request.n)]
        texts: list[str] = []
        for _ in range(request.n):
            if self._played >= len(self._script):
                raise ModelRejected(
                    f"The scripted backend {self._model} has run out: it held {len(self._script)} replies and sample "
                    f"{self._played + 1} was asked for.",
                    do="Give the script more replies, or stop earlier with --max-trials.",
                )
            reply = self._script[self._played]
            self._played += 1
            if isinstance(reply, Exception):
                raise reply
            texts.append(reply)
        return texts


def _reply(line: str, where: str) -> str:
    try:
        value: object = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where} is not JSON: {error}.", do='Write one JSON string a line, like "text".') from error
    text: object = value
    if isinstance(value, dict):
        text = value.get("text")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # JSON
    if not isinstance(text, str):
        raise ConfigError(f"{where} holds no text.", do='Write one JSON string a line, or {"text": "…"}.')
    return text
