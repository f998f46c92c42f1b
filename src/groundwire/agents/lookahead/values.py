"""What a place in an imagined world is worth, where the model of it does not say."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from groundwire.agents.lookahead.models import Proposer, WorldModel, hinted
from groundwire.contexts import ActorContext
from groundwire.environments import Move, Status
from groundwire.errors import ConfigError

__all__ = ["ENDS", "Rollouts", "Value"]

ENDS = {Status.WON: 1.0, Status.LOST: 0.0, Status.ENDED: 0.0}
"""What is over needs no estimate."""
MANY = 64


class Value(Protocol):
    """Values a whole trajectory that is not over."""

    async def __call__(self, context: ActorContext, moves: Sequence[Move]) -> float:
        """0 to 1. It calls a model through `context.call` only."""
        ...


class Rollouts:
    """The mean outcome of random ways on from there, in the model of the world: MC-Critic (ProAct, arXiv 2602.05327).

    Args:
        world: where the ways are walked.
        count: how many; the paper's configuration has 1000.
        depth: the most actions of one way; a way that is not over by then counts as lost.
        propose: what may be done; default: the world's hints.

    Raises:
        ConfigError: an argument is below 1.
    """

    def __init__(self, world: WorldModel, *, count: int = 32, depth: int = 16, propose: Proposer = hinted) -> None:
        if min(count, depth) < 1:
            raise ConfigError("Rollouts got an argument out of range.", do="Use a count and a depth of 1 or more.")
        self._world = world
        self._count = count
        self._depth = depth
        self._propose = propose

    async def __call__(self, context: ActorContext, moves: Sequence[Move]) -> float:
        """See `Value`. The same place and seed give the same value."""
        chance = random.Random(f"{context.seed} {[move.action for move in moves]}")
        return sum([await self._way(context, list(moves), chance) for _ in range(self._count)]) / self._count

    async def _way(self, context: ActorContext, moves: list[Move], chance: random.Random) -> float:
        for _ in range(self._depth):
            actions = await self._propose(context, moves, MANY)
            if not actions:
                return 0.0
            action = chance.choice(list(actions))
            scene = (await self._world.imagine(context, moves, action)).scene
            moves.append(Move(action, scene))
            if scene.status is not Status.RUNNING:
                return ENDS[scene.status]
        return 0.0
