"""Tells model trouble apart: what a provider answered, as one of our three errors, with no key in its text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, cast

from groundwire.core._errors import ModelError, ModelRejected, ModelReplyInvalid, ModelRetryable
from groundwire.core._prompt_text import plain

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
NEVER_WORKS_STATUS = frozenset({501, 505})
# not "quota" or "billing": some providers say so in a limit that passes after a minute
NO_CREDIT = ("insufficient_quota", "credit balance")
POLICY = ("content_policy", "content policy", "content_filter", "safety system", "responsibleaipolicyviolation")
TEXT_READ = 20_000
TEXT_SHOWN = 300

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_SECRET_SHAPE = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|ghp|key)[-_][\w*-]{6,}|\bAIza[\w-]{20,}|\bBearer\s+\S+|(?<=key=)[^&\s\"']+",
    re.IGNORECASE,
)
HIDDEN = "[key hidden]"


def redact(text: str, *secrets: str | None) -> str:
    """`text` without anything that is, or looks like, a key.

    Args:
        text: what a provider or library said.
        secrets: keys that are known; those in the environment are looked up here.
    """
    known = {value for name, value in os.environ.items() if _SECRET_NAME.search(name) and len(value) >= 8}
    known |= {secret for secret in secrets if secret}
    for secret in sorted(known, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _SECRET_SHAPE.sub(HIDDEN, text)


def said_plainly(text: str, *secrets: str | None) -> str:
    """The beginning of what a provider said, fit for a message."""
    # hidden before it is cut: half a key must not be left at the edge
    return plain(redact(text[:TEXT_READ], *secrets), TEXT_SHOWN)


def parse_retry_after(headers: Any) -> float | None:
    """Seconds that response headers ask us to wait; None where they don't say.

    Reads `retry-after-ms` (milliseconds) and `Retry-After` (RFC 9110 section 10.2.3: seconds or a date).
    """
    get = getattr(headers, "get", None)
    if get is None:
        return None
    milliseconds = _float(get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value: object = get("retry-after") or get("Retry-After")
    seconds = _float(value)
    if seconds is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(str(value)).timestamp() - time()) if value else None
    except (ValueError, OverflowError):
        return None


def _float(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def from_status(status: int, whole: str, headers: Any, *, model: str, said: str, key_advice: str) -> ModelError:
    """What an answer with an HTTP status of 400 or more means.

    Args:
        status: the status.
        whole: all that the provider said, as it came.
        headers: of the answer.
        model: the id as the user named it.
        said: what a message may show of it.
        key_advice: what to do about a key that is refused.
    """
    if mentions_policy(whole):
        return refused_by_policy(model, said)
    if status == 402 or (status == 429 and any(mark in whole[:TEXT_READ].lower() for mark in NO_CREDIT)):
        return ModelRejected(
            f"{model} refused the request: the account has no credit left ({status}). {said}",
            do="Check the plan and the billing at the provider.",
        )
    if status in RETRYABLE_STATUS or (status >= 500 and status not in NEVER_WORKS_STATUS):
        state = "is limiting the rate of requests" if status == 429 else "failed on its side"
        return ModelRetryable(
            f"{model} {state} ({status}). {said}",
            do="Wait and try again, or lower max_in_flight." if status == 429 else "Try again later.",
            retry_after_s=parse_retry_after(headers),
        )
    if status in (401, 403):
        return ModelRejected(f"{model} refused the key ({status}). {said}", do=key_advice)
    if status == 404:
        return ModelRejected(
            f"{model} is not known to its provider (404). {said}",
            do="Check the model's name after the first slash, and the address (api_base) if you gave one.",
        )
    return ModelRejected(
        f"{model} refused the request ({status}). {said}", do="Change what the message names; it is not tried again."
    )


def mentions_policy(whole: str) -> bool:
    """True where a refusal names a content policy."""
    whole = whole[:TEXT_READ].lower()
    return any(mark in whole for mark in POLICY)


def context_too_long(model: str, said: str) -> ModelRejected:
    """The prompt and its answer don't fit into the model's context."""
    return ModelRejected(
        f"{model} refused the request: the context is too long. {said}",
        do="Lower the actor's context_tokens or max_tokens, or use a model with a longer context.",
    )


def refused_by_policy(model: str, said: str) -> ModelRejected:
    """The provider does not want to answer this."""
    return ModelRejected(
        f"{model} refused the request under its content policy. {said}", do="Change the task's text, or the model."
    )


def late(model: str, timeout_s: float) -> ModelRetryable:
    """The deadline of one attempt has passed."""
    error = ModelRetryable(
        f"{model} did not answer within {timeout_s:g} s.",
        do="Give it longer (--model-seconds, timeout_s), or try again when it is less busy.",
    )
    error.silent = True
    return error


def not_connected(model: str, connect_s: float) -> ModelRetryable:
    """Nobody took the connection, and nobody refused it."""
    error = ModelRetryable(
        f"{model} took no connection within {connect_s:g} s.",
        do="Check the network and the address (api_base): no such machine answers, or a firewall drops what is sent.",
    )
    error.silent = error.unreached = True
    return error


def unreachable(model: str, said: str, also: str = "", *, unreached: bool = False) -> ModelRetryable:
    """No connection (`unreached`), or it broke before the answer was whole."""
    error = ModelRetryable(
        f"The connection to {model} failed. {said}", do=f"Check the network and the address (api_base).{also}"
    )
    error.unreached = unreached
    return error


def failed(model: str, said: str) -> ModelRetryable:
    """It answered with an error in an answer's place, or ended in the middle of one."""
    return ModelRetryable(f"{model} failed on its side. {said}", do="Try again later; its log may say more.")


def no_completion(model: str, said: str) -> ModelReplyInvalid:
    """An answer, but of no form that is known."""
    return ModelReplyInvalid(
        f"{model} answered with something that is no completion. {said}",
        do="Check the address (api_base), if you gave one: an OpenAI-compatible API's ends in /v1.",
    )


# What a server of one's own answered or did over HTTP, as one of our errors.

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
