"""Looking ahead: a tree of what might come, and an actor that does one thing and plans anew."""

from __future__ import annotations

import math
import random
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from groundwire.agents.worlds._foresight import Imagined, Proposer, ValuesPlaces, WorldModel, hinted, scene_after
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, ModelCaller
from groundwire.core._environments import (
    Move,
    Transition,
    actions_in,
    attempt,
    moves_so_far,
    start_of,
    transitions,
)
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._scene import Scene, Status
from groundwire.core._signals import Verdict
from groundwire.core._traits import ActorTraits, Needs

# The tree of what might come: each way down is one imagined trajectory, and its value is backed up to the root.


@dataclass
class TreeNode:
    """A place.

    Args:
        scene: what is seen there, or thought to be.
        value: what the model of the world says that it is worth; None where it says nothing.
        visits: trajectories that came through.
        total: the sum of their values.
        children: by action, in the order in which the actions were proposed; None before they were.
    """

    scene: Scene
    value: float | None = None
    visits: int = 0
    total: float = 0.0
    children: dict[str, TreeNode | None] | None = field(default=None)

    @property
    def mean(self) -> float:
        """The mean value of the trajectories that came through; 0 where none did."""
        return self.total / self.visits if self.visits else 0.0

    def choose(self, explore: float) -> str:
        """The action to look into next: one that was never looked into, in order, else by UCB1 (Auer et al. 2002)."""
        actions = self.children or {}
        for action, child in actions.items():
            if child is None or not child.visits:
                return action
        return max(actions, key=lambda action: self._ucb(actions[action], explore))

    def _ucb(self, child: TreeNode | None, explore: float) -> float:
        if child is None or not child.visits:
            return math.inf
        return child.mean + explore * math.sqrt(math.log(self.visits) / child.visits)

    def best(self) -> str:
        """The action with the best mean value, the first where several are equal; empty where nothing is known."""
        known: Mapping[str, float] = {a: child.mean for a, child in (self.children or {}).items() if child is not None}
        return max(known, key=lambda action: known[action]) if known else ""


# What a place in an imagined world is worth, where the model of it does not say.

ENDS = {Status.WON: 1.0, Status.LOST: 0.0, Status.ENDED: 0.0}
"""What is over needs no estimate."""
MANY = 64


class Value(Protocol):
    """Estimates the value of a trajectory that has not ended."""

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


# An actor that looks ahead, does one thing, and plans anew from what has really happened.

REMEMBERED = 200
"""Scores of trajectories that are kept (FLARE)."""
UNKNOWN = 0.5


class LookaheadActor:
    """Imagines trajectories, backs their values up, does the first action of the best way (FLARE, arXiv 2601.22311).

    What the world has really answered in this episode replaces what the model of it imagines (RAFA, arXiv 2309.17382),
    so that one surprise changes the next plan. Only what was observed is remembered so, never what was imagined. What
    was seen is valued as what is imagined is; and each trial that was lost counts as one more trajectory that came
    through there, worth nothing, so that a way that was lost looks worse than before.

    Args:
        world: foresees steps.
        value: values trajectories that are not over, where `world` says nothing; default: the world, where it can
            (`ValuesPlaces`), else all the same, 0.5.
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
        self.traits = ActorTraits(needs=Needs(episode=True), revision=3)
        self._settings = _Settings(world, propose, width, depth, simulations, discount, explore, sees_all)
        self._value = value
        self._world = world if isinstance(world, ValuesPlaces) else None
        self._scores: OrderedDict[tuple[str, ...], float] = OrderedDict()

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. One action more than was done; nothing where no action is proposed.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
        """
        moves = moves_so_far(context.judged, context.failing)
        plan = _Plan(self._settings, partial(self._score, {}), context, moves)
        root = TreeNode(moves[-1].scene if moves else start_of(context.task).scene)
        for _ in range(self._settings.simulations):
            if not await plan.simulate(root):
                return ()
        action = root.best()
        made = attempt(context.task, context.trial, [*(move.action for move in moves), action])
        child = (root.children or {}).get(action)
        note = f"{made.note} (value {child.mean if child else 0.0:.2f}, {root.visits} trajectories)"
        return (Candidate(made.base_digest, made.changes, ("plan.lookahead",), note),)

    async def _score(self, of_plan: dict[str, float], context: ActorContext, moves: Sequence[Move]) -> float:
        """The value of a trajectory that is not over; one that ends in a place that was valued before is not valued
        again, unless there are other lessons by now. What a model said counts for one plan: the next one asks again, so
        that what is asked follows from the ledger alone, and a replay asks the same."""
        if self._value is None and self._world is None:
            return UNKNOWN
        where = place_of(moves, context, sees_all=self._settings.sees_all)
        if where in of_plan:
            return of_plan[where]
        place = (context.task.tree.digest, where, *(lesson.id for lesson in context.lessons))
        if place in self._scores:
            self._scores.move_to_end(place)
            return self._scores[place]
        caller = _Caller(context.call)
        of_plan[where] = value = await self._asked(replace(context, call=caller), moves)
        if not caller.called:
            self._scores[place] = value
            if len(self._scores) > REMEMBERED:
                self._scores.popitem(last=False)
        return value

    async def _asked(self, context: ActorContext, moves: Sequence[Move]) -> float:
        if self._value is not None:
            return await self._value(context, moves)
        said = await self._world.value(context, moves) if self._world else None
        return UNKNOWN if said is None else said


