"""Reads what LiteLLM returned into a `Completion`."""

from __future__ import annotations

from typing import Any

from groundwire.agents.backends.prices import PriceList
from groundwire.agents.backends.replies import cut_at_stop, valid_samples
from groundwire.agents.text import estimate_tokens
from groundwire.completions import Completion, Request
from groundwire.errors import ModelRejected, ModelReplyInvalid

__all__ = ["read_response"]


def read_response(
    response: Any,
    request: Request,
    *,
    model: str,
    attempts: int,
    prices: PriceList,
    litellm: Any,
    begun: str = "",
) -> Completion:
    """The answer to `request`.

    Args:
        response: LiteLLM's response object.
        request: what was asked.
        model: the id as the user named it.
        attempts: requests that were sent.
        prices: what the model costs.
        litellm: the loaded module.
        begun: what the server puts before each text, and the model did not write.

    Raises:
        ModelReplyInvalid: no sample holds any text, or none holds to the schema.
        ModelRejected: the provider withheld the answer.
    """
    choices: list[Any] = list(getattr(response, "choices", None) or ())
    texts = [cut_at_stop(_text(choice).removeprefix(begun), request.stop) for choice in choices]
    finishes = [str(getattr(choice, "finish_reason", "") or "") for choice in choices]
    if not any(text.strip() for text in texts):
        raise _empty(finishes, request, model)
    kept = valid_samples(texts, request.json_schema, model=model)
    usage: Any = getattr(response, "usage", None)
    prompt, completion = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    counted = bool(prompt or completion)
    if not counted:  # some servers send no usage; a token budget must not see nothing
        prompt = sum(estimate_tokens(m.content) for m in request.messages)
        completion = sum(estimate_tokens(text) for text in texts)
    return Completion(
        texts=tuple(texts[i] for i in kept),
        model=str(getattr(response, "model", "") or model),
        prompt_tokens=prompt,
        completion_tokens=completion,
        usd=prices.usd(litellm, response if counted else None, prompt, completion),
        finish_reasons=tuple(finishes[i] for i in kept),
        logprobs=_all_logprobs([choices[i] for i in kept]) if request.logprobs else None,
        attempts=attempts,
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
    content = getattr(getattr(choice, "message", None), "content", None)
    return content if isinstance(content, str) else ""


def _count(usage: Any, name: str) -> int:
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) and value > 0 else 0


def _all_logprobs(choices: list[Any]) -> tuple[tuple[float, ...], ...] | None:
    found: list[tuple[float, ...]] = []
    for choice in choices:
        tokens: Any = getattr(getattr(choice, "logprobs", None), "content", None)
        if not tokens:
            return None
        found.append(tuple(float(token.logprob) for token in tokens))
    return tuple(found)
