"""What reflection bought in published logs: logged verdicts beside ours, fixed, broken, net, and false passes.

    nice .venv/bin/python bench/bench_published_logs.py [--journal FILE] [--limit N] [--workers 2]

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

from published_figures import Log, Logs, Pair, Row, executors, internal, ldb, pairs, said, solved
from published_judging import LIMITS, Journal, Program, judge_all, judge_together

from groundwire.logs import read_ldb, read_reflexion

DATA = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True)
class File:
    """One file of a log.

    Args:
        name: `humaneval/simple_gpt4`.
        source: what SOURCE.md of the data says of it: solved, judged in a fresh process.
        tries: reflections at which the log gave up; None: no reflections.
    """

    name: str
    source: int
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


FILES = (
    File("humaneval/simple_gpt4", 91),
    File("humaneval/simple_gpt4_logging", 92),
    File("humaneval/reflexion_gpt4", 101, tries=9),
    File("mbpp/simple_gpt4_a", 324),
    File("mbpp/simple_gpt4_b", 325),
    File("mbpp/reflexion_gpt4_a", 311, tries=4),
    File("mbpp/reflexion_gpt4_b_257", 206, tries=4),
    File("ldb/humaneval_gpt35", 136),
    File("ldb/humaneval_codellama", 91),
    File("ldb/humaneval_starcoder", 65),
    File("ldb/humaneval_gpt4seed", 146),
    File("ldb/mbpp_gpt35", 379),
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


PAIRS: tuple[Pair, ...] = (
    (("humaneval/simple_gpt4",), "humaneval/reflexion_gpt4"),
    (("humaneval/simple_gpt4_logging",), "humaneval/reflexion_gpt4"),
    (("mbpp/simple_gpt4_a",), "mbpp/reflexion_gpt4_a"),
    (("mbpp/simple_gpt4_b",), "mbpp/reflexion_gpt4_a"),
    (("mbpp/simple_gpt4_a", "mbpp/simple_gpt4_b"), "mbpp/reflexion_gpt4_a"),
    (("mbpp/simple_gpt4_a", "mbpp/simple_gpt4_b"), "mbpp/reflexion_gpt4_b_257"),
)
SAID_FIRST = PAIRS[:4]
REFLECTED = tuple(file.name for file in FILES if file.tries is not None)


async def logs_of(options: argparse.Namespace) -> Logs:
    """All logs, judged."""
    rows = {file.name: spread(file.rows(options.data), options.limit) for file in FILES}
    journal = Journal(options.journal)
    await judged(rows, journal, options.workers)
    logs: dict[str, Log] = {}
    for file in FILES:
        mine = rows[file.name]
        together = await judge_together([(r.final.text, r.test) for r in mine]) if not file.is_ldb else None
        logs[file.name] = Log(file.name, mine, journal, file.source if options.limit is None else None, together)
    return logs


def report(logs: Logs) -> str:
    """All tables, with what is in them said first."""
    parts = (
        ("Solved: the log's verdict, and ours (hidden tests, a fresh process each)", solved(logs)),
        ("Reflexion, GPT-4, beside simple runs of GPT-4; tasks that both files hold", pairs(logs, PAIRS)),
        ("Tests that the model wrote for itself, against hidden tests (passed: it stopped reflecting)",
         internal(logs, REFLECTED)),
        ("LDB: first program → final one, hidden tests run here; false passes: visible tests pass, hidden ones do not",
         ldb(logs)),
        ("Reflexion's executor: all programs of a file in one globals(), beside a fresh process each", executors(logs)),
    )  # fmt: skip
    tables = ["\n".join((f"**{title}**", "", *table)) for title, table in parts]
    return "\n\n".join(("\n".join(said(logs, SAID_FIRST)), *tables))


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=int, default=None, help="only N rows of each log, spread over it")
    parser.add_argument("--workers", type=int, default=2, help="judgings at a time")
    parser.add_argument("--journal", type=Path, default=None, help="keeps a judging a line there, and goes on from it")
    return parser.parse_args()


async def main() -> int:
    """Judges and reports."""
    options = arguments()
    if not options.data.is_dir():
        print(f"{options.data} is not there: the published logs are needed.", file=sys.stderr)
        return 2
    print(report(await logs_of(options)))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
