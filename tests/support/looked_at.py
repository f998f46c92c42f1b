"""A ledger with real runs that the viewer's tests look at, and one whose every text is hostile."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from guessing import ANSWER, Check
from recorded_runs import ledger_at, question, repairing, run, saying

from groundwire import Tree
from groundwire.core._records import RunRecord
from groundwire.memory import SqlStore

SCRIPT = "</pre><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
UNSEEN = "\x1b[31mred\x1b[0m \u202eright to left\u202c \x00 nul \ud83d half of an emoji"
HOSTILE = f"{SCRIPT} {UNSEEN} {{{{ 7 * 7 }}}} <svg onload=alert(1)> javascript:alert(1)"


async def two_runs(folder: Path) -> tuple[RunRecord, RunRecord]:
    """A run that gets there in its second trial, with a lesson in between, and one that never does; in `ledger.db`."""
    async with aclosing(ledger_at(folder)) as store:
        good = await run(store, repairing([saying("41"), saying("42")]), question())
        bad = await run(store, repairing([saying("1"), saying("2"), saying("3")]), question())
    return good, bad


async def hostile_run(folder: Path) -> RunRecord:
    """A run whose task, answers, reflection and prompt try to break out of a page."""
    async with aclosing(ledger_at(folder)) as store:
        graph = repairing([saying(f"41 {HOSTILE}"), saying("42")], name="model<script>", reflection=HOSTILE)
        return await run(store, graph, question("sum<b>", f"How much? {HOSTILE}"), note=HOSTILE)


async def long_run(folder: Path) -> RunRecord:
    """A run of forty trials, with cases whose names are long, that changes the end of a file of forty lines."""
    lines = [f"line {number}" for number in range(40)]
    task = replace(question(), tree=Tree({ANSWER: "\n".join(lines).encode()}))
    answers = [saying("\n".join([*lines[:-1], str(number)])) for number in range(90)]
    names = [f"tests/test_module.py::TestOfSomething::test_{name}" for name in ("first_of_all", "and_then_another")]
    async with aclosing(ledger_at(folder)) as store:
        return await run(store, repairing(answers, check=Check(names)), task, trials=40)


async def three_tasks(folder: Path) -> RunRecord:
    """A run of three tasks, of which the second is solved."""
    async with aclosing(ledger_at(folder)) as store:
        tasks = [question(name) for name in ("one", "two", "three")]
        return await run(store, repairing([saying("1"), saying("42"), saying("3")]), *tasks, trials=1)


def opened(folder: Path) -> SqlStore:
    """The ledger of `folder`, opened anew."""
    return ledger_at(folder)
