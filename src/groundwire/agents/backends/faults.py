"""Tells model trouble apart: what LiteLLM raised, as one of our three errors, with no key in its text.

LiteLLM wraps what happened in one of its own classes, and some of them mislead (a missing key and a malformed reply are
both "InternalServerError 500"), so the chain of causes is read: an HTTP status, a broken connection, or neither.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from email.utils import parsedate_to_datetime
from time import time
from typing import Any

from groundwire.agents.text import plain
from groundwire.errors import ModelError, ModelRejected, ModelReplyInvalid, ModelRetryable

__all__ = ["missing_keys", "parse_retry_after", "redact", "to_model_error"]

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
NEVER_WORKS_STATUS = frozenset({501, 505})
# not "quota" or "billing": some providers say so in a limit that passes after a minute
NO_CREDIT = ("insufficient_quota", "credit balance")
POLICY = ("content_policy", "content policy", "content_filter", "safety system", "responsibleaipolicyviolation")
MALFORMED = ("invalid response from LLM", "Invalid response object", "provider returned")
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


def to_model_error(
    error: BaseException, litellm: Any, *, model: str, api_key: str | None, timeout_s: float
) -> ModelError:
    """What went wrong, as one of ours.

    Args:
        error: what a call raised.
        litellm: the loaded module.
        model: the id as the user named it.
        api_key: the key that was passed, so that it can be hidden.
        timeout_s: the deadline of the call, for the message.
    """
    chain = list(_chain(error))
    said = _said(error, api_key)
    status = _http_status(chain)
    if isinstance(error, litellm.ContextWindowExceededError):
        return ModelRejected(
            f"{model} refused the request: the context is too long. {said}",
            do="Lower the actor's context_tokens or max_tokens, or use a model with a longer context.",
        )
    if isinstance(error, litellm.ContentPolicyViolationError) or _any_in(POLICY, error):
        return ModelRejected(
            f"{model} refused the request under its content policy. {said}", do="Change the task's text, or the model."
        )
    if status is not None:
        return _from_status(status, error, litellm, model=model, said=said)
    if any(_is_timeout(e) for e in chain):
        return ModelRetryable(
            f"{model} did not answer within {timeout_s:g} s.", do="Raise timeout_s, or try again when it is less busy."
        )
    missing = [] if api_key else missing_keys(litellm, model)
    if any(_is_connection(e) for e in chain):
        # some providers are asked even without a key
        also = f" {' and '.join(missing)} must be set too." if missing else ""
        return ModelRetryable(
            f"The connection to {model} failed. {said}", do=f"Check the network and the address (api_base).{also}"
        )
    if missing or any(isinstance(e, ImportError) for e in chain) or not _answered(chain):
        return _before_sending(missing, model=model, said=said)
    return ModelReplyInvalid(
        f"{model} answered with something that is no completion. {said}",
        do="Check the address (api_base), if you gave one: an OpenAI-compatible API's ends in /v1.",
    )


def missing_keys(litellm: Any, model: str) -> list[str]:
    """Names of the environment variables that the model's provider needs and that are not set."""
    try:
        return [str(name) for name in litellm.validate_environment(model).get("missing_keys", ())]
    except Exception:  # a helper of the library for messages; whatever it raises must not hide the real trouble
        return []


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _http_status(chain: list[BaseException]) -> int | None:
    for error in chain:
        # only classes of the HTTP libraries: LiteLLM's own carry a status also where nothing was sent
        if type(error).__module__.partition(".")[0] in ("httpx", "openai"):
            status = getattr(getattr(error, "response", None), "status_code", None)
            if isinstance(status, int) and status >= 400:
                return status
    return None


def _is_timeout(error: BaseException) -> bool:
    return isinstance(error, TimeoutError) or "Timeout" in type(error).__name__


def _is_connection(error: BaseException) -> bool:
    package = type(error).__module__.partition(".")[0]
    name = type(error).__name__
    if package == "httpx":
        return name.endswith(("ConnectError", "ReadError", "WriteError", "CloseError", "ProtocolError", "ProxyError"))
    return isinstance(error, ConnectionError) or (package == "openai" and name == "APIConnectionError")


def _answered(chain: list[BaseException]) -> bool:
    # these come from reading a body; LiteLLM does not tell them from errors before the request
    if any(isinstance(e, json.JSONDecodeError | LookupError | TypeError | AttributeError) for e in chain):
        return True
    if any(getattr(e, "litellm_response_headers", None) for e in chain):
        return True
    return any(mark in str(chain[0])[:TEXT_READ] for mark in MALFORMED)


def _any_in(marks: tuple[str, ...], error: BaseException) -> bool:
    text = (
        f"{str(error)[:TEXT_READ]} {getattr(error, 'code', '')} {str(getattr(error, 'body', ''))[:TEXT_READ]}".lower()
    )
    return any(mark in text for mark in marks)


def _from_status(status: int, error: BaseException, litellm: Any, *, model: str, said: str) -> ModelError:
    if status == 402 or (status == 429 and _any_in(NO_CREDIT, error)):
        return ModelRejected(
            f"{model} refused the request: the account has no credit left ({status}). {said}",
            do="Check the plan and the billing at the provider.",
        )
    if status in RETRYABLE_STATUS or (status >= 500 and status not in NEVER_WORKS_STATUS):
        headers = getattr(error, "litellm_response_headers", None) or getattr(
            getattr(error, "response", None), "headers", None
        )
        state = "is limiting the rate of requests" if status == 429 else "failed on its side"
        return ModelRetryable(
            f"{model} {state} ({status}). {said}",
            do="Wait and try again, or lower max_in_flight." if status == 429 else "Try again later.",
            retry_after_s=parse_retry_after(headers),
        )
    if status in (401, 403):
        return ModelRejected(
            f"{model} refused the key ({status}). {said}", do=_key_advice(missing_keys(litellm, model), model)
        )
    if status == 404:
        return ModelRejected(
            f"{model} is not known to its provider (404). {said}",
            do="Check the model's name after the first slash, and the address (api_base) if you gave one.",
        )
    return ModelRejected(
        f"{model} refused the request ({status}). {said}", do="Change what the message names; it is not tried again."
    )


def _before_sending(missing: list[str], *, model: str, said: str) -> ModelError:
    if "LLM Provider NOT provided" in said or "Unmapped LLM provider" in said:
        return ModelRejected(
            f"{model} names no provider that LiteLLM knows.",
            do="Write it as provider/model, for example openai/gpt-5-mini or ollama/llama3.",
        )
    if missing:
        names = " and ".join(missing)
        return ModelRejected(f"{model} can't be called without {names}.", do=f"Set {names} in the environment.")
    return ModelRejected(f"{model} can't be called. {said}", do="Change what the message names.")


def _key_advice(missing: list[str], model: str) -> str:
    if missing:
        return f"Set {' and '.join(missing)} in the environment."
    provider = model.partition("/")[0] if "/" in model else "the provider"
    return f"Check the key for {provider} ({provider.upper()}_API_KEY in the environment), and what it may use."


def _said(error: BaseException, api_key: str | None) -> str:
    text = str(getattr(error, "message", "") or error)[:TEXT_READ]
    text = text.partition("Traceback (most recent call last)")[0]
    # hidden before it is cut: half a key must not be left at the edge
    return plain(re.sub(r"litellm\.\w+: ", "", redact(text, api_key)), TEXT_SHOWN)
