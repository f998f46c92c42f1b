"""The actor that knows nothing and learns nothing: what every other must beat."""

from __future__ import annotations

import random
from collections.abc import Sequence

from groundwire.contexts import ActorContext, Needs
from groundwire.environments import attempt, moves_so_far, start_of
from groundwire.errors import CandidateError
from groundwire.trees import Candidate

__all__ = ["RandomActor"]


class RandomActor:
    """Does one of the things that the scene says can be done, each as likely as another."""

    needs = Needs()

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One candidate: what was done in this trial, and one more action.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        moves = moves_so_far(context.judged, context.failing)
        scene = moves[-1].scene if moves else start_of(context.task).scene
        if not scene.actions:
            raise CandidateError(
                "This world does not say what can be done.", do="Use an actor with a model, or a world that does."
            )
        chosen = random.Random(f"{context.seed}/{context.trial}/{len(moves)}").choice(scene.actions)
        return [attempt(context.task, context.trial, [*(move.action for move in moves), chosen])]
