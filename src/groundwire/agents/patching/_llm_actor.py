"""An actor that asks a language model for a change, in the form that the model can give it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from groundwire.agents.patching._edit_apply import candidate_from
from groundwire.agents.patching._evidence import (
    attempt_as_data,
    failing_evidence,
    failing_of,
    lessons_as_data,
    lessons_to_show,
    reflection_as_data,
)
from groundwire.agents.patching._project_view import ProjectView, relevance_of, view_project
from groundwire.agents.patching._reply_format import (
    DO_THE_TASK,
    AnswerForm,
    FileForm,
    ReplyFormat,
    form_named,
    of_one_file,
    text_form,
)
from groundwire.agents.prompting._structured import complained, replied
from groundwire.agents.prompting._templates import digest_with, load_prompt, risen, with_more
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._contradictions import contradicted
from groundwire.core._errors import CandidateError, ConfigError, Contradiction, ModelReplyInvalid
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Message, Request, SwitchPenalty
from groundwire.core._prompt_text import data, plain, tagged
from groundwire.core._tasks import Task
from groundwire.core._traits import ActorTraits, BackendTraits, Needs
from groundwire.models._choice import backend_for

TEMPERATURE, TEMPERATURE_OF_MANY = 0.2, 0.8
"""One answer had better be the likeliest; several are worth their price only if they differ."""
WHOLE_FILE_LINES = 60
MAX_EDITABLE_NAMES = 100


class LLMActor:
    """Proposes what a model answers, after checking that it can be applied.

    An answer that can't be read or applied is sent back with the precise complaint; one that was judged before is asked
    for again, warmer. Both are bounded, both are calls of their own in the ledger (purposes `correct` and `propose`),
    and neither rewrites what was judged: it is the form of an answer that is corrected, before it is a candidate. Calls
    go through `context.call` only.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        instructions: what the model is told that it is to do, before the rules of the form of its answer; empty: what
            the task's kind says, that it repairs programs (`Task.from_folder`) or does what is asked for (`Task.of`).
        temperature: of the first call, raised by 0.15 for each escalation and each renewed try, up to 1.5; None: 0.2
            for one answer, 0.8 for several.
        max_tokens: tokens of each answer.
        samples: answers asked for at once; fewer where the graph wants fewer. Equal ones make one candidate.
        context_tokens: tokens that files and tests may take in the prompt, at 3.5 characters a token.
        answer: `edits` for search/replace blocks, `whole` for whole files, `schema` for JSON by a schema, `text` where
            the answer itself is the one file's text; `auto`: text where a task of `Task.of` is to write one small
            file, else whole for one small file, else JSON where the backend declares `structured`, else blocks. Where
            JSON was asked for and something else came, blocks are asked for.
        repairs: calls a trial that may send an unusable answer back.
        resamples: calls a trial that may ask again for something new.
        coverage: wants to know which lines the failing cases ran, to choose what is shown of a large project.
        switch_penalty: makes a model that thinks aloud finish a thought first; the model must be able to.
        may_contradict: tells the model that it may say, in the place of a change, that a test contradicts the task.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(
        self,
        model: str | Backend,
        *,
        instructions: str = "",
        temperature: float | None = None,
        max_tokens: int = 4096,
        samples: int = 1,
        context_tokens: int = 12_000,
        answer: AnswerForm = "auto",
        repairs: int = 2,
        resamples: int = 2,
        coverage: bool = True,
        switch_penalty: SwitchPenalty | None = None,
        may_contradict: bool = False,
    ) -> None:
        if min(max_tokens, samples, context_tokens) < 1 or min(repairs, resamples, temperature or 0) < 0:
            raise ConfigError(
                "LLMActor got an argument out of range.",
                do="max_tokens, samples and context_tokens are at least 1; the other numbers at least 0.",
            )
        # what a subclass does when it proposes is not known here
        calls_only = type(self).propose is LLMActor.propose
        self.traits = ActorTraits(needs=Needs(coverage=coverage), calls_only=calls_only, revision=3)
        self._backend = backend_for(model)
        self._instructions = instructions.strip()
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._samples = samples
        self._context_tokens = context_tokens
        self._answer: AnswerForm = answer
        self._repairs = repairs
        self._resamples = resamples
        self._switch_penalty = switch_penalty
        self._may_contradict = may_contradict

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Where every answer had been judged before, one of those, so that the loop knows it is stuck.

        An escalated context asks for all `n` answers at once, however few are asked for otherwise.

        Raises:
            Contradiction: it says that a test contradicts the task, and no answer changes anything.
            ModelReplyInvalid: no answer could be read and applied.
            ModelError, BudgetExceeded: from `context.call`.
        """
        usual = min(n, self._samples)
        if usual < 1:
            return ()
        opening = self._opening(context, usual)
        question = replace(opening, samples=n) if context.escalation else opening
        repairs, warmer, calls = self._repairs, 0, 0
        repeated: Candidate | None = None
        while True:
            answers = await self._ask(context, question, calls, warmer)
            calls += 1
            if answers.new:
                return tuple(answers.new.values())[:n]
            if answers.contradiction:
                raise answers.contradiction
            repeated = answers.repeated[1] if answers.repeated else repeated
            if answers.no_schema:
                opening = self._opening(context, usual, form="edits")
            if answers.problem and repairs:
                repairs -= 1
                question = opening if answers.no_schema else _sent_back(opening, *answers.problem)
            elif warmer < self._resamples:
                warmer += 1
                question = _asked_again(opening, *answers.repeated) if answers.repeated else opening
            elif repeated:
                return (repeated,)
            else:
                raise _unusable(self._backend.model, calls, answers)

    async def _ask(self, context: ActorContext, question: _Question, call: int, warmer: int) -> _Answers:
        try:
            completion = await context.call(self._backend, self._request(context, question, call, warmer))
        except ModelReplyInvalid as error:
            has_schema = question.form.schema is not None
            return _Answers(problem=("", CandidateError(error.what)), no_schema=has_schema, cure=error.do)
        answers = _Answers(cut="length" in completion.finish_reasons)
        for text in completion.texts or ("",):
            try:
                candidate = candidate_from(question.form.read(text), context.tree, context.task)
            except Contradiction as said:
                _take(answers, text, said, context)
                continue
            except CandidateError as error:
                answers.problem = answers.problem or (text, error)
                continue
            if candidate.is_base or candidate.digest in context.tried:
                answers.repeated = answers.repeated or (text, candidate)
            else:
                answers.new.setdefault(candidate.digest, candidate)
        return answers

    def _request(self, context: ActorContext, question: _Question, call: int, warmer: int) -> Request:
        start = self._temperature
        if start is None:
            start = TEMPERATURE_OF_MANY if question.samples > 1 else TEMPERATURE
        return Request(
            messages=question.messages,
            n=question.samples,
            temperature=risen(start, context.escalation + warmer),
            max_tokens=self._max_tokens,
            seed=seed_in(context, "propose", call=call),
            json_schema=question.form.schema,
            switch_penalty=self._switch_penalty,
            purpose=question.purpose,
            prompt_digest=question.prompt_digest,
        )

    def _opening(self, context: ActorContext, samples: int, form: FileForm | None = None) -> _Question:
        task = context.task.public()
        failing = failing_of(context)
        signal = failing.signal if failing else None
        changed = {path for judged in (failing, context.best) if judged for path in judged.candidate.changes}
        relevance = relevance_of(context.tree, signal, context.coverage, sorted(changed))
        view = view_project(task, context.tree, relevance, self._context_tokens, last=changed)
        chosen = self._form_for(form or self._form(view, context), task)
        if chosen.schema is None and len(view.editable) == 1:
            (path,) = view.editable
            chosen = of_one_file(chosen, path, context.tree.files[path].decode("utf-8", "replace"))
        prompt = load_prompt(chosen.prompt)
        instructions = {"instructions": self._instructions or DO_THE_TASK} if "instructions" in prompt.fields() else {}
        messages = prompt.messages(
            task=data("task", task.prompt, id=task.id),
            tests=view.tests,
            sources=view.sources,
            not_shown=view.omitted,
            editable=_editable(view),
            lessons=lessons_as_data(lessons_to_show(context)),
            attempt=attempt_as_data(context),
            evidence=failing_evidence(signal) if signal else "",
            reflection=reflection_as_data(context),
            stuck=tagged("stuck", "", times=context.escalation) if context.escalation else "",
            **instructions,
        )
        digest = digest_with(prompt.digest, self._instructions)
        if chosen.more:
            messages, digest = with_more(messages, digest, load_prompt(chosen.more))
        return _Question(messages, digest, chosen, samples)

    def _form_for(self, name: FileForm | Literal["text"], task: Task) -> ReplyFormat:
        if name == "text":
            return text_form(task.answer_file, may_contradict=self._may_contradict)
        writes = bool(self._instructions) or task.kind == "write"
        return form_named(name, may_contradict=self._may_contradict, writes=writes)

    def _form(self, view: ProjectView, context: ActorContext) -> FileForm | Literal["text"]:
        if self._answer != "auto":
            return self._answer
        shown = view.editable
        is_small = len(shown) == 1 and context.tree.files[shown[0]].count(b"\n") <= WHOLE_FILE_LINES
        if context.task.kind == "write" and _is_one_small_text(context.task):
            return "text"
        if is_small:
            return "whole"
        return "schema" if BackendTraits.of(self._backend).structured else "edits"


def _is_one_small_text(task: Task) -> bool:
    """True where one file is to be written; by the task's own files, so that every trial answers in one form."""
    editable = [content for path, content in task.tree.files.items() if task.may_edit(path)]
    return len(editable) == 1 and editable[0].count(b"\n") <= WHOLE_FILE_LINES


