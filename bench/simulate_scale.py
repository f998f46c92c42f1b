"""Episodes a day, dollars and the bottleneck for N GPUs and M cores, before they are rented: a simulation.

    bench/simulate_scale.py [--run LEDGER#RUN | --shape 3x256/0.05] [--gpus 1 2 4 8] [--cores 16] [--at-once 512]
        [--own-ms 25] [--workers 1] [--usd-per-gpu-hour 3] [--usd-per-core-hour 0.05] [--json]
    bench/simulate_scale.py --check          against what was measured
    bench/simulate_scale.py --plot FILE.svg

The work is drawn from what a real run did (`--run`: each of its episodes, with the lengths of its answers and the
seconds of its judgings, in their order), or is all of one shape (trials x tokens of an answer / seconds of a judging).
Four kinds of queues stand between an episode and its end:

* engines, a GPU each: with b answers at once each gets throughput(b) / b tokens a second, where throughput is the
  curve A·b/(b + h) through two measured points, one answer alone and all slots full (`--alone`, `--full`, `--slots`:
  7B's shape on an H200, RESULTS.md). An episode stays with the engine that had least to do when it began.
* cores for judging (`--cores`, less one a worker); a judging takes one for as long as it took (`--idle`: none).
* workers: what the loop itself takes of a core (`--own-ms` an episode, by `bench_scale.py`), shared out over its steps.
* the episodes that are let begin (`--at-once`).

What is busiest is the bottleneck; where nothing is busy for four fifths of the time it is the episodes at once. Not
simulated: the network, a ledger's disk, faults, and prompts apart from what they do to the two measured points.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import re
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import simpy

from groundwire import Budget
from groundwire.core import Completion, ModelCall, Request, Signal
from groundwire.core._text import plural
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.models import ScriptedBackend

sys.path.insert(0, str(Path(__file__).parent / "gpu"))

episodes: Any = import_module("episodes")  # of `bench/gpu`

CHUNK = 64
"""Tokens after which an engine's speed is looked at again."""
WAVES = 5
"""Episodes that are played for each that is in flight at once."""
ENDS = 0.2
"""Of the episodes, at the beginning and at the end, that are not counted in a rate."""
BUSY = 0.8
DAY_S = 86_400

Events = Generator[simpy.Event, Any, None]


@dataclass(frozen=True)
class Step:
    """One thing that an episode waits for.

    Args:
        tokens: of an answer; 0: it is a judging.
        seconds: of a judging.
    """

    tokens: int = 0
    seconds: float = 0.0


Episode = Sequence[Step]


@dataclass(frozen=True)
class Cluster:
    """What there is, and how fast it is.

    Args:
        gpus: engines.
        cores: for judging and for the workers.
        workers: processes of ours, a core each.
        at_once: episodes in flight.
        slots: answers that an engine generates at once.
        alone: tokens a second of one answer alone.
        full: tokens a second of all slots together.
        own_ms: milliseconds of a core that the loop takes an episode.
        idle: True: a judging waits and takes no core, as `asyncio.sleep` does.
    """

    gpus: int = 1
    cores: int = 16
    workers: int = 1
    at_once: int = 512
    slots: int = 256
    alone: float = 195.0
    full: float = 7_350.0
    own_ms: float = 25.0
    idle: bool = False

    def throughput(self, running: int) -> float:
        """Tokens a second of one engine with so many answers at once."""
        if self.full >= self.slots * self.alone:  # all slots are as fast each as one alone
            return running * self.alone
        # A·b/(b + h) through (1, alone) and (slots, full)
        half = (self.full - self.alone) * self.slots / (self.slots * self.alone - self.full)
        return self.alone * (1 + half) * running / (running + half)


@dataclass(frozen=True)
class Prediction:
    """What a simulation came to.

    Args:
        episodes_a_day: in the long run.
        seconds: until all of the batch had ended.
        tokens_a_second: of all engines, over the whole batch.
        busy: of engines, cores and workers, the share of what they can do.
        bottleneck: the busiest of them, or `episodes at once`.
    """

    episodes_a_day: float
    seconds: float
    tokens_a_second: float
    busy: dict[str, float]
    bottleneck: str


class _Engine:
    def __init__(self, env: simpy.Environment, cluster: Cluster) -> None:
        self.env, self.cluster = env, cluster
        self.slots: Any = simpy.Resource(env, cluster.slots)
        self.episodes = 0
        self.tokens = 0

    def answer(self, tokens: int) -> Events:
        with self.slots.request() as slot:
            yield slot
            for done in range(0, tokens, CHUNK):
                piece = min(CHUNK, tokens - done)
                running = self.slots.count
                yield self.env.timeout(piece * running / self.cluster.throughput(running))
                self.tokens += piece


class _Busy:
    """A pool of things that one job each may have, and for how long they had one."""

    def __init__(self, env: simpy.Environment, size: int) -> None:
        self.env, self.size = env, max(size, 1)
        self.pool: Any = simpy.Resource(env, self.size)
        self.seconds = 0.0

    def work(self, seconds: float) -> Events:
        with self.pool.request() as mine:
            yield mine
            yield self.env.timeout(seconds)
            self.seconds += seconds


