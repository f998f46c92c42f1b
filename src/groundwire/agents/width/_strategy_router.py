"""Several ways to solve a task; how many are tried follows from how well they did before (PRISM, arXiv 2509.24377)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from groundwire.agents.width._sampling import Asking
from groundwire.core._answers import answer_key
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ActorContext, EditStatistics
from groundwire.core._errors import CandidateError, ConfigError, GroundwireError, ModelReplyInvalid
from groundwire.core._ids import seed_in
from groundwire.core._traits import ActorTraits, Needs

SURE = 0.35
CLEAR_LEAD = 0.10
"""τ_c and τ_a of the published code, which has four strategies, whose scores are 0.25 where nothing is known."""
PUBLISHED = 4
EDIT = "strategy."
NOTE_CHARS = 500


def scores_from(statistics: EditStatistics, names: Sequence[str]) -> dict[str, float]:
    """How good each strategy is, together 1, from what memory knows: (passed + 1) / (tried + 2) each, in proportion.

    Taken from the narrowest circle in which any of them was tried: episodes that failed alike, then the task's family,
    then everything. Where nothing is known all are equal, and all are tried.
    """
    for circle in (statistics.alike, statistics.family, statistics.overall):
        counts = [circle.get(f"{EDIT}{name}", (0, 0)) for name in names]
        if any(tried for tried, _ in counts):
            break
    else:
        counts = [(0, 0)] * len(names)
    rates = [(passed + 1) / (tried + 2) for tried, passed in counts]
    return {name: rate / sum(rates) for name, rate in zip(names, rates, strict=True)}


def chosen(scores: Mapping[str, float]) -> list[str]:
    """The strategies to try, best first: one that is clearly best, two that are close, else all.

    Scores are together 1, so that with more than four strategies each has less: the thresholds shrink alike.
    """
    ordered = sorted(scores, key=lambda name: -scores[name])
    best, second = scores[ordered[0]], scores[ordered[1]]
    part = min(1.0, PUBLISHED / len(scores))
    if best < SURE * part:
        return ordered
    return ordered[:1] if best - second >= CLEAR_LEAD * part else ordered[:2]


class StrategyRouter:
    """Asks one, two or all strategies, and takes what they agree on, else what the best of them says.

    What passes and fails is counted by the ledger under each strategy's name, so the scores are learnt, not set. A
    strategy that comes to no answer has no vote. Once the loop was found stuck, all are asked.

    Args:
        strategies: actors by name, at least two.
        asking: knows which candidates say the same (`TextAnswer(…)`); default: short answers in a text file by their
            normal form, anything else byte for byte.

    Raises:
        ConfigError: fewer than two.
    """

    def __init__(self, strategies: Mapping[str, Actor], *, asking: Asking | None = None) -> None:
        if len(strategies) < 2:
            raise ConfigError("There is nothing to choose from.", do="Give at least two strategies.")
        self._strategies = dict(strategies)
        self._asking = asking
        theirs = ActorTraits.together(self.lets_propose)
        needs = theirs.needs | Needs(edit_statistics=True, episode=True)
        self.traits = replace(theirs, needs=needs, revision=theirs.revision + 1)

    @property
    def lets_propose(self) -> Sequence[Actor]:
        """See `groundwire.core._traits.LetsPropose`."""
        return tuple(self._strategies.values())

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Two: what both say, else the better one's. All: plurality, of equal ones the better one's.

        Raises:
            ModelError, BudgetExceeded: from the strategies.
            CandidateError, ModelReplyInvalid: from the first of them, where none comes to an answer.
        """
        scores = scores_from(context.edit_statistics, list(self._strategies))
        names = sorted(scores, key=lambda name: -scores[name]) if context.escalation else chosen(scores)
        try:
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(self._one(name, context, n)) for name in names]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        told = [task.result() for task in asked]
        proposed = [candidate for one in told if not isinstance(one, GroundwireError) for candidate in one]
        problems = [one for one in told if isinstance(one, GroundwireError)]
        if problems and not proposed:
            raise problems[0]
        alike: dict[str, list[Candidate]] = {}
        for candidate in proposed:
            alike.setdefault(self._key(candidate, context), []).append(candidate)
        judged = {self._key(one.candidate, context): one.candidate for one in reversed(context.judged)}
        # stable: of equal ones the better strategy's
        groups = sorted(alike.items(), key=lambda group: (group[0] in judged, -len(group[1])))
        tried = f"{len(names)} of {len(scores)} strategies"
        fresh = [_told(group, tried) for key, group in groups if key not in judged]
        return fresh[:n] or [judged[key] for key, _ in groups[:1]]

    def _key(self, candidate: Candidate, context: ActorContext) -> str:
        return self._asking.key_of(candidate, context) if self._asking else answer_key(candidate)

    async def _one(
        self, name: str, context: ActorContext, n: int
    ) -> Sequence[Candidate] | CandidateError | ModelReplyInvalid:
        """What one strategy proposes, first the best, or why it comes to no answer."""
        # requests of different strategies stay apart in the ledger, also where their texts are the same
        seed = seed_in(context, "strategy", call=list(self._strategies).index(name), of_episode=True)
        draws = n if context.escalation else 1
        try:
            found = await self._strategies[name].propose(replace(context, seed=seed), draws)
        except (CandidateError, ModelReplyInvalid) as problem:
            return problem
        # one vote a strategy, also where it was asked for more draws: for the first that was not judged before
        judged = {self._key(one.candidate, context) for one in context.judged}
        best = next((c for c in found if self._key(c, context) not in judged), found[0] if found else None)
        return [replace(best, edits=(f"{EDIT}{name}", *best.edits))] if best else []


def _told(group: Sequence[Candidate], tried: str) -> Candidate:
    """One candidate for all strategies that made it, each of which it counts for."""
    edits = tuple(dict.fromkeys(edit for candidate in group for edit in candidate.edits))
    return replace(group[0], edits=edits, note=f"{tried}, {len(group)} say so; {group[0].note}"[:NOTE_CHARS])
