"""Tests that a model wrote, run by real pytest in a real sandbox: validated where a reference is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._contexts import ToolContext, WriterContext, WrittenCases
from groundwire.core._signals import NoVerdict, Origin, Verdict
from groundwire.core._tasks import Hidden, Task
from groundwire.tools import ModelTests

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROJECT = {"mod.py": "def f(x):\n    return x\n"}
RIGHT: Mapping[str, bytes | None] = {"mod.py": b"def f(x):\n    return x + 1\n"}
GOOD = "def test_1():\n    from mod import f\n    assert f(1) == 2\n"
WRONG = "def test_2():\n    from mod import f\n    assert f(2) == 4\n"
BROKEN = "def test_3():\n    import nowhere\n    assert nowhere.f(1)\n"


class Writer:
    """Writes what it was given."""

    def __init__(self, *cases: str) -> None:
        self.cases = cases
        self.seen: list[tuple[WriterContext, int]] = []

    async def write(self, context: WriterContext, n: int) -> WrittenCases:
        self.seen.append((context, n))
        return WrittenCases(cases=self.cases, dropped=(("x =", "does not parse"),), by="m")


def with_cases(context: ToolContext, *cases: str) -> ToolContext:
    return replace(context, written=WrittenCases(cases=cases))


async def test_they_judge_a_candidate_and_say_whose_they_are(bench: Any) -> None:
    task, tool = bench.task(PROJECT), ModelTests(Writer())
    context = with_cases(bench.context(), GOOD)
    wrong = await tool.judge(candidate_of(task, {}), task, context)
    assert (wrong.verdict, wrong.origin) == (Verdict.FAIL, Origin.MODEL_TESTS)
    assert [c.id for c in wrong.evidence.cases] == ["test_written_by_model.py::test_1"]
    right = await tool.judge(candidate_of(task, RIGHT), task, context)
    assert (right.verdict, right.origin) == (Verdict.PASS, Origin.MODEL_TESTS)


def candidate_of(task: Task, changes: Mapping[str, bytes | None]) -> Any:
    from groundwire.core._candidates import Candidate

    return Candidate(task.tree.digest, changes)


async def test_a_candidate_can_not_bring_its_own(bench: Any) -> None:
    task = replace(bench.task(PROJECT), test_files=("nothing",), editable=("**",))
    cheat = {"test_written_by_model.py": b"def test_1():\n    pass\n"}
    seen = await ModelTests(Writer()).judge(candidate_of(task, cheat), task, with_cases(bench.context(), GOOD))
    assert seen.verdict is Verdict.FAIL


@pytest.mark.parametrize("written", [None, WrittenCases(dropped=(("x", "y"),))])
async def test_without_a_test_there_is_no_verdict(bench: Any, written: WrittenCases | None) -> None:
    task = bench.task(PROJECT)
    context = replace(bench.context(), written=written)
    seen = await ModelTests(Writer()).judge(candidate_of(task, RIGHT), task, context)
    assert (seen.verdict, seen.reason) == (Verdict.NONE, NoVerdict.NOTHING_COLLECTED)
    assert "no test that can judge" in seen.evidence.detail


async def test_what_the_reference_fails_is_dropped(bench: Any) -> None:
    writer = Writer(GOOD, WRONG, BROKEN)
    tool = ModelTests(writer, cases=5, reference=lambda task: RIGHT)
    written = await tool.write(bench.task(PROJECT), bench.context())
    assert written.cases == (GOOD,)
    assert written.dropped == (
        ("x =", "does not parse"),
        (WRONG, "the reference fails it"),
        (BROKEN, "the reference fails it"),
    )
    assert written.validated
    assert writer.seen[0][1] == 5


async def test_without_a_reference_all_are_kept_and_nothing_is_claimed(bench: Any) -> None:
    for reference in (None, lambda _task: None):  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]
        written = await ModelTests(Writer(GOOD, WRONG), reference=reference).write(  # pyright: ignore[reportUnknownArgumentType]
            bench.task(PROJECT), bench.context()
        )
        assert (written.cases, written.validated) == ((GOOD, WRONG), False)


async def test_a_reference_that_can_not_be_run_validates_nothing(bench: Any) -> None:
    async def no_sandbox() -> Any:
        raise OSError("gone")

    context = replace(bench.context(), sandbox=no_sandbox)
    written = await ModelTests(Writer(GOOD), reference=lambda task: RIGHT).write(bench.task(PROJECT), context)
    assert (written.cases, written.validated) == ((GOOD,), False)


async def test_the_writer_sees_nothing_hidden(bench: Any) -> None:
    writer = Writer(GOOD)
    hidden = Hidden(("pytest", "secret"), Tree({"secret/test_h.py": b""}))
    await ModelTests(writer).write(bench.task(PROJECT, hidden=hidden), replace(bench.context(), seed=3))
    assert (writer.seen[0][0].task.hidden, writer.seen[0][0].seed) == (None, 3)


async def test_what_a_model_wrote_runs_as_a_strangers_code(bench: Any) -> None:
    leave = "def test_1():\n    import os\n    from mod import f\n    f(1)\n    os._exit(0)\n    assert f(1)\n"
    task = bench.task(PROJECT)
    seen = await ModelTests(Writer()).judge(candidate_of(task, RIGHT), task, with_cases(bench.context(), leave))
    assert seen.verdict is not Verdict.PASS
