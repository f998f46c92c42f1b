"""What reflection bought in published logs: logged verdicts beside ours, fixed, broken, net, and false passes.

    nice .venv/bin/python bench/bench_published_logs.py [--journal FILE] [--limit N] [--workers 2] [--json FILE]

Reflexion's GPT-4 logs against its simple runs (HumanEval, MBPP), LDB from its first program to its final one, and
Reflexion's executor, which ran all programs in one `globals()`, beside a fresh process for each. Each table names file,
row set and whose verdict it is: `log` is the log's own word, `here` the hidden tests run by us in a fresh fork, with
5 s of processor time and the standard library alone. `--journal` keeps a judging a line, and goes on from it.
Data: `../shared/data` beside the repository, or --data.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from published_judging import LIMITS, Journal, Program, judge_all, judge_together

from groundwire.logs import read_ldb, read_reflexion

DATA = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class Row:
    """One task of one log.

    Args:
        task_id: the task.
        logged: the log's verdict on the final program.
        first: the first program; None where the log does not hold it.
        final: the final program.
        internal: True if the final program passed what steered it, by the log; None: nothing steered.
        test: source that judges, for the shared executor.
    """

    task_id: str
    logged: bool
    final: Program
    first: Program | None = None
    internal: bool | None = None
    test: str = ""


@dataclass(frozen=True)
class Log:
    """One file of a log.

    Args:
        name: `humaneval/simple_gpt4`.
        source: what SOURCE.md of the data says of it: solved, judged in a fresh process.
        shared: the same in one `globals()`; None: not measured there.
        tries: reflections at which the log gave up; None: no reflections.
    """

    name: str
    source: int
    shared: int | None = None
    tries: int | None = None

    @property
    def is_ldb(self) -> bool:
        """True for LDB's files, which hold every program."""
        return self.name.startswith("ldb/")

    def rows(self, data: Path) -> list[Row]:
        """All rows, in the file's order."""
        folder, _, name = self.name.partition("/")
        if self.is_ldb:
            return list(_ldb_rows(data / folder / f"{name}.jsonl.gz"))
        return list(self._reflexion_rows(data / f"reflexion_{folder}" / f"{name}.jsonl"))

    def _reflexion_rows(self, path: Path) -> Iterator[Row]:
        for row in read_reflexion(path):
            # the test of HumanEval only defines check; MBPP's calls it too, and a second call changes no verdict
            test = f"{row.hidden_test}\ncheck({row.entry_point})"
            internal = None if self.tries is None else len(row.reflections) < self.tries
            yield Row(row.task_id, row.logged_solved, Program(row.task(LIMITS), row.program), None, internal, test)


def _ldb_rows(path: Path) -> Iterator[Row]:
    for row in read_ldb(path):
        task = row.task(LIMITS)
        first, final = (Program(task, text, visible=True) for text in (row.programs[0], row.programs[-1]))
        yield Row(row.task_id, row.logged_solved, final, first, row.logged_passing)


LOGS = (
    Log("humaneval/simple_gpt4", 91),
    Log("humaneval/simple_gpt4_logging", 92),
    Log("humaneval/reflexion_gpt4", 101, tries=9),
    Log("mbpp/simple_gpt4_a", 324, 318),
    Log("mbpp/simple_gpt4_b", 325, 320),
    Log("mbpp/reflexion_gpt4_a", 311, 306, tries=4),
    Log("mbpp/reflexion_gpt4_b_257", 206, 204, tries=4),
    Log("ldb/humaneval_gpt35", 136),
    Log("ldb/humaneval_codellama", 91),
    Log("ldb/humaneval_starcoder", 65),
    Log("ldb/humaneval_gpt4seed", 146),
    Log("ldb/mbpp_gpt35", 379),
)
"""With the counts of their SOURCE.md, which were measured without groundwire."""


def spread(rows: Sequence[Row], limit: int | None) -> list[Row]:
    """At most `limit` rows from all over a log: some logs begin with what was solved."""
    return list(rows if limit is None else rows[:: max(1, len(rows) // limit)][:limit])


def programs_of(rows: Sequence[Row]) -> Iterator[Program]:
    """What is to be judged."""
    for row in rows:
        yield row.final
        if row.first is not None:
            yield row.first


async def judged(logs: Mapping[str, Sequence[Row]], journal: Journal, workers: int) -> None:
    """Judges every program that the journal does not know."""
    programs = [program for rows in logs.values() for program in programs_of(rows)]
    todo = len({p.key for p in programs if p.key not in journal.known})
    start = time.monotonic()
    number = 0
    async for _ in judge_all(programs, journal, workers=workers):
        number += 1
        if number % 100 == 0 or number == todo:
            left = (time.monotonic() - start) / number * (todo - number)
            print(f"{number}/{todo} judged, {left:.0f} s left", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=int, default=None, help="only N rows of each log, spread over it")
    parser.add_argument("--workers", type=int, default=2, help="judgings at a time")
    parser.add_argument("--journal", type=Path, default=None, help="keeps a judging a line there, and goes on from it")
    parser.add_argument("--json", type=Path, default=None, help="writes all figures there")
    return parser.parse_args()


async def main() -> int:
    """Judges and reports."""
    options = arguments()
    if not options.data.is_dir():
        print(f"{options.data} is not there: the published logs are needed.", file=sys.stderr)
        return 2
    logs = {log.name: spread(log.rows(options.data), options.limit) for log in LOGS}
    journal = Journal(options.journal)
    await judged(logs, journal, options.workers)
    for log in LOGS:
        rows = logs[log.name]
        here = sum(journal.known[r.final.key].hidden == "pass" for r in rows)
        print(log.name, len(rows), sum(r.logged for r in rows), here, log.source)
        if log.shared:
            v = await judge_together([(r.final.text, r.test) for r in rows])
            print("   shared", sum(v), log.shared, [r.task_id for r, x in zip(rows, v) if x != r.logged])
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
