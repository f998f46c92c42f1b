"""An actor that asks a language model for a change, as search/replace blocks or whole files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from groundwire.agents.backends.choice import backend_for
from groundwire.agents.edit_apply import candidate_from
from groundwire.agents.edit_blocks import parse_answer
from groundwire.agents.evidence import difference, failing_evidence, lessons_as_data
from groundwire.agents.project_view import ProjectView, view_project
from groundwire.agents.relevance import relevance_of
from groundwire.agents.templates import Prompt, load_prompt
from groundwire.agents.text import data, head_tail, inert, plain, tagged
from groundwire.completions import Backend, Completion, Message, Request
from groundwire.contexts import ActorContext, Judged
from groundwire.errors import CandidateError, ConfigError, ModelReplyInvalid
from groundwire.signals import Verdict
from groundwire.trees import Candidate

__all__ = ["AnswerForm", "LLMActor"]

AnswerForm = Literal["auto", "edits", "whole"]

TEMPERATURE_STEP = 0.15
TEMPERATURE_CAP = 1.5
"""Progressive temperature: 0.15 a round up to 1.5, from "Feedback Friction", arXiv 2506.11930."""
WHOLE_FILE_LINES = 60
SEEDS_PER_CALL = 64
SEEDS_PER_TRIAL = 4096
ANSWER_CHARS_SHOWN = 8000
REFLECTION_CHARS = 2000
MAX_EDITABLE_NAMES = 100


class LLMActor:
    """Proposes what a model answers, after checking that it can be applied.

    An answer that can't be read or applied is sent back once with the precise complaint; an answer that was judged
    before is asked for again, warmer, a bounded number of times. Calls go through `context.call` only.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        temperature: of the first call; raised by 0.15 for each escalation and each repeated answer, up to 1.5.
        max_tokens: tokens of each answer.
        samples: answers asked for in a trial; fewer where the graph wants fewer.
        context_tokens: tokens that files and tests may take in the prompt, at 3.5 characters a token.
        answer: `edits` for search/replace blocks, `whole` for whole files, `auto`: whole for one small file.
        repairs: calls a trial that may send an unusable answer back.
        resamples: calls a trial that may ask again for something new.

    Raises:
        ConfigError: an argument is out of range, or the model's form is not known.
    """

    def __init__(
        self,
        model: str | Backend,
        *,
        temperature: float = 0.2,
        max_tokens: int = 4096,
        samples: int = 1,
        context_tokens: int = 12_000,
        answer: AnswerForm = "auto",
        repairs: int = 1,
        resamples: int = 2,
    ) -> None:
        if min(max_tokens, samples, context_tokens) < 1 or min(repairs, resamples, temperature) < 0:
            raise ConfigError(
                "LLMActor got an argument out of range.",
                do="max_tokens, samples and context_tokens are at least 1; the other numbers at least 0.",
            )
        self._backend = backend_for(model)
        self._temperature = temperature
        self._max_tokens = max_tokens
        self._samples = samples
        self._context_tokens = context_tokens
        self._answer: AnswerForm = answer
        self._repairs = repairs
        self._resamples = resamples

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Empty: every answer had been judged before.

        Raises:
            ModelReplyInvalid: no answer could be read and applied.
            ModelError, BudgetExceeded: from `context.call`.
        """
        wanted = min(n, self._samples)
        if wanted < 1:
            return ()
        prompt, first = self._first(context)
        messages, digest, samples, warmer = first, prompt.digest, wanted, 0
        repairs, calls, repeated = self._repairs, 0, False
        while True:
            completion = await context.call(
                self._backend, self._request(context, messages, digest, samples, calls, warmer)
            )
            calls += 1
            answers = _sort(completion, context)
            if answers.new:
                return tuple(answers.new.values())[:n]
            repeated = repeated or answers.repeated is not None
            if answers.problem and repairs:
                repairs, samples = repairs - 1, 1
                text, error = answers.problem
                messages, digest = _reply(first, text, "correct_answer_v1", tool_error=data("tool_error", str(error)))
            elif answers.repeated and warmer < self._resamples:
                warmer, samples = warmer + 1, wanted
                text, candidate = answers.repeated
                messages, digest = _reply(first, text, "already_tried_v1", attempt=_what(candidate))
            elif repeated:
                return ()
            else:
                raise _unusable(self._backend.model, calls, answers)

    def _request(
        self, context: ActorContext, messages: Sequence[Message], digest: str, samples: int, call: int, warmer: int
    ) -> Request:
        risen = self._temperature + TEMPERATURE_STEP * (context.escalation + warmer)
        return Request(
            messages=tuple(messages),
            n=samples,
            temperature=min(risen, max(TEMPERATURE_CAP, self._temperature)),
            max_tokens=self._max_tokens,
            seed=context.seed + SEEDS_PER_TRIAL * context.trial + SEEDS_PER_CALL * call,
            purpose="propose",
            prompt_digest=digest,
        )

    def _first(self, context: ActorContext) -> tuple[Prompt, tuple[Message, ...]]:
        task = context.task.public()
        failing = _failing(context)
        signal = failing.signal if failing else None
        changed = {path for judged in (failing, context.best) if judged for path in judged.candidate.changes}
        relevance = relevance_of(context.tree, signal, context.coverage, sorted(changed))
        view = view_project(task, context.tree, relevance, self._context_tokens, last=changed)
        prompt = load_prompt("repair_whole_v1" if self._wants_whole(view, context) else "repair_edits_v1")
        reflection = context.reflection
        # memory recalls the reflection of this very failure too
        lessons = [lesson for lesson in context.lessons if not reflection or lesson.text != reflection.text]
        messages = prompt.messages(
            task=data("task", task.prompt, id=task.id),
            tests=view.tests,
            sources=view.sources,
            not_shown=view.omitted,
            editable=", ".join(plain(path, 300) for path in view.editable[:MAX_EDITABLE_NAMES]) or "new files only",
            lessons=lessons_as_data(lessons),
            attempt=_attempt(failing, context),
            evidence=failing_evidence(signal) if signal else "",
            reflection=data("reflection", head_tail(reflection.text, REFLECTION_CHARS)) if reflection else "",
            stuck=tagged("stuck", "", times=context.escalation) if context.escalation else "",
        )
        return prompt, messages

    def _wants_whole(self, view: ProjectView, context: ActorContext) -> bool:
        if self._answer != "auto":
            return self._answer == "whole"
        return len(view.editable) == 1 and context.tree.files[view.editable[0]].count(b"\n") <= WHOLE_FILE_LINES


