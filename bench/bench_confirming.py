"""What a verified PASS costs: sandbox runs and their processor time, by how the suite may be judged.

    .venv/bin/python bench/bench_confirming.py [--rounds 3] [--json]

One episode a row, through the real graph, pytest tool and bubblewrap: an actor proposes the right answer at once (or
four, of which one is right, or a wrong one), so that all that is run is judging. A *run* is one command or one pair of
boxes, a *box* one namespace with one command in it; the runs of a fork server count as well. `cpu_s` is that of all
boxes of an episode, the median over rounds; a run of a fork server does not tell its own, nor does a box that is ended
because the other one of its pair has. One run of each row is the probe of a sandbox that is opened.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundwire import FeedbackGraph, Rules, Task
from groundwire.core import ActorContext, Candidate, ExecResult, Hidden, Tree
from groundwire.memory import InMemoryStore
from groundwire.sandbox import _bubblewrap as bubblewrap
from groundwire.sandbox import _warm as warm
from groundwire.tools import HiddenTests, Pytest

BROKEN, RIGHT = b"def f(x):\n    return x\n", b"def f(x):\n    return x + 1\n"
TESTS = "import pytest\nfrom mod import f\n" + "".join(
    f"def test_{n}():\n    assert f({n}) == {n + 1}\n" for n in range(20)
)
ONE_BOX = f"{TESTS}def test_log(caplog):\n    assert f(1) == 2\n"
"""Reads log records of the process that it runs in."""


@dataclass
class Told:
    """What was run."""

    runs: Counter[str] = field(default_factory=Counter[str])
    cpu_s: float = 0.0


told = Told()


def count_runs() -> None:
    """Has bubblewrap and its fork server tell what they run."""
    plain, pair, quick = vars(bubblewrap.Bubblewrap)["_run"], bubblewrap.Bubblewrap.run_pair, warm.ForkServer.run

    async def _run(self: Any, *given: Any, **more: Any) -> ExecResult:
        told.runs["boxes"] += 1
        result = await plain(self, *given, **more)
        told.cpu_s += result.cpu_s
        return result

    async def run_pair(self: Any, *given: Any) -> Any:
        told.runs["pairs"] += 1
        return await pair(self, *given)

    async def run(self: Any, *given: Any, **more: Any) -> ExecResult:
        told.runs["warm"] += 1
        result = await quick(self, *given, **more)
        told.cpu_s += result.cpu_s
        return result

    for kind, name, counting in (
        (bubblewrap.Bubblewrap, "_run", _run),
        (bubblewrap.Bubblewrap, "run_pair", run_pair),
        (warm.ForkServer, "run", run),
    ):
        setattr(kind, name, counting)


@dataclass(frozen=True)
class Proposes:
    """Proposes given answers, once."""

    answers: Sequence[bytes]

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        return [] if context.trial > 1 else [Candidate(context.task.tree.digest, {"mod.py": a}) for a in self.answers]


@dataclass(frozen=True)
class Row:
    """One kind of episode."""

    answers: Sequence[bytes]
    tests: str = TESTS
    hidden: bool = False
    rules: Rules = field(default_factory=Rules)


WRONG = tuple(b"def f(x):\n    return x - %d\n" % n for n in range(3))
ROWS = {
    "visible tests": Row([RIGHT]),
    "visible tests, two looks": Row([RIGHT], rules=Rules(rejudge_passes=1)),
    "visible tests, one look": Row([RIGHT], rules=Rules(rejudge_passes=0)),
    "visible and hidden tests": Row([RIGHT], hidden=True),
    "in one process": Row([RIGHT], ONE_BOX),
    "one of four is right": Row([*WRONG, RIGHT]),
    "a wrong one": Row(WRONG[:1]),
}


async def episode(row: Row) -> Mapping[str, Any]:
    """One; what was run for it."""
    global told
    told = Told()
    hidden = (
        Hidden(("pytest", "-q", "test_hidden.py"), Tree({"test_hidden.py": TESTS.encode()})) if row.hidden else None
    )
    tree = Tree({"mod.py": BROKEN, "test_mod.py": row.tests.encode()})
    graph = FeedbackGraph()
    graph.add_actor("write", Proposes(row.answers), width=len(row.answers))
    graph.add_tool("test", Pytest())
    graph.add_edge("write", "test")
    graph.refine("test", to="write")
    if row.hidden:
        graph.add_tool("hidden", HiddenTests()).confirm("test", by="hidden")
    app = graph.compile(store=InMemoryStore(), rules=row.rules)
    result = await app.arun(Task("t", tree=tree, command=("pytest", "-q"), hidden=hidden))
    boxes, pairs, quick = (told.runs[name] for name in ("boxes", "pairs", "warm"))
    return {
        "stop_reason": str(result.stop_reason),
        "runs": boxes - pairs + quick,
        "boxes": boxes,
        "cpu_s": told.cpu_s,
    }


async def measure(rounds: int) -> Mapping[str, Mapping[str, Any]]:
    """Every row."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, row in ROWS.items():
        seen = [await episode(row) for _ in range(rounds)]
        found[name] = {**seen[-1], "cpu_s": round(statistics.median(s["cpu_s"] for s in seen), 2)}
        print(f"{name}: {json.dumps(found[name])}", flush=True)
    return found


def main() -> None:
    """Prints a line a row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    count_runs()
    found = asyncio.run(measure(asked.rounds))
    if asked.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
