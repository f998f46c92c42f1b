"""A function to be written, as a task: what its files hold, and that they judge."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from looking_at_functions import judge_all

from groundwire.core._errors import TaskError
from groundwire.core._signals import NoVerdict, Verdict
from groundwire.core._tasks import Task
from groundwire.logs import function_task

HEAD = 'def double(n):\n    """Twice n."""\n'
CHECK = "def check(candidate):\n    assert candidate(3) == 6\n"


def task(**fields: Any) -> Task:
    given: dict[str, Any] = {"visible": ["assert double(1) == 2", "assert double(2) == 4"], "hidden": CHECK}
    return function_task("t", HEAD, "double", **given | fields)


def visible_source(made: Task) -> str:
    return made.tree.files["tests/test_visible.py"].decode()


def hidden_source(made: Task) -> str:
    assert made.hidden is not None
    return made.hidden.tree.files["hidden/test_hidden.py"].decode()


def test_what_may_be_edited_and_what_nobody_sees() -> None:
    made = task(family="words")
    assert sorted(made.tree.files) == ["solution.py", "tests/test_visible.py"]
    assert made.tree.files["solution.py"].decode() == HEAD
    assert made.may_edit("solution.py") and not made.may_edit("tests/test_visible.py")
    assert made.public().hidden is None and made.family == "words" and "Twice n." in made.prompt
    assert "candidate(3)" not in str(made.public())


def test_each_assert_is_a_case_of_its_own_as_it_stands() -> None:
    source = visible_source(task(visible=["assert double(1)==2 # odd", 'assert double("a") == """a\na"""']))
    assert "        assert double(1)==2 # odd\n" in source
    assert "assert double('a') == 'a\\na'" in source
    cases = [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    assert cases == ["test_1", "test_2"]


@pytest.mark.parametrize("call", ["check(double)", "test_check()", "check(double)\n\n\n"])
def test_a_call_at_the_end_of_the_hidden_test_is_left_to_the_case(call: str) -> None:
    source = hidden_source(task(hidden=f"{CHECK}\n{call}"))
    assert source.count("check(double)") == 1 and "test_check()" not in source


def test_an_entry_point_that_is_no_name_is_refused() -> None:
    with pytest.raises(TaskError, match=r"'os.system' is no function's name"):
        function_task("t", HEAD, "os.system", visible=[], hidden=CHECK)


async def test_visible_and_hidden_tests_judge_programs() -> None:
    right, wrong = "def double(n):\n    return 2 * n\n", "def double(n):\n    return n * n\n"
    loud = "import sys\nprint('ok')\nsys.exit(0)\n"
    numpy = "import numpy\ndef double(n):\n    return 2 * n\n"
    hangs = "def double(n):\n    while n: pass\n"
    said = await judge_all(task(), [right, wrong, loud, numpy, hangs, "def double(n: return"])
    verdicts = [(s.visible.verdict, s.hidden.verdict) for s in said]
    assert verdicts == [(Verdict.PASS, Verdict.PASS)] + [(Verdict.FAIL, Verdict.FAIL)] * 5
    assert [c.result.ok for c in said[1].visible.evidence.cases] == [False, True]
    assert "numpy" in said[3].visible.evidence.cases[0].message


async def test_without_visible_tests_there_is_no_verdict() -> None:
    (said,) = await judge_all(task(visible=[]), ["def double(n):\n    return 2 * n\n"])
    assert (said.visible.verdict, said.visible.reason) == (Verdict.NONE, NoVerdict.NOTHING_COLLECTED)
    assert said.hidden.verdict is Verdict.PASS


async def test_a_function_with_the_name_of_the_check_is_judged_as_in_one_file() -> None:
    """MBPP/56: the function to be written is called `check`, and so is the hidden test's; the test's comes last."""
    made = function_task("t", "def check(n):\n    pass\n", "check", visible=["assert check(73)"], hidden=CHECK)
    (said,) = await judge_all(made, ["def check(n):\n    return n == 73\n"])
    assert (said.visible.verdict, said.hidden.verdict) == (Verdict.PASS, Verdict.FAIL)


async def test_a_function_with_a_leading_underscore_is_found() -> None:
    """MBPP's task 798 asks for `_sum`: a star imports no such name."""
    made = function_task(
        "t", 'def _sum(xs):\n    """Sum."""\n', "_sum", visible=["assert _sum([1, 2]) == 3"],
        hidden="def check(candidate):\n    assert candidate([4]) == 4\n",
    )  # fmt: skip
    said = await judge_all(made, ["def _sum(xs):\n    return sum(xs)\n", "def sum(xs):\n    return 3\n"])
    verdicts = [(s.visible.verdict, s.hidden.verdict) for s in said]
    assert verdicts == [(Verdict.PASS, Verdict.PASS), (Verdict.FAIL, Verdict.FAIL)]
