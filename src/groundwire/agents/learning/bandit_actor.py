"""An actor that takes each place for a bandit with an arm for each action, and learns only how trials ended."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from groundwire.agents.learning.moment import Moment
from groundwire.contexts import ActorContext, Needs
from groundwire.errors import ConfigError
from groundwire.experience import Known, place_of
from groundwire.trees import Candidate

__all__ = ["BanditActor"]


class BanditActor:
    """UCB1 (Auer, Cesa-Bianchi & Fischer 2002) at each place: the share of trials that were won after an action there,
    and more for what was seldom done. It knows nothing of where an action leads.

    What was done in this very task counts; at a place that no trial of it has seen, what was done there in the family.
    Within a trial, each use of an action counts as one that has not won yet, so that it does not walk in a circle.

    Args:
        explore: how much it prefers what it knows little of; the square root of 2 in the paper, for rewards of 0 to 1.

    Raises:
        ConfigError: an argument is out of range.
    """

    needs = Needs(lessons=0, experience=True)
    patient = True

    def __init__(self, explore: float = 0.5) -> None:
        if not explore >= 0:
            raise ConfigError("BanditActor got an argument out of range.", do="explore is at least 0.")
        self._explore = explore

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        here = Moment.of(context)
        place = place_of(here.scene)
        scenes = [here.start, *(move.scene for move in here.moves)]
        used = Counter(move.action for scene, move in zip(scenes, here.moves, strict=False) if scene == here.scene)
        experience = context.experience
        arms = _arms(experience.task if place in experience.task else experience.family, place)
        pulls = {action: arms.get(action, (0, 0))[0] + used[action] for action in here.scene.actions}
        total = sum(pulls.values())
        chance = here.chance()

        def worth(action: str) -> tuple[float, float]:
            count = pulls[action]
            if not count:
                return math.inf, chance.random()
            won = arms.get(action, (0, 0))[1]
            return won / count + self._explore * math.sqrt(math.log(total) / count), chance.random()

        return [here.then(max(here.scene.actions, key=worth))]


def _arms(known: Known, place: str) -> dict[str, tuple[int, int]]:
    """By action: trials that did it there, and how many of these were won."""
    there = known.get(place, {})
    return {a: (sum(f.trials for f in followed), sum(f.won for f in followed)) for a, followed in there.items()}
