"""What the loop itself costs beside bare LangGraph, in one run; model, verifier and environment answer at once.

    .venv/bin/python bench/bench_overhead.py [--rounds 7] [--only episode,flight,step,where,growth]

`episode`  three attempts: bare LangGraph's ten supersteps without a checkpointer against ours, gate, seal and ledger
           included, in memory and with the ledger in an SQLite file; there also with calls that cost something, which
           wait until their intents are committed. CPU.
`flight`   episodes a second, 32 in flight, by the clock and by CPU, the same.
`step`     one step of a long episode without persistence (CPU), and with the default durability (wall): the ledger in
           an SQLite file, against a bare step.
`where`    what of our episode's CPU is spent in which part, by cProfile: shares, since it slows small functions most.
`growth`   bytes a step in a checkpoint file at 100 and at 1,000 steps of 1 KB, and the memory they take with and
           without a checkpointer.

Rounds of the three alternate, and each ratio is the median over rounds, so that a busy machine hits all alike.

    python run_all.py --venvs DIR --ours ".venv/bin/python bench/bench_overhead.py --peer memory"

`--peer memory|file` prints one JSON line as the peers' scripts beside this repository do (`../shared/bench-peers`).
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from overhead_parts import TASK, TRIALS, Paid, bare, bare_steps, ours, walk

from groundwire import Budget, FeedbackApp
from groundwire.core import StopReason
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.models import ScriptedBackend

Episode = Callable[[], Awaitable[Any]]
Ledger = Literal["memory", "file", "paid"]
KINDS: Mapping[Ledger, str] = {
    "memory": "ledger in memory",
    "file": "ledger in a file",
    "paid": "ledger in a file, calls that cost something",
}
EPISODES = 40
IN_FLIGHT = 32
STEPS = 200
FEW, MANY = 100, 1000
PARTS = ("episode", "flight", "step", "where", "growth")


@dataclass(frozen=True)
class Cost:
    """Of one unit of work.

    Args:
        cpu_ms: processor time of this process.
        wall_ms: by the clock.
    """

    cpu_ms: float
    wall_ms: float


@asynccontextmanager
async def grounded(ledger: Ledger, folder: Path) -> AsyncGenerator[Episode]:
    """Our episode of three attempts."""
    store = InMemoryStore() if ledger == "memory" else SqlStore(f"sqlite:///{folder}/{time.monotonic_ns()}.db")
    app = ours(Paid if ledger == "paid" else ScriptedBackend).compile(store=store)
    run_id = await app.start_run()

    async def episode() -> None:
        result = await app.arun(TASK, run_id=run_id)
        assert (result.stop_reason, result.trials) == (StopReason.VERIFIED, TRIALS), result

    try:
        yield episode
    finally:
        await store.aclose()


async def timed(work: Callable[[], Awaitable[Any]], units: int) -> Cost:
    """What `work` costs a unit."""
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return Cost((time.process_time() - cpu) * 1e3 / units, (time.perf_counter() - wall) * 1e3 / units)


def repeated(episode: Episode, times: int, at_once: int = 1) -> Callable[[], Awaitable[None]]:
    """The same episode several times, some of them in flight at once."""

    async def work() -> None:
        left = iter(range(times))

        async def worker() -> None:
            for _ in left:
                await episode()

        await asyncio.gather(*(worker() for _ in range(at_once)))

    return work


async def alternate(works: Sequence[Callable[[], Awaitable[Any]]], units: int, rounds: int) -> list[list[Cost]]:
    """Costs of each, by round, after one round that counts for nothing."""
    for work in works:
        await work()
    found = [[await timed(work, units) for work in works] for _ in range(rounds)]
    return [list(costs) for costs in zip(*found, strict=True)]


def against(ours_: Sequence[float], reference: Sequence[float]) -> str:
    """The median of the rounds' ratios, with the least and the most."""
    ratios = sorted(a / b for a, b in zip(ours_, reference, strict=True))
    return f"{statistics.median(ratios):.2f}x ({ratios[0]:.2f} to {ratios[-1]:.2f})"


