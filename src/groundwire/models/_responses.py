"""Reads an answer in the form of OpenAI's chat API, as JSON or as LiteLLM's objects, into a `Completion`.

Servers that speak this API differ in what they send. What is an answer in another form is read; what is trouble of
theirs may be tried again; what the model itself made no answer of goes back to it, with what it used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from groundwire.core._errors import ModelError, ModelRejected, ModelReplyInvalid, Usage
from groundwire.core._models import Completion, Request, ToolCall
from groundwire.core._prompt_text import estimate_tokens
from groundwire.models._chat import cut_at_stop, reasoning_and_answer, valid_samples
from groundwire.models._faults import error_in, failed, from_error, no_completion, said_plainly

NEVER = -9999.0
"""In place of a log probability of minus infinity, which JSON can't hold; OpenAI's API gives this number too."""
MOST_TOKENS = 10**12
"""A count above it is none."""
LONGEST_ID = 200
"""Characters of an answer's id that are kept; real ones have about 40."""


def at(value: Any, name: str) -> Any:
    """A field of a JSON object or of one of LiteLLM's; None where there is none."""
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).get(name)
    return getattr(value, name, None)


@dataclass(frozen=True)
class Content:
    """What a message, or a piece of one, says.

    Args:
        text: for whoever asked.
        thinking: what a server that tells it apart has told apart.
        refusal: why the model does not answer, in its own words.
    """

    text: str = ""
    thinking: str = ""
    refusal: str = ""


def content_of(choice: Any) -> Content:
    """What a choice says, whole or a piece of a stream: its message's content is a text, or a list of parts."""
    message = at(choice, "message") or at(choice, "delta")
    if isinstance(message, str):
        return Content(_raw(message))
    content = at(message, "content")
    parts = [_part(part) for part in cast("list[Any]", content if isinstance(content, list) else [content])]
    text, thinking = "".join(part.text for part in parts), "".join(part.thinking for part in parts)
    refusal = _raw(at(message, "refusal")) or "".join(part.refusal for part in parts)
    # DeepSeek, vLLM, SGLang and llama.cpp say the first; OpenRouter, Ollama, Groq and newer vLLM the second
    told = next((said for name in ("reasoning_content", "reasoning") if (said := _raw(at(message, name)))), "")
    # the completions API, and servers that mix the two up
    return Content(text or _raw(at(choice, "text")), told or thinking, refusal)


def usage_of(response: Any) -> Usage | None:
    """What the provider counted, as far as it can be a count; None where it counted nothing.

    A count that is missing is 0 here, but for one that follows from the total.
    """
    usage = at(response, "usage") or at(at(response, "x_groq"), "usage")
    prompt = _count(usage, "prompt_tokens") or _count(usage, "input_tokens")
    completion = _count(usage, "completion_tokens") or _count(usage, "output_tokens")
    rest = max(0, _count(usage, "total_tokens") - prompt - completion)
    if not prompt and completion:
        prompt = rest
    elif not completion:
        completion = rest
    return Usage(prompt, completion) if prompt or completion else None


def has_usage(response: Any) -> bool:
    """True where the provider counted tokens."""
    return usage_of(response) is not None


def read_response(
    response: Any,
    request: Request,
    *,
    model: str,
    api_key: str | None = None,
    begun: str = "",
    first_token_s: float | None = None,
) -> Completion:
    """The answer to `request`, without its price.

    Args:
        response: the body, or LiteLLM's response object.
        request: what was asked.
        model: the id as the user named it.
        api_key: the key that was sent, so that it can be hidden.
        begun: what the server puts before each text, and the model did not write.
        first_token_s: seconds to the first token, where it was streamed.

    Raises:
        ModelRetryable: it is an error in an answer's place, or holds no choices.
        ModelReplyInvalid: no sample holds any text, or none holds to the schema.
        ModelRejected: the provider withheld the answer, or its error says that it can never work.
    """
    used = usage_of(response)
    try:
        return _read(response, request, used, model, api_key, begun, first_token_s)
    except ModelError as error:
        error.used = used
        raise


def _read(
    response: Any,
    request: Request,
    used: Usage | None,
    model: str,
    api_key: str | None,
    begun: str,
    first_token_s: float | None,
) -> Completion:
    choices = _whole_choices(response, model, api_key)
    said = [_told_apart(content_of(choice), request, begun) for choice in choices]
    texts, thinking = [cut_at_stop(one.text, request.stop) for one in said], [one.thinking for one in said]
    calls = [_tool_calls(choice) for choice in choices] if request.tools else [()] * len(choices)
    finishes = [str(at(choice, "finish_reason") or "") for choice in choices]
    if not any(text.strip() for text in texts) and not any(calls):
        refusal = next((said_plainly(one.refusal, api_key) for one in said if one.refusal.strip()), "")
        raise _empty(finishes, refusal, any(thinking), request, model)
    kept = valid_samples(texts, request.json_schema, model=model, calls=calls, tools=request)
    # some servers don't count, or not all; a token budget must not see nothing
    prompt = used.prompt_tokens if used else 0
    completion = used.completion_tokens if used else 0
    chosen = [choices[i] for i in kept]
    return Completion(
        texts=tuple(kept.values()),
        model=_str(at(response, "model")) or model,
        prompt_tokens=prompt or sum(estimate_tokens(m.content) for m in request.messages),
        completion_tokens=completion or sum(estimate_tokens(text) for text in (*texts, *thinking)),
        finish_reasons=tuple(finishes[i] for i in kept),
        logprobs=_logprobs(chosen) if request.logprobs else None,
        top_logprobs=_top_logprobs(chosen) if request.logprobs and request.top_logprobs else None,
        tool_calls=tuple(calls[i] for i in kept) if any(calls[i] for i in kept) else (),
        cached_prompt_tokens=_cached(at(response, "usage")),
        first_token_s=first_token_s,
        thinking=tuple(thinking[i] for i in kept) if any(thinking[i] for i in kept) else (),
        response_id=_str(at(response, "id"))[:LONGEST_ID],
    )


