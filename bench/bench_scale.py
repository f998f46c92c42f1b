"""What a million episodes would cost: an episode's CPU, rows, bytes and memory as a ledger grows, and how fast what
reads it gets slower.

    bench/bench_scale.py [--sizes 1000 3000 10000] [--url URL] [--json]

Episodes are those of `bench/gpu/episodes.py` (three trials, real prompts about real modules, lessons recalled between
them) with a model and a judge that answer at once: all that is left is ours. Sizes are rounded to whole times 200
tasks. Without --url the ledger is a fresh SQLite file; one that is named may hold what this script has written before,
which it goes on from. At each size of the ledger: what an episode cost since the size before, 200 recalls, the report
of the first run (as large as ever, in a larger ledger) and of the newest (larger too). In the end the first run is
archived, and its report read out of the archive. CPU is this process's, all threads; PostgreSQL's own is read from
/proc where the server runs on this machine.
Slopes are of log–log lines through all sizes: 0 is "independent of size", 1 "in proportion".
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from groundwire import Budget, EpisodeResult, Task
from groundwire.core import FileKeys, Request, RunRecord
from groundwire.evaluation import read_run, report_on
from groundwire.memory import SqlStore, size_of
from groundwire.memory._archive import check_archived, copy_run, remove_runs
from groundwire.memory._checking import check_run
from groundwire.memory._sql import Sql
from groundwire.models import ScriptedBackend

sys.path.insert(0, str(Path(__file__).parent / "gpu"))

episodes: Any = import_module("episodes")  # of `bench/gpu`

T = TypeVar("T")
SOURCES = Path(__file__).parents[1] / "src" / "groundwire"
TASKS = 200
RECALLS = 200
AT_ONCE = 32
A_MILLION = 1_000_000


def cpu(server: Sequence[int] = ()) -> tuple[float, float]:
    """Seconds of this process, and of a server's processes."""
    ticks = os.sysconf("SC_CLK_TCK")
    spent = 0
    for pid in server:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        spent += sum(map(int, fields[11:15]))  # with those of children that have ended
    return time.process_time(), spent / ticks


async def server_of(store: SqlStore) -> list[int]:
    """PostgreSQL's processes, where they are on this machine; none for SQLite."""
    if store.url.startswith("sqlite"):
        return []

    def backend(session: Any) -> int:
        return session.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()

    return _family(await store.run_read(backend))


def _family(own: int) -> list[int]:
    """A backend's parent, and all its children."""
    try:
        main = int(Path(f"/proc/{own}/stat").read_text().rpartition(") ")[2].split()[1])
    except OSError:
        return []
    children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
    return [main, *map(int, children)]


async def timed(work: Callable[[], Awaitable[T]]) -> tuple[T, float]:
    """What it gave, and its CPU seconds."""
    before = time.process_time()
    return await work(), time.process_time() - before


async def reported(store: SqlStore, run: RunRecord) -> int:
    """What `groundwire report` does: the seals are looked at, and the numbers made. Gives the statements it took."""
    asked, ask = 0, Sql.rows

    def counted(self: Sql, session: Any, **values: Any) -> Sequence[Sequence[Any]]:
        nonlocal asked
        asked += 1
        return ask(self, session, **values)

    Sql.rows = counted
    try:
        await check_run(store, run.id, keys=FileKeys(), thorough=False, keeps_episodes=False)
        report_on([await read_run(store, run)])
    finally:
        Sql.rows = ask
    return asked


async def grown(store: SqlStore, tasks: Sequence[Task], times: int) -> RunRecord:
    """The newest run, of so many more episodes of each task."""

    def answer(request: Request) -> str:
        return f"answer {hash(request.messages[-1].content) & 0xFFFFFF:x}"

    model = ScriptedBackend(answer)
    app = episodes.graph(model, 256).compile(store=store, budget=Budget(trials=episodes.TRIALS))
    results: list[EpisodeResult] = await app.abatch(tasks, at_once=AT_ONCE, times=times)
    model.requests.clear()  # it keeps them all, which no real one does
    wrong = [result for result in results if result.trials != episodes.TRIALS]
    if wrong:
        raise SystemExit(f"{len(wrong)} episodes ended otherwise: {wrong[0].stop_reason} {wrong[0].detail}")
    return (await store.runs(limit=1))[0]


async def recalls(store: SqlStore, tasks: Sequence[Task]) -> tuple[float, float]:
    """Milliseconds of one recall: CPU, and wall at the median."""
    walls: list[float] = []
    before = time.process_time()
    for _ in range(RECALLS):
        task = random.choice(tasks)
        begun = time.perf_counter()
        await store.recall(task.id, task.family, text=task.prompt, window=3)
        walls.append((time.perf_counter() - begun) * 1e3)
    return (time.process_time() - before) * 1e3 / RECALLS, statistics.median(walls)


