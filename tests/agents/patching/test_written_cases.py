"""What of a model's answer becomes a test case, and why the rest does not."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.patching._case_writer import ANSWER_CHARS, read_cases

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
