"""Several ways to solve a task; how many are tried follows from how well they did before (PRISM, arXiv 2509.24377)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ActorContext, EditStatistics, Needs
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_in

SURE = 0.35
APART = 0.10
"""τ_c and τ_a of the published code."""
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
    """The strategies to try, best first: one that is clearly best, two that are close, else all."""
    ordered = sorted(scores, key=lambda name: -scores[name])
    best, second = scores[ordered[0]], scores[ordered[1]]
    if best < SURE:
        return ordered
    return ordered[:1] if best - second >= APART else ordered[:2]


class StrategyRouter:
    """Asks one, two or all strategies, and takes what they agree on, else what the best of them says.

    What passes and fails is counted by the ledger under each strategy's name, so the scores are learnt, not set.

    Args:
        strategies: actors by name, at least two.

    Raises:
        ConfigError: fewer than two.
    """

    needs = Needs(edit_statistics=True)

    def __init__(self, strategies: Mapping[str, Actor]) -> None:
        if len(strategies) < 2:
            raise ConfigError("There is nothing to choose from.", do="Give at least two strategies.")
        self._strategies = dict(strategies)

    @property
    def grounded(self) -> bool:
        """False where one of the strategies is a control."""
        return all(getattr(actor, "grounded", True) for actor in self._strategies.values())

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Two: what both say, else the better one's. All: plurality, of equal ones the better one's.

        Raises:
            ModelError, BudgetExceeded, CandidateError: from the strategies.
        """
        scores = scores_from(context.edit_statistics, list(self._strategies))
        names = chosen(scores)
        try:
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(self._one(name, context)) for name in names]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        proposed = [candidate for task in asked for candidate in task.result()]
        alike: dict[str, list[Candidate]] = {}
        for candidate in proposed:
            alike.setdefault(candidate.digest, []).append(candidate)
        groups = sorted(alike.values(), key=lambda group: -len(group))  # stable: of equal ones the better strategy's
        return [_told(group, f"{len(names)} of {len(scores)} strategies") for group in groups][:n]

    async def _one(self, name: str, context: ActorContext) -> Sequence[Candidate]:
        # requests of different strategies stay apart in the ledger, also where their texts are the same
        seed = seed_in(context, "strategy", call=list(self._strategies).index(name), of_episode=True)
        found = await self._strategies[name].propose(replace(context, seed=seed), 1)
        return [replace(c, edits=(f"{EDIT}{name}", *c.edits)) for c in found[:1]]


def _told(group: Sequence[Candidate], tried: str) -> Candidate:
    """One candidate for all strategies that made it, each of which it counts for."""
    edits = tuple(dict.fromkeys(edit for candidate in group for edit in candidate.edits))
    return replace(group[0], edits=edits, note=f"{tried}, {len(group)} say so; {group[0].note}"[:NOTE_CHARS])