@dataclass(frozen=True)
class _Question:
    """What one call asks.

    Args:
        messages: the whole conversation.
        prompt_digest: sha256 of the prompt file behind its last message.
        form: the form of the answer.
        samples: answers wanted.
        purpose: as the ledger keeps it.
    """

    messages: tuple[Message, ...]
    prompt_digest: str
    form: ReplyFormat
    samples: int
    purpose: str = "propose"


@dataclass
class _Answers:
    """What a completion's texts came to.

    Args:
        new: candidates by digest.
        repeated: the first text that makes a candidate which was judged before.
        problem: the first text that can't be used, and why.
        contradiction: the first text's word that a test contradicts the task.
        cut: True where a text ended at its token limit.
        no_schema: True where the model did not hold to the schema that the request carried.
        cure: what the user can do about an answer that could not be read at all.
    """

    new: dict[str, Candidate] = field(default_factory=dict[str, Candidate])
    repeated: tuple[str, Candidate] | None = None
    problem: tuple[str, CandidateError] | None = None
    contradiction: Contradiction | None = None
    cut: bool = False
    no_schema: bool = False
    cure: str = ""


def _take(answers: _Answers, text: str, said: Contradiction, context: ActorContext) -> None:
    failing = failing_of(context)
    try:
        answers.contradiction = answers.contradiction or contradicted(said, failing.signal if failing else None)
    except CandidateError as error:
        answers.problem = answers.problem or (text, error)


