"""The actor that knows nothing and learns nothing: what every other must beat."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.learning.moment import Moment
from groundwire.contexts import ActorContext, Needs
from groundwire.trees import Candidate

__all__ = ["RandomActor"]


class RandomActor:
    """Does one of the things that the scene says can be done, each as likely as another."""

    needs = Needs(lessons=0)
    patient = True

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        here = Moment.of(context)
        return [here.then(here.chance().choice(here.scene.actions))]
