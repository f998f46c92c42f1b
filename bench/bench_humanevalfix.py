"""HumanEvalFix (164 buggy Python functions) through `code_repair` with the search actor: how many are really repaired?

    .venv/bin/python bench/bench_humanevalfix.py [--seconds 40] [--workers 2] [--limit N] [--json FILE]

Each top-level assert of `example_test` is a visible test of its own and steers; `test` is hidden and judges once, at
the end. Nothing is learned from one task to the next. Data: `../shared/data/humanevalpack` beside the repository, or
what --data names.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import json
import multiprocessing
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from groundwire import Budget, Limits, Task, Tree
from groundwire.agents import RuleCritic, SearchActor
from groundwire.graphs.code_repair import code_repair
from groundwire.memory import InMemoryStore
from groundwire.tasks import Hidden
from groundwire.tools import HiddenTests, Pytest

DATA = Path(__file__).parents[2] / "shared" / "data" / "humanevalpack" / "humanevalpack_python.jsonl"
Row = dict[str, Any]


def visible_tests(row: Row) -> str:
    """One test function for each top-level assert of the examples, with what stands before it."""
    tests: list[str] = [f"from solution import *\nfrom solution import {row['entry_point']}\n"]
    tree = ast.parse(row["example_test"].lstrip())
    check = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if check is None:
        return tests[0]  # five rows have no example: nothing can steer
    name = check.args.args[0].arg
    before: list[str] = []
    for node in check.body:
        if isinstance(node, ast.Assert):
            alias = [] if name == row["entry_point"] else [f"{name} = {row['entry_point']}"]
            lines = [*alias, *before, ast.unparse(node)]
            body = "\n".join(f"    {x}" for part in lines for x in part.splitlines())
            tests.append(f"def test_{len(tests)}():\n{body}\n")
        else:
            before.append(ast.unparse(node))
    return "\n\n".join(tests)


def as_task(row: Row) -> Task:
    """The row as a project of one module."""
    head = f"from solution import *\nfrom solution import {row['entry_point']}\n"
    hidden = f"{head}{row['test']}\n\ndef test_hidden():\n    pass\n"
    return Task(
        id=row["task_id"],
        family=row["bug_type"],
        prompt=row["docstring"],
        tree=Tree(
            {
                "solution.py": (row["prompt"] + row["buggy_solution"]).encode(),
                "tests/test_visible.py": visible_tests(row).encode(),
            }
        ),
        command=("python", "-m", "pytest", "-q", "tests"),
        editable=("solution.py",),
        hidden=Hidden(("python", "-m", "pytest", "-q", "checks"), Tree({"checks/test_hidden.py": hidden.encode()})),
        limits=Limits(wall_s=5, cpu_s=5),
    )


async def solve(row: Row, seconds: float) -> Row:
    """One task to its end."""
    graph = code_repair(SearchActor(), RuleCritic(), Pytest(), HiddenTests(), width=200)
    app = graph.compile(store=InMemoryStore(), budget=Budget(trials=40, seconds=seconds))
    started = time.monotonic()
    result = await app.arun(as_task(row))
    return {
        "task": row["task_id"],
        "bug_type": row["bug_type"],
        "stop": str(result.stop_reason),
        "judged": result.signals,
        "seconds": round(time.monotonic() - started, 2),
        "edits": list(result.best.candidate.edits) if result.best else [],
        "note": result.best.candidate.note if result.best else "",
    }


def solve_blocking(arguments: tuple[Row, float]) -> Row:
    """For a worker process."""
    return asyncio.run(solve(*arguments))


def report(rows: list[Row]) -> Iterator[str]:
    """The table."""
    kinds: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        kinds[row["bug_type"]].append(row)
    yield "blind: the visible tests pass as they are, or there are none"
    yield f"{'bug type':20} {'n':>4} {'hidden pass':>12} {'false pass':>11} {'blind':>6} {'unsolved':>9}"
    for kind, group in [*sorted(kinds.items()), ("all", rows)]:
        stops = Counter(r["stop"] for r in group)
        solved, false, blind = stops["verified"], stops["hidden_failed"], stops["already_passing"] + stops["no_verdict"]
        rest = len(group) - solved - false - blind
        yield f"{kind:20} {len(group):4} {solved:6} {solved / len(group):5.0%} {false:11} {blind:6} {rest:9}"
    searched = [r for r in rows if r["stop"] not in ("already_passing", "no_verdict")]
    solved_rows = [r for r in rows if r["stop"] == "verified"]
    rate = sum(r["judged"] for r in searched) / max(1e-9, sum(r["seconds"] for r in searched))
    yield f"stops: {dict(Counter(r['stop'] for r in rows))}"
    if solved_rows:
        judged = statistics.median(r["judged"] for r in solved_rows)
        yield f"candidates judged until fixed: median {judged:.0f}; candidates a second and worker: {rate:.1f}"


def main() -> None:
    """Runs the rows and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--limit", type=int, help="only the first N tasks of a fixed shuffle")
    parser.add_argument("--json", type=Path, help="write one line a task to this file")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in arguments.data.read_text().splitlines()]
    rows.sort(key=lambda r: hash_of(r["task_id"]))
    rows = rows[: arguments.limit]
    done: list[Row] = []
    with multiprocessing.get_context("spawn").Pool(arguments.workers, maxtasksperchild=20) as pool:
        jobs = [(row, arguments.seconds) for row in rows]
        for result in pool.imap_unordered(solve_blocking, jobs):
            done.append(result)
            print(json.dumps(result, ensure_ascii=False), flush=True)
            if arguments.json:
                with arguments.json.open("a") as file:
                    file.write(json.dumps(result, ensure_ascii=False) + "\n")
    print("\n".join(report(done)))


def hash_of(text: str) -> int:
    """A fixed shuffle, the same on every machine."""
    return int.from_bytes(text.encode(), "big") * 2654435761 % (1 << 32)


if __name__ == "__main__":
    main()