@dataclass
class _Answers:
    """What a completion's texts came to.

    Args:
        new: candidates by digest.
        repeated: the first text that makes a candidate which was judged before.
        problem: the first text that can't be used, and why.
        cut: True where a text ended at its token limit.
    """

    new: dict[str, Candidate] = field(default_factory=dict[str, Candidate])
    repeated: tuple[str, Candidate] | None = None
    problem: tuple[str, CandidateError] | None = None
    cut: bool = False


def _sort(completion: Completion, context: ActorContext) -> _Answers:
    answers = _Answers(cut="length" in completion.finish_reasons)
    for text in completion.texts:
        try:
            candidate = candidate_from(parse_answer(text), context.tree, context.task)
        except CandidateError as error:
            answers.problem = answers.problem or (text, error)
            continue
        if candidate.is_base or candidate.digest in context.tried:
            answers.repeated = answers.repeated or (text, candidate)
        else:
            answers.new.setdefault(candidate.digest, candidate)
    return answers


def _reply(first: Sequence[Message], answer: str, name: str, **values: str) -> tuple[tuple[Message, ...], str]:
    prompt = load_prompt(name)
    said = Message(role="assistant", content=head_tail(inert(answer), ANSWER_CHARS_SHOWN))
    return (*first, said, *prompt.messages(**values)), prompt.digest


def _failing(context: ActorContext) -> Judged | None:
    if context.failing:
        return context.failing
    best = context.best
    return best if best and best.signal.verdict is Verdict.FAIL else None


def _attempt(failing: Judged | None, context: ActorContext) -> str:
    if failing is None or failing.candidate.is_base:
        return ""
    base = context.task.tree
    apart = difference(failing, context.tree, base)
    return data("attempt", apart or difference(failing, base, base), applied="no" if apart else "yes")


def _what(candidate: Candidate) -> str:
    return data("attempt", candidate.note or "no change", changes=len(candidate.changes))


def _unusable(model: str, calls: int, answers: _Answers) -> ModelReplyInvalid:
    why = plain(answers.problem[1].what, 300) if answers.problem else "no text"
    advice = "Raise max_tokens: the answer was cut off." if answers.cut else "Use a stronger model, or answer='whole'."
    return ModelReplyInvalid(f"{model} gave no usable edit in {calls} calls; the last complaint: {why}", do=advice)
