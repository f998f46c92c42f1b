"""Reads a model's next step: a native tool call, or one JSON object in its text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from groundwire.agents.text import unfence
from groundwire.completions import Completion, ToolSpec
from groundwire.errors import CandidateError
from groundwire.toolcalls import Answer, Call, Offer, Step

__all__ = ["objects_in", "read_step", "schema_of"]

MAX_CHARS = 64_000
MAX_STARTS = 64
"""Opening braces at which an object is looked for; a flood of them is no answer."""
FORM = 'Answer with one JSON object: {"tool": "…", "arguments": {…}} or {"answer": "…"}.'


def read_step(completion: Completion, *, native: bool = False) -> Step:
    """The step that a completion's first sample asks for.

    Of several native calls the first is taken: each call is made, and seen, before the next.

    Args:
        completion: what the model answered.
        native: True where it was offered tools of its own, so that any other text is its answer.

    Raises:
        CandidateError: there is none that can be read; its words are for the model.
    """
    calls = completion.tool_calls[0] if completion.tool_calls else ()
    if calls:
        return Call(calls[0].name, _object(calls[0].arguments))
    text = completion.texts[0] if completion.texts else ""
    try:
        return _read_text(text)
    except CandidateError:
        if native and text.strip():
            return Answer(unfence(text).strip())
        raise


def schema_of(tools: Sequence[ToolSpec], offer: Offer) -> Mapping[str, Any]:
    """The JSON schema of what is on offer, for models that are held to one."""
    forms: list[Mapping[str, Any]] = []
    if offer.calls:
        forms += [_form(tool=_constant(tool.name), arguments=tool.parameters) for tool in tools]
    if offer.answer:
        forms.append(_form(answer={"type": "string"}))
    return forms[0] if len(forms) == 1 else {"anyOf": forms}


def _form(**fields: Any) -> Mapping[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _constant(value: str) -> Mapping[str, Any]:
    return {"type": "string", "enum": [value]}


def _read_text(text: str) -> Step:
    if len(text) > MAX_CHARS:
        raise CandidateError(f"The answer has {len(text)} characters; at most {MAX_CHARS} are read.", do=FORM)
    for found in objects_in(unfence(text)):
        match found:
            case {"tool": str(tool), **rest} if tool:
                return Call(tool, _mapping(rest.get("arguments", {})))
            case {"answer": str() | int() | float() as answer}:
                return Answer(str(answer).strip())
            case _:
                pass
    raise CandidateError("No step was found in the answer.", do=FORM)


def objects_in(text: str) -> list[Mapping[str, Any]]:
    """The outermost JSON objects in a text, in order."""
    decoder = json.JSONDecoder(parse_constant=_refused)
    found: list[Mapping[str, Any]] = []
    start = text.find("{")
    for _ in range(MAX_STARTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found.append(value)
        start = text.find("{", end)
    return found


def _object(text: str) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(text[:MAX_CHARS] or "{}", parse_constant=_refused))
    except (ValueError, RecursionError) as error:
        raise CandidateError(f"The call's arguments are no JSON object: {error}.", do=FORM) from None


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CandidateError("A call's arguments must be a JSON object.", do=FORM)
    return cast("dict[str, Any]", value)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
