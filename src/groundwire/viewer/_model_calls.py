"""A model call as it is looked at: the prompt, message by message, with its parts, and what was answered."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from groundwire.core._prompt_text import estimate_tokens
from groundwire.core._records import Intent, ModelCall


@dataclass(frozen=True)
class PromptPart:
    """A part of a message that stands between tags of one name, or what stands outside of any.

    Args:
        name: of the tag; empty outside.
        text: what it holds; hostile.
        tokens: about how many.
    """

    name: str
    text: str
    tokens: int


@dataclass(frozen=True)
class ShownMessage:
    """A message of a prompt.

    Args:
        role: `system`, `user`, `assistant` or `tool`.
        parts: what it is made of.
        tokens: about how many in all.
        tool_calls: what an assistant's message asked for, each as `name(arguments)`.
        results: for each of these, the number of the message that holds its result, counted from 1; 0: none does.
        asked_in: of a tool's message, the number of the one that asked for it; 0: none did.
    """

    role: str
    parts: Sequence[PromptPart]
    tokens: int
    tool_calls: Sequence[str] = ()
    results: Sequence[int] = ()
    asked_in: int = 0


@dataclass(frozen=True)
class CallView:
    """A model call.

    Args:
        id: of its intent.
        trial: its trial.
        purpose: `propose`, `reflect`, …
        model: the id that was asked.
        messages: what the model was shown.
        answers: what it answered, a text a sample.
        thinking: what it thought before, a text a sample, as far as that is known.
        tool_calls: what it asked for, each as `name(arguments)`.
        error: why there is no answer.
        prompt_tokens: as billed.
        completion_tokens: as billed.
        usd: US dollars; None where the price is unknown.
        duration_s: wall seconds.
        ended_at: when.
        reused: the intent whose recorded answer was taken; empty where the model was asked.
        cut_off: True where no answer is recorded: it may have been paid for.
    """

    id: str
    trial: int
    purpose: str
    model: str = ""
    messages: Sequence[ShownMessage] = ()
    answers: Sequence[str] = ()
    thinking: Sequence[str] = ()
    tool_calls: Sequence[str] = ()
    error: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None
    duration_s: float = 0.0
    ended_at: str = ""
    reused: str = ""
    cut_off: bool = False


def call_of(intent: Intent, call: ModelCall | None) -> CallView:
    """Puts a call and its answer, if there is one, together."""
    request = object_in(intent.body)
    messages = _messages(request.get("messages") or ())
    purpose = str(request.get("purpose") or "")
    if call is None:
        return CallView(intent.id, intent.trial, purpose, messages=messages, usd=intent.usd, cut_off=True)
    completion = object_in(call.completion)
    return CallView(
        id=intent.id,
        trial=intent.trial,
        purpose=call.purpose or purpose,
        model=call.model,
        messages=messages,
        answers=[str(text) for text in completion.get("texts") or ()],
        thinking=[str(text) for text in completion.get("thinking") or ()],
        tool_calls=[_tool_call(one) for sample in completion.get("tool_calls") or () for one in sample],
        error=call.error,
        prompt_tokens=call.prompt_tokens,
        completion_tokens=call.completion_tokens,
        usd=call.usd,
        duration_s=call.duration_s,
        ended_at=call.created_at,
        reused=call.reused,
    )


def object_in(text: str) -> dict[str, Any]:
    """A JSON object; an empty one where the text holds none."""
    try:
        value: Any = json.loads(text) if text else {}
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _messages(given: Sequence[Any]) -> Sequence[ShownMessage]:
    """A prompt's messages, each call of a tool with its result."""
    bodies = [cast("dict[str, Any]", one) if isinstance(one, dict) else {} for one in given]
    asked: dict[str, int] = {}
    results: dict[tuple[int, str], int] = {}
    asked_in: dict[int, int] = {}
    for number, body in enumerate(bodies, 1):
        for name in map(_id, body.get("tool_calls") or ()):
            asked[name] = number
        answers = str(body.get("answers") or "")
        if answers in asked:
            asked_in[number] = asked[answers]
            results[asked[answers], answers] = number
    shown: list[ShownMessage] = []
    for number, body in enumerate(bodies, 1):
        text, calls = str(body.get("content") or ""), body.get("tool_calls") or ()
        shown.append(
            ShownMessage(
                role=str(body.get("role") or ""),
                parts=parts_of(text),
                tokens=estimate_tokens(text),
                tool_calls=[_tool_call(one) for one in calls],
                results=[results.get((number, _id(one)), 0) for one in calls],
                asked_in=asked_in.get(number, 0),
            )
        )
    return shown


def _id(given: Any) -> str:
    return str(cast("dict[str, Any]", given).get("id") or "") if isinstance(given, dict) else ""


def _tool_call(given: Any) -> str:
    call = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return f"{call.get('name')}({call.get('arguments')})"


_TAG = re.compile(r"^<(?P<name>[a-z_]{1,40})(?: [^<>\n]{0,400})?>", re.MULTILINE)


def parts_of(text: str) -> Sequence[PromptPart]:
    """What a message is made of: prompts set each kind of content between tags of its name, `<` inside escaped."""
    found: list[PromptPart] = []
    at = 0
    for tag in _TAG.finditer(text):
        close = f"</{tag['name']}>"
        end = text.find(close, tag.end())
        if tag.start() < at or end < 0:
            continue
        if outside := text[at : tag.start()].strip():
            found.append(PromptPart("", outside, estimate_tokens(outside)))
        at = end + len(close)
        whole = text[tag.start() : at]
        found.append(PromptPart(tag["name"], whole, estimate_tokens(whole)))
    if rest := text[at:].strip():
        found.append(PromptPart("", rest, estimate_tokens(rest)))
    return found