def drawn(work: Sequence[Episode], cluster: Cluster, seed: int = 0) -> list[Episode]:
    """Episodes like those of `work`, some for each that is in flight; the first ones are caught half-way, since else
    all would wait for the same thing at the same time for long."""
    choose = random.Random(seed)
    found = choose.choices(work, k=WAVES * cluster.at_once)
    for number in range(cluster.at_once):
        steps = found[number]
        first, *rest = steps[choose.randrange(len(steps)) :]
        share = choose.random()
        found[number] = [Step(math.ceil(first.tokens * share), first.seconds * share), *rest]
    return found


def simulate(work: Sequence[Episode], cluster: Cluster) -> Prediction:
    """Plays episodes, which begin in their order."""
    env = simpy.Environment()
    engines = [_Engine(env, cluster) for _ in range(cluster.gpus)]
    cores = _Busy(env, cluster.cores - cluster.workers)
    workers = _Busy(env, cluster.workers)
    ends: list[float] = []

    def episode(steps: Episode, begins: Any) -> Events:
        with begins.request() as begun:
            yield begun
            engine = min(engines, key=lambda one: one.episodes)
            engine.episodes += 1
            for step in steps:
                yield from workers.work(cluster.own_ms / 1e3 / len(steps))
                if step.tokens:
                    yield from engine.answer(step.tokens)
                elif cluster.idle:
                    yield env.timeout(step.seconds)
                else:
                    yield from cores.work(step.seconds)
            engine.episodes -= 1
            ends.append(env.now)

    begins = simpy.Resource(env, cluster.at_once)
    for steps in work:
        env.process(episode(steps, begins))
    env.run()
    whole = env.now
    # the middle: neither the rush at the start nor the tail at the end
    first, last = int(len(ends) * ENDS), max(int(len(ends) * (1 - ENDS)), 1)
    span = ends[last - 1] - ends[first] if last - 1 > first else whole
    rate = (last - 1 - first) / span if span > 0 else len(ends) / whole
    tokens = sum(engine.tokens for engine in engines)
    busy = {
        "engines": tokens / whole / (cluster.gpus * cluster.throughput(cluster.slots)),
        "cores": cores.seconds / whole / cores.size,
        "workers": workers.seconds / whole / workers.size,
    }
    busiest = max(busy, key=lambda name: busy[name])
    return Prediction(
        rate * DAY_S, whole, tokens / whole, busy, busiest if busy[busiest] >= BUSY else "episodes at once"
    )


# --- the work


async def work_of(url: str, run_id: str) -> list[Episode]:
    """What each episode of a recorded run waited for, in its order."""
    found: list[Episode] = []
    async with aclosing(SqlStore(url)) as store:
        (run,) = await store.runs(prefix=run_id, limit=1)
        for episode in await store.episodes(run.id):
            steps: list[Step] = []
            for record in await store.records(episode.id):
                if isinstance(record, ModelCall) and record.completion and not record.reused:
                    steps.append(Step(tokens=max(record.completion_tokens, 1)))
                elif isinstance(record, Signal) and record.duration_s:
                    steps.append(Step(seconds=record.duration_s))
            if steps:
                found.append(steps)
    if not found:
        raise SystemExit(f"run {run_id} has no episodes with calls or judgings")
    return found


def shaped(text: str) -> list[Episode]:
    """Work that is all alike: `3x256/0.05` is three trials of 256 tokens, judged in 0.05 s each."""
    trials, _, rest = text.partition("x")
    tokens, _, seconds = rest.partition("/")
    return [[Step(tokens=int(tokens)), Step(seconds=float(seconds))] * int(trials)]


# --- held against what was measured


def check() -> list[dict[str, Any]]:
    """Each measured point, beside what the simulation says of it."""
    # RESULTS.md, "vLLM on a GPU": 512 episodes of 3 trials; client CPU 43 to 48 s in all, judged by waiting
    on_gpu = simulate(shaped("3x256/0.05") * 512, Cluster(own_ms=45e3 / 512, idle=True))
    measured, own_ms, work = asyncio.run(_measured_here())
    here = Cluster(
        cores=2, at_once=HERE_AT_ONCE, slots=64, alone=HERE_RATE, full=64 * HERE_RATE, own_ms=own_ms, idle=True
    )
    return [
        {
            "point": "512 episodes on one H200, output tokens a second",
            "measured": [6_594, 6_699, 6_745, 6_994],
            "predicted": on_gpu.tokens_a_second,
            "bottleneck": on_gpu.bottleneck,
        },
        {
            "point": f"{len(work)} episodes of unequal length, {HERE_AT_ONCE} at once, on this machine: seconds",
            "measured": [measured],
            "predicted": simulate(work, here).seconds,
            "bottleneck": "episodes at once",
        },
    ]


HERE_RATE = 1_000.0
HERE_AT_ONCE = 6
_VARIANT = re.compile(r"\(variant (\d+)\)")


