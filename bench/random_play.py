"""What chance alone reaches in every built-in world: the line that whoever learns must rise above.

python bench/random_play.py [--seeds 200] [--worlds maze sokoban …]
"""

from __future__ import annotations

import argparse
import random
from collections import Counter

from groundwire.core import Status, wilson
from groundwire.tools import BUILT_IN, World, world


def one_trial(kind: World, seed: int) -> tuple[Status, int]:
    """How a trial of random actions ends, and after how many; running still, where its actions are used up."""
    chance, played = random.Random(f"random play {seed}"), kind.make()
    try:
        scene = played.reset(seed)
        for done in range(kind.actions):
            if scene.status is not Status.RUNNING or not scene.actions:
                return scene.status, done
            scene = played.act(chance.choice(scene.actions))
        return scene.status, kind.actions
    finally:
        played.close()


def line(kind: World, seeds: int) -> str:
    """A world's row of the table."""
    trials = [one_trial(kind, seed) for seed in range(seeds)]
    ends = Counter(status for status, _ in trials)
    low, high = wilson(ends[Status.WON], seeds)
    won = f"{ends[Status.WON] / seeds:.3f} ({low:.3f} to {high:.3f})"
    actions = sum(done for _, done in trials) / seeds
    return f"| {kind.name} | {won} | {ends[Status.LOST] / seeds:.3f} | {actions:.1f} of {kind.actions} |"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--worlds", nargs="*", default=list(BUILT_IN))
    asked = parser.parse_args()
    print("| world | won, one trial | lost | actions |\n|---|---|---|---|")
    for name in asked.worlds:
        print(line(world(name), asked.seeds), flush=True)


if __name__ == "__main__":
    main()
