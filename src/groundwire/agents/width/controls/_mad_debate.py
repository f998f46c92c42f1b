"""A debate of a model with itself (MAD, arXiv 2305.19118): it shows how arguing alone degenerates."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.width._answers import bounded, final_part
from groundwire.agents.width._sampling import CONTROL, Asking, Draft, Question, Sampler, extra, named, ranked
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend, Message
from groundwire.core._prompt_text import inert
from groundwire.core._reasoning_text import without_reasoning
from groundwire.core._reply_parts import labelled

SHOWN_TOKENS = 1200
MOST_ROUNDS = 4
SIDES = ("affirmative", "negative")
NOTHING_SAID = "(nothing)"
"""Some providers refuse a message without text."""


class MadDebate:
    """One side answers, the other is told to disagree, a moderator may end it after each round; else a judge answers.

    3 calls a round, and one for the judge, who is given both sides' last answers (the published code gives those of the
    first round). At temperature 0, and each of the three with the memory of its own dialogue, as published: what it was
    asked and what it said in all rounds before.

    Args:
        model: a model id or a backend; it speaks for everybody.
        asking: how one answer is asked for and read.
        rounds: after which the judge is called.
        max_tokens: of each text.

    Raises:
        ConfigError: an argument is out of range.
    """

    traits = CONTROL

    def __init__(self, model: str | Backend, asking: Asking, *, rounds: int = 3, max_tokens: int = 2048) -> None:
        if not 1 <= rounds <= MOST_ROUNDS:
            raise ConfigError(f"MadDebate was asked for {rounds} rounds.", do=f"Use 1 to {MOST_ROUNDS}.")
        self._sampler = Sampler(model, temperature=0.0, max_tokens=max_tokens)
        self._asking = asking
        self._rounds = rounds

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: what the moderator or the judge settled on, then both sides' last answers.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        talks: list[Question] = []
        sides: list[Draft] = []
        moderation: tuple[Message, ...] = ()
        for number in range(1, self._rounds + 1):
            sides = await self._round(context, talks, sides, phase=3 * (number - 1))
            moderation, preferred = await self._moderated(context, moderation, sides, number)
            if preferred is not None:
                return self._settled([sides[preferred], *sides], f"preferred in round {number}", context, n)
        shown = {side: self._shown(side, sides[i]) for i, side in enumerate(SIDES)}
        question = self._asking.question(context, extra("judge_debate_v1", **shown), told=False)
        judged = await self._sampler.drafts(context, self._asking, question, phase=3 * self._rounds)
        return self._settled([*judged, *sides], "the judge's answer", context, n)

    async def _round(
        self, context: ActorContext, talks: list[Question], sides: Sequence[Draft], *, phase: int
    ) -> list[Draft]:
        """One answer of each side, which is asked in its own dialogue; `talks` is what they have been asked so far."""
        asking = self._asking
        opening = self._answered(talks[0], sides[0], sides[1]) if sides else asking.question(context, told=False)
        (affirmative,) = await self._sampler.drafts(context, asking, opening, phase=phase)
        if sides:
            answer = self._answered(talks[1], sides[1], affirmative)
        else:
            disagree = extra("debate_against_v1", argument=self._shown("argument", affirmative))
            answer = asking.question(context, disagree, told=False)
        (negative,) = await self._sampler.drafts(context, asking, answer, phase=phase + 1)
        talks[:] = [opening, answer]
        return [affirmative, negative]

    def _answered(self, talk: Question, own: Draft, other: Draft) -> Question:
        """A dialogue with what the side said last, and with what the other says to that."""
        prompt = load_prompt("debate_again_v1")
        asked = prompt.messages(argument=self._shown("argument", other))
        said = final_part(own.text, SHOWN_TOKENS)
        *before, last = talk.messages
        if last.role == "assistant":  # the answer is begun for it, each time
            messages = (*before, last.model_copy(update={"content": last.content + inert(said)}), *asked, last)
        else:
            messages = (*talk.messages, Message(role="assistant", content=inert(said) or NOTHING_SAID), *asked)
        return Question(messages, prompt.digest, talk.stop)

    async def _moderated(
        self, context: ActorContext, before: tuple[Message, ...], sides: Sequence[Draft], number: int
    ) -> tuple[tuple[Message, ...], int | None]:
        """The moderator's dialogue with this round in it, and the side that it prefers."""
        shown = {side: self._shown(side, sides[i]) for i, side in enumerate(SIDES)}
        prompt = load_prompt("moderate_again_v1" if before else "moderate_v1")
        first = {} if before else {"task": self._asking.statement(context)}
        asked = (*before, *prompt.messages(round=str(number), **first, **shown))
        (said,) = await self._sampler.texts(context, [asked], prompt.name, "moderate", phase=3 * number - 1)
        remembered = inert(final_part(said, SHOWN_TOKENS)) or NOTHING_SAID
        return (*asked, Message(role="assistant", content=remembered)), _preference(said)

    def _shown(self, tag: str, draft: Draft) -> str:
        return bounded(tag, self._asking.shown(draft.text), SHOWN_TOKENS)

    def _settled(self, drafts: Sequence[Draft], note: str, context: ActorContext, n: int) -> Sequence[Candidate]:
        candidates = [named(d.answer, "write.mad_debate", note) for d in drafts if d.answer]
        return ranked(candidates, context, n, self._asking, drafts)


def _preference(text: str) -> int | None:
    """The side that a moderator names last, 0 or 1; None where it names none."""
    said = labelled(without_reasoning(text), "preference")
    words = said[-1].casefold().rstrip(".").removesuffix(" side").removeprefix("the ") if said else ""
    return SIDES.index(words) if words in SIDES else None
