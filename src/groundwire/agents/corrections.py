"""Sends an answer back: the conversation so far, the answer as data, and what is wrong with it.

It is the form of an answer that is corrected so, before it is a candidate; what was judged is never rewritten here.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.templates import load_prompt
from groundwire.agents.text import data, head_tail, inert
from groundwire.completions import Backend, Completion, Message, Request
from groundwire.contexts import ModelCaller
from groundwire.errors import ModelReplyInvalid

__all__ = ["answered", "complained", "replied"]

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
