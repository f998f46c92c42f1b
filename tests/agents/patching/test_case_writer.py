"""The model that writes test cases: what it is shown, and what it is not."""

from __future__ import annotations

import ast
from dataclasses import replace
from textwrap import indent
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents import LLMCaseWriter
from groundwire.agents.patching._case_writer import ANSWER_CHARS, read_cases
from groundwire.core._candidates import Tree
from groundwire.core._contexts import WriterContext
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_for
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._tasks import Hidden
from groundwire.models import ScriptedBackend

if TYPE_CHECKING:
    from conftest import Scene


async def call(backend: Backend, request: Request) -> Completion:
    return await backend.complete(request)


async def test_it_is_shown_the_task_and_the_files_and_nothing_hidden(scene: Scene) -> None:
    backend = ScriptedBackend(["```python\nfrom shop import total\nassert total([1]) == 1\n```"])
    hidden = Hidden(("pytest", "secret"), Tree({"secret/test_h.py": b"assert total([9]) == 9\n"}))
    task = replace(scene.task(), hidden=hidden)
    written = await LLMCaseWriter(backend).write(WriterContext(task, call, seed=7), 4)
    assert len(written.cases) == 1
    requests: list[Any] = list(backend.requests)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    (request,) = requests
    text = "\n".join(m.content for m in request.messages)
    assert task.prompt in text
    assert "Write up to 4 tests." in text
    assert "shop/price.py" in text
    assert "secret" not in text
    assert "total([9])" not in text
    assert (request.purpose, request.seed, request.n) == ("write_tests", seed_for(7, 0, "write_tests"), 1)
    assert request.prompt_digest


async def test_an_answer_without_a_test_is_no_error(scene: Scene) -> None:
    written = await LLMCaseWriter(ScriptedBackend(["I can't."])).write(WriterContext(scene.task(), call), 4)
    assert written.cases == ()
    assert written.by


@pytest.mark.parametrize("wrong", [{"max_tokens": 0}, {"context_tokens": 0}, {"temperature": -1}])
def test_arguments_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="out of range"):
        LLMCaseWriter(ScriptedBackend(["x"]), **wrong)


# What of a model's answer becomes a test case, and why the rest does not.


ANSWER = """Here are tests.

```python
import math
from shop import total

def test_sum():
    assert total([1, 2]) == 3

def test_root():
    x = total([4, 5])
    assert math.sqrt(x) == 3
```

And one more:

```
assert total([]) == 0
```
"""


def dropped(answer: str, n: int = 9) -> list[str]:
    return [why for _, why in read_cases(answer, n).dropped]


def test_functions_and_bare_assertions_become_cases_with_all_they_import() -> None:
    written = read_cases(ANSWER, 6, by="m")
    assert written.cases == (
        "def test_1():\n    import math\n    from shop import total\n    assert total([1, 2]) == 3\n",
        "def test_2():\n    import math\n    from shop import total\n"
        "    x = total([4, 5])\n    assert math.sqrt(x) == 3\n",
        "def test_3():\n    import math\n    from shop import total\n    assert total([]) == 0\n",
    )
    assert (written.dropped, written.by, written.validated) == ((), "m", False)


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def test_a(x):\n    assert f(x)", "takes parameters"),
        ("def test_a(*x):\n    assert f(x)", "takes parameters"),
        ("@skip\ndef test_a():\n    assert f(1)", "is decorated"),
        ("class TestA:\n    def test_a(self):\n        assert f(1)", "is neither an import nor a test"),
        ("x = f(1)", "is neither an import nor a test"),
        ("async def test_a():\n    assert f(1)", "is neither an import nor a test"),
        ("assert True", "checks nothing that the code does"),
        ("def test_a():\n    f(1)", "checks nothing that the code does"),
        ("assert f(1)\nassert f(1)", "repeats another"),
        ("assert f(1)\ndef test_b():\n    assert f(1)", "repeats another"),
        ("from shop import *\nassert f(1)", "an import of this form can't be used"),
        ("from . import shop\nassert f(1)", "an import of this form can't be used"),
        ("from __future__ import annotations\nassert f(1)", "an import of this form can't be used"),
    ],
)
def test_what_can_not_judge_is_dropped_with_its_reason(code: str, why: str) -> None:
    assert dropped(code) == [why]


WRITTEN = "from shop import f\ndef test_a():\n    x = f(1)\n    assert x == 2\n"


@pytest.mark.parametrize(
    "answer",
    [
        f"Sure! Here are some tests:\n```python\n{WRITTEN}```\n".replace("\n", "\r\n"),
        f"~~~py\n{WRITTEN}~~~",
        f"```python\n{WRITTEN}",
        "1. It adds:\n\n" + indent(f"```python\n{WRITTEN}```", "   "),
        f"<think>\n```python\nassert f(0) == 9\n```\n</think>\n```python\n{WRITTEN}```",
        f"```python\n{WRITTEN}\ndef test_b():\n    assert f(3) == (",
        f"Tests follow.\n{WRITTEN}I hope they help!",
    ],
)
def test_cases_are_read_out_of_what_models_put_around_them(answer: str) -> None:
    assert read_cases(answer, 6).cases == ("def test_1():\n    from shop import f\n    x = f(1)\n    assert x == 2\n",)


def test_a_list_of_assertions_is_read_item_by_item() -> None:
    written = read_cases("- assert f(1) == 2\n- assert f([\n    1]) == 3\n3. assert f(2) == 4", 6)
    assert len(written.cases) == 3


def test_no_more_are_kept_than_were_asked_for() -> None:
    written = read_cases("\n".join(f"assert f({i}) == {i}" for i in range(9)), 6)
    assert len(written.cases) == 6
    assert [why for _, why in written.dropped] == ["more than asked for"] * 3


def test_an_expected_error_is_a_check() -> None:
    code = "import pytest\ndef test_a():\n    with pytest.raises(ValueError):\n        f(-1)"
    assert len(read_cases(code, 6).cases) == 1


def test_of_an_answer_that_does_not_parse_the_lines_that_do_are_kept() -> None:
    written = read_cases("from shop import f\nassert f(1) == 2\nassert f(2 == 3\n  assert f(3) == 4\n", 6)
    assert len(written.cases) == 2
    assert written.dropped == (("assert f(2 == 3", "does not parse"),)


@pytest.mark.parametrize(
    "answer", ["", "no code at all", "```python\n```", "\0", "(" * 9000, "x" * (ANSWER_CHARS * 3), "-" * 9000 + "1"]
)
def test_an_answer_without_a_test_gives_none(answer: str) -> None:
    assert read_cases(answer, 6).cases == ()


@given(st.text(max_size=300))
def test_whatever_is_kept_parses_and_asserts(text: str) -> None:
    for case in read_cases(f"assert f(1)\n{text}", 3).cases:
        (function,) = ast.parse(case).body
        assert isinstance(function, ast.FunctionDef)
        assert not function.args.args