class _Caller:
    """Calls models, and knows whether it was asked to."""

    def __init__(self, call: ModelCaller) -> None:
        self.called = False
        self._call = call

    async def __call__(self, backend: Backend, request: Request) -> Completion:
        self.called = True
        return await self._call(backend, request)


def place_of(moves: Sequence[Move], context: ActorContext, *, sees_all: bool) -> str:
    """What tells a place from others: what is seen there, or, where a scene does not show all, what led there."""
    return scene_after(context, moves).text if sees_all else repr([move.action for move in moves])


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
        self._lost = self._lost_ways(known)
        """How many lost trials came through: to a place, by an action done in it."""

    def _lost_ways(self, known: Sequence[Transition]) -> Counter[tuple[str, str]]:
        lost: Counter[tuple[str, str]] = Counter()
        scenes = {(*t.done, t.action): t.after for t in known}
        for judged in self._context.judged:
            if judged.signal.verdict is not Verdict.FAIL:
                continue
            moves: list[Move] = []
            for action in actions_in(judged.candidate):
                lost[self._place(moves), action] += 1
                scene = scenes.get((*(move.action for move in moves), action))
                if scene is None:
                    break
                moves.append(Move(action, scene))
                lost[self._place(moves), ""] += 1
        return lost

    def _place(self, moves: Sequence[Move]) -> str:
        return place_of(moves, self._context, sees_all=self._settings.sees_all)

    async def simulate(self, root: TreeNode) -> bool:
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

    async def _actions(self, node: TreeNode, moves: Sequence[Move]) -> bool:
        """True if there is something to do; proposed once for each place."""
        if node.children is None:
            proposed = await self._settings.propose(self._context, moves, self._settings.width)
            node.children = dict.fromkeys(list(proposed)[: self._settings.width])
        return bool(node.children)

    async def _child(self, node: TreeNode, moves: Sequence[Move], action: str) -> TreeNode:
        """What really followed, where that is known, else what is imagined."""
        children = node.children or {}
        child = children.get(action)
        if child is None:
            done = tuple(move.action for move in moves)
            real = self._after.get((done, action)) or self._seen.get((node.scene.text, action))
            said = Imagined(real) if real else await self._settings.world.imagine(self._context, moves, action)
            lost = self._lost[self._place(moves), action]
            children[action] = child = TreeNode(said.scene, said.value, visits=lost)
            node.visits += lost
        return child

    async def _worth(self, node: TreeNode, moves: Sequence[Move]) -> float:
        if node.scene.status is not Status.RUNNING:
            return ENDS[node.scene.status]
        value = node.value if node.value is not None else await self._score(self._context, moves)
        # one word for it, and as many against as there were trials that came here and were lost
        return value / (1 + self._lost[self._place(moves), ""])
