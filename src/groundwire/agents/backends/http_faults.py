"""What a server of one's own answered or did over HTTP, as one of our errors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from groundwire.agents.backends.faults import TEXT_READ, context_too_long, from_status, said_plainly, unreachable
from groundwire.errors import ModelError, ModelRejected

__all__ = ["KEY_VARIABLE", "from_answer", "from_event"]

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


def from_event(error: Any, *, model: str, api_key: str | None) -> ModelError:
    """What an error in the middle of a stream means."""
    fields: dict[str, Any] = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    status = fields.get("code", fields.get("status"))
    if isinstance(status, int) and 400 <= status < 600:
        return from_answer(status, json.dumps({"error": error}).encode(), {}, model=model, api_key=api_key)
    return unreachable(model, said_plainly(str(fields.get("message") or cast("object", error)), api_key))


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
