"""What a server of one's own answered or did over HTTP, as one of our errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from groundwire.core.errors import ModelError, ModelRejected
from groundwire.models.faults import (
    TEXT_READ,
    context_too_long,
    failed,
    from_status,
    mentions_policy,
    refused_by_policy,
    said_plainly,
)

__all__ = ["KEY_VARIABLE", "error_in", "from_answer", "from_error"]

KEY_VARIABLE = "OPENAI_COMPATIBLE_API_KEY"
"""Not OpenAI's own: its key must not go to a server that only speaks its language."""
TOO_LONG = (
    "context_length",
    "context length",
    "context size",
    "context window",
    "maximum model length",
    "max_model_len",
    "prompt is too long",
    "input is too long",
    "too many tokens",
)
"""What vLLM, llama.cpp, SGLang, TGI and Ollama say."""
STATUS_OF_KIND = {
    "insufficient_quota": 429,
    "rate_limit": 429,
    "too_many_requests": 429,
    "overloaded": 529,
    "authentication": 401,
    "invalid_api_key": 401,
    "permission": 403,
    "not_found": 404,
    "notfound": 404,
    "context_length": 400,
    "invalid_request": 400,
    "badrequest": 400,
    "bad_request": 400,
    "validation": 422,
}
"""What OpenAI, Anthropic, vLLM and TGI call the kind of an error that they send with a status of success."""
CAN_BE_TOO_LONG = frozenset({400, 413, 422, 500})


def from_answer(status: int, body: bytes, headers: Mapping[str, str], *, model: str, api_key: str | None) -> ModelError:
    """What an answer that is no success means.

    Args:
        status: 300 or more.
        body: its beginning.
        headers: of the answer.
        model: the id as the user named it.
        api_key: the key that was sent, so that it can be hidden.
    """
    whole = body[:TEXT_READ].decode("utf-8", "replace")
    said = said_plainly(_message(whole), api_key)
    if status < 400:
        place = said_plainly(headers.get("location", "another address"), api_key)
        return ModelRejected(
            f"{model} sent us on to {place} ({status}), which is not followed.", do="Give the address that it names."
        )
    if status in CAN_BE_TOO_LONG and any(mark in whole.lower() for mark in TOO_LONG):
        return context_too_long(model, said)
    advice = f"Set {KEY_VARIABLE} in the environment to the server's key."
    return from_status(status, whole, headers, model=model, said=said, key_advice=advice)


def from_error(error: Any, *, model: str, api_key: str | None) -> ModelError:
    """What an error means that comes with a status of success: in an answer's place, or in the middle of a stream.

    Args:
        error: OpenAI's object with a code, a type and a message, or words.
        model: the id as the user named it.
        api_key: the key that was sent, so that it can be hidden.
    """
    status = _status(error)
    if status is not None:
        return from_answer(status, json.dumps({"error": error}).encode(), {}, model=model, api_key=api_key)
    words = json.dumps(error, ensure_ascii=False) if isinstance(error, dict) else str(error)
    if any(mark in words.lower() for mark in TOO_LONG):
        return context_too_long(model, said_plainly(_message(words), api_key))
    if mentions_policy(words):
        return refused_by_policy(model, said_plainly(_message(words), api_key))
    return failed(model, said_plainly(_message(words), api_key))


def error_in(body: Mapping[str, Any]) -> Any:
    """The error that a body is, or holds; None where it is none."""
    if body.get("object") == "error":
        return body
    if error := body.get("error"):
        # TGI says its kind beside it
        return {"message": error, "type": body.get("error_type")} if isinstance(error, str) else error
    if "choices" in body:
        return None
    # FastAPI's form, and that of some gateways
    return next((body for name in ("detail", "message") if isinstance(body.get(name), str)), None)


def _status(error: Any) -> int | None:
    """The HTTP status that an error names as a number, or in a word."""
    fields: dict[str, Any] = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    named = [fields.get(name) for name in ("code", "status", "status_code", "http_status", "type")]
    for value in named:
        number = int(value) if isinstance(value, str) and value.isdecimal() and len(value) == 3 else value
        if isinstance(number, int) and 400 <= number < 600:
            return number
    words = " ".join(value for value in named if isinstance(value, str)).lower()
    return next((status for mark, status in STATUS_OF_KIND.items() if mark in words), None)


def _message(whole: str) -> str:
    """The words of an error as OpenAI writes it, or as FastAPI does; else all of it."""
    try:
        value: Any = json.loads(whole)
    except (ValueError, RecursionError):
        return whole
    for name in ("error", "message", "detail"):
        if isinstance(value, dict):
            value = cast("dict[str, Any]", value).get(name, cast("Any", value))
    return value if isinstance(value, str) else whole
