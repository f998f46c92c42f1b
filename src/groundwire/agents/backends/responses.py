"""Reads an answer in the form of OpenAI's chat API, as JSON or as LiteLLM's objects, into a `Completion`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from groundwire.agents.backends.replies import cut_at_stop, valid_samples
from groundwire.agents.text import estimate_tokens
from groundwire.completions import Completion, Request, ToolCall
from groundwire.errors import ModelRejected, ModelReplyInvalid

__all__ = ["alternatives", "at", "has_usage", "read_response"]

NEVER = -9999.0
"""In place of a log probability of minus infinity, which JSON can't hold; OpenAI's API gives this number too."""


def at(value: Any, name: str) -> Any:
    """A field of a JSON object or of one of LiteLLM's; None where there is none."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(name)
    return getattr(value, name, None)


def has_usage(response: Any) -> bool:
    """True where the provider counted tokens."""
    usage = at(response, "usage")
    return bool(_count(usage, "prompt_tokens") or _count(usage, "completion_tokens"))


def read_response(
    response: Any,
    request: Request,
    *,
    model: str,
    attempts: int = 1,
    begun: str = "",
    first_token_s: float | None = None,
) -> Completion:
    """The answer to `request`, without its price.

    Args:
        response: the body, or LiteLLM's response object.
        request: what was asked.
        model: the id as the user named it.
        attempts: requests that were sent.
        begun: what the server puts before each text, and the model did not write.
        first_token_s: seconds to the first token, where it was streamed.

    Raises:
        ModelReplyInvalid: no sample holds any text, or none holds to the schema.
        ModelRejected: the provider withheld the answer.
    """
    choices = _listed(at(response, "choices"))
    texts = [cut_at_stop(_text(choice).removeprefix(begun), request.stop) for choice in choices]
    calls = [_tool_calls(choice) for choice in choices] if request.tools else [()] * len(choices)
    finishes = [str(at(choice, "finish_reason") or "") for choice in choices]
    if not any(text.strip() for text in texts) and not any(calls):
        raise _empty(finishes, request, model)
    kept = valid_samples(texts, request.json_schema, model=model, calls=calls, tools=request)
    usage = at(response, "usage")
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    if not prompt and not completion:  # some servers send no usage; a token budget must not see nothing
        prompt = sum(estimate_tokens(m.content) for m in request.messages)
        completion = sum(estimate_tokens(text) for text in texts)
    chosen = [choices[i] for i in kept]
    return Completion(
        texts=tuple(texts[i] for i in kept),
        model=_str(at(response, "model")) or model,
        prompt_tokens=prompt,
        completion_tokens=completion,
        finish_reasons=tuple(finishes[i] for i in kept),
        logprobs=_logprobs(chosen) if request.logprobs else None,
        attempts=attempts,
        top_logprobs=_top_logprobs(chosen) if request.logprobs and request.top_logprobs else None,
        tool_calls=tuple(calls[i] for i in kept) if any(calls[i] for i in kept) else (),
        cached_prompt_tokens=_cached(usage),
        first_token_s=first_token_s,
    )


def _empty(finishes: list[str], request: Request, model: str) -> ModelRejected | ModelReplyInvalid:
    if "content_filter" in finishes:
        return ModelRejected(
            f"{model} withheld its answer under its content policy.", do="Change the task's text, or the model."
        )
    if "length" in finishes:
        return ModelReplyInvalid(
            f"{model} used its {request.max_tokens} tokens without writing any text.",
            do="Raise max_tokens: a reasoning model spends them on thinking first.",
        )
    return ModelReplyInvalid(f"{model} gave an empty reply.", do="Try another model or temperature.")


def _text(choice: Any) -> str:
    content = at(at(choice, "message"), "content")
    return _str(content)


def _tool_calls(choice: Any) -> tuple[ToolCall, ...]:
    found: list[ToolCall] = []
    for call in _listed(at(at(choice, "message"), "tool_calls")):
        function = at(call, "function")
        texts = (at(call, "id") or "", at(function, "name"), at(function, "arguments") or "{}")
        found.append(ToolCall(id=_str(texts[0]), name=_str(texts[1]), arguments=_str(texts[2])))
    return tuple(found)


def _str(value: object) -> str:
    """A text that can be written down: JSON may hold halves of characters, which no file can."""
    if not isinstance(value, str) or value.isascii():
        return value if isinstance(value, str) else ""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _count(usage: Any, name: str) -> int:
    value = at(usage, name)
    return value if isinstance(value, int) and value > 0 else 0


def _cached(usage: Any) -> int:
    # OpenAI, vLLM and llama.cpp say it in the details; LiteLLM puts Anthropic's count there too
    return _count(at(usage, "prompt_tokens_details"), "cached_tokens")


def _tokens(choice: Any) -> list[Any]:
    return _listed(at(at(choice, "logprobs"), "content"))


def _logprobs(choices: Sequence[Any]) -> tuple[tuple[float, ...], ...] | None:
    found = tuple(tuple(_number(at(token, "logprob")) for token in _tokens(choice)) for choice in choices)
    return found if all(found) else None


def _top_logprobs(choices: Sequence[Any]) -> tuple[tuple[tuple[float, ...], ...], ...] | None:
    found = tuple(tuple(alternatives(token) for token in _tokens(choice)) for choice in choices)
    return found if all(found) and any(any(sample) for sample in found) else None


def alternatives(token: Any) -> tuple[float, ...]:
    """The log probabilities of the likeliest tokens at one place, highest first."""
    listed = _listed(at(token, "top_logprobs"))
    return tuple(sorted((_number(at(other, "logprob")) for other in listed), reverse=True))


def _number(value: object) -> float:
    number = float(value) if isinstance(value, int | float) else NEVER
    return number if math.isfinite(number) else NEVER
