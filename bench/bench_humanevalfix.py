"""HumanEvalFix (HumanEvalPack, Python): the search actor on 164 buggy functions, through `code_repair` as it is.

    .venv/bin/python bench/bench_humanevalfix.py --json plain.jsonl --ledger fix.db
    .venv/bin/python bench/bench_humanevalfix.py --json taught.jsonl --memory fix.db --against plain.jsonl

Visible tests steer, the hidden one judges once, at the end. The first command carries nothing over from one task to the
next; it keeps its episodes in a database, those of a random half of the tasks apart from those of the other half. The
second one repairs each task again with the memory of the half that it is *not* in, and compares the two runs task by
task. What memory gives back are statistics of edits, never a patch.

`--json` keeps an outcome a line as it comes, and goes on from there after a crash. Data:
`../shared/data/humanevalpack` beside the repository, or --data.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from humanevalfix_report import Outcome, effect, report

from groundwire.agents import RuleCritic, SearchActor
from groundwire.benchmarks import HumanEvalFix
from groundwire.benchmarks._humanevalfix import HumanEvalFixRow
from groundwire.core import EditStatistics, Intent, Limits, Origin, Record, Signal, StopReason, Store, Verdict
from groundwire.graphs import Budget, EpisodeResult, code_repair
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.tools import HiddenTests, Pytest

DATA = Path(__file__).parents[2] / "shared" / "data" / "humanevalpack" / "humanevalpack_python.jsonl"
MAX_CANDIDATES = 2000


def halves(rows: Sequence[HumanEvalFixRow], seed: int) -> Mapping[str, int]:
    """Task id → the half it is in, 0 or 1: a random half of all tasks, the same for the same seed."""
    ids = [row.task_id for row in rows]
    random.Random(seed).shuffle(ids)
    return {name: int(place >= len(ids) // 2) for place, name in enumerate(ids)}


class Forgetful(SqlStore):
    """Keeps what happens and tells nobody about it."""

    async def edit_statistics(self, family: str, signature: str) -> EditStatistics:
        """Nothing."""
        return EditStatistics()


class Taught(InMemoryStore):
    """Knows how edits fared in other tasks, and keeps what happens to itself.

    Args:
        teacher: what was learned.
    """

    def __init__(self, teacher: SqlStore) -> None:
        super().__init__()
        self._teacher = teacher

    async def edit_statistics(self, family: str, signature: str) -> EditStatistics:
        """The teacher's."""
        return await self._teacher.edit_statistics(family, signature)

    async def aclose(self) -> None:
        """Closes the teacher too."""
        await self._teacher.aclose()
        await super().aclose()


@dataclass(frozen=True)
class Job:
    """One task.

    Args:
        row: of the data.
        half: the half that it is in.
    """

    row: HumanEvalFixRow
    half: int


def store_for(job: Job, options: argparse.Namespace) -> Store:
    """Where the task's episode is kept, and what it may know."""
    if options.memory:
        return Taught(SqlStore(f"sqlite:///{options.memory}", namespace=f"half-{1 - job.half}"))
    if options.ledger:
        return Forgetful(f"sqlite:///{options.ledger}", namespace=f"half-{job.half}")
    return InMemoryStore()


