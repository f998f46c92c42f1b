"""An actor that looks ahead, does one thing, and plans anew from what has really happened."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.agents.lookahead.models import Imagined, Proposer, WorldModel, hinted
from groundwire.agents.lookahead.tree import Node
from groundwire.agents.lookahead.values import ENDS, Value
from groundwire.contexts import ActorContext, Needs
from groundwire.environments import Move, Status, attempt, moves_so_far, start_of, transitions
from groundwire.errors import ConfigError
from groundwire.trees import Candidate

__all__ = ["LookaheadActor"]

REMEMBERED = 200
"""Scores of trajectories that are kept (FLARE)."""
UNKNOWN = 0.5


class LookaheadActor:
    """Imagines trajectories, backs their values up, does the first action of the best way (FLARE, arXiv 2601.22311).

    What the world has really answered in this episode replaces what the model of it imagines (RAFA, arXiv 2309.17382),
    so that one surprise changes the next plan. Only what was observed is remembered so, never what was imagined.

    Args:
        world: foresees steps.
        value: values trajectories that are not over, where `world` says nothing; default: all the same, 0.5.
        propose: what is worth looking into; default: the world's hints.
        width: actions looked into from one place.
        depth: actions of one imagined trajectory. 1 is greedy.
        simulations: trajectories imagined for one action.
        discount: what a value is worth one action later.
        explore: how much UCB1 prefers what it knows little of.
        sees_all: True where a scene shows all that matters, so that what an action led to in one place is known for
            each place that looks the same; False: only after the same actions.

    Raises:
        ConfigError: an argument is out of range.
    """

    def __init__(
        self,
        world: WorldModel,
        *,
        value: Value | None = None,
        propose: Proposer = hinted,
        width: int = 8,
        depth: int = 3,
        simulations: int = 16,
        discount: float = 0.9,
        explore: float = 1.0,
        sees_all: bool = True,
    ) -> None:
        if min(width, depth, simulations) < 1 or not 0 < discount <= 1 or explore < 0:
            raise ConfigError(
                "LookaheadActor got an argument out of range.",
                do="width, depth and simulations are at least 1, discount above 0 and at most 1, explore at least 0.",
            )
        self.needs = Needs(episode=True)
        self._settings = _Settings(world, propose, width, depth, simulations, discount, explore, sees_all)
        self._value = value
        self._scores: OrderedDict[tuple[str, str], float] = OrderedDict()

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One action more than was done; nothing where no action is proposed.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
        """
        moves = moves_so_far(context.judged, context.failing)
        plan = _Plan(self._settings, self._score, context, moves)
        root = Node(moves[-1].scene if moves else start_of(context.task).scene)
        for _ in range(self._settings.simulations):
            if not await plan.simulate(root):
                return ()
        action = root.best()
        made = attempt(context.task, context.trial, [*(move.action for move in moves), action])
        child = (root.children or {}).get(action)
        note = f"{made.note} (value {child.mean if child else 0.0:.2f}, {root.visits} trajectories)"
        return (Candidate(made.base_digest, made.changes, ("plan.lookahead",), note),)

    async def _score(self, context: ActorContext, moves: Sequence[Move]) -> float:
        """The value of a trajectory that is not over; one that ends in a place that was valued before is not valued
        again."""
        if self._value is None:
            return UNKNOWN
        where = moves[-1].scene.text if self._settings.sees_all else repr([move.action for move in moves])
        place = (context.task.tree.digest, where)
        if place in self._scores:
            self._scores.move_to_end(place)
        else:
            self._scores[place] = await self._value(context, moves)
            if len(self._scores) > REMEMBERED:
                self._scores.popitem(last=False)
        return self._scores[place]


@dataclass(frozen=True)
class _Settings:
    world: WorldModel
    propose: Proposer
    width: int
    depth: int
    simulations: int
    discount: float
    explore: float
    sees_all: bool


class _Plan:
    """One round of planning, from one place.

    Args:
        settings: the actor's.
        score: values a trajectory that is not over.
        context: the actor's.
        moves: what was really done in this trial.
    """

    def __init__(self, settings: _Settings, score: Value, context: ActorContext, moves: Sequence[Move]) -> None:
        self._settings = settings
        self._score = score
        self._context = context
        self._moves = moves
        known = transitions(context.judged, start_of(context.task).scene)
        self._after = {(t.done, t.action): t.after for t in known}
        self._seen = {(t.before.text, t.action): t.after for t in known} if settings.sees_all else {}

    async def simulate(self, root: Node) -> bool:
        """Imagines one trajectory and backs its value up; False where there is nothing to do at the root."""
        settings = self._settings
        node, way, moves = root, [root], list(self._moves)
        for _ in range(settings.depth):
            if node.scene.status is not Status.RUNNING or not await self._actions(node, moves):
                break
            action = node.choose(settings.explore)
            node = await self._child(node, moves, action)
            moves.append(Move(action, node.scene))
            way.append(node)
        if node is root:
            return False
        value = await self._worth(node, moves)
        for distance, passed in enumerate(reversed(way)):
            passed.visits += 1
            passed.total += value * settings.discount**distance
        return True

    async def _actions(self, node: Node, moves: Sequence[Move]) -> bool:
        """True if there is something to do; proposed once for each place."""
        if node.children is None:
            proposed = await self._settings.propose(self._context, moves, self._settings.width)
            node.children = dict.fromkeys(list(proposed)[: self._settings.width])
        return bool(node.children)

    async def _child(self, node: Node, moves: Sequence[Move], action: str) -> Node:
        """What really followed, where that is known, else what is imagined."""
        children = node.children or {}
        child = children.get(action)
        if child is None:
            done = tuple(move.action for move in moves)
            real = self._after.get((done, action)) or self._seen.get((node.scene.text, action))
            said = Imagined(real) if real else await self._settings.world.imagine(self._context, moves, action)
            children[action] = child = Node(said.scene, said.value)
        return child

    async def _worth(self, node: Node, moves: Sequence[Move]) -> float:
        if node.scene.status is not Status.RUNNING:
            return ENDS[node.scene.status]
        return node.value if node.value is not None else await self._score(self._context, moves)
