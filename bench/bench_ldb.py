"""LDB's published programs (arXiv 2402.16906) through `code_repair`: each judged again, nothing taken from the log.

    nice .venv/bin/python bench/bench_ldb.py [--json FILE] [--limit N] [--workers 2] [--only NAME …] [--again]

Each row of the five logs is two episodes: `select="last"`, how the log chose its answer, and `select="best"`, ours. The
visible tests are those that the log really ran; hidden tests judge once, at the end, in one process with the program,
as the benchmarks do. A judging may take 5 s of processor time (so a busy machine fails nobody), with the standard
library alone. `--json` keeps an outcome a line as it comes, and goes on from there; `--again` repeats the rows in which
a limit may have ended a judging. Data: `../shared/data/ldb` beside the repository, or --data.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from groundwire.agents import ReplayActor, RuleCritic
from groundwire.core import (
    Admission,
    CandidateRecord,
    Intent,
    Isolation,
    Limits,
    Origin,
    Record,
    Recording,
    Signal,
    Verdict,
)
from groundwire.graphs import Budget, EpisodeResult, Sandboxes, Select, code_repair
from groundwire.logs import LdbRow, read_ldb, recording_of
from groundwire.tools import HiddenTests, Unittest

DATA = Path(__file__).parents[2] / "shared" / "data" / "ldb"
EXPECTED = {
    "humaneval_gpt35": 136,
    "humaneval_codellama": 91,
    "humaneval_starcoder": 65,
    "humaneval_gpt4seed": 146,
    "mbpp_gpt35": 379,
}
"""Hidden-test solves as SOURCE.md has them, measured without groundwire."""
WALL_FACTOR = 24.0
SELECTS: tuple[Select, ...] = ("last", "best")


@dataclass(frozen=True)
class Ended:
    """How one episode ended.

    Args:
        solved: True if the hidden tests passed on its answer.
        reason: the stop reason.
        detail: in words.
        trials: trials, each opened by a visible FAIL but the first.
        answer: index of its answer among the log's programs, first occurrence; -1 where it has none.
        visible: the verdict of the visible tests on each program that was judged, by index.
        hidden: verdict of the hidden tests; empty where they were not asked.
        isolation: where their assertions ran, seen from the program.
        accesses: times the hidden tests were laid out.
        before_end: of these, times after which anything was still proposed, reflected on or admitted.
        unopened: trials after the first that no admitted signal with a visible FAIL had opened; it must be 0.
        judgings: signals.
        slow: judgings that took as many wall seconds as they had processor seconds: their limit may have ended them.
    """

    solved: bool
    reason: str
    detail: str
    trials: int
    answer: int
    visible: dict[int, str]
    hidden: str
    isolation: str
    accesses: int
    before_end: int
    unopened: int
    judgings: int
    slow: int


@dataclass(frozen=True)
class Outcome:
    """One row of a log beside our two episodes on it."""

    file: str
    task: str
    programs: int
    distinct: int
    logged_solved: bool
    logged_passing: tuple[bool, ...]
    """For each program whether it passed the visible tests in the log."""
    used_tests: int
    last: Ended
    best: Ended


OUTCOME = TypeAdapter(Outcome)


async def episode(
    row: LdbRow, recording: Recording, select: Select, options: argparse.Namespace, boxes: Sandboxes
) -> Ended:
    """One episode in a ledger of its own, so that nothing is carried over."""
    hidden = HiddenTests(isolation=Isolation.PROCESS if options.apart else Isolation.IN_PROCESS)
    graph = code_repair(ReplayActor(recording), RuleCritic(), Unittest(), hidden, select=select, baseline=False)
    app = graph.compile(budget=Budget(trials=len(row.programs) + 1))
    limits = Limits(cpu_s=options.seconds, wall_s=WALL_FACTOR * options.seconds)
    result = await app.arun(row.task(limits), sandboxes=boxes)
    return ended(await app.store.records(result.episode_id), result, options.seconds)


def ended(records: Sequence[Record], result: EpisodeResult, limit_s: float) -> Ended:
    """What the ledger tells."""
    at = {r.digest: int(r.note.rpartition(" ")[2]) - 1 for r in records if isinstance(r, CandidateRecord)}
    signals = [r for r in records if isinstance(r, Signal)]
    visible = {at[s.candidate_digest]: str(s.verdict) for s in signals if s.origin is not Origin.HIDDEN_TESTS}
    hidden = result.hidden
    accesses = [i for i, r in enumerate(records) if isinstance(r, Intent) and r.kind == "hidden_access"]
    return Ended(
        solved=hidden is not None and hidden.verdict is Verdict.PASS,
        reason=result.stop_reason.value,
        detail=str(result.error or result.detail),
        trials=result.trials,
        answer=at[hidden.candidate_digest] if hidden else -1,
        visible=visible,
        hidden=str(hidden.verdict) if hidden else "",
        isolation=str(hidden.isolation) if hidden else "",
        accesses=len(accesses),
        before_end=result.account.steering,
        unopened=sum(not opened(trial, records) for trial in range(2, result.trials + 1)),
        judgings=len(signals),
        slow=sum(s.duration_s >= limit_s for s in signals),
    )


def opened(trial: int, records: Iterable[Record]) -> bool:
    """True if a FAIL of the visible tests in the trial before let the actor in."""
    told = list(records)
    fails = {r.id for r in told if isinstance(r, Signal) and r.verdict is Verdict.FAIL and r.origin is Origin.TESTS}
    return any(
        isinstance(r, Admission) and r.admitted and r.edge == "refine" and r.trial == trial - 1 and r.signal_id in fails
        for r in told
    )


async def outcome(file: str, row: LdbRow, options: argparse.Namespace, boxes: Sandboxes) -> Outcome:
    """Both episodes of one row."""
    recording = recording_of([row], source=f"ldb {file}")
    last, best = [await episode(row, recording, select, options, boxes) for select in SELECTS]
    return Outcome(
        file=file,
        task=row.task_id,
        programs=len(row.programs),
        distinct=len(set(row.programs)),
        logged_solved=row.logged_solved,
        logged_passing=tuple(not failed for failed in row.feedback),
        used_tests=len(row.used_tests),
        last=last,
        best=best,
    )


def spread(rows: Sequence[LdbRow], limit: int | None) -> Sequence[LdbRow]:
    """At most `limit` rows, from all over a log: the logs begin with what was solved."""
    return rows if limit is None else rows[:: max(1, len(rows) // limit)][:limit]


async def run(options: argparse.Namespace, known: Iterable[tuple[str, str]]) -> AsyncGenerator[Outcome]:
    """The outcomes of all rows that are not known, as they come, `options.workers` rows at a time."""
    done = set(known)
    rows = [
        (file, row)
        for file in options.only
        for row in spread(list(read_ldb(options.data / f"{file}.jsonl.gz")), options.limit)
        if (file, row.task_id) not in done
    ]
    boxes = Sandboxes(None)
    gate = asyncio.Semaphore(options.workers)

    async def one(file: str, row: LdbRow) -> Outcome:
        async with gate:
            return await outcome(file, row, options, boxes)

    try:
        running = [asyncio.create_task(one(file, row)) for file, row in rows]
        for ready in asyncio.as_completed(running):
            yield await ready
    finally:
        await boxes.aclose()


def remarks(o: Outcome) -> list[str]:
    """What differs, row by row: the log from us, and our two ways of choosing from each other."""
    found: list[str] = []
    last, best = o.last, o.best
    if last.solved != o.logged_solved:
        found.append(f"hidden: logged {'pass' if o.logged_solved else 'fail'}, here {last.hidden or last.reason}")
    if last.solved != best.solved or (last.hidden and not best.hidden):
        found.append(f"select: last {last.hidden or 'not asked'}, best {best.hidden or 'not asked'} ({why(o)})")
    for at, verdict in sorted(last.visible.items()):
        if (verdict == "pass") != o.logged_passing[at]:
            logged = "pass" if o.logged_passing[at] else "fail"
            found.append(f"visible: program {at + 1} logged {logged} ({o.used_tests} tests), here {verdict}")
    if last.visible.get(last.answer) == "pass" and last.answer + 1 < o.programs:
        found.append(f"the log goes on to program {o.programs} after program {last.answer + 1}, which passes here")
    if last.slow or best.slow:
        found.append(f"{last.slow + best.slow} judgings may have run into their limit")
    return found


def why(o: Outcome) -> str:
    """Why `best` came to something else."""
    if o.best.hidden:
        return o.best.detail
    return f"no program passes the visible tests; {o.best.reason}" if o.used_tests else "no visible tests"


def report(outcomes: Sequence[Outcome]) -> str:
    """The table."""
    head = ("file", "rows", "log", "SOURCE", "last", "best", "visible≠", "only last", "no tests", "trials", "judgings")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for file in dict.fromkeys(o.file for o in outcomes):
        rows = [o for o in outcomes if o.file == file]
        cells = (
            file,
            len(rows),
            sum(o.logged_solved for o in rows),
            EXPECTED[file],
            sum(o.last.solved for o in rows),
            sum(o.best.solved for o in rows),
            sum((verdict == "pass") != o.logged_passing[at] for o in rows for at, verdict in o.last.visible.items()),
            sum(o.last.solved and not o.best.solved for o in rows),
            sum(not o.used_tests for o in rows),
            f"{sum(o.last.trials for o in rows)} of {sum(o.programs for o in rows)}",
            sum(o.last.judgings + o.best.judgings for o in rows),
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    ends = [e for o in outcomes for e in (o.last, o.best)]
    lines += [
        f"hidden tests: {sum(e.accesses for e in ends)} accesses, {sum(e.before_end for e in ends)} before the end; "
        f"trials that no visible FAIL had opened: {sum(e.unopened for e in ends)}",
        f"hidden assertions ran in: {dict(Counter(e.isolation for e in ends if e.isolation))}",
        f"{sum(o.programs - o.distinct for o in outcomes)} programs repeat one before: not judged again",
    ]
    return "\n".join(lines)


def load(path: Path | None, again: bool) -> list[Outcome]:
    """What was kept of an earlier run."""
    if path is None or not path.is_file():
        return []
    known = [OUTCOME.validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    kept = [o for o in known if not (again and (o.last.slow or o.best.slow))]
    path.write_text("".join(f"{json.dumps(asdict(o))}\n" for o in kept), encoding="utf-8")
    return kept


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", nargs="+", choices=EXPECTED, default=list(EXPECTED), help="only these logs")
    parser.add_argument("--limit", type=int, default=None, help="only N rows of each log, spread over it")
    parser.add_argument("--seconds", type=float, default=5.0, help="processor seconds of one judging at most")
    parser.add_argument("--workers", type=int, default=2, help="rows at a time")
    parser.add_argument("--json", type=Path, default=None, help="keeps an outcome a line there, and goes on from it")
    parser.add_argument("--apart", action="store_true", help="hidden assertions in another process than the program")
    parser.add_argument("--again", action="store_true", help="repeats the rows with slow judgings")
    return parser.parse_args()


async def main() -> int:
    """Runs and reports."""
    options = arguments()
    if not options.data.is_dir():
        print(f"{options.data} is not there: LDB's logs are needed.", file=sys.stderr)
        return 2
    outcomes = load(options.json, options.again)
    async for o in run(options, [(o.file, o.task) for o in outcomes]):
        outcomes.append(o)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(asdict(o))}\n")
        ends = f"last {o.last.hidden or o.last.reason:5} best {o.best.hidden or o.best.reason}"
        print(f"{len(outcomes):5} {o.file:20} {o.task:14} {ends}", *remarks(o), sep="\n      ", flush=True)
    print("\nDifferences")
    for o in sorted(outcomes, key=lambda o: (list(EXPECTED).index(o.file), int(o.task.rpartition("/")[2]))):
        for remark in remarks(o):
            print(f"{o.file} {o.task}: {remark}")
    print(f"\n{report(outcomes)}")
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
