"""Answers judged side by side, each with reasons for and against it (Think Twice Before Trusting, arXiv 2403.09972)."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.width._answers import bounded
from groundwire.agents.width._round_table import stated_confidence
from groundwire.agents.width._sampling import (
    CONTROL,
    REVISED,
    Asking,
    SampledAnswer,
    Sampler,
    drawn,
    in_order,
    named,
    ranked,
)
from groundwire.agents.width._voting import majority
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import labelled

SHOWN_TOKENS = 800
MOST = 10
_NUMBER = re.compile(r"(?:(?:the|candidate|answer|option|number)[ ]{1,2}){0,3}\#?(\d{1,3})\b", re.IGNORECASE)


@dataclass(frozen=True)
class JudgeRanking:
    """How a judge ranked the answers.

    Args:
        order: indices of the answers, the best first; as they came where it named none.
        confidence: as stated, 0 to 1; it orders nothing and triggers nothing.
    """

    order: tuple[int, ...]
    confidence: float


async def judge_side_by_side(
    judge: Sampler, context: ActorContext, asking: Asking, answers: Sequence[SampledAnswer], *, phase: int
) -> JudgeRanking:
    """Has each answer argued for and against by itself, then all of them compared in one prompt.

    Nothing says who gave an answer, how often, or when; their order is shuffled by the seed. One call an answer, and
    one more.

    Raises:
        ConfigError: fewer than two answers: judged alone, an answer looks right.
    """
    if len(answers) < 2:
        raise ConfigError("One answer can't be judged side by side.", do="Give at least two that differ.")
    task = asking.statement(context)
    rng = random.Random(seed_in(context, "shuffle", sample=phase))
    order = rng.sample(range(len(answers)), len(answers))
    shown = [bounded("candidate", asking.shown(answers[i].text), SHOWN_TOKENS) for i in order]
    argue = load_prompt("argue_for_v1")
    asked = [argue.messages(task=task, candidate=text) for text in shown]
    argued = await judge.texts(context, asked, argue.name, "argue", phase=phase)
    compared = "\n\n".join(
        bounded("candidate", asking.shown(answers[i].text), SHOWN_TOKENS, number=place)
        + "\n"
        + bounded("argument", asking.shown(said), SHOWN_TOKENS, about=place)
        for place, (i, said) in enumerate(zip(order, argued, strict=True), 1)
    )
    prompt = load_prompt("judge_side_by_side_v1")
    messages = prompt.messages(task=task, candidates=compared)
    (said,) = await judge.texts(context, [messages], prompt.name, "judge", phase=phase + 1)
    stated = labelled(without_reasoning(said), "best")
    best = _NUMBER.match(stated[-1]) if stated else None
    place = int(best[1]) if best else 0
    first = (order[place - 1],) if 1 <= place <= len(order) else ()
    return JudgeRanking((*first, *(i for i in range(len(answers)) if i not in first)), stated_confidence(said))


class SideBySide:
    """Samples, and where they differ the one that a judge prefers side by side; where they agree nobody is asked.

    Args:
        model: a model id or a backend; it writes.
        asking: how one answer is asked for and read.
        judge: the model that judges; default: the one that writes. Where that judges, also under `judge`, nothing
            outside of it prefers one answer to another, and the method is a control: not grounded.
        samples: 2 to 10.
        temperature: of answers.
        max_tokens: of each text.

    Raises:
        ConfigError: an argument is out of range.
    """

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        judge: str | Backend | None = None,
        samples: int = 4,
        temperature: float = 0.8,
        max_tokens: int = 2048,
    ) -> None:
        if not 2 <= samples <= MOST:
            raise ConfigError(f"{samples} answers can't be judged side by side.", do=f"Use 2 to {MOST}.")
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        self._judge = self._sampler if judge is None else Sampler(judge, temperature=0.0, max_tokens=max_tokens)
        self.traits = CONTROL if self._judge.backend.model == self._sampler.backend.model else REVISED
        self._asking = asking
        self._samples = samples

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: the preferred answer, then the others by how many gave them.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        asking = self._asking
        samples = drawn(self._samples, context, n)
        drafts = await self._sampler.drafts(context, asking, asking.question(context), samples, phase=0)
        vote = majority([d.key for d in drafts])
        judged = {asking.key_of(j.candidate, context) for j in context.judged}
        given = in_order(drafts, vote.ranking)
        answers = [answer for answer in given if answer.key not in judged][:MOST]
        if len(answers) < 2:
            candidates = [named(a, "write.agreed", f"vote: {vote}") for a in answers or given]
            return ranked(candidates, context, n, asking, drafts)
        chosen = await judge_side_by_side(self._judge, context, asking, answers, phase=1)
        note = f"preferred of {len(answers)} side by side, confidence {chosen.confidence:.2f}"
        first, *others = [answers[i] for i in chosen.order]
        rest = [named(answer, "write.side_by_side", "not preferred") for answer in others]
        return ranked([named(first, "write.side_by_side", note), *rest], context, n, asking, drafts)
