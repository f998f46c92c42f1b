"""What the visible tests call: literals, names bound to them, rows of parametrize; nothing that only a test knows."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.tools._visible_calls import read_calls

CODE = "def f(x, y=0):\n    return x\nclass Stack:\n    def push(self, x):\n        return x\n"


def calls(bench: Any, test: str, *, head: str = "from mod import *\n", **files: str) -> list[str]:
    task = bench.task({"mod.py": CODE, "test_mod.py": head + test, **files})
    return [call.text({}) for call in read_calls(task).calls]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("def test_a():\n    assert f(1) == 2\n", ["f(1)"]),
        ("def test_a():\n    assert f([1, 'a'], y=(2,)) == 2 and f(3)\n", ["f([1, 'a'], y=(2,))", "f(3)"]),
        ("def test_a():\n    x = [1]\n    assert f(x) == 2\n", ["f([1])"]),
        ("def test_a():\n    x = [1]\n    x = [2]\n    assert f(x) == 2\n", []),
        ("X = 7\ndef test_a():\n    assert f(X)\n", ["f(7)"]),
        ("def test_a():\n    assert Stack().push(1) == 1\n", ["Stack().push(1)"]),
        ("import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n",
         ["f(1)"]),
        ("def test_a(thing):\n    assert f(thing)\n", []),
        ("def test_a():\n    for x in (1, 2):\n        assert f(x)\n", []),
        ("def test_a():\n    assert f(*[1])\n    assert f(**{})\n", []),
        ("def test_a():\n    assert len([1]) == 1\n", []),
        ("def helper():\n    assert f(1)\n", []),
    ],
)  # fmt: skip
def test_calls_of_a_test(bench: Any, test: str, expected: list[str]) -> None:
    assert sorted(calls(bench, test)) == sorted(expected)


@pytest.mark.parametrize(
    "decorator",
    [
        "@pytest.mark.parametrize('x, want', [(1, 2), pytest.param(3, 4, id='a')])",
        "@pytest.mark.parametrize(['x', 'want'], ((1, 2), (3, 4)))",
    ],
)
def test_rows_of_parametrize(bench: Any, decorator: str) -> None:
    test = f"{decorator}\ndef test_a(x, want):\n    assert f(x) == want\n"
    assert calls(bench, test, head="import pytest\nfrom mod import f\n") == ["f(1)", "f(3)"]


def test_one_parameter_needs_no_tuples(bench: Any) -> None:
    test = "@pytest.mark.parametrize('x', [1, 3])\ndef test_a(x):\n    assert f(x)\n"
    assert calls(bench, test, head="import pytest\nfrom mod import f\n") == ["f(1)", "f(3)"]


def test_imports_inside_a_test_go_with_its_calls(bench: Any) -> None:
    files = {"mod.py": CODE, "test_mod.py": "import os\ndef test_a():\n    import mod as m\n    assert m.f(1)\n"}
    (call,) = read_calls(bench.task(files)).calls
    assert (call.text({}), call.imports) == ("m.f(1)", ("import os", "import mod as m"))


def test_what_results_are_compared_with(bench: Any) -> None:
    test = "def test_a():\n    w = 1.5\n    assert f(1) == 2\n    assert w == f(2)\n    assert f(3) is None\n"
    read = read_calls(bench.task({"mod.py": CODE, "test_mod.py": "from mod import f\n" + test}))
    assert read.wanted == {"f": {"int", "float", "NoneType"}}


def test_changed_arguments_take_the_place_of_the_old(bench: Any) -> None:
    task = bench.task({"mod.py": CODE, "test_mod.py": "from mod import f\ndef test_a():\n    assert f(1, y=2)\n"})
    (call,) = read_calls(task).calls
    assert call.arguments() == {0: 1, "y": 2}
    assert call.text({0: "a", "y": [None]}) == "f('a', y=[None])"


def test_files_that_cannot_be_read_are_left_out(bench: Any) -> None:
    files = {"broken.py": "def (", "test_broken.py": "def (", "test_nul.py": "\0"}
    assert calls(bench, "def test_a():\n    assert f(1)\n", **files) == ["f(1)"]


def test_test_files_are_not_the_projects_own(bench: Any) -> None:
    assert calls(bench, "def helper(x):\n    return x\ndef test_a():\n    assert helper(1)\n") == []