async def episode_cost(rounds: int, folder: Path) -> None:
    """Part `episode`."""
    async with grounded("memory", folder) as memory, grounded("file", folder) as file, grounded("paid", folder) as paid:
        works = [repeated(one, EPISODES) for one in (bare(), memory, file, paid)]
        costs = await alternate(works, EPISODES, rounds)
    reference = [c.cpu_ms for c in costs[0]]
    print(f"episode of {TRIALS} attempts, CPU: bare LangGraph {statistics.median(reference):.2f} ms")
    for name, mine in zip(KINDS.values(), costs[1:], strict=True):
        cpu = [c.cpu_ms for c in mine]
        print(f"  ours, {name}: {statistics.median(cpu):.2f} ms, {against(cpu, reference)} of bare")


async def flight(rounds: int, folder: Path) -> None:
    """Part `flight`."""
    async with grounded("memory", folder) as memory, grounded("file", folder) as file, grounded("paid", folder) as paid:
        works = [repeated(one, EPISODES * 4, IN_FLIGHT) for one in (bare(), memory, file, paid)]
        costs = await alternate(works, EPISODES * 4, rounds)
    wall, cpu = ([[1e3 / getattr(c, what) for c in some] for some in costs] for what in ("wall_ms", "cpu_ms"))
    print(f"{IN_FLIGHT} in flight: bare LangGraph {statistics.median(wall[0]):.0f} episodes/s", end=", ")
    print(f"{statistics.median(cpu[0]):.0f} a second of CPU")
    for number, name in enumerate(KINDS.values(), 1):
        rate = f"{statistics.median(wall[number]):.0f} episodes/s, {against(wall[number], wall[0])} of bare"
        print(f"  ours, {name}: {rate}; by CPU {against(cpu[number], cpu[0])}")


def part_of(file: str, called: str) -> str:
    """Which part a function belongs to."""
    name = file.rpartition("src/groundwire/")[2] if "src/groundwire/" in file else ""
    if name.startswith(("core/_seal", "core/_signing", "core/_masking", "core/_chain")) or "ed25519" in called:
        return "seals, the chain, secrets"
    for prefix, part in (("memory/", "ledger and memory"), ("graphs/", "the loop"), ("core/", "records and contexts")):
        if name.startswith(prefix):
            return part
    for prefix, part in (("langgraph", "LangGraph"), ("langchain", "LangGraph"), ("pydantic", "pydantic")):
        if f"/{prefix}" in file or prefix in called:
            return part
    if "sqlite3" in called or "/sqlalchemy/" in file:
        return "SQLite"
    if "/json/" in file or "base64" in file:
        return "JSON and base 85"
    return "asyncio" if "/asyncio/" in file or "epoll" in called else "Python's own, the rest"


async def where(folder: Path) -> None:
    """Part `where`. Of an episode whose ledger is in memory, all of which is in this thread."""
    async with grounded("memory", folder) as episode:
        await repeated(episode, EPISODES)()
        profile = cProfile.Profile(time.thread_time)
        with profile:
            await repeated(episode, EPISODES * 2)()
    shares: dict[str, float] = defaultdict(float)
    for entry in profile.getstats():
        code = entry.code
        file, called = ("", code) if isinstance(code, str) else (code.co_filename, code.co_name)
        shares[part_of(file, called)] += entry.inlinetime
    print("of an episode's CPU, ledger in memory:", end=" ")
    whole = sum(shares.values())
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    print(", ".join(f"{part} {own / whole:.0%}" for part, own in ordered))


def walking(store: Any, steps: int, checkpointer: Any = None) -> FeedbackApp:
    """An episode of many steps in an environment."""
    return walk(steps).compile(
        store=store,
        checkpointer=checkpointer,
        durability="async" if checkpointer else None,
        budget=Budget(steps=steps + 1),
    )


async def step_cost(rounds: int, folder: Path) -> None:
    """Part `step`."""
    plain = bare_steps()

    async def bare_walk() -> None:
        await plain.ainvoke({"left": STEPS, "note": ""}, {"recursion_limit": STEPS + 2})

    async def our_walk(store: Any) -> None:
        result = await walking(store, STEPS).arun(TASK)
        assert result.stop_reason is StopReason.VERIFIED, result

    store = SqlStore(f"sqlite:///{folder}/steps.db")
    works = [bare_walk, lambda: our_walk(InMemoryStore()), lambda: our_walk(store)]
    costs = await alternate(works, STEPS, rounds)
    await store.aclose()
    cpu, wall = ([[getattr(c, what) for c in some] for some in costs] for what in ("cpu_ms", "wall_ms"))
    print(f"a step (move, look, gate): bare LangGraph {statistics.median(cpu[0]):.2f} ms CPU")
    print(f"  ours, ledger in memory: {statistics.median(cpu[1]):.2f} ms CPU, {against(cpu[1], cpu[0])} of bare")
    print(f"  ours, ledger in a file: {statistics.median(wall[2]):.2f} ms wall, {against(wall[2], wall[0])} of bare")


