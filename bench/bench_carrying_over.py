"""Memory across tasks: trials to success on seeds that nobody has seen, after k episodes of their world.

    bench/bench_carrying_over.py [--world NAME …] [--after 0 10 30] [--histories N] [--unseen N] [--first-seed N]

Each history teaches a fresh ledger with seeds of its own. After k episodes the ledger is copied, and each unseen seed
is played on a copy, so that unseen seeds teach each other nothing and are the same ones for every k. Intervals are over
histories, so that the luck of what was taught is in them. A seed that was not won counts as one trial more
than it had. A JSON line a world.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any

import numpy as np

from groundwire import Budget, Verdict
from groundwire.agents.worlds import learner_named
from groundwire.evaluation import Floats, paired_interval, sign_test
from groundwire.graphs import Rules, episodic
from groundwire.memory import SqlStore
from groundwire.tools import world


async def taken(file: Path, name: str, model: str, seed: int, trials: int) -> int:
    """Trials that one episode took to be won, on this ledger."""
    kind, learner = world(name), learner_named(model)
    graph = episodic(learner.actor, learner.critic, kind.make, actions=kind.actions, repeats=kind.repeats or None)
    budget = Budget(trials=trials, steps=kind.actions + 1)
    async with aclosing(SqlStore(f"sqlite:///{file}")) as store:
        app = graph.compile(store=store, budget=budget, rules=Rules(repeats=None))
        result = await app.arun(kind.task(seed), seed=seed)
    return result.trials if result.verdict is Verdict.PASS else trials + 1


def copied(file: Path, to: Path) -> Path:
    """A ledger as it is now."""
    to.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(to)) as copy:
        source.backup(copy)
    return to


async def history(folder: Path, asked: argparse.Namespace, name: str, number: int) -> Mapping[int, Sequence[int]]:
    """One history: by k, the trials that each unseen seed took."""
    begin = asked.first_seed + number * (max(asked.after) + asked.unseen)
    unseen = range(begin, begin + asked.unseen)
    ledger, found = folder / f"{number}.db", dict[int, list[int]]()
    for k in range(max(asked.after) + 1):
        if k in asked.after:
            found[k] = [
                await taken(copied(ledger, folder / "copy.db"), name, asked.model, seed, asked.trials)
                for seed in unseen
            ]
        if k < max(asked.after):
            await taken(ledger, name, asked.model, begin + asked.unseen + k, asked.trials)
    return found


def told(name: str, asked: argparse.Namespace, found: Sequence[Mapping[int, Sequence[int]]]) -> Mapping[str, Any]:
    """A world's figures."""
    means = {k: np.array([np.mean(one[k]) for one in found], dtype=np.float64) for k in asked.after}
    least = means[min(asked.after)]
    rows: list[Mapping[str, Any]] = []
    for k in asked.after:
        every = [trials for one in found for trials in one[k]]
        gap: Floats = (means[k] - least).astype(np.float64)
        better, worse = int((gap < 0).sum()), int((gap > 0).sum())
        rows.append(
            {
                "after": k,
                "trials_to_success": round(float(means[k].mean()), 3),
                "interval": paired_interval(means[k], least=1.0, most=asked.trials + 1.0),
                "won": sum(trials <= asked.trials for trials in every),
                "won_at_once": sum(trials == 1 for trials in every),
                "of": len(every),
                "difference": round(float(gap.mean()), 3),
                "difference_interval": paired_interval(gap, least=-float(asked.trials), most=float(asked.trials)),
                "histories_better_worse": [better, worse],
                "p": sign_test(better, worse),
            }
        )
    return {"world": name, "model": asked.model, "trials": asked.trials, "histories": len(found), "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--world", action="append", help="default: sokoban, crafting")
    parser.add_argument("--after", type=int, nargs="+", default=[0, 10, 30])
    parser.add_argument("--histories", type=int, default=10)
    parser.add_argument("--unseen", type=int, default=6, help="seeds of each history")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=20_000)
    parser.add_argument("--model", default="tabular")
    asked = parser.parse_args()
    machine = {"python": platform.python_version(), "load": round(os.getloadavg()[0], 1)}
    for name in asked.world or ["sokoban", "crafting"]:
        with tempfile.TemporaryDirectory() as folder:
            found = [asyncio.run(history(Path(folder), asked, name, number)) for number in range(asked.histories)]
        print(json.dumps({**told(name, asked, found), **machine}), flush=True)


if __name__ == "__main__":
    main()