async def repair(job: Job, options: argparse.Namespace) -> Outcome:
    """One episode."""
    task = job.row.task(Limits(wall_s=options.run_seconds))
    store = store_for(job, options)
    graph = code_repair(SearchActor(seed=options.seed), RuleCritic(), Pytest(), HiddenTests(), width=options.width)
    budget = Budget(trials=-(-MAX_CANDIDATES // options.width), seconds=options.seconds)
    start = time.monotonic()
    try:
        result = await graph.compile(store=store, budget=budget).arun(task)
        records = await store.records(result.episode_id)
    finally:
        await store.aclose()
    best = result.best.candidate if result.best else None
    tests = len(job.row.visible_tests())
    judged, failing = _judged(records)
    return Outcome(
        task=task.id,
        bug_type=job.row.bug_type,
        kind=_kind(result, tests),
        reason=result.stop_reason.value,
        visible=tests,
        failing=failing,
        candidates=judged,
        seconds=round(time.monotonic() - start, 2),
        doubts=sum(isinstance(r, Intent) and r.kind == "doubt" for r in records),
        edits=best.edits if best else (),
        note=best.note if best else "",
        detail=result.detail if not result.error else str(result.error),
    )


def _judged(records: Sequence[Record]) -> tuple[int, int]:
    """How many candidates the visible tests judged, and how many tests the base fails."""
    seen = [r for r in records if isinstance(r, Signal) and r.origin is not Origin.HIDDEN_TESTS and r.issuer != "rule"]
    base = next((r for r in seen if r.trial == 0), None)
    judged = {r.candidate_digest for r in seen if r.trial > 0}
    return len(judged), len(base.evidence.failed()) if base else 0


def _kind(result: EpisodeResult, tests: int) -> str:
    nothing_changed = result.best is not None and result.best.candidate.is_base
    if not tests:
        return "no_tests"
    if result.verdict is Verdict.PASS and result.stop_reason is StopReason.VERIFIED:
        return "solved"
    if result.stop_reason in (StopReason.HIDDEN_FAILED, StopReason.ALREADY_PASSING):
        return "blind" if nothing_changed else "false_pass"
    return "unsolved"


def _one(work: tuple[Job, argparse.Namespace]) -> Outcome:
    job, options = work
    return asyncio.run(repair(job, options))


def run(jobs: Sequence[Job], options: argparse.Namespace) -> Iterator[Outcome]:
    """All tasks, `options.workers` at a time, as they end."""
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=20) as pool:
        yield from pool.imap_unordered(_one, [(job, options) for job in jobs])


class Journal:
    """The outcomes so far, a line each; the first line says what was run.

    Args:
        path: None: nothing is kept.
        settings: what was run.

    Raises:
        SystemExit: the file holds outcomes of something else.
    """

    def __init__(self, path: Path | None, settings: dict[str, object]) -> None:
        self._path = path
        self.known: list[Outcome] = []
        if path is None:
            return
        if not path.exists():
            path.write_text(f"{json.dumps(settings)}\n", encoding="utf-8")
        first, *lines = path.read_text(encoding="utf-8").splitlines() or [""]
        if json.loads(first or "null") != settings:
            raise SystemExit(f"{path} holds outcomes of another run: {first[:200]}. Name another file.")
        # a line that a crash cut off is made again
        self.known = [Outcome(**json.loads(line)) for line in lines if line.endswith("}")]
        kept = [json.dumps(asdict(outcome)) for outcome in self.known]
        path.write_text("".join(f"{line}\n" for line in (first, *kept)), encoding="utf-8")

    def add(self, outcome: Outcome) -> None:
        """One more."""
        self.known.append(outcome)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(asdict(outcome))}\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=int, default=None, help="only the first N tasks")
    parser.add_argument("--skip", type=int, default=0, help="not the first N tasks")
    parser.add_argument("--shard", default="1/1", help="part I of N of the tasks")
    parser.add_argument("--seconds", type=float, default=40.0, help="wall seconds a task")
    parser.add_argument("--run-seconds", type=float, default=4.0, help="wall seconds of one judging at most")
    parser.add_argument("--width", type=int, default=100, help="candidates in one trial")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--halves", type=int, default=0, help="seed of the two halves")
    parser.add_argument("--ledger", type=Path, default=None, help="keeps all episodes in this SQLite file")
    parser.add_argument("--memory", type=Path, default=None, help="a ledger of an earlier run, to learn from")
    parser.add_argument("--against", type=Path, default=None, help="outcomes of the run without memory, to compare")
    parser.add_argument("--json", type=Path, default=None, help="keeps an outcome a line there, and goes on from there")
    return parser.parse_args()


def settings_of(options: argparse.Namespace) -> dict[str, object]:
    """What decides the outcomes."""
    names = ("seconds", "run_seconds", "width", "workers", "seed", "halves")
    return {**{name: getattr(options, name) for name in names}, "memory": options.memory is not None}


def main() -> int:
    """Runs and reports."""
    options = arguments()
    for needed in (options.data, options.memory, options.against):
        if needed is not None and not needed.is_file():
            print(f"{needed} is not there.", file=sys.stderr)
            return 2
    rows = list(HumanEvalFix().rows(options.data))
    half = halves(rows, options.halves)
    part, parts = (int(text) for text in options.shard.split("/"))
    wanted = rows[: options.limit][options.skip :][part - 1 :: parts]
    journal = Journal(options.json, settings_of(options))
    done = {outcome.task for outcome in journal.known}
    jobs = [Job(row, half[row.task_id]) for row in wanted if row.task_id not in done]
    start = time.monotonic()
    for number, outcome in enumerate(run(jobs, options), 1):
        journal.add(outcome)
        left = (time.monotonic() - start) / number * (len(jobs) - number) / 60
        head = f"{outcome.task:12} {outcome.kind:10} {outcome.candidates:5} {outcome.seconds:6.1f} s"
        print(f"{number:4}/{len(jobs)} {left:5.1f} min left  {head}  {outcome.note}", flush=True)
    print(report(journal.known))
    if options.against:
        print(effect(Journal(options.against, {**settings_of(options), "memory": False}).known, journal.known))
    return 0


if __name__ == "__main__":
    sys.exit(main())