class _Slow(ScriptedBackend):
    """Takes as long for each answer as its task's length says."""

    lengths: Sequence[int] = ()

    async def complete(self, request: Request) -> Completion:
        """See `Backend`."""
        found = _VARIANT.search(" ".join(message.content for message in request.messages))
        assert found is not None
        await asyncio.sleep(self.lengths[int(found[1])] / HERE_RATE)
        return await super().complete(request)


async def _measured_here() -> tuple[float, float, list[Episode]]:
    """Wall seconds of a real batch with answers of unequal length, the milliseconds of CPU an episode, and its work."""
    lengths = random.Random(7).choices((1_000, 2_000, 4_000, 8_000), k=24)
    backend = _Slow(lambda _request: f"answer {random.random()}")
    backend.lengths = lengths
    app = episodes.graph(backend, 256).compile(store=InMemoryStore(), budget=Budget(trials=episodes.TRIALS))
    tasks = episodes.tasks(len(lengths), Path(__file__).parents[1] / "src" / "groundwire")
    begun, used = time.perf_counter(), time.process_time()
    results = await app.abatch(tasks, at_once=HERE_AT_ONCE)
    if any(result.trials != episodes.TRIALS for result in results):
        raise SystemExit("an episode ended otherwise")
    took, spent = time.perf_counter() - begun, time.process_time() - used
    work: list[Episode] = [
        [Step(tokens=length), Step(seconds=episodes.JUDGING_S)] * episodes.TRIALS for length in lengths
    ]
    return took, spent * 1e3 / len(lengths), work


# --- what it prints


def _plot(work: Sequence[Episode], cluster: Cluster, path: Path) -> None:
    """Episodes a day by the number of GPUs, for a few numbers of cores."""
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "groundwire", "font.size": 9})
    figure: Any = Figure(figsize=(6.4, 3.2), layout="constrained")
    axes = figure.subplots()
    gpus = (1, 2, 4, 8)
    for cores, workers in ((16, 1), (16, 4), (64, 16)):
        rates: list[float] = []
        for count in gpus:
            of = replace(cluster, gpus=count, cores=cores, workers=workers, at_once=cluster.slots * count * 3 // 2)
            rates.append(simulate(drawn(work, of), of).episodes_a_day / 1e6)
        axes.plot(gpus, rates, marker="o", markersize=3, label=f"{cores} cores, {plural(workers, 'worker')}")
    axes.axhline(1 / 7, color="#888888", linewidth=0.8, linestyle=":", label="a million a week")
    axes.set(xscale="log", yscale="log", xlabel="GPUs", ylabel="million episodes a day (predicted)")
    axes.set_xticks(gpus, [str(count) for count in gpus])
    axes.minorticks_off()
    axes.legend(frameon=False)
    figure.savefig(path, format="svg", metadata={"Date": None})


def main() -> None:
    """Prints a line for each number of GPUs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--run", metavar="LEDGER#RUN")
    which.add_argument("--shape", default="3x256/0.5")
    which.add_argument("--check", action="store_true")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2, 4, 8])
    for name, kind in (("cores", int), ("workers", int), ("slots", int), ("alone", float), ("full", float)):
        parser.add_argument(f"--{name}", type=kind, default=getattr(Cluster, name))
    parser.add_argument("--own-ms", type=float, default=Cluster.own_ms)
    parser.add_argument("--at-once", type=int, help="default: the slots of all engines, and half as many again")
    parser.add_argument("--idle", action="store_true")
    parser.add_argument("--usd-per-gpu-hour", type=float, default=3.0)
    parser.add_argument("--usd-per-core-hour", type=float, default=0.05)
    parser.add_argument("--plot", type=Path, metavar="FILE.svg")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    if asked.check:
        for point in check():
            print(json.dumps(point))
        return
    if asked.run:
        url, _, run_id = asked.run.rpartition("#")
        work = asyncio.run(work_of(url, run_id))
    else:
        work = shaped(asked.shape)
    cluster = Cluster(
        cores=asked.cores, workers=asked.workers, slots=asked.slots, alone=asked.alone, full=asked.full,
        own_ms=asked.own_ms, idle=asked.idle,
    )  # fmt: skip
    if asked.plot:
        _plot(work, cluster, asked.plot)
        return
    for gpus in asked.gpus:
        of = replace(cluster, gpus=gpus, at_once=asked.at_once or cluster.slots * gpus * 3 // 2)
        told = simulate(drawn(work, of), of)
        usd = (gpus * asked.usd_per_gpu_hour + of.cores * asked.usd_per_core_hour) * 24 / told.episodes_a_day * 1e6
        if asked.json:
            print(json.dumps({"gpus": gpus, "cores": of.cores, "usd_per_million": usd, **asdict(told)}))
            continue
        busy = "  ".join(f"{name} {share:.0%}" for name, share in told.busy.items())
        print(
            f"{plural(gpus, 'GPU')}, {plural(of.cores, 'core')}: {told.episodes_a_day:,.0f} episodes a day,"
            f" ${usd:,.0f} a million; bottleneck: {told.bottleneck} ({busy})"
        )


if __name__ == "__main__":
    main()
