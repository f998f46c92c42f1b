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
from groundwire.agents.patching._function_writer import STOPS, begun_answer
from groundwire.agents.patching._stubs import find_stub
from groundwire.agents.prompting._templates import instructed, load_prompt
from groundwire.agents.width._options import chosen_option, named_option, options_in
from groundwire.agents.width._sampling import NOTHING, Extra, Question, SampledAnswer, extra
from groundwire.core._answers import NONE_SAID, answer_key, bare_answer, only_line, plain_answer, stated_answer
from groundwire.core._candidates import Candidate, check_path
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import TaskError
from groundwire.core._normal_forms import is_mathematical
from groundwire.core._prompt_text import CHARS_PER_TOKEN, data, head_tail, inert, printable, tagged, unfence
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._signals import Verdict

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

TRIED_SHOWN, TRIED_CHARS = 20, 500
"""Answers that failed, of which an escalated question tells, and characters of each."""


_SAYS_OF = re.compile(
    r"(?P<asked>[^=\n]{3,200}?)\s{0,4}(?:=|\b(?:is|are|was|were|equals)\b(?:\s+equal\s+to\b)?)\s{0,4}(?P<said>[^=\n]{1,200})",
    re.IGNORECASE,
)
_SUM = re.compile(r"[\d)]\s*[-+*/×÷·^%−]\s*[\d(]")
_TWO_WORDS = re.compile(r"[^\W\d_]{2,}\s+[^\W\d_]{2,}")


def said_of(question: str, answer: str) -> str:
    """What an answer says of what was asked for, where it says that again first: 5 of "2 + 3 = 5" to "How much is
    2 + 3?", Paris of "The capital of France is Paris". What stands in the question itself, an option, stays whole."""
    told, asked = _SAYS_OF.fullmatch(answer), _squeezed(question)
    if told is None or _squeezed(told["asked"]) not in asked:
        return answer
    said = _squeezed(told["said"])
    is_new = _TWO_WORDS.search(told["asked"]) and said not in asked and not said.startswith("not")
    return bare_answer(told["said"]) if is_new or _SUM.search(told["asked"]) else answer


_NAME = re.compile(
    r"(?!(?i:sure|ok(?:ay)?|certainly|understood|hello|hi|done)\Z)"
    r"(?:[^\W_]+|[^\W_a-z][\w.'’-]*(?:,? (?:(?:of|the|and|de|la|von|van|in) ){0,2}[^\W_a-z][\w.'’-]*){1,6})"
)
"""One word, or several that begin with capitals."""


def unmarked(question: str, text: str) -> str:
    """The answer of a text that marks none, but says nothing else: a number, a name, an option, or something of what
    was asked for. Other words are none."""
    line = only_line(text)
    answer = said_of(question, line)
    is_one = answer != line or is_mathematical(plain_answer(line)) or _NAME.fullmatch(line)
    return answer if is_one or chosen_option(line, options_in(question)) else ""


def _squeezed(text: str) -> str:
    return re.sub(r"[\s*_`$\\]+", "", text).casefold()


class TextAnswer:
    """Asks for a text that ends with the answer, and writes that to a file of the task.

    An answer is read in whatever form it is given (`stated_answer`), and handed in without the markup around it. Where
    the task lists options, one that is named with its text is handed in by its label, and both are the same answer.

    Args:
        path: the file, which the task has to let a candidate edit.
        normalise: brings an answer to the form in which answers are compared; `MathForm()` compares mathematically.
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
        tried = self._tried(context) if told and context.escalation else NOTHING
        messages = prompt.messages(
            task=self.statement(context),
            lessons=lessons_as_data(lessons_to_show(context)) if told else "",
            attempt=attempt_as_data(context) if told else "",
            evidence=failing_evidence(failing.signal) if failing else "",
            reflection=reflection_as_data(context) if told else "",
            method="\n\n".join(filter(None, (tried.text, added.text))),
        )
        digest = added.digest or tried.digest or prompt.digest
        return Question(*instructed(messages, digest, self._instructions))

    def _tried(self, context: ActorContext) -> Extra:
        """What an escalated question adds: the answers that failed, each once."""
        said: dict[str, str] = {}
        for judged in context.judged:
            text = (judged.candidate.changes.get(self.path) or b"").decode("utf-8", "replace").strip()
            if text and judged.signal.verdict is Verdict.FAIL:
                said.setdefault(self.key_of(judged.candidate, context), text)
        shown = [data("tried", head_tail(text, TRIED_CHARS)) for text in list(said.values())[-TRIED_SHOWN:]]
        return extra("answers_tried_v1", tried="\n".join(shown)) if shown else NOTHING

    def statement(self, context: ActorContext) -> str:
        """See `Asking`."""
        files = [
            data("file", content.decode("utf-8", "replace"), path=path)
            for path, content in sorted(context.tree.files.items())
            if context.task.matches(path, self._shows)
        ]
        return "\n\n".join([data("task", context.task.prompt, id=context.task.id), *files])

    def read(self, text: str, context: ActorContext) -> SampledAnswer | None:
        """See `Asking`: the one answer that the text states. Where it states several that differ, there is none."""
        question = context.task.prompt
        options = options_in(question)
        stated = stated_answer(text, lambda said: self._form(said, question))
        answer = said_of(question, stated.answer) if stated.problem != NONE_SAID else unmarked(question, text)
        key = self._form(answer, question)
        if not key:
            return None
        option = chosen_option(answer, options)
        if option and named_option(answer, options):
            answer = option.label
        return SampledAnswer(answer, key, Candidate(context.task.tree.digest, {self.path: f"{answer}\n".encode()}))

    def key_of(self, candidate: Candidate, context: ActorContext) -> str:
        """See `Asking`: the normal form of what was written to the file, else the candidate's digest."""
        return answer_key(candidate, self.path, lambda said: self._form(said, context.task.prompt))

    def _form(self, answer: str, question: str) -> str:
        answer, options = said_of(question, answer), options_in(question)
        option = chosen_option(answer, options) if options else None
        return plain_answer(option.label) if option else self._normalise(answer)

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
        return SampledAnswer(text, self.key_of(candidate, context), candidate)

    def key_of(self, candidate: Candidate, context: ActorContext) -> str:
        """See `Asking`: the program without comments and layout, which say nothing."""
        content = candidate.changes.get(find_stub(context.task).path)
        if content is None or len(candidate.changes) > 1:
            return candidate.digest
        try:
            return ast.unparse(ast.parse(content))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return candidate.digest

    def shown(self, text: str) -> str:
        """See `Asking`."""
        return inert(final_part(text))
