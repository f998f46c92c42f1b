"""Best of n, repaired before it is chosen: a bad step is cut out, put right, and gone on from (arXiv 2508.04088)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.steps._going_on import asks_to_go_on, gone_on
from groundwire.agents.width._answers import bounded
from groundwire.agents.width._sampling import REVISED, Asking, Draft, Question, Sampler, drawn, named, ranked
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import fenced_blocks, labelled
from groundwire.core._traits import models_of

STEP_TOKENS = 600
MOST_STEPS = 64
_CORRECTED = re.compile(
    r"^[ \t*_#>-]{0,10}corrected(?:[ ]step)?[ \t*_]{0,6}[:=][*_]{0,3}", re.IGNORECASE | re.MULTILINE
)


@dataclass(frozen=True)
class BadStep:
    """The first step that does not hold.

    Args:
        index: counted from 0.
        corrected: what it should be.
    """

    index: int
    corrected: str


class StepJudge(Protocol):
    """Finds bad steps. It is another model than the author, or a program; its word only widens the pool."""

    async def first_bad(
        self, context: ActorContext, task: str, answers: Sequence[Sequence[str]]
    ) -> list[BadStep | None]:
        """The first bad step of each answer.

        Args:
            context: what the actor works from.
            task: as labelled data.
            answers: the steps of each.
        """
        ...


def steps_of(text: str) -> list[str]:
    """Paragraphs, or lines where there is one paragraph only; joined they are the text again."""
    parts = re.split(r"(?<=\n\n)(?=\S)", text)
    return parts if len(parts) > 1 else text.splitlines(keepends=True)


class ModelStepJudge:
    """Asks a model about each answer, one call each.

    Args:
        model: an id or a backend.
        max_tokens: of its answer.

    Raises:
        ConfigError: the model can't be had.
    """

    def __init__(self, model: str | Backend, *, max_tokens: int = 1024) -> None:
        self._sampler = Sampler(model, temperature=0.0, max_tokens=max_tokens)

    @property
    def backend(self) -> Backend:
        """The model that it asks."""
        return self._sampler.backend

    async def first_bad(
        self, context: ActorContext, task: str, answers: Sequence[Sequence[str]]
    ) -> list[BadStep | None]:
        """See `StepJudge`."""
        prompt = load_prompt("find_bad_step_v1")
        asked = [prompt.messages(task=task, steps=_as_data(steps)) for steps in answers]
        said = await self._sampler.texts(context, asked, prompt.name, "judge", phase=1)
        return [_read(text, len(steps)) for text, steps in zip(said, answers, strict=True)]


class RefinedBestOfN:
    """`samples` answers; where a step is bad, one more that keeps what was before it; all of them to the check.

    The pool is what is judged: give the graph a width of twice the samples, so that the executed check chooses among
    all of them. Where the model's backend continues a begun answer (`BackendTraits.continues`) it writes on behind the
    corrected step; else it is asked for what follows, and what it repeats of the beginning is left out.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        judge: finds the first bad step; another model, since the author agrees with its own.
        samples: N.
        temperature: of answers.
        max_tokens: of each.

    Raises:
        ConfigError: an argument is out of range, or author and judge are one model.
    """

    traits = REVISED

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        judge: StepJudge,
        *,
        samples: int = 4,
        temperature: float = 0.8,
        max_tokens: int = 2048,
    ) -> None:
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        if samples < 1:
            raise ConfigError(f"RefinedBestOfN was asked for {samples} samples.", do="Use 1 or more.")
        if self._sampler.backend.model in models_of(judge):
            raise ConfigError(
                f"{self._sampler.backend.model} would judge its own steps, and models agree with themselves.",
                do="Give another model, or a program, as the judge of steps.",
            )
        self._asking = asking
        self._judge = judge
        self._samples = samples

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: the samples whose steps all hold, then continuations, then the samples that they mend.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        asking = self._asking
        question = asking.question(context).asked_of(self._sampler.backend)
        drafts = await self._sampler.drafts(context, asking, question, drawn(self._samples, context, n), phase=0)
        texts = [without_reasoning(draft.text) for draft in drafts]
        answers = [steps_of(text)[:MOST_STEPS] for text in texts]
        bad = await self._judge.first_bad(context, asking.statement(context), answers)
        begun = [
            "".join(steps[: found.index]) + _in_place_of(steps[found.index], found.corrected)
            for steps, found in zip(answers, bad, strict=True)
            if found
        ]
        mended: list[Candidate | None] = []
        if begun:
            questions = [self._going_on(question, text) for text in begun]
            more = await self._sampler.drafts(context, asking, questions, phase=2)
            mended = [self._whole(text, draft, context) for text, draft in zip(begun, more, strict=True)]
        sound = _named([draft for draft, found in zip(drafts, bad, strict=True) if not found], "its steps hold")
        doubted = _named([draft for draft, found in zip(drafts, bad, strict=True) if found], "a step was called bad")
        return ranked([*sound, *filter(None, mended), *doubted], context, n, asking, drafts)

    def _going_on(self, question: Question, begun: str) -> Question:
        messages = asks_to_go_on(question.messages, begun, self._sampler.backend, prompt="go_on_to_the_end_v1")
        return replace(question, messages=messages)

    def _whole(self, begun: str, draft: Draft, context: ActorContext) -> Candidate | None:
        answer = self._asking.read(begun + gone_on(begun, draft.text), context)
        return named(answer, "best_of_n.refined", "gone on from a corrected step") if answer else None


def _in_place_of(step: str, corrected: str) -> str:
    """The correction with the indentation and the line ends of what it replaces."""
    indent, end = step[: len(step) - len(step.lstrip(" \t"))], step[len(step.rstrip()) :]
    return indent + corrected + (end if "\n" in end else "\n")


def _named(drafts: Sequence[Draft], note: str) -> list[Candidate]:
    return [named(draft.answer, "best_of_n.sample", note) for draft in drafts if draft.answer]


def _as_data(steps: Sequence[str]) -> str:
    return "\n".join(bounded("step", step.strip(), STEP_TOKENS, number=i) for i, step in enumerate(steps, 1))


def _read(text: str, steps: int) -> BadStep | None:
    said = without_reasoning(text)
    corrected = _CORRECTED.search(said)
    named = labelled(said[: corrected.start()] if corrected else said, "step", "first bad step")
    number = re.match(r"(?:step[ ])?#?(\d{1,4})\b", named[0], re.IGNORECASE) if named else None
    if number is None or not 1 <= int(number[1]) <= steps:
        return None
    behind = said[corrected.end() :].strip() if corrected else ""
    fenced = fenced_blocks(behind) if behind.startswith(("```", "~~~")) else []
    held = fenced[0].text if fenced else behind or next(iter(labelled(said, "corrected", "corrected step")), "")
    better = held.strip()
    return BadStep(int(number[1]) - 1, better) if better else None
