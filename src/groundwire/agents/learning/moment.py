"""Where an actor without a model stands: what it did in this trial, and what it can do now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from groundwire.contexts import ActorContext
from groundwire.environments import Move, Scene, attempt, moves_so_far, start_of
from groundwire.errors import CandidateError
from groundwire.trees import Candidate

__all__ = ["Moment"]


@dataclass(frozen=True)
class Moment:
    """One place in one trial.

    Args:
        context: the actor's.
        start: the scene that the trial began with.
        moves: what was done in it.
        scene: what is seen now; it names at least one action.
    """

    context: ActorContext
    start: Scene
    moves: Sequence[Move]
    scene: Scene

    @classmethod
    def of(cls, context: ActorContext) -> Moment:
        """Where an actor stands.

        Raises:
            CandidateError: the scene does not say what can be done.
        """
        start, moves = start_of(context.task).scene, moves_so_far(context.judged, context.failing)
        scene = moves[-1].scene if moves else start
        if not scene.actions:
            raise CandidateError(
                "This world does not say what can be done.", do="Use an actor with a model, or a world that does."
            )
        return cls(context, start, moves, scene)

    def chance(self) -> Random:
        """The same for the same seed, trial and step, whoever asks."""
        return Random(f"{self.context.seed}/{self.context.trial}/{len(self.moves)}")

    def then(self, action: str) -> Candidate:
        """What was done in this trial, and one more action."""
        return attempt(self.context.task, self.context.trial, [*(move.action for move in self.moves), action])
