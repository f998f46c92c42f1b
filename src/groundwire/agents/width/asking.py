"""How a method that goes wide asks for one answer, reads it, and tells whether two answers say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from groundwire.agents.templates import load_prompt
from groundwire.completions import Message
from groundwire.contexts import ActorContext
from groundwire.trees import Candidate

__all__ = ["NOTHING", "Answer", "Asking", "Extra", "Question", "extra"]


@dataclass(frozen=True)
class Extra:
    """What a method adds to the question: text of a prompt file of its own, filled.

    Args:
        text: put behind the question.
        digest: sha256 of the prompt file; empty where nothing is added.
    """

    text: str = ""
    digest: str = ""


NOTHING = Extra()


def extra(name: str, **values: str) -> Extra:
    """The user part of `agents/prompts/<name>.md`, filled; values are safe already."""
    prompt = load_prompt(name)
    return Extra(prompt.messages(**values)[-1].content, prompt.digest)


@dataclass(frozen=True)
class Question:
    """One request for one answer.

    Args:
        messages: the whole conversation; the last one may be an answer that is begun.
        prompt_digest: sha256 of the prompt file that says what is wanted: the method's own where there is one.
        stop: what begins after the answer's end.
    """

    messages: tuple[Message, ...]
    prompt_digest: str
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a model's text came to.

    Args:
        text: the answer alone, without what was thought before it.
        key: equal for answers that say the same; what a vote counts.
        candidate: what will be judged.
    """

    text: str
    key: str
    candidate: Candidate


class Asking(Protocol):
    """Turns a task into a question for one answer, and a text into that answer."""

    def question(self, context: ActorContext, added: Extra = NOTHING, *, told: bool = True) -> Question:
        """The question.

        Args:
            context: what the actor works from.
            added: what the method has to say: earlier answers, a complaint.
            told: True to show what was judged last and what came of it; a control asks blindly.

        Raises:
            TaskError: the task asks for nothing that this can make.
        """
        ...

    def statement(self, context: ActorContext) -> str:
        """The task as labelled data, for prompts that ask for something else than an answer."""
        ...

    def read(self, text: str, context: ActorContext) -> Answer | None:
        """The answer in a model's text; None where there is none."""
        ...

    def shown(self, text: str) -> str:
        """What later prompts may see of a model's text: its final part, without what it thought."""
        ...
