"""Puts an answer that comes in pieces together again: the same answer as if it had come at once."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, cast

from groundwire.core._models import OnText
from groundwire.models._responses import alternatives, at, content_of, usage_of


@dataclass
class _Sample:
    """One choice, as far as it has come."""

    text: list[str] = field(default_factory=list[str])
    thinking: list[str] = field(default_factory=list[str])
    refusal: list[str] = field(default_factory=list[str])
    error: Any = None
    finish: str | None = None
    tokens: list[Any] = field(default_factory=list[Any])
    calls: dict[int, _Call] = field(default_factory=dict[int, "_Call"])


@dataclass
class _Call:
    """One tool call, as far as it has come."""

    id: Any = None
    name: list[str] = field(default_factory=list[str])
    arguments: list[str] = field(default_factory=list[str])

    def whole(self) -> dict[str, Any]:
        return {"id": self.id, "function": {"name": "".join(self.name), "arguments": "".join(self.arguments)}}


class Assembly:
    """Collects chunks in the form of OpenAI's chat API, as JSON or as LiteLLM's objects.

    Args:
        on_text: told of each piece of text.
        again: True where an earlier attempt may have told of text already, so that it begins anew.
    """

    def __init__(self, on_text: OnText, *, again: bool = False) -> None:
        self._on_text = on_text
        self._again = again
        self._began = time.monotonic()
        self._samples: dict[int, _Sample] = {}
        self._id = ""
        self._model = ""
        self._told = 0
        self._usage: Any = None
        self._is_counted = False
        self.first_token_s: float | None = None
        """Seconds from here to the first token; None before it."""

    def add(self, chunk: Any, *, model: str = "") -> None:
        """Takes the next chunk; `model` is what answered, where the chunk does not say it itself."""
        self._id = self._id or str(at(chunk, "id") or "")
        self._model = self._model or model or str(at(chunk, "model") or "")
        # the last word counts: some servers count up with every chunk, some end with zeros or nothing
        if usage_of(chunk) is not None:
            self._usage = at(chunk, "usage") or at(at(chunk, "x_groq"), "usage")
            self._is_counted = not at(chunk, "choices")
        for choice in _items(at(chunk, "choices")):
            self._add(choice)

    def new_tokens(self) -> list[tuple[float, ...]]:
        """The likeliest log probabilities of each token of the first sample that has come since this was last asked."""
        tokens = self._samples[0].tokens if 0 in self._samples else []
        new = tokens[self._told :]
        self._told = len(tokens)
        return [alternatives(token) for token in new]

    def end(self, reason: str, prompt_tokens: int) -> None:
        """Ends the first sample here; what it used is counted from its tokens, since no usage comes any more."""
        sample = self._samples.setdefault(0, _Sample())
        sample.finish = reason
        self._usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(sample.tokens)}

    def is_whole(self, *, said_so: bool = False) -> bool:
        """True where every sample has said why it ended, or the server that all is there: by `[DONE]` (`said_so`), or
        by the counts of the whole, which come last and by themselves."""
        return (
            said_so
            or self._is_counted
            or (bool(self._samples) and all(sample.finish for sample in self._samples.values()))
        )

    def response(self) -> dict[str, Any]:
        """The whole answer, as it would have come at once."""
        choices = [self._choice(index, self._samples[index]) for index in sorted(self._samples)]
        return {"id": self._id, "model": self._model, "choices": choices, "usage": self._usage}

    def _add(self, choice: Any) -> None:
        index = at(choice, "index")
        index = index if isinstance(index, int) else 0
        delta = at(choice, "delta") or at(choice, "message")  # the second where it came at once after all
        said, calls = content_of(choice), _items(at(delta, "tool_calls"))
        # thinking counts: it is what the model writes first
        if self.first_token_s is None and (said.text or calls or said.thinking):
            self.first_token_s = time.monotonic() - self._began
        if index not in self._samples:
            self._samples[index] = _Sample()
            if self._again:
                self._on_text(index, "")
        sample = self._samples[index]
        sample.thinking.append(said.thinking)
        sample.refusal.append(said.refusal)
        if said.text:
            sample.text.append(said.text)
            self._on_text(index, said.text)
        for call in calls:
            _merge(sample.calls, call)
        sample.tokens += _items(at(at(choice, "logprobs"), "content"))
        sample.finish = at(choice, "finish_reason") or sample.finish
        sample.error = at(choice, "error") or sample.error

    def _choice(self, index: int, sample: _Sample) -> dict[str, Any]:
        calls = [sample.calls[number].whole() for number in sorted(sample.calls)]
        message = {"role": "assistant", "content": "".join(sample.text), "tool_calls": calls}
        others = {"reasoning_content": "".join(sample.thinking), "refusal": "".join(sample.refusal)}
        message |= {name: said for name, said in others.items() if said}
        logprobs = {"content": sample.tokens} if sample.tokens else None
        whole = {"index": index, "message": message, "finish_reason": sample.finish, "logprobs": logprobs}
        return whole | ({"error": sample.error} if sample.error else {})


def _items(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _merge(calls: dict[int, _Call], piece: Any) -> None:
    number = at(piece, "index")
    known = calls.setdefault(number if isinstance(number, int) else len(calls), _Call())
    known.id = known.id or at(piece, "id")
    function = at(piece, "function")
    for pieces, name in ((known.name, "name"), (known.arguments, "arguments")):
        more = at(function, name)
        if isinstance(more, str):
            pieces.append(more)
