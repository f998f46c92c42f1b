"""Asks a model for an object of a pydantic class, and sends a bad answer back with what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._contexts import ModelCaller
from groundwire.core._errors import ConfigError, ModelReplyInvalid
from groundwire.core._models import Backend, Completion, Message, Request
from groundwire.core._prompt_text import data, head_tail, inert
from groundwire.core._reply_parts import json_in

# Sends an answer back: the conversation so far, the answer as data, and what is wrong with it.
#
# It is the form of an answer that is corrected so, before it is a candidate; what was judged is never rewritten here.

ANSWER_CHARS_SHOWN = 8000
REPAIRS = 2


async def answered(call: ModelCaller, backend: Backend, request: Request, *, repairs: int = REPAIRS) -> Completion:
    """The answer to `request`; one that can't be read (it is empty, a refusal) is sent back with the complaint.

    Each try is a call of its own, paid from the same budget and in the ledger.

    Args:
        call: an actor's or critic's `context.call`.
        backend: the model.
        request: what is asked.
        repairs: answers that may be sent back.

    Raises:
        ModelReplyInvalid: the last answer can't be read either.
        BudgetExceeded, ModelError: from `call`.
    """
    asked = request
    for _ in range(repairs):
        try:
            return await call(backend, asked)
        except ModelReplyInvalid as error:
            # what it said instead is not in the ledger, so a replay could not quote it
            messages, digest = complained(request.messages, "", error.what)
        asked = request.model_copy(update={"messages": messages, "prompt_digest": digest})
    return await call(backend, asked)


def complained(opening: Sequence[Message], answer: str, problem: str) -> tuple[tuple[Message, ...], str]:
    """The messages that ask for `answer` again, in a form that can be used, and the digest of their prompt.

    Args:
        opening: what was asked.
        answer: what came; empty where it is not known.
        problem: why it can't be used, in words for the model.
    """
    return replied(opening, answer, "correct_answer_v1", tool_error=data("tool_error", problem))


def replied(opening: Sequence[Message], answer: str, prompt: str, **values: str) -> tuple[tuple[Message, ...], str]:
    """The messages that answer `answer` with a prompt file, and the digest of that file."""
    template = load_prompt(prompt)
    # some providers refuse a message without text
    shown = head_tail(inert(answer), ANSWER_CHARS_SHOWN) if answer.strip() else "(nothing)"
    said = Message(role="assistant", content=shown)
    return (*opening, said, *template.messages(**values)), template.digest


# Asks a model for an object of a pydantic class: its schema goes out, a bad answer goes back.

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True)
class Structured(Generic[T]):
    """What `ask_for` returns.

    Args:
        values: one for each sample that could be read, at least one.
        completion: the answer they were read from.
        repairs: answers that were sent back before it.
    """

    values: tuple[T, ...]
    completion: Completion
    repairs: int


async def ask_for(
    form: type[T], call: ModelCaller, backend: Backend, request: Request, *, repairs: int = 2
) -> Structured[T]:
    """Asks for an object of class `form`.

    Every try is a call of its own, paid from the same budget and in the ledger; those after the first have the purpose
    `correct` and ask for one sample. A provider's promise to hold to a schema is not relied on.

    Args:
        form: the class; its JSON schema goes out with the request.
        call: an actor's or critic's `context.call`.
        backend: the model.
        request: what is asked; a schema of its own is replaced.
        repairs: answers that may be sent back.

    Raises:
        ModelReplyInvalid: no answer could be read.
        BudgetExceeded, ModelError: from `call`.
        ConfigError: `repairs` is negative.
    """
    if repairs < 0:
        raise ConfigError(f"repairs is {repairs}.", do="Allow 0 or more.")
    asked = request.model_copy(update={"json_schema": form.model_json_schema()})
    problem = ""
    for sent_back in range(repairs + 1):
        try:
            completion = await call(backend, asked)
        except ModelReplyInvalid as error:
            # what it said instead is not in the ledger, so a replay could not quote it
            answer, problem = "", error.what
        else:
            values, problem = _read(form, completion.texts)
            if values:
                return Structured(values, completion, sent_back)
            answer = completion.texts[0] if completion.texts else ""
        messages, digest = complained(request.messages, answer, problem)
        asked = asked.model_copy(update={"messages": messages, "prompt_digest": digest, "purpose": "correct", "n": 1})
    raise ModelReplyInvalid(
        f"{backend.model} did not give a {form.__name__} in {repairs + 1} calls; the last complaint: {problem}",
        do="Use a model that supports structured output, or a simpler form.",
    )


def json_of(form: type[BaseModel], text: str) -> str:
    """The JSON in a text that is an object of `form`; the text as it is where there is none, or several that differ."""

    def fits(written: str) -> bool:
        try:
            form.model_validate_json(written)
        except ValidationError:
            return False
        return True

    return json_in(text, fits)


def _read(form: type[T], texts: Sequence[str]) -> tuple[tuple[T, ...], str]:
    """The objects that could be read, and what was wrong with the first that could not."""
    found: list[T] = []
    problem = "" if texts else "it is empty"
    for text in texts:
        try:
            found.append(form.model_validate_json(json_of(form, text)))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the answer"
            problem = problem or f"at {place}: {first['msg']}"
    return tuple(found), problem
