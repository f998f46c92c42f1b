"""Socratic Self-Refine (arXiv 2511.10621): the step that re-solving agrees with least is done again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.width._answers import bounded
from groundwire.agents.width._sampling import CONTROL, Asking, Draft, Sampler, extra, named, ranked
from groundwire.agents.width._voting import majority
from groundwire.core._answers import plain_answer, stated_answer
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend
from groundwire.core._prompt_text import inert
from groundwire.core._reasoning_text import without_reasoning

SHOWN_TOKENS = 1200
STEP_TOKENS = 300
MOST_STEPS = 16
MOST_ROUNDS = 3


@dataclass(frozen=True)
class SubQuestion:
    """One sub-question, and what was answered to it."""

    question: str
    answer: str


_ASKED = re.compile(
    r"^[ \t]*(?:[-+*•>#]{1,6}[ \t]+|\d{1,2}[.)][ \t]+)?[*_]{0,3}"
    r"(?:(?P<q>Q|question)|(?P<a>A|answer))[ ]?\d{0,2}[*_]{0,3}[ \t]{0,3}[:.)][*_]{0,3}[ \t]*(?P<said>\S[^\n]*)$",
    re.IGNORECASE | re.MULTILINE,
)


def read_steps(text: str) -> list[SubQuestion]:
    """The steps in a model's text: lines `Q: …`, each with a line `A: …` behind it, however they are dressed
    (`**Q1:** …`, `2. Question: …`); at most 16."""
    lines = list(_ASKED.finditer(without_reasoning(text)))
    pairs = [(q["said"], a["said"]) for q, a in pairwise(lines) if q["q"] and a["a"]]
    return [SubQuestion(question.strip(), answer.strip()) for question, answer in pairs][:MOST_STEPS]


class SocraticRefine:
    """Draft; split it into steps; solve each step `solves` times again; redo the weakest; rebuild from there.

    1 + rounds · (2 + steps · solves) calls at most. Agreement of a model with itself is no check: coherent errors pass.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read; text answers have steps, code has hardly any.
        rounds: how often a step is redone.
        solves: how often each step is solved again.
        temperature: of answers and steps; the splitting is at 0.
        max_tokens: of each text.

    Raises:
        ConfigError: an argument is out of range.
    """

    traits = CONTROL

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        rounds: int = 1,
        solves: int = 3,
        temperature: float = 0.7,
        max_tokens: int = 2048,
    ) -> None:
        if not 1 <= rounds <= MOST_ROUNDS or not 1 <= solves <= MOST_STEPS:
            raise ConfigError(
                "SocraticRefine got an argument out of range.",
                do=f"Use 1 to {MOST_ROUNDS} rounds and 1 to {MOST_STEPS} solves.",
            )
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        self._asking = asking
        self._rounds = rounds
        self._solves = solves

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: the rebuilt answer, then the earlier ones.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        asking, sampler = self._asking, self._sampler
        drafts = await sampler.drafts(context, asking, asking.question(context, told=False), phase=0)
        notes = ["the draft"]
        for number in range(self._rounds):
            kept, note = await self._kept(context, drafts[-1], phase=1 + 3 * number)
            if not kept:
                break
            shown = "\n\n".join(_as_data(step) for step in kept)
            question = asking.question(context, extra("rebuild_v1", steps=shown), told=False)
            drafts += await sampler.drafts(context, asking, question, phase=3 + 3 * number)
            notes.append(note)
        pairs = reversed(list(zip(drafts, notes, strict=True)))
        candidates = [named(d.answer, "write.ssr", note) for d, note in pairs if d.answer]
        return ranked(candidates, context, n, asking, drafts)

    async def _kept(self, context: ActorContext, draft: Draft, *, phase: int) -> tuple[list[SubQuestion], str]:
        """The steps up to the weakest one, that one corrected; nothing where the answer has no steps."""
        prompt = load_prompt("split_steps_v1")
        task = self._asking.statement(context)
        shown = bounded("candidate", self._asking.shown(draft.text), SHOWN_TOKENS)
        asked = [prompt.messages(task=task, candidate=shown)]
        (text,) = await self._sampler.texts(context, asked, prompt.name, "split", phase=phase)
        steps = read_steps(text)
        if not steps:
            return [], ""
        solved = await self._solved(context, steps, phase=phase + 1)
        agreement = [
            sum(plain_answer(said) == plain_answer(step.answer) for said in of_step) / self._solves
            for step, of_step in zip(steps, solved, strict=True)
        ]
        weakest = min(range(len(steps)), key=agreement.__getitem__)
        ranking = majority([plain_answer(said) or None for said in solved[weakest]]).ranking
        again = next((said for said in solved[weakest] if ranking and plain_answer(said) == ranking[0]), "")
        redone = SubQuestion(steps[weakest].question, again or steps[weakest].answer)
        note = f"step {weakest + 1} of {len(steps)} redone: {agreement[weakest]:.0%} agreed with it"
        return [*steps[:weakest], redone], note

    async def _solved(self, context: ActorContext, steps: Sequence[SubQuestion], *, phase: int) -> list[list[str]]:
        """What each step's question is answered with, `solves` times, given the steps before it."""
        prompt = load_prompt("resolve_step_v1")
        task = self._asking.statement(context)
        asked = [
            prompt.messages(
                task=task,
                known="\n\n".join(_as_data(earlier) for earlier in steps[:number]),
                question=bounded("question", inert(step.question), STEP_TOKENS),
            )
            for number, step in enumerate(steps)
            for _ in range(self._solves)
        ]
        temperature = self._sampler.temperature
        said = await self._sampler.texts(context, asked, prompt.name, "resolve", phase=phase, temperature=temperature)
        answers = [stated_answer(text).answer for text in said]
        return [answers[i : i + self._solves] for i in range(0, len(answers), self._solves)]


def _as_data(step: SubQuestion) -> str:
    return bounded("step", f"Q: {inert(step.question)}\nA: {inert(step.answer)}", STEP_TOKENS)
