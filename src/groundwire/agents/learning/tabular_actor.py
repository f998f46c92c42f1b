"""An actor that learns how a world works, and plans in what it has learned."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from groundwire.agents.learning.moment import Moment
from groundwire.agents.learning.places import KnownWorld, end_or_place
from groundwire.agents.learning.plan import Plan
from groundwire.contexts import ActorContext, Needs
from groundwire.environments import Move
from groundwire.experience import Experience, place_of
from groundwire.trees import Candidate

__all__ = ["TabularActor"]

AT_ONCE = 64
"""Trials whose plans are kept between two steps; of a trial that waits longer, the plan is made again, and is the
same."""
EQUAL = 1e-9


class TabularActor:
    """Model-based: counts where actions led, and does what is worth the most by these counts.

    It is R-MAX (Brafman & Tennenholtz 2002): what was never tried is thought to be nearly as good as a win, so that it
    goes and looks, and plans by value iteration in the world that it knows by then. It works from what memory gave and
    from what it has seen in this trial. Its choices follow from these and the seed alone.
    """

    needs = Needs(lessons=0, experience=True)
    patient = True

    def __init__(self) -> None:
        self._minds: OrderedDict[tuple[str, int, int], _Mind] = OrderedDict()

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        here = Moment.of(context)
        plan = self._mind(here).plan_after(here.moves)
        place = place_of(here.scene)
        worth = [plan.worth(place, action) for action in here.scene.actions]
        best = [a for a, value in zip(here.scene.actions, worth, strict=True) if value >= max(worth) - EQUAL]
        return [here.then(here.chance().choice(best))]

    def _mind(self, here: Moment) -> _Mind:
        context = here.context
        key = (context.task.tree.digest, context.trial, context.seed)
        mind = self._minds.pop(key, None)
        if mind is None or not mind.is_of(context.experience, here.moves):
            mind = _Mind(context.experience, here)
        self._minds[key] = mind
        if len(self._minds) > AT_ONCE:
            self._minds.popitem(last=False)
        return mind


class _Mind:
    """What one trial knows, and its plan."""

    def __init__(self, experience: Experience, here: Moment) -> None:
        self._experience = experience
        self._start = here.start
        self._world = KnownWorld(experience, here.start)
        self._moves: list[Move] = []
        self._planned_from: str = place_of(here.start)
        self._plan: Plan | None = None

    def is_of(self, experience: Experience, moves: Sequence[Move]) -> bool:
        """True if it is of the trial that has made these moves."""
        return experience is self._experience and list(moves[: len(self._moves)]) == self._moves

    def plan_after(self, moves: Sequence[Move]) -> Plan:
        """The plan after these moves: made anew where the last of them showed something that was not known."""
        for move in moves[len(self._moves) :]:
            before = self._moves[-1].scene if self._moves else self._start
            if self._world.see(before, move):
                self._planned_from = end_or_place(move.scene)
                self._plan = None
            self._moves.append(move)
        if self._plan is None:
            self._plan = Plan(self._world.places, self._planned_from, has_chance=self._world.has_chance)
        return self._plan
