"""Does looking ahead leave traps that a short-sighted score walks into? Greedy, beam search, lookahead on random trees.

    .venv/bin/python bench/bench_traps.py [--seeds 200] [--json]

Worlds of our own, drawn by seed: a tree with 4 ways from each place and one way to the goal, 5 steps long. All other
ways are dead ends after 1 to 3 further steps. A place shows a brightness: of places on the way to the goal uniform in
0 to 0.6, of others in 0.3 to 1. Brightness is the local score that every method is given; so it misleads on purpose,
and how often is known: it is the setting of FLARE (arXiv 2601.22311), not its data. One trial a world, through the
graphs `plan_ahead` and `step_beam`, so that only the world's word counts. Intervals are Wilson's, 95 %.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from groundwire import Budget, Candidate, Observation, Origin, Task, Verdict
from groundwire.agents import Imagined, LookaheadActor, Rollouts, Simulator, StepBeamActor, Value
from groundwire.core import (
    ActorContext,
    CaseOutcome,
    CaseResult,
    Evidence,
    Judged,
    Move,
    Scene,
    Status,
    ToolContext,
    actions_in,
    attempt,
    environment_task,
    start_of,
    wilson,
)
from groundwire.graphs import plan_ahead, step_beam

WAYS = 4
GOAL_AT = 5
DEAD_AFTER = 3
FAMILY = "traps"


@dataclass
class Tree:
    """One world: a place is the way that leads to it."""

    goal: tuple[str, ...] = ()
    way: tuple[str, ...] = ()
    seed: int = 0

    def reset(self, seed: int) -> Scene:
        chance = random.Random(f"goal {seed}")
        self.seed, self.way = seed, ()
        self.goal = tuple(chance.choice(self._ways()) for _ in range(GOAL_AT))
        return self._scene()

    def act(self, action: str) -> Scene:
        self.way = (*self.way, action)
        return self._scene()

    def close(self) -> None: ...

    def _ways(self) -> tuple[str, ...]:
        return tuple(f"way {n}" for n in range(WAYS))

    def _scene(self) -> Scene:
        chance = random.Random(f"{self.seed} {self.way}")
        right = self.goal[: len(self.way)] == self.way
        light = chance.uniform(0, 0.6) if right else chance.uniform(0.3, 1)
        text = f"{light:.3f} at {' '.join(self.way) or 'the start'}"
        if self.way == self.goal:
            return Scene(text, Status.WON)
        return Scene(text, Status.RUNNING if right or self._is_open() else Status.LOST, self._ways())

    def _is_open(self) -> bool:
        """A wrong turn goes on for a while, the longer the later it ends."""
        wrong = next(n for n in range(len(self.way)) if self.way[n] != self.goal[n])
        ends = random.Random(f"{self.seed} dead {self.way[: wrong + 1]}").randint(0, DEAD_AFTER - 1)
        return len(self.way) <= wrong + ends


def brightness(scene: Scene) -> float:
    """What a place shows."""
    return float(scene.text.split()[0])


async def local_score(context: ActorContext, moves: Sequence[Move]) -> float:
    """The short-sighted value of a trajectory: how bright its end is."""
    return brightness(moves[-1].scene)


class Counted:
    """A copy of the world that counts how many steps are imagined in it."""

    def __init__(self) -> None:
        self.steps = 0
        self._world = Simulator(Tree)

    async def imagine(self, context: ActorContext, moves: Sequence[Move], action: str) -> Imagined:
        self.steps += 1
        return await self._world.imagine(context, moves, action)


class Walked:
    """Judges a way in the tree: a PASS at the goal, else a FAIL, whose scene says what is seen there."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        scene = walk(task, actions_in(candidate))
        won = scene.status is Status.WON
        case = CaseOutcome(id="won", result=CaseResult.PASSED if won else CaseResult.FAILED)
        evidence = Evidence(cases=(case,), stdout=scene.text, detail=str(scene.status))
        return Observation(verdict=Verdict.PASS if won else Verdict.FAIL, origin=Origin.ENVIRONMENT, evidence=evidence)


