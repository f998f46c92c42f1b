"""A debate of a model with itself (MAD, arXiv 2305.19118): it shows how arguing alone degenerates."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.width._answers import bounded
from groundwire.agents.width._sampling import Asking, Draft, Sampler, extra, named, ranked
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend
from groundwire.core._reasoning_text import without_thinking

SHOWN_TOKENS = 1200
MOST_ROUNDS = 4
SIDES = ("affirmative", "negative")
_OBJECT = re.compile(r"\{[^{}]{0,10000}\}")


class MadDebate:
    """One side answers, the other is told to disagree, a moderator may end it after each round; else a judge answers.

    3 calls a round, and one for the judge, who is given both sides' last answers (the published code gives those of the
    first round). At temperature 0, as published.

    Args:
        model: a model id or a backend; it speaks for everybody.
        asking: how one answer is asked for and read.
        rounds: after which the judge is called.
        max_tokens: of each text.

    Raises:
        ConfigError: an argument is out of range.
    """

    grounded = False

    def __init__(self, model: str | Backend, asking: Asking, *, rounds: int = 3, max_tokens: int = 2048) -> None:
        if not 1 <= rounds <= MOST_ROUNDS:
            raise ConfigError(f"{rounds} rounds can't be debated.", do=f"1 to {MOST_ROUNDS}.")
        self._sampler = Sampler(model, temperature=0.0, max_tokens=max_tokens)
        self._asking = asking
        self._rounds = rounds

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: what the moderator or the judge settled on, then both sides' last answers.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        sides: list[Draft] = []
        for number in range(1, self._rounds + 1):
            sides = await self._round(context, sides, stage=3 * (number - 1))
            preferred = await self._moderated(context, sides, number)
            if preferred is not None:
                return self._settled([sides[preferred], *sides], f"preferred in round {number}", context, n)
        shown = {side: self._shown(side, sides[i]) for i, side in enumerate(SIDES)}
        question = self._asking.question(context, extra("judge_debate_v1", **shown), told=False)
        judged = await self._sampler.drafts(context, self._asking, question, stage=3 * self._rounds)
        return self._settled([*judged, *sides], "the judge's answer", context, n)

    async def _round(self, context: ActorContext, sides: Sequence[Draft], *, stage: int) -> list[Draft]:
        asking, sampler = self._asking, self._sampler
        opening = asking.question(context, told=False)
        if sides:
            mine, theirs = self._shown("candidate", sides[0]), self._shown("argument", sides[1])
            opening = asking.question(context, extra("debate_for_v1", candidate=mine, argument=theirs), told=False)
        (affirmative,) = await sampler.drafts(context, asking, opening, stage=stage)
        disagree = extra("debate_against_v1", argument=self._shown("argument", affirmative))
        (negative,) = await sampler.drafts(
            context, asking, asking.question(context, disagree, told=False), stage=stage + 1
        )
        return [affirmative, negative]

    async def _moderated(self, context: ActorContext, sides: Sequence[Draft], number: int) -> int | None:
        prompt = load_prompt("moderate_v1")
        shown = {side: self._shown(side, sides[i]) for i, side in enumerate(SIDES)}
        asked = prompt.messages(task=self._asking.statement(context), round=str(number), **shown)
        (said,) = await self._sampler.texts(context, [asked], prompt.name, "moderate", stage=3 * number - 1)
        return _preference(said)

    def _shown(self, tag: str, draft: Draft) -> str:
        return bounded(tag, self._asking.shown(draft.text), SHOWN_TOKENS)

    def _settled(self, drafts: Sequence[Draft], note: str, context: ActorContext, n: int) -> Sequence[Candidate]:
        return ranked([named(d.answer, "write.mad_debate", note) for d in drafts if d.answer], context, n)


def _preference(text: str) -> int | None:
    """The side that a moderator's JSON names, 0 or 1; None where it names none."""
    for found in reversed(_OBJECT.findall(without_thinking(text))):
        try:
            said: object = json.loads(found)
        except ValueError:
            continue
        side = str(said.get("preference", "")).strip().lower() if isinstance(said, dict) else ""  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]  # JSON
        return SIDES.index(side) if side in SIDES else None
    return None
