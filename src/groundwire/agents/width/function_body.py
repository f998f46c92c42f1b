"""Answers that are a function's body, from models too small to be asked for anything else."""

from __future__ import annotations

import ast

from groundwire.agents.function_writer import STOPS, begun_answer
from groundwire.agents.stubs import find_stub
from groundwire.agents.text import data, inert, printable, unfence
from groundwire.agents.width.asking import NOTHING, Answer, Extra, Question
from groundwire.agents.width.texts import final_part
from groundwire.contexts import ActorContext
from groundwire.trees import Candidate

__all__ = ["FunctionBody"]


class FunctionBody:
    """Asks to go on with a function that is begun; two bodies are the same if they parse to the same tree.

    What failed is not told, as in `FunctionWriter`: models that need their answer begun make nothing of it.
    """

    def question(self, context: ActorContext, added: Extra = NOTHING, *, told: bool = True) -> Question:
        """See `Asking`. `told` changes nothing."""
        messages, digest = begun_answer(find_stub(context.task))
        if added.text:
            *before, asked, begun = messages
            asked = asked.model_copy(update={"content": f"{asked.content}\n\n{added.text}"})
            messages = (*before, asked, begun)
        return Question(messages, added.digest or digest, STOPS)

    def statement(self, context: ActorContext) -> str:
        """See `Asking`."""
        stub = find_stub(context.task)
        return data("task", f"{stub.signature}\n{stub.doc}", id=context.task.id)

    def read(self, text: str, context: ActorContext) -> Answer | None:
        """See `Asking`."""
        stub = find_stub(context.task)
        content = stub.filled(unfence(printable(text)))
        if content is None:
            return None
        candidate = Candidate(context.task.tree.digest, {stub.path: content.encode()})
        # it parses, or it would not have been filled in; dumped, since comments and layout say nothing
        return Answer(text, ast.unparse(ast.parse(content)), candidate)

    def shown(self, text: str) -> str:
        """See `Asking`."""
        return inert(final_part(text))