async def grow(steps: int, saver: str) -> dict[str, float]:
    """Bytes a step, and resident memory, of one long episode in a fresh process."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    with tempfile.TemporaryDirectory() as folder:
        store = SqlStore(f"sqlite:///{folder}/ledger.db")
        file = Path(folder) / "checkpoints.db"
        before = _resident_mb()
        if saver == "none":
            await walking(store, steps).arun(TASK)
        else:
            async with AsyncSqliteSaver.from_conn_string(str(file)) as checkpointer:
                await walking(store, steps, checkpointer).arun(TASK)
        await store.aclose()
        taken, ledger = _bytes(Path(folder), "checkpoints.db*"), _bytes(Path(folder), "ledger.db*")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"bytes": taken / steps, "ledger": ledger / steps, "peak_mb": peak, "grown_mb": _resident_mb() - before}


def growth() -> None:
    """Part `growth`."""
    found = {(n, saver): _in_its_own_process(n, saver) for n in (FEW, MANY) for saver in ("none", "sqlite")}
    few, many = found[FEW, "sqlite"], found[MANY, "sqlite"]
    print(f"checkpoint bytes a step: {few['bytes']:.0f} at {FEW} steps, {many['bytes']:.0f} at {MANY}: ", end="")
    print(f"{many['bytes'] / few['bytes']:.2f}x; ledger bytes a step {few['ledger']:.0f} and {many['ledger']:.0f}")
    without = found[MANY, "none"]
    print(f"peak memory at {MANY} steps of 1 KB: {without['peak_mb']:.0f} MB without a checkpointer, ", end="")
    print(f"{many['peak_mb']:.0f} MB with one: {many['peak_mb'] / without['peak_mb']:.2f}x")


def _in_its_own_process(steps: int, saver: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--grow", str(steps), saver]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _bytes(folder: Path, pattern: str) -> int:
    return sum(file.stat().st_size for file in folder.glob(pattern))


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def peer(options: argparse.Namespace, folder: Path) -> None:
    """One JSON line in the peers' form."""
    async with grounded(options.peer, folder) as episode:
        work = repeated(episode, options.episodes, options.concurrency)
        await work()
        start = _resident_mb()
        costs = [await timed(work, options.episodes) for _ in range(options.rounds)]
    cpu, wall = [c.cpu_ms for c in costs], [c.wall_ms for c in costs]
    middle = statistics.median(cpu)
    row = {
        "peer": f"groundwire ({options.peer})",
        "variant": options.variant,
        "episodes": options.episodes,
        "rounds": options.rounds,
        "concurrency": options.concurrency,
        "trials": TRIALS,
        "model_calls": 2 * TRIALS - 1,
        "execs": 0,
        "wall_ms": round(statistics.median(wall), 3),
        "wall_min_ms": round(min(wall), 3),
        "cpu_ms": round(middle, 3),
        "child_ms": 0.0,
        "cpu_ms_per_trial": round(middle / TRIALS, 3),
        "import_cpu_s": 0.0,
        "rss_mb": round(_resident_mb()),
        "rss_growth_mb": round(_resident_mb() - start, 1),
        "note": "gate, seal and ledger included",
    }
    print(json.dumps(row))


def arguments() -> argparse.Namespace:
    """Of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("--peer", choices=tuple(KINDS), help="one JSON line, for the peers' run_all.py")
    parser.add_argument("--variant", choices=("inproc", "exec"), default="inproc")
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--concurrency", type=int, default=1)
    parser.add_argument("--grow", nargs=2, metavar=("STEPS", "SAVER"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Measures and prints."""
    options = arguments()
    if options.grow:
        print(json.dumps(asyncio.run(grow(int(options.grow[0]), options.grow[1]))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.peer:
            if options.variant == "exec":
                raise SystemExit("Ours judges in a sandbox, which bench_sandbox.py times.")
            asyncio.run(peer(options, folder))
            return
        parts = options.only.split(",")
        for part, run in (("episode", episode_cost), ("flight", flight), ("step", step_cost)):
            if part in parts:
                asyncio.run(run(options.rounds, folder))
        if "where" in parts:
            asyncio.run(where(folder))
        if "growth" in parts:
            growth()


if __name__ == "__main__":
    main()