def _whole_choices(response: Any, model: str, api_key: str | None) -> list[Any]:
    """The choices that were not ended by an error of the server."""
    error = error_in(cast("dict[str, Any]", response)) if isinstance(response, dict) else at(response, "error")
    if error:
        raise from_error(error, model=model, api_key=api_key)
    choices = at(response, "choices")
    if choices is not None and not isinstance(choices, list):
        raise no_completion(model, said_plainly(f"Its choices are {choices!r}.", api_key))
    if not choices:
        raise failed(model, "Its answer holds no choices.")
    listed = cast("list[Any]", choices)
    whole = [c for c in listed if not at(c, "error") and at(c, "finish_reason") != "error"]
    if not whole:
        error = at(listed[0], "error")
        if error:
            raise from_error(error, model=model, api_key=api_key)
        raise failed(model, "Its answer ended in an error.")
    return whole


def _empty(
    finishes: Sequence[str], refusal: str, thought: bool, request: Request, model: str
) -> ModelRejected | ModelReplyInvalid:
    quoted = f" It said: {refusal}" if refusal else ""
    if "content_filter" in finishes:
        return ModelRejected(
            f"{model} withheld its answer under its content policy.{quoted}", do="Change the task's text, or the model."
        )
    if refusal:
        return ModelReplyInvalid(f"{model} refused to answer.{quoted}", do="Change the task's text, or the model.")
    if "length" in finishes:
        return ModelReplyInvalid(
            f"{model} used its {request.max_tokens} tokens without writing any text.",
            do="Raise max_tokens: a reasoning model spends them on thinking first.",
        )
    if thought:
        return ModelReplyInvalid(
            f"{model} gave an empty reply: it thought, and answered nothing.",
            do="Raise max_tokens, or set the server's reasoning parser to the one of this model.",
        )
    return ModelReplyInvalid(f"{model} gave an empty reply.", do="Try another model or temperature.")


def _told_apart(said: Content, request: Request, begun: str) -> Content:
    """With all thinking told apart, wherever the server left it; one path may have cut off what the other has not."""
    thought, text = reasoning_and_answer(_str(said.text).removeprefix(begun), request)
    thinking = "\n\n".join(filter(None, (_str(said.thinking).strip(), thought)))
    return Content(text.lstrip() if thinking else text, thinking, said.refusal)


def _part(part: Any) -> Content:
    """One part of a content; what is neither text nor thinking nor a refusal (an image, a call) says nothing."""
    if part is None or isinstance(part, str):
        return Content(_raw(part))
    kind = at(part, "type")
    if kind in ("thinking", "reasoning"):
        inner: Any = at(part, "thinking") or at(part, "reasoning") or at(part, "text")
        # Mistral puts parts into it
        parts = cast("list[Any]", inner if isinstance(inner, list) else [inner])
        return Content(thinking="".join(_part(one).text for one in parts))
    if kind == "refusal":
        return Content(refusal=_raw(at(part, "refusal")))
    if kind in (None, "text", "output_text"):
        text = at(part, "text")
        return Content(_raw(at(text, "value") if isinstance(text, dict) else text))
    return Content()


def _tool_calls(choice: Any) -> tuple[ToolCall, ...]:
    found: list[ToolCall] = []
    for call in _listed(at(at(choice, "message"), "tool_calls")):
        function = at(call, "function")
        arguments = at(function, "arguments") or "{}"
        if isinstance(arguments, dict):  # Ollama's own form
            arguments = json.dumps(arguments)
        texts = (at(call, "id"), at(function, "name"), arguments)
        found.append(ToolCall(id=_str(texts[0]), name=_str(texts[1]), arguments=_str(texts[2])))
    return tuple(found)


def _raw(value: object) -> str:
    return value if isinstance(value, str) else ""


def _str(value: object) -> str:
    """A text that can be written down: JSON may hold halves of characters, which no file can."""
    if not isinstance(value, str) or value.isascii():
        return value if isinstance(value, str) else ""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _count(usage: Any, name: str) -> int:
    """A count of tokens; 0 for what can't be one. Some gateways write `12.0`, some `"12"`."""
    value = at(usage, name)
    if isinstance(value, str) and value.isascii() and len(value) <= len(str(MOST_TOKENS)):
        try:
            value = float(value)
        except ValueError:
            return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_TOKENS:
        return 0
    return math.ceil(value)


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
