"""Different models answer, see each other's reasons, answer again, and vote (ReConcile, arXiv 2309.13007)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from groundwire.agents.width._answers import bounded
from groundwire.agents.width._sampling import (
    CONTROL,
    REVISED,
    Asking,
    Draft,
    Extra,
    Question,
    Sampler,
    extra,
    in_order,
    named,
    ranked,
)
from groundwire.agents.width._voting import VoteResult, weighted
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend
from groundwire.core._reasoning_text import without_reasoning

SHOWN_TOKENS = 400
MOST_ROUNDS = 15
_STATED = re.compile(
    r"confiden(?:ce|t)(?:[ ](?:level|score|rating))?[ \t*_`\"']{0,10}(?:[:=：>]|\b(?:is|of|at)\b)[ \t\n*_`\"']{0,10}"
    r"(?P<number>\d{1,6}(?:[.,]\d{1,6})?|\.\d{1,6})[ \t*_]{0,4}"
    r"(?:(?P<percent>%|per[ ]?cent)|(?:/|out[ ]of)[ \t]{0,3}(?P<of>\d{1,4}))?",
    re.IGNORECASE,
)


def weight_of(confidence: float) -> float:
    """What a stated confidence weighs in the vote, as published; one above 1 is taken for 1.

    The published code gives such a one no weight at all.
    """
    if confidence >= 1:
        return 1.0
    if confidence >= 0.9:
        return 0.8
    if confidence >= 0.8:
        return 0.5
    return 0.3 if confidence > 0.6 else 0.1


def stated_confidence(text: str) -> float:
    """The last confidence that a text states, 0 to 1; 0 where it states none.

    Read are `0.9`, `.9`, `0,9`, `90%`, `9/10`, `9 out of 10`. A number without a unit is taken for one of a hundred
    above 10 (`40`), for one of ten from 2 to 10 (`9`), and for 1 between 1 and 2, which is no other scale's.
    """
    stated = list(_STATED.finditer(without_reasoning(text)))
    if not stated:
        return 0.0
    said = stated[-1]
    number = float(said["number"].replace(",", "."))
    if said["percent"]:
        scale = 100
    elif said["of"]:
        scale = int(said["of"]) or 1
    else:
        scale = 100 if number > 10 else 10 if number >= 2 else 1
    return min(1.0, number / scale)


class RoundTable:
    """Answers of different models, in up to `rounds` more rounds while they disagree, then a weighted vote.

    A model hears what the others say, not what it says itself of it: a disagreement between different models is one of
    the few reasons to think again that do not come from oneself. Still nothing has judged: the check outside does.

    Args:
        models: at least two ids or backends.
        asking: how one answer is asked for and read.
        rounds: debates at most; none where all agree at once.
        allow_homogeneous: True to seat one model twice, which is a debate with oneself: see `controls.mad_debate`.
        temperature: of answers.
        max_tokens: of each.

    Raises:
        ConfigError: fewer than two models, or the same one twice.
    """

    def __init__(
        self,
        models: Sequence[str | Backend],
        asking: Asking,
        *,
        rounds: int = 2,
        allow_homogeneous: bool = False,
        temperature: float = 0.7,
        max_tokens: int = 2048,
    ) -> None:
        if len(models) < 2 or not 0 <= rounds <= MOST_ROUNDS:
            raise ConfigError(
                f"{len(models)} models can't debate {rounds} rounds.",
                do=f"Use at least 2 models and 0 to {MOST_ROUNDS} rounds.",
            )
        self._seats = [Sampler(model, temperature=temperature, max_tokens=max_tokens) for model in models]
        names = [seat.backend.model for seat in self._seats]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice and not allow_homogeneous:
            raise ConfigError(
                f"{twice[0]} sits at the table twice, and a model that agrees with itself says nothing.",
                do="Seat different models; or allow_homogeneous=True, for a control.",
            )
        self.traits = CONTROL if twice else REVISED
        self._asking = asking
        self._rounds = rounds

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: the winner of the vote, then the other answers by their weight.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        drafts = await self._round(
            context, [extra("round_table_v1", others=str(len(self._seats) - 1))] * len(self._seats), phase=0
        )
        debates = 0
        while debates < self._rounds and len({draft.key for draft in drafts}) > 1:
            debates += 1
            told = [self._told(drafts, seat) for seat in range(len(drafts))]
            drafts = await self._round(context, told, phase=debates)
        vote = _vote(drafts)
        note = f"round table: {vote}; {debates} debates"
        candidates = [named(a, "write.round_table", note) for a in in_order(drafts, vote.ranking)]
        return ranked(candidates, context, n, self._asking, drafts)

    async def _round(self, context: ActorContext, added: Sequence[Extra], *, phase: int) -> list[Draft]:
        async def one(place: int, question: Question) -> Draft:
            # a number of its own keeps the same question to two models apart in the ledger
            seat = self._seats[place]
            (draft,) = await seat.drafts(context, self._asking, question, phase=phase, first=place)
            return draft

        questions = [self._asking.question(context, words) for words in added]
        try:
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(one(place, question)) for place, question in enumerate(questions)]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [task.result() for task in asked]

    def _told(self, drafts: Sequence[Draft], seat: int) -> Extra:
        """All answers in groups, this seat's own among them as one of many; those without an answer are left out."""
        vote = _vote(drafts)
        groups = [
            "\n\n".join(
                bounded("argument", self._asking.shown(d.text), SHOWN_TOKENS, group=place)
                for at, d in enumerate(drafts)
                if d.key == key and at != seat
            )
            for place, key in enumerate(vote.ranking, 1)
        ]
        return extra("round_table_again_v1", groups="\n\n".join(filter(None, groups)))


def _vote(drafts: Sequence[Draft]) -> VoteResult:
    return weighted([d.key for d in drafts], [weight_of(stated_confidence(d.text)) for d in drafts])
