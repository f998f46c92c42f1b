"""HumanEvalFix (HumanEvalPack, Python): the search actor on 164 buggy functions, through `code_repair` as it is.

    .venv/bin/python bench/bench_humanevalfix.py [--seconds 40] [--workers 2] [--limit N] [--shard I/N] [--json FILE]

Each task becomes a small project: `solution.py` with the buggy function (no docstring), `tests/test_visible.py` with
every top-level assert of the row's `example_test` as a test of its own, and a hidden test that runs the row's `test`.
Visible tests steer, the hidden one judges once, at the end; the row's canonical solution is never read, and nothing is
carried over from one task to the next. Data: `../shared/data/humanevalpack` beside the repository, or --data.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import multiprocessing
import statistics
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from groundwire.agents import RuleCritic, SearchActor
from groundwire.graphs import Budget
from groundwire.graphs.code_repair import code_repair
from groundwire.limits import Limits
from groundwire.records import StopReason
from groundwire.signals import Verdict
from groundwire.tasks import Hidden, Task
from groundwire.tools import HiddenTests, Pytest
from groundwire.trees import Tree

DATA = Path(__file__).parents[2] / "shared" / "data" / "humanevalpack" / "humanevalpack_python.jsonl"
MAX_CANDIDATES = 2000
KINDS = ("solved", "false_pass", "unsolved", "blind", "no_tests")


@dataclass(frozen=True)
class Outcome:
    """How one task ended.

    Args:
        kind: `solved`, `false_pass` (visible tests pass, hidden ones do not), `unsolved`, `blind` (the buggy function
            passes its visible tests) or `no_tests` (there are no visible tests).
        reason: the episode's stop reason.
        visible: number of visible tests.
        candidates: how many were judged.
        seconds: of the whole episode.
        edits: what the best candidate was made of.
    """

    task: str
    bug_type: str
    kind: str
    reason: str
    visible: int
    candidates: int
    seconds: float
    edits: tuple[str, ...] = ()
    note: str = ""
    detail: str = ""


def visible_tests(row: Mapping[str, str]) -> list[str]:
    """The asserts of the visible check, each with the statements before it that are no asserts."""
    # one row repeats a part of its solution before the check; nothing of that may be seen
    text = row["example_test"]
    text = text[max(0, text.rfind("\ndef check(")) :].strip()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    found: list[str] = []
    setup: list[str] = []
    for statement in functions[0].body if functions else []:
        if not isinstance(statement, ast.Assert):
            setup.append(ast.unparse(statement))
        elif not isinstance(statement.test, ast.Constant):
            found.append("\n".join([*setup, ast.unparse(statement)]))
    return found


def project(row: Mapping[str, str], limits: Limits) -> Task:
    """The task as a project."""
    tests = "".join(
        f"\n\ndef test_{number}():\n{textwrap.indent(body, '    ')}\n" for number, body in enumerate(visible_tests(row))
    )
    check, _, _ = row["test"].rpartition(f"check({row['entry_point']})")
    hidden = f"from solution import *\n{check}\n\ndef test_hidden():\n    check({row['entry_point']})\n"
    files = {
        "solution.py": row["declaration"] + row["buggy_solution"],
        "tests/test_visible.py": f"from solution import *\n{tests}",
        "conftest.py": "",
    }
    return Task(
        id=row["task_id"],
        family="humanevalfix",
        tree=Tree({path: text.encode() for path, text in files.items()}),
        command=("pytest", "-q", "tests"),
        hidden=Hidden(("pytest", "-q", "hidden"), Tree({"hidden/test_hidden.py": hidden.encode()})),
        limits=limits,
    )


async def repair(row: Mapping[str, str], options: argparse.Namespace) -> Outcome:
    """One episode."""
    task = project(row, Limits(wall_s=options.run_seconds))
    trials = -(-MAX_CANDIDATES // options.width)
    graph = code_repair(SearchActor(seed=options.seed), RuleCritic(), Pytest(), HiddenTests(), width=options.width)
    app = graph.compile(budget=Budget(trials=trials, seconds=options.seconds))
    start = time.monotonic()
    result = await app.arun(task)
    best = result.best.candidate if result.best else None
    tests = len(visible_tests(row))
    return Outcome(
        task=task.id,
        bug_type=row["bug_type"],
        kind=_kind(result.verdict, result.stop_reason, best is not None and best.is_base, tests > 0),
        reason=result.stop_reason.value,
        visible=tests,
        candidates=max(0, result.signals - 1 - (result.hidden is not None)),
        seconds=round(time.monotonic() - start, 2),
        edits=best.edits if best else (),
        note=best.note if best else "",
        detail=result.detail if not result.error else str(result.error),
    )


def _kind(verdict: Verdict, reason: StopReason, nothing_changed: bool, has_tests: bool) -> str:
    if not has_tests:
        return "no_tests"
    if verdict is Verdict.PASS and reason is StopReason.VERIFIED:
        return "solved"
    if reason in (StopReason.HIDDEN_FAILED, StopReason.ALREADY_PASSING):
        return "blind" if nothing_changed else "false_pass"
    return "unsolved"


def _one(job: tuple[Mapping[str, str], argparse.Namespace]) -> Outcome:
    row, options = job
    return asyncio.run(repair(row, options))


def run(rows: Sequence[Mapping[str, str]], options: argparse.Namespace) -> Iterator[Outcome]:
    """All tasks, `options.workers` at a time, as they end."""
    jobs = [(row, options) for row in rows]
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=20) as pool:
        yield from pool.imap_unordered(_one, jobs)


def report(outcomes: Iterable[Outcome]) -> str:
    """The figures, for people."""
    known = list(outcomes)
    table = Counter((o.bug_type, o.kind) for o in known)
    lines = [f"{'':18}{'all':>6}" + "".join(f"{kind:>12}" for kind in KINDS)]
    for bug_type in (*sorted({o.bug_type for o in known}), "total"):
        counts = [sum(n for (b, k), n in table.items() if k == kind and bug_type in (b, "total")) for kind in KINDS]
        lines.append(f"{bug_type:18}{sum(counts):>6}" + "".join(f"{count:>12}" for count in counts))
    solved = [o for o in known if o.kind == "solved"]
    lines.append(f"hidden tests passed: {len(solved)} of {len(known)} ({100 * len(solved) / max(1, len(known)):.1f} %)")
    if solved:
        lines.append(f"candidates to the repair: median {statistics.median(o.candidates for o in solved):.0f}")
    judged, seconds = sum(o.candidates for o in known), sum(o.seconds for o in known)
    lines.append(
        f"{judged} candidates in {seconds:.0f} s of episodes: {judged / max(seconds, 0.01):.0f} a second and worker"
    )
    stops = Counter(o.reason for o in known if o.kind == "unsolved")
    lines.append("unsolved because of: " + (", ".join(f"{r} {n}" for r, n in stops.most_common()) or "nothing"))
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--limit", type=int, default=None, help="only the first N tasks")
    parser.add_argument("--shard", default="1/1", help="part I of N of the tasks")
    parser.add_argument("--seconds", type=float, default=40.0, help="wall seconds a task")
    parser.add_argument("--run-seconds", type=float, default=4.0, help="wall seconds of one judging at most")
    parser.add_argument("--width", type=int, default=100, help="candidates in one trial")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, default=None, help="writes all outcomes there")
    return parser.parse_args()


def main() -> int:
    """Runs and reports."""
    options = arguments()
    if not options.data.is_file():
        print(f"{options.data} is not there: HumanEvalPack is needed.", file=sys.stderr)
        return 2
    rows = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines()]
    part, parts = (int(text) for text in options.shard.split("/"))
    outcomes: list[Outcome] = []
    for outcome in run(rows[: options.limit][part - 1 :: parts], options):
        outcomes.append(outcome)
        head = f"{outcome.task:12} {outcome.kind:10} {outcome.candidates:5} {outcome.seconds:6.1f} s"
        print(f"{head}  {outcome.note}", flush=True)
    print(report(outcomes))
    if options.json:
        options.json.write_text(json.dumps([asdict(o) for o in outcomes], indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
