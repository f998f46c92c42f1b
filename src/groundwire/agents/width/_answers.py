"""Answers of each kind a wide method reads: words or numbers, a function's body, the final part of a text."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from html import escape

from groundwire.agents.patching._evidence import (
    attempt_as_data,
    failing_evidence,
    failing_of,
    lessons_as_data,
    lessons_to_show,
    reflection_as_data,
)
from groundwire.agents.patching._function_writer import STOPS, begun_answer, find_stub
from groundwire.agents.prompting._templates import instructed, load_prompt
from groundwire.agents.width._sampling import NOTHING, Extra, Question, SampledAnswer
from groundwire.core._candidates import Candidate, check_path
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import TaskError
from groundwire.core._prompt_text import CHARS_PER_TOKEN, data, head_tail, inert, printable, tagged, unfence
from groundwire.core._reasoning_text import without_reasoning

# What is kept of a model's text between rounds: its final part, without what it thought, within a bound.

NOTE_CHARS = 60
"""What a note of what was left out takes, and then some."""


def final_part(text: str, tokens: int = 1000) -> str:
    """The last `tokens` tokens of an answer, thinking dropped: GSR's summary of a candidate (arXiv 2509.00084)."""
    said = without_reasoning(text).strip()
    return said[-int(tokens * CHARS_PER_TOKEN) :]


def bounded(tag: str, text: str, tokens: int, **attributes: str | int) -> str:
    """Untrusted text between tags of ours, together at most `tokens` long by the stated rule; a middle is left out."""
    frame = len(tagged(tag, "", **attributes))
    room = max(0, int(tokens * CHARS_PER_TOKEN) - frame - NOTE_CHARS)
    return tagged(tag, head_tail(escape(printable(text), quote=False), room), **attributes)


# Answers in words or numbers: written to one file of the task, compared in a normal form.

MAX_CHARS = 100_000
_MARK = re.compile(r"^[ \t*_#>]{0,20}answer[ \t]{0,20}:[*_]*", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_WRAPPED = re.compile(r"\\boxed\{(.*)\}", re.DOTALL)


def plain_answer(text: str) -> str:
    """The normal form of a short answer: `\\boxed{1,000.0}.`, `$1000$`, `1000` are the same, as are `(B)` and `b`."""
    said = " ".join(text.split()).casefold()
    wrapped = _WRAPPED.fullmatch(said.strip(" .$"))
    said = (wrapped[1] if wrapped else said).strip(" .,;:!$\"'`*()[]")
    if _NUMBER.fullmatch(said):
        number = said.replace(",", "").removeprefix("+")
        return number.rstrip("0").rstrip(".") if "." in number else number
    return said


def after_mark(text: str) -> str:
    """What stands behind the last line that begins with `ANSWER:`; empty where there is none."""
    said = without_reasoning(text)
    marks = list(_MARK.finditer(said))
    return printable(said[marks[-1].end() :]).strip().strip("`").strip() if marks else ""


class TextAnswer:
    """Asks for a text that ends with the answer, and writes that to a file of the task.

    Args:
        path: the file, which the task has to let a candidate edit.
        normalise: brings an answer to the form in which answers are compared.
        shows: globs of the task's files that the prompt shows; none by default, since tests may hold the answer.
        instructions: what the model is told first, before what it is told of its work here; empty: nothing more.
    """

    def __init__(
        self,
        path: str = "answer.txt",
        *,
        normalise: Callable[[str], str] = plain_answer,
        shows: tuple[str, ...] = (),
        instructions: str = "",
    ) -> None:
        self.path = check_path(path)
        self._normalise = normalise
        self._shows = shows
        self._instructions = instructions.strip()

    def question(self, context: ActorContext, added: Extra = NOTHING, *, told: bool = True) -> Question:
        """See `Asking`."""
        if not context.task.may_edit(self.path):
            raise TaskError(
                f"Task {context.task.id} does not allow edits to {self.path}, where the answer belongs.",
                do=f'Allow it in task.toml:  editable = ["{self.path}"]',
            )
        prompt = load_prompt("answer_text_v1")
        failing = failing_of(context) if told else None
        messages = prompt.messages(
            task=self.statement(context),
            lessons=lessons_as_data(lessons_to_show(context)) if told else "",
            attempt=attempt_as_data(context) if told else "",
            evidence=failing_evidence(failing.signal) if failing else "",
            reflection=reflection_as_data(context) if told else "",
            method=added.text,
        )
        return Question(*instructed(messages, added.digest or prompt.digest, self._instructions))

    def statement(self, context: ActorContext) -> str:
        """See `Asking`."""
        files = [
            data("file", content.decode("utf-8", "replace"), path=path)
            for path, content in sorted(context.tree.files.items())
            if context.task.matches(path, self._shows)
        ]
        return "\n\n".join([data("task", context.task.prompt, id=context.task.id), *files])

    def read(self, text: str, context: ActorContext) -> SampledAnswer | None:
        """See `Asking`. What stands behind the last line that begins with `ANSWER:`, which may be several lines."""
        answer = after_mark(text)[:MAX_CHARS]
        key = self._normalise(answer)
        if not key:
            return None
        return SampledAnswer(answer, key, Candidate(context.task.tree.digest, {self.path: f"{answer}\n".encode()}))

    def shown(self, text: str) -> str:
        """See `Asking`."""
        return inert(final_part(text))


# Answers that are a function's body, from models too small to be asked for anything else.


class FunctionBody:
    """Asks for the body of a function that is begun; two bodies are the same if they parse to the same tree.

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

    def read(self, text: str, context: ActorContext) -> SampledAnswer | None:
        """See `Asking`."""
        stub = find_stub(context.task)
        content = stub.filled(unfence(printable(text)))
        if content is None:
            return None
        candidate = Candidate(context.task.tree.digest, {stub.path: content.encode()})
        # it parses, or it would not have been filled in; dumped, since comments and layout say nothing
        return SampledAnswer(text, ast.unparse(ast.parse(content)), candidate)

    def shown(self, text: str) -> str:
        """See `Asking`."""
        return inert(final_part(text))
