"""Roll-outs for training data: asked alike, told of no other episode, and in a world branching off where one failed.

    trial 1   look ─► kick door                  lost
    trial 2   look ─► lift mat ─► kick door      lost: branched off before the last step, which was asked for anew
    trial 3   look ─► lift mat ─► unlock door    won: where the others left this way is their first bad step

The steps up to a branch are taken again in the world and asked of nobody; the same seed gives the same world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ActorContext, Judged, Needs
from groundwire.core._environments import actions_in, attempt, moves_so_far
from groundwire.core._errors import ConfigError

Walk = tuple[str, ...]
"""The actions of one trial."""


class RollOutActor:
    """Lets another actor roll out.

    Memory recalls nothing for it, so that all episodes of a task begin with the same prompt, and no rule of standstill
    makes it warmer: the answers of a group are of one policy.

    Args:
        actor: the policy.
        ways: how often it is asked at each place of a world; above 1 a new trial begins where the one before can still
            go another way, the last such place first. 1: each begins anew, which holds for any task.

    Raises:
        ConfigError: `ways` is less than 1.
    """

    patient = True

    def __init__(self, actor: Actor, *, ways: int = 1) -> None:
        if ways < 1:
            raise ConfigError(f"ways is {ways}.", do="Ask at each place at least once.")
        self.actor = actor
        self._ways = ways
        told: Needs = getattr(actor, "needs", Needs())
        self.needs = replace(told, lessons=0, episode=told.episode or ways > 1)

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`."""
        if self._ways > 1:
            done = tuple(move.action for move in moves_so_far(context.judged, context.failing))
            kept = kept_steps(walks_in(context.judged, before=context.trial), self._ways)
            if len(done) < len(kept):
                return (attempt(context.task, context.trial, kept[: len(done) + 1]),)
        return await self.actor.propose(context, n)


def walks_in(judged: Sequence[Judged], *, before: int) -> list[Walk]:
    """What each trial of an episode did, all trials before one, in order."""
    longest: dict[int, Walk] = {}
    for item in judged:
        actions, trial = actions_in(item.candidate), item.signal.trial
        if trial < before and len(actions) > len(longest.get(trial, ())):
            longest[trial] = actions
    return [longest[trial] for trial in sorted(longest)]


def kept_steps(walks: Sequence[Walk], ways: int) -> Walk:
    """The steps that the next trial takes again: up to the last place of the last walk that was asked fewer than `ways`
    times. None where there is no such place.

    Args:
        walks: what was done, a trial each, in order; each but the first took its first steps by this very rule.
        ways: how often each place is asked.
    """
    asked: Counter[Walk] = Counter()
    kept = 0
    for walk in walks:
        asked.update(walk[:place] for place in range(kept, len(walk)))
        kept = next((place for place in reversed(range(len(walk))) if asked[walk[:place]] < ways), 0)
    return walks[-1][:kept] if walks else ()