def _sent_back(opening: _Question, answer: str, error: CandidateError) -> _Question:
    messages, digest = complained(opening.messages, answer, str(error))
    return replace(opening, messages=messages, prompt_digest=digest, samples=1, purpose="correct")


def _asked_again(opening: _Question, answer: str, candidate: Candidate) -> _Question:
    what = data("attempt", candidate.note or "no change", changes=len(candidate.changes))
    messages, digest = replied(opening.messages, answer, "already_tried_v1", attempt=what)
    return replace(opening, messages=messages, prompt_digest=digest)


def _editable(view: ProjectView) -> str:
    names = [plain(path, 300) for path in view.editable[:MAX_EDITABLE_NAMES]]
    if len(view.editable) > MAX_EDITABLE_NAMES:
        names.append(f"and {len(view.editable) - MAX_EDITABLE_NAMES} more of the files above")
    return ", ".join(names) or "new files only"


def _unusable(model: str, calls: int, answers: _Answers) -> ModelReplyInvalid:
    why = plain(answers.problem[1].what, 300) if answers.problem else "no text"
    advice = "Raise max_tokens: the answer was cut off." if answers.cut else answers.cure
    advice = advice or "Use a stronger model, or answer='whole'."
    return ModelReplyInvalid(f"{model} gave no usable edit in {calls} calls; the last complaint: {why}", do=advice)
