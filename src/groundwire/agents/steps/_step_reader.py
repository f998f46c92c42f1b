"""Reads a model's next step, and has another model look at a call before it is made."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._answers import REFUSED, TWO, bare_answer, plain_answer, stated_answer
from groundwire.core._contexts import ModelCaller
from groundwire.core._errors import CandidateError, ModelReplyInvalid
from groundwire.core._models import Backend, Completion, Request, ToolSpec
from groundwire.core._prompt_text import data, head_tail, plain, unfence
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import json_in, labelled, objects_in, strict_json
from groundwire.core._tasks import Task
from groundwire.core._toolcalls import Answer, Call, Offer, Ruling, SeenCall, Step, Steps
from groundwire.models._choice import backend_for

# Reads a model's next step: a native tool call, or one JSON object in its text.

MAX_CHARS = 64_000
REFUSAL_CHARS = 80
_NAMES = ("tool", "name", "tool_name", "function", "action")
_ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input")
"""How models that learned other forms name a call's parts; ours come first."""
_BEGINS_STEP = re.compile(rf"\{{\s{{0,20}}[\"']?(?:answer|{'|'.join((*_NAMES, *_ARGUMENTS))})[\"']?\s{{0,20}}:")
FORM = 'Answer with one JSON object: {"tool": "…", "arguments": {…}} or {"answer": "…"}.'


def read_step(completion: Completion, *, native: bool = False) -> Step:
    """The step that a completion's first sample asks for.

    Of several native calls the first is taken: each call is made, and seen, before the next. An answer is read in
    whatever form it is given, and bare (`stated_answer`).

    Args:
        completion: what the model answered.
        native: True where it was offered tools of its own, so that any other text is its answer.

    Raises:
        CandidateError: there is none that can be read, a refusal, or answers that differ; its words are for the model.
    """
    calls = completion.tool_calls[0] if completion.tool_calls else ()
    if calls:
        return Call(calls[0].name, _object(calls[0].arguments))
    text = without_reasoning(completion.texts[0]) if completion.texts else ""
    try:
        return _read_text(text)
    except CandidateError:
        if native and text.strip() and len(text) <= MAX_CHARS and stated_answer(text).problem not in (REFUSED, TWO):
            return Answer(unfence(text).strip())
        raise


def reasoning_before(completion: Completion) -> str:
    """What a completion's first sample says before its step; what it thought, where it says nothing."""
    text = without_reasoning(completion.texts[0]) if completion.texts else ""
    if not (completion.tool_calls and completion.tool_calls[0]):
        starts = (found.start() for found in _BEGINS_STEP.finditer(text[:MAX_CHARS]))
        text = text[: next(starts, 0)]
    said = unfence(text).strip().removesuffix("```json").rstrip("` \n")
    return said or (completion.thinking[0] if completion.thinking else "")


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
    answers: list[str] = []
    for found in objects_in(unfence(text)):
        call = None if answers else _call_in(found)
        if call is not None:
            return call
        match found:
            case {"answer": str() | int() | float() as answer}:
                answers.append(bare_answer(str(answer)))
            case _:
                pass
    # in an object an answer is named as one; what it begins with tells a refusal
    stated = stated_answer(answers[0][:REFUSAL_CHARS] if answers else unfence(text))
    if len({plain_answer(answer) for answer in answers}) > 1 or stated.problem == TWO:
        raise CandidateError("The answer gives several answers that differ.", do=FORM)
    if stated.problem == REFUSED:
        raise CandidateError("The answer is a refusal.", do=FORM)
    if answers or stated.answer:
        return Answer(answers[0] if answers else stated.answer)
    raise CandidateError("No step was found in the answer.", do=FORM)


def _call_in(found: Mapping[str, Any]) -> Call | None:
    """The call that an object is, in this form or another that models know: `{"name": …, "arguments": {…}}`,
    `{"action": …, "action_input": {…}}`, `{"function": {"name": …, "arguments": "{…}"}}`."""
    match found:
        case {"tool": str(tool), **rest} if tool:
            return Call(tool, _given(rest) or {})
        case {"function": {"name": str(tool), **rest}} if tool:
            return Call(tool, _given(cast("Mapping[str, Any]", rest)) or {})
        case _:
            tool = next((found[name] for name in _NAMES if isinstance(found.get(name), str)), "")
            try:
                # a name alone says too little: only with arguments it names a call
                arguments = _given(found) if tool else None
            except CandidateError:
                return None
            return None if arguments is None else Call(tool, arguments)


def _given(found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A call's arguments; None where it names none. Some models write them as JSON within JSON."""
    given: object = next((found[name] for name in _ARGUMENTS if name in found), None)
    return _object(given) if isinstance(given, str) else None if given is None else _mapping(given)


def _object(text: str) -> Mapping[str, Any]:
    try:
        value: object = strict_json(json_in(text[:MAX_CHARS]) or "{}")
        return _mapping(strict_json(json_in(value)) if isinstance(value, str) else value)
    except (ValueError, RecursionError) as error:
        raise CandidateError(f"The call's arguments are no JSON object: {error}.", do=FORM) from None


def _mapping(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise CandidateError("A call's arguments must be a JSON object.", do=FORM)
    return cast("dict[str, Any]", value)


# Another model looks at a call before it is made.

RULINGS = {"allow": True, "veto": False, "doubt": None}
SAID_CHARS = 200
OUTPUT_CHARS = 1000


class ModelReviewer:
    """Asks a model whether a call should be made (GUI-Critic-R1, arXiv 2506.04614). What it says that can't be read is
    doubt, and doubt is never consent.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend; not the actor's model.
        policy: what is to be kept to, in words.
        max_tokens: tokens of its answer.
    """

    def __init__(self, model: str | Backend, policy: str = "", *, max_tokens: int = 512) -> None:
        self._backend = backend_for(model)
        self._policy = policy
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def review(self, steps: Steps, seen: Sequence[SeenCall], task: Task, call: ModelCaller) -> Ruling:
        """See `groundwire.core._toolcalls.Reviewer`."""
        prompt = load_prompt("review_call_v1")
        made = [data("made", f"{one.call.line}\n{head_tail(one.output, OUTPUT_CHARS)}", id=one.id) for one in seen]
        request = Request(
            messages=prompt.messages(
                policy=data("policy", self._policy) if self._policy else "",
                task=data("task", task.prompt, id=task.id),
                made="\n".join(made),
                call=data("call", steps.calls[-1].line),
            ),
            max_tokens=self._max_tokens,
            purpose="review",
            prompt_digest=prompt.digest,
        )
        try:
            completion = await call(self._backend, request)
        except ModelReplyInvalid:  # an empty answer, or a refusal, is doubt
            return _read("")
        return _read(completion.texts[0] if completion.texts else "")


def _read(text: str) -> Ruling:
    said = without_reasoning(text)
    rulings = {ruling.rstrip(".").casefold() for ruling in labelled(said, "ruling")}
    if len(rulings) != 1 or not rulings <= RULINGS.keys():
        return Ruling(None, "the reviewer's answer could not be read" if len(rulings) < 2 else "it says two things")
    why, instead = (next(iter(labelled(said, name)), "") for name in ("why", "instead"))
    return Ruling(RULINGS[rulings.pop()], plain(why, SAID_CHARS), plain(instead, SAID_CHARS))