async def measured(url: str, sizes: Sequence[int], tell: Callable[[Mapping[str, Any]], None]) -> None:
    """All of it, each line told when it is made."""
    episodes.JUDGING_S = 0
    tasks = episodes.tasks(TASKS, SOURCES)
    async with aclosing(SqlStore(url)) as store:
        await store.recall("nothing", "yet")
        size, earlier = await size_of(store), await store.runs(limit=A_MILLION)
        first: RunRecord | None = earlier[-1] if earlier else None
        there = size.rows.get("episodes", 0)
        for wanted in sizes:
            # its processes come and go with connections, so each is looked for on both sides
            server = await server_of(store)
            begun, served = cpu(server)
            times = max(1, round((wanted - there) / TASKS))
            newest = await grown(store, tasks, times)
            first = first or newest
            ended, serves = cpu(await server_of(store) if server else ())
            now, more = await size_of(store), times * TASKS
            recall_cpu, recall_wall = await recalls(store, tasks)
            _, report_first = await timed(lambda run=first: reported(store, run))
            statements, report_newest = await timed(lambda run=newest: reported(store, run))
            tell(
                {
                    "episodes": there + more,
                    "cpu_ms": (ended - begun) * 1e3 / more,
                    "server_cpu_ms": (serves - served) * 1e3 / more if server else None,
                    "rows": (sum(now.rows.values()) - sum(size.rows.values())) / more,
                    "bytes": (now.bytes - size.bytes) / more,
                    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                    "recall_cpu_ms": recall_cpu,
                    "recall_wall_ms": recall_wall,
                    "report_first_s": report_first,
                    "report_newest_s": report_newest,
                    "report_statements": statements / more,
                    "newest": more,
                }
            )
            there, size = there + more, now
        assert first is not None
        with tempfile.TemporaryDirectory() as folder:
            tell(await archived(store, first, Path(folder)))


async def archived(store: SqlStore, run: RunRecord, folder: Path) -> Mapping[str, Any]:
    """What archiving a run costs, and reading it afterwards."""
    before = await size_of(store)
    made, copying = await timed(lambda: copy_run(store, run.id, folder))
    checks, checking = await timed(lambda: check_archived(folder, [made]))
    if not all(check.holds for check in checks):
        raise SystemExit(f"the archive does not hold: {checks[0].findings[:3]}")
    removed, removing = await timed(lambda: remove_runs(store, folder, [made]))
    after = await size_of(store)
    async with aclosing(SqlStore(f"archive:{folder}")) as archive:
        _, opening = await timed(lambda: archive.runs(limit=1))
        _, reading = await timed(lambda: reported(archive, run))
    size = sum(path.stat().st_size for path in (folder / run.id).iterdir())
    return {
        "archived": made.episodes,
        "parquet_bytes": size / made.episodes,
        "copy_ms": copying * 1e3 / made.episodes,
        "check_ms": checking * 1e3 / made.episodes,
        "remove_ms": removing * 1e3 / made.episodes,
        "restore_ms": opening * 1e3 / made.episodes,
        "report_s": reading,
        "rows_removed": sum(removed.values()) / made.episodes,
        "rows_left": (sum(after.rows.values()) - sum(before.rows.values())) / made.episodes,
    }


def slope(points: Sequence[Mapping[str, Any]], x: str, y: str) -> float:
    """Of the log–log line through the points, by least squares."""
    pairs = [(math.log(point[x]), math.log(max(point[y], 1e-9))) for point in points]
    mean_x, mean_y = (statistics.fmean(pair[i] for pair in pairs) for i in (0, 1))
    spread = sum((px - mean_x) ** 2 for px, _ in pairs)
    return sum((px - mean_x) * (py - mean_y) for px, py in pairs) / spread if spread else math.nan


def main() -> None:
    """Prints a line a size, then the slopes and what a million episodes would come to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 3_000, 10_000])
    parser.add_argument("--url")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    points: list[Mapping[str, Any]] = []

    def tell(point: Mapping[str, Any]) -> None:
        points.append(point)
        shown = {name: round(value, 3) if isinstance(value, float) else value for name, value in point.items()}
        print(json.dumps(shown) if asked.json else "  ".join(f"{k} {v}" for k, v in shown.items()), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for name in ("STATE", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = str(Path(folder) / name.lower())
        asyncio.run(measured(asked.url or f"sqlite:///{folder}/ledger.db", sorted(asked.sizes), tell))
    sizes = [point for point in points if "episodes" in point]
    last = sizes[-1]
    told = {
        "slopes": {
            "cpu an episode": slope(sizes, "episodes", "cpu_ms"),
            "bytes an episode": slope(sizes, "episodes", "bytes"),
            "recall (CPU)": slope(sizes, "episodes", "recall_cpu_ms"),
            "report of one run, as the ledger grows": slope(sizes, "episodes", "report_first_s"),
            "report, as the run grows": slope(sizes, "newest", "report_newest_s"),
        },
        "a million, extrapolated": {
            "cpu_hours": (last["cpu_ms"] + (last["server_cpu_ms"] or 0)) * A_MILLION / 3.6e6,
            "gigabytes": last["bytes"] * A_MILLION / 1e9,
            "rows": last["rows"] * A_MILLION,
        },
    }
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
