"""An actor without memory that goes where it has not been: the least that exploring with a plan is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groundwire.agents.learning.moment import Moment
from groundwire.contexts import ActorContext, Needs
from groundwire.trees import Candidate

__all__ = ["HeuristicActor"]


class HeuristicActor:
    """Goes to the place that it has been in least often in this trial, and prefers what it has not tried there.

    It is node counting (Koenig & Szymanski, Value-update rules for real-time search, AAAI 1999), for worlds whose map
    it does not know: an action that it has not tried is thought to lead to a place where it has not been. It forgets
    everything with the trial.
    """

    needs = Needs(lessons=0)
    patient = True

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        here = Moment.of(context)
        scenes = [here.start, *(move.scene for move in here.moves)]
        been = Counter(scene.text for scene in scenes)
        led = {(s.text, move.action): move.scene.text for s, move in zip(scenes, here.moves, strict=False)}
        chance = here.chance()

        def worn(action: str) -> tuple[int, float]:
            to = led.get((here.scene.text, action))
            return (been[to] if to is not None else 0), chance.random()

        return [here.then(min(here.scene.actions, key=worn))]
