"""What the visible tests call: literals, names bound to them, rows of parametrize; nothing that only a test knows."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.tools._visible_calls import MAX_CHARS, mutated, probes_of, read_calls

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


# Changed values keep their type, and can be written down and read back.


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
KEYS = st.integers() | st.text(max_size=4)
VALUES = st.recursive(
    SCALARS | st.sets(KEYS, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(KEYS, inner, max_size=3)
        | st.lists(inner, max_size=3).map(lambda items: tuple(items))
    ),
    max_leaves=8,
)


@given(VALUES, st.lists(VALUES, max_size=3), st.integers(0, 1000))
def test_the_type_stays_and_the_value_can_be_read_back(value: Any, donors: list[Any], seed: int) -> None:
    before = repr(value)
    changed = mutated(value, donors, random.Random(seed))
    assert type(changed) is type(value)
    assert repr(value) == before, "the value itself is left as it was"
    if "inf" not in repr(changed) and "set()" not in repr(changed):
        assert ast.literal_eval(repr(changed)) == changed


@pytest.mark.parametrize("value", [0, 7, 1.5, "ab", [1, 2], (1, 2), {1, 2}, {"a": 1}, True])
def test_most_changes_change_something(value: Any) -> None:
    source = random.Random(1)
    different = sum(mutated(value, [], source) != value for _ in range(100))
    assert different > 40


def test_unknown_types_stay() -> None:
    assert mutated(None, [1], random.Random(0)) is None
    assert mutated(b"a", [b"b"], random.Random(0)) == b"a"


def test_a_donor_of_the_same_type_is_taken_now_and_then() -> None:
    source = random.Random(2)
    made = [mutated(5, ["text", 987654, 5], source) for _ in range(200)]
    assert 5 < made.count(987654) < 60


def test_a_set_takes_only_what_has_a_hash() -> None:
    assert {frozenset(mutated(set[Any](), [[([],)]], random.Random(seed))) for seed in range(50)} == {frozenset()}


# Probes: calls that no test makes, always the same ones.


FILES = {
    "mod.py": "def f(x, y):\n    return x\ndef g(s):\n    return s\n",
    "tests/test_mod.py": (
        "from mod import f, g\n"
        "def test_f():\n    assert f(3, [1, 2]) == 4\n    assert f(5, []) == 6\n"
        "def test_g():\n    assert g('abc') == 'ABC'\n"
    ),
}


def test_probes_vary_the_arguments_of_the_tests(bench: Any) -> None:
    probes = probes_of(bench.task(FILES))
    assert len(probes) == 100
    texts = [p.call for p in probes]
    assert len(set(texts)) == 100
    assert not {"f(3, [1, 2])", "f(5, [])", "g('abc')"} & set(texts)
    assert {t[0] for t in texts} == {"f", "g"}
    for text in texts:
        ast.parse(text, mode="eval")
    first = next(p for p in probes if p.call.startswith("g"))
    assert (first.path, first.imports, first.wanted) == (
        "tests/test_mod.py", ("from mod import f, g",), frozenset({"str"}),
    )  # fmt: skip


def test_the_same_task_gives_the_same_probes(bench: Any) -> None:
    assert probes_of(bench.task(FILES)) == probes_of(bench.task(FILES))


def test_few_can_be_asked_for(bench: Any) -> None:
    assert len(probes_of(bench.task(FILES), most=7)) == 7


def test_without_calls_there_are_none(bench: Any) -> None:
    assert probes_of(bench.task({"mod.py": "def f():\n    pass\n", "test_mod.py": "from mod import f\n"})) == ()


def test_long_calls_are_left_out(bench: Any) -> None:
    test = f"from mod import g\ndef test_g():\n    assert g({'a' * 2 * MAX_CHARS!r})\n"
    probes = probes_of(bench.task({**FILES, "tests/test_mod.py": test}))
    assert all(len(p.call) <= MAX_CHARS for p in probes)