def walk(task: Task, actions: Sequence[str]) -> Scene:
    """What is seen at the end of a way."""
    world = Tree()
    scene = world.reset(start_of(task).seed)
    for action in actions:
        scene = world.act(action)
    return scene


async def next_ways(context: ActorContext, beam: Judged | None, n: int) -> Sequence[Candidate]:
    """All ways on from a beginning that is not a dead end."""
    done = actions_in(beam.candidate) if beam else ()
    if beam is not None and beam.signal.evidence.detail == Status.LOST:
        return ()
    return [attempt(context.task, 1, [*done, f"way {n}"]) for n in range(WAYS)]


def shown_light(judged: Judged) -> float:
    """The local score of a beginning."""
    return float(judged.signal.evidence.stdout.split()[0])


async def beam(task: Task, beams: int) -> tuple[bool, float]:
    """True if beam search on the local score wins; and how many ways were judged for each step."""
    actor = StepBeamActor(next_ways, beams=beams, samples=WAYS, value=shown_light)
    result = await step_beam(actor, Walked(), depth=GOAL_AT + DEAD_AFTER).compile().arun(task)
    return result.verdict is Verdict.PASS, result.candidates / max(1, result.trials)


async def ahead(task: Task, *, depth: int, simulations: int, value: Callable[[Counted], Value]) -> tuple[bool, float]:
    """True if lookahead wins; and how many steps were imagined for each real one."""
    copy = Counted()
    actor = LookaheadActor(copy, value=value(copy), depth=depth, simulations=simulations)
    result = await plan_ahead(actor, Tree).compile(budget=Budget(trials=1)).arun(task)
    return result.verdict is Verdict.PASS, copy.steps / max(1, result.candidates)


Method = Callable[[Task], Awaitable[tuple[bool, float]]]
METHODS: dict[str, Method] = {
    "greedy (depth 1)": lambda task: ahead(task, depth=1, simulations=WAYS, value=lambda _: local_score),
    "beam, 1": lambda task: beam(task, 1),
    "beam, 4": lambda task: beam(task, 4),
    "lookahead, H 3, S 16": lambda task: ahead(task, depth=3, simulations=16, value=lambda _: local_score),
    "lookahead, H 3, S 64": lambda task: ahead(task, depth=3, simulations=64, value=lambda _: local_score),
    "lookahead, H 3, S 16, 8 roll-outs": lambda task: ahead(
        task, depth=3, simulations=16, value=lambda copy: Rollouts(copy, count=8, depth=GOAL_AT)
    ),
}


async def measured(seeds: int) -> list[dict[str, float | str]]:
    """One row for each method, on the same worlds."""
    tasks = [environment_task(Tree(), id=f"tree-{seed}", seed=seed, family=FAMILY) for seed in range(seeds)]
    rows: list[dict[str, float | str]] = []
    for name, method in METHODS.items():
        ends = [await method(task) for task in tasks]
        won = sum(passed for passed, _ in ends)
        low, high = wilson(won, seeds)
        cost = sum(steps for _, steps in ends) / seeds
        rows.append({"method": name, "won": won, "n": seeds, "low": low, "high": high, "steps_for_one": cost})
    return rows


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = asyncio.run(measured(asked.seeds))
    if asked.json:
        print(json.dumps(rows))
        return
    print("| method | won | 95 % | imagined or judged for one step |\n|---|---|---|---|")
    for row in rows:
        won, n, low, high = (float(row[key]) for key in ("won", "n", "low", "high"))
        print(f"| {row['method']} | {won / n:.1%} | {low:.1%}–{high:.1%} | {float(row['steps_for_one']):.1f} |")


if __name__ == "__main__":
    main()
