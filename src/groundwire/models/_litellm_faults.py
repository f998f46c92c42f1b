"""What LiteLLM raised, as one of our errors.

LiteLLM wraps what happened in one of its own classes, and some of them mislead (a missing key and a malformed reply are
both "InternalServerError 500"), so the chain of causes is read: an HTTP status, a broken connection, or neither.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from groundwire.core._errors import ModelError, ModelRejected
from groundwire.models._faults import (
    TEXT_READ,
    context_too_long,
    failed,
    from_error,
    from_status,
    late,
    mentions_policy,
    no_completion,
    not_connected,
    refused_by_policy,
    said_plainly,
    unreachable,
)
from groundwire.models._slots import Slots

EMPTY = "Received: ''."
MALFORMED = ("invalid response from LLM", "Invalid response object", "provider returned")


def to_model_error(error: BaseException, litellm: Any, *, model: str, api_key: str | None, slots: Slots) -> ModelError:
    """What went wrong, as one of ours.

    Args:
        error: what a call raised.
        litellm: the loaded module.
        model: the id as the user named it.
        api_key: the key that was passed, so that it can be hidden.
        slots: how long the call could take, for the message.
    """
    chain = list(_chain(error))
    said = _said(error, api_key)
    status = _http_status(chain)
    if isinstance(error, litellm.ContextWindowExceededError):
        return context_too_long(model, said)
    if isinstance(error, litellm.ContentPolicyViolationError) or mentions_policy(_whole(error)):
        return refused_by_policy(model, said)
    if status is not None:
        advice = _key_advice(missing_keys(litellm, model), model) if status in (401, 403) else ""
        return from_status(status, _whole(error), _headers(error), model=model, said=said, key_advice=advice)
    if (told := _told_in_a_stream(chain)) is not None:
        return from_error(told, model=model, api_key=api_key)
    if any(type(e).__name__ in ("ConnectTimeout", "ConnectionTimeoutError") for e in chain):
        return not_connected(model, slots.connect_s)
    if any(_is_timeout(e) for e in chain):
        return late(model, slots.timeout_s)
    missing = [] if api_key else missing_keys(litellm, model)
    if any(_is_connection(e) or _is_cut_stream(e) for e in chain):
        # some providers are asked even without a key
        also = f" {' and '.join(missing)} must be set too." if missing else ""
        return unreachable(model, said, also, unreached=any(type(e).__name__ == "ConnectError" for e in chain))
    if missing or any(isinstance(e, ImportError) for e in chain) or not _answered(chain):
        return _before_sending(missing, model=model, said=said)
    return failed(model, "Its answer is empty.") if EMPTY in said else no_completion(model, said)


def timeout_of(slots: Slots) -> Any:
    """The time that a call may take, in LiteLLM's form: `connect` is bounded by itself."""
    import httpx  # LiteLLM's own; it takes seconds to load where LiteLLM has not

    return httpx.Timeout(slots.timeout_s, connect=slots.connect_s)


def is_answered(error: BaseException) -> bool:
    """True where the server answered with a success that LiteLLM did not want to read."""
    chain = list(_chain(error))
    return _http_status(chain) is None and not any(_is_timeout(e) or _is_connection(e) for e in chain)


def unread_body(error: BaseException) -> bytes | None:
    """The body of an answer that the libraries could not read as JSON; None where that is not what went wrong."""
    for one in _chain(error):
        if isinstance(one, json.JSONDecodeError):
            return one.doc.encode("utf-8", "surrogatepass")
        if isinstance(one, UnicodeDecodeError):
            return one.object
    return None


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


def _told_in_a_stream(chain: list[BaseException]) -> Any:
    """The error that a server sent among its events, as OpenAI's client raises it; None where there is none."""
    found = (getattr(e, "body", None) for e in chain if type(e).__module__.partition(".")[0] == "openai")
    return next((body for body in found if body), None)


def _is_cut_stream(error: BaseException) -> bool:
    return type(error).__name__ == "MidStreamFallbackError"


def _answered(chain: list[BaseException]) -> bool:
    # these come from reading a body; LiteLLM does not tell them from errors before the request
    if any(isinstance(e, json.JSONDecodeError | LookupError | TypeError | AttributeError) for e in chain):
        return True
    if any(getattr(e, "litellm_response_headers", None) for e in chain):
        return True
    return any(mark in str(chain[0])[:TEXT_READ] for mark in MALFORMED)


def _whole(error: BaseException) -> str:
    return f"{str(error)[:TEXT_READ]} {getattr(error, 'code', '')} {getattr(error, 'body', '')}"


def _headers(error: BaseException) -> Any:
    return getattr(error, "litellm_response_headers", None) or getattr(
        getattr(error, "response", None), "headers", None
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
    return said_plainly(re.sub(r"litellm\.\w+: ", "", text), api_key)
