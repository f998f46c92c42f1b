"""The demo's second act: a small model writes easy functions, and tests outside it pick what works."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from groundwire.agents.patching._function_writer import GREEDY, FunctionWriter
from groundwire.core._candidates import Tree
from groundwire.core._contexts import Tool
from groundwire.core._models import Backend
from groundwire.core._records import RunEnd, StopReason, Store
from groundwire.core._tasks import Hidden, Task
from groundwire.graphs import Budget, EpisodeResult, FeedbackGraph, Rules, SandboxOptions
from groundwire.graphs.run._sandboxes import Sandboxes
from groundwire.tools import HiddenTests, Pytest

# The easy functions that a small model writes in the demo's second act, as tasks.

SHOWN = frozenset(
    {
        "last_or_none",
        "seconds_in",
        "swap_ends",
        "shout",
        "without",
        "average",
        "count_spaces",
        "to_celsius",
        "add_pairs",
    }
)
"""What the demo has written: the eight of the twenty that SmolLM2 got right at least once in a trial of 1 + 24 answers
with other seeds, and one of the others (`swap_ends`). A share over these says nothing of functions in general."""
FAMILY = "functions"
CHECKS = "checks"


def function_tasks(file: Path | None = None) -> list[Task]:
    """The tasks: a stub each, tests that judge every try, and hidden tests that judge once.

    Args:
        file: a file like `functions.toml`; default: that one.
    """
    source = file or files("groundwire.demo").joinpath("functions.toml")
    return [_task(entry) for entry in tomllib.loads(source.read_text(encoding="utf-8"))["function"]]


def _task(entry: dict[str, Any]) -> Task:
    name: str = entry["id"]
    module, test, more = f"{name}.py", f"test_{name}.py", f"{CHECKS}/test_more_{name}.py"
    stub = f"{entry['stub'].strip()}\n    raise NotImplementedError\n"
    return Task(
        id=name,
        prompt=f"Write {name}.",
        tree=Tree({module: stub.encode(), test: _tests(name, entry["tests"])}),
        command=("python", "-m", "pytest", "-q", test),
        family=FAMILY,
        editable=(module,),
        hidden=Hidden(("python", "-m", "pytest", "-q", CHECKS), Tree({more: _tests(name, entry["hidden"])})),
    )


def _tests(name: str, claims: Sequence[str]) -> bytes:
    cases = [f"def test_{number}():\n    assert {claim}\n" for number, claim in enumerate(claims, 1)]
    return "\n\n".join([f"from {name} import {name}\n", *cases]).encode()


SAMPLES = 8
"""Answers of a trial after the first, drawn at once behind one prompt."""
TRIALS = 3
ANSWERS = 1 + (TRIALS - 1) * SAMPLES
"""The most that are asked for, for one function."""
AT_ONCE = 2
RULES = Rules(rejudge_fails=0, rejudge_passes=0)
"""The tests call pure functions, so that nothing has to be judged twice."""


@dataclass(frozen=True)
class WrittenFunction:
    """One function's outcome.

    Args:
        task: what was to be written.
        result: its episode.
    """

    task: Task
    result: EpisodeResult

    @property
    def right(self) -> bool:
        """True if an answer passed the tests, and the hidden tests too."""
        return self.result.stop_reason is StopReason.VERIFIED

    @property
    def right_at_once(self) -> bool:
        """True if that was the model's first answer, the likeliest one."""
        best = self.result.best
        return self.right and best is not None and best.candidate.edits == (GREEDY,)


def writing_graph(writer: FunctionWriter, judge: Tool, hidden: Tool, *, width: int = SAMPLES) -> FeedbackGraph:
    """Writes, is judged, and writes again only when a sealed FAIL says so. No critic: nothing is told but to try again.

    Args:
        writer: proposes.
        judge: runs the visible tests.
        hidden: runs the hidden tests, once the visible ones pass.
        width: candidates judged in one trial.
    """
    graph = FeedbackGraph(name="write_functions")
    graph.add_tool("baseline", judge)
    graph.add_actor("write", writer, width=width)
    graph.add_tool("test", judge)
    graph.add_tool("hidden", hidden)
    graph.set_entry("baseline")
    graph.refine("baseline", to="write")
    graph.add_edge("write", "test")
    graph.refine("test", to="write")
    graph.confirm("test", by="hidden")
    return graph


async def write_functions(
    tasks: Sequence[Task],
    backend: Backend,
    store: Store,
    *,
    sandbox: str | None = None,
    seed: int = 0,
) -> AsyncGenerator[WrittenFunction, None]:
    """Has the functions written; yields each as it is known, in the order of `tasks`.

    What bounds it is work, `ANSWERS` a function, and no clock. Two are at work at once, so that one is judged while the
    other is written.

    Args:
        tasks: see `groundwire.demo._writing`.
        backend: the model.
        store: ledger and memory, a durable one; all of it is one run.
        sandbox: its kind; None: the default.
        seed: the same one gives the same answers.

    Raises:
        ModelError: the model can't be used at all.
    """
    writer = FunctionWriter(backend, samples=SAMPLES)
    graph = writing_graph(writer, Pytest(), HiddenTests())
    options = SandboxOptions(kind=sandbox)
    sandboxes = Sandboxes(options)
    gate = asyncio.Semaphore(AT_ONCE)
    app = graph.compile(store=store, budget=Budget(trials=TRIALS), sandbox=options, rules=RULES)
    run_id = await app.start_run({"demo": "functions", "model": backend.model})

    async def write(task: Task) -> WrittenFunction:
        async with gate:
            result = await app.arun(task, run_id=run_id, seed=seed, sandboxes=sandboxes)
            if result.stop_reason is StopReason.MODEL_ERROR and result.error is not None:
                raise result.error
            return WrittenFunction(task, result)

    running = [asyncio.create_task(write(task)) for task in tasks]
    try:
        for written in running:
            yield await written
    finally:
        for written in running:
            written.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await sandboxes.aclose()
        await store.append(RunEnd(run_id=run_id))
