"""Controls: what a PASS that is confirmed says of each test, and who is refused."""

# small programs, each in one line where it fits
# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._signals import Controls, Isolation, NoVerdict, Observation, Verdict
from groundwire.core._tasks import Hidden, Task
from groundwire.tools import HiddenTests, tool_for
from groundwire.tools._baselines import Baselines, Pace
from groundwire.tools._controls import run_with_controls
from groundwire.tools._executing import cold
from groundwire.tools._judging import Judge
from groundwire.tools._python_runner import PythonRunner
from groundwire.tools._reports import CaseControl
from groundwire.tools._running import CONFIRMED, Judgement, Launch, Separation

BROKEN = "def f(x):\n    return x\n"
RIGHT = "def f(x):\n    return x + 1\n"
EQUAL = """\
class Equal:
    __hash__ = None
    def __eq__(self, other): return True
    def __getattr__(self, name): return lambda *a, **k: self
    def __bool__(self): return True
    def __iter__(self): return iter(())
    def __add__(self, other): return self
def f(x):
    return Equal()
"""
NONE = CaseControl()
IN_PROCESS = Separation(at_most=Isolation.IN_PROCESS)
HEAD = "import pytest\nfrom mod import f\n"


async def confirmed(
    bench: Any,
    tests: str,
    candidate: str = RIGHT,
    *,
    base: str = BROKEN,
    command: Sequence[str] = ("pytest", "-q"),
    others: Mapping[str, str] | None = None,
    baseline: bool = True,
    name: str = "test_mod.py",
    separation: Separation = CONFIRMED,
) -> Observation:
    """As a graph does: the base tree is judged, then the candidate, then the candidate's PASS is confirmed."""
    task: Task = bench.task({"mod.py": base, name: tests, **(others or {})}, command=command)
    tool = tool_for(command, separation=separation)
    context = bench.context()
    if baseline:
        await tool.judge(Candidate(task.tree.digest, {}), task, context)
    made = Candidate(task.tree.digest, {"mod.py": candidate.encode()})
    first = await tool.judge(made, task, context)
    assert first.verdict is Verdict.PASS, first.evidence
    return await tool.judge(made, task, replace(context, confirming=True))


async def forms(bench: Any, tests: Mapping[str, str]) -> Mapping[str, CaseControl]:
    """All forms in one suite, each in a file of its own: what came of `test_a` of each."""
    files = {f"test_{n}.py": HEAD + text for n, text in enumerate(tests.values())}
    task: Task = bench.task({"mod.py": BROKEN, **files}, command=("pytest", "-q"))
    judge = Judge(PythonRunner(name="pytest", default=("pytest", "-q")), Baselines())
    start = judge.start(task)
    assert isinstance(start, Launch)

    async def run(start: Launch, candidate: Candidate) -> Judgement:
        return await judge.run(start, candidate, task, Pace(task.limits), cold(bench.sandbox, task), bench.sandbox.info)

    right = Candidate(task.tree.digest, {"mod.py": RIGHT.encode()})
    plain = await run(start, right)
    assert plain.observation.verdict is Verdict.PASS, plain.observation.evidence
    first, second = await run_with_controls(start, right, task, run)
    assert first.observation.verdict is second.observation.verdict is Verdict.PASS
    found: dict[str, CaseControl] = {}
    for name, control in [*first.controls.items(), *second.controls.items()]:
        assert not control.deceived
        found[list(tests)[int(name.split("_")[1].split(".")[0])]] = control
    return found


CHANGED = {
    "a literal": "def test_a():\n    assert f(1) == 2\n",
    "a literal on the left": "def test_a():\n    assert 2 == f(1)\n",
    "a name": "def test_a():\n    want = 2\n    got = f(1)\n    assert got == want\n",
    "a constant of the module": "WANT = [2, 3]\ndef test_a():\n    assert [f(1), f(2)] == WANT\n",
    "parameters": "@pytest.mark.parametrize('x, y', [(1, 2), pytest.param(2, 3)])\ndef test_a(x, y):\n    assert f(x) == y\n",
    "what was handed in": "def test_a():\n    x = [1]\n    assert [f(x[0]) - 1] == x\n",
    "approx": "def test_a():\n    assert f(1.0) == pytest.approx(2.0, rel=0.9)\n",
    "approx of a list": "def test_a():\n    assert [f(1.0)] == pytest.approx([2.0])\n",
    "approx of a dict": "def test_a():\n    assert {'a': f(1.0)} == pytest.approx({'a': 2.0})\n",
    "a negative number": "def test_a():\n    assert f(-2) == -1\n",
    "inf": "def test_a():\n    assert f(float('inf')) == float('inf')\n",
    "nan": "def test_a():\n    assert [f(1.0)] == pytest.approx([2.0], nan_ok=True)\n",
    "an empty list": "def test_a():\n    assert [x for x in [f(1)] if x != 2] == []\n",
    "an empty dict": "def test_a():\n    assert {x: 1 for x in [f(1)] if x != 2} == {}\n",
    "an empty text": "def test_a():\n    assert 'a' * (f(1) - 2) == ''\n",
    "a set": "def test_a():\n    assert {f(1)} == {2}\n",
    "a dict": "def test_a():\n    assert {'a': f(1), 'b': [f(2)]} == {'a': 2, 'b': [3]}\n",
    "a bool": "def test_a():\n    assert (f(1) == 2) is True\n",
    "None": "def test_a():\n    got = {2: None}[f(1)]\n    assert got is None\n",
    "a text": "def test_a():\n    assert str(f(1)) == '2'\n",
    "bytes": "def test_a():\n    assert bytes([f(1)]) == b'\\x02'\n",
    "a decimal": "from decimal import Decimal\ndef test_a():\n    assert f(Decimal(1)) == Decimal(2)\n",
    "a date": "from datetime import date\ndef test_a():\n    assert date(2020, 1, f(1)) == date(2020, 1, 2)\n",
    "a path": "from pathlib import Path\ndef test_a():\n    assert Path(str(f(1))) == Path('2')\n",
    "an enum": "from enum import Enum\nclass E(Enum):\n    A = 1\n    B = 2\ndef test_a():\n    assert E(f(1)) == E.B\n",
    "a named tuple": "from collections import namedtuple\nP = namedtuple('P', 'a b')\ndef test_a():\n    assert P(f(1), 1) == P(2, 1)\n",
    "a dataclass": "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    a: int\ndef test_a():\n    assert P(f(1)) == P(2)\n",
    "a chain": "def test_a():\n    assert 2 == f(1) == f(1)\n",
    "both of two": "def test_a():\n    assert f(1) and f(1) == 2\n",
    "all of many": "def test_a():\n    assert all(f(x) == y for x, y in [(1, 2), (2, 3)])\n",
    "a walrus": "def test_a():\n    assert (got := f(1)) == 2 and got\n",
    "what was run": "def test_a():\n    names = {}\n    exec(f'got = {f(1)}', names)\n    assert names['got'] == 2\n",
    "a loop": "def test_a():\n    for x, y in [(1, 2), (2, 3)]:\n        assert f(x) == y, 'no'\n",
    "raises": "def test_a():\n    assert f(1)\n    with pytest.raises(TypeError):\n        f('a')\n",
    "raises with a text": "def test_a():\n    with pytest.raises(TypeError, match='str') as found:\n        f('a')\n    assert found.value\n",
    "raises as a call": "def test_a():\n    pytest.raises(TypeError, f, 'a')\n",
    "raises of two": "def test_a():\n    with pytest.raises((TypeError, KeyError)):\n        f('a')\n",
    "a failure that is expected": "def test_a():\n    with pytest.raises(AssertionError):\n        assert f(1) == 3\n",
    "a name of the project, set": "import mod\ndef test_a():\n    mod.LIMIT = 5\n    assert mod.f(4) == 5\n",
    "raises what ends programs": "import sys\ndef test_a():\n    with pytest.raises(SystemExit):\n        sys.exit(f(1))\n",
    "unittest raises what ends programs": "import sys, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        with self.assertRaises(SystemExit):\n            sys.exit(f(1))\n",
    "warns": "import warnings\ndef test_a():\n    with pytest.warns(UserWarning):\n        warnings.warn(str(f(1)))\n",
    "a helper": "def same(got, want):\n    assert got == want\ndef test_a():\n    same(f(1), 2)\n    same(f(2), want=3)\n",
    "a nested function": "def test_a():\n    def inner():\n        assert f(1) == 2\n    inner()\n",
    "in try": "def test_a():\n    try:\n        assert f(1) == 2\n    finally:\n        f(1)\n",
    "a coroutine": "import asyncio\nasync def g():\n    assert f(1) == 2\ndef test_a():\n    asyncio.run(g())\n",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n        self.assertTrue(f(1))\n",
    "unittest, in another order": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual([2], [f(1)], 'no')\n",
    "unittest's own data": "import unittest\nclass T(unittest.TestCase):\n    def setUp(self):\n        self.want = 2\n    def test_a(self):\n        self.assertAlmostEqual(f(1), self.want)\n",
    "unittest, true": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertTrue(f(1) == 2)\n",
    "unittest raises": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        with self.assertRaises(TypeError):\n            f('a')\n",
    "parts of a case": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        for x in (1, 2):\n            with self.subTest(x=x):\n                self.assertEqual(f(x), x + 1)\n",
    "numpy": "np = pytest.importorskip('numpy')\ndef test_a():\n    np.testing.assert_allclose(f(np.array([1.0, 2.0])), [2.0, 3.0])\n",
    "arrays": "np = pytest.importorskip('numpy')\ndef test_a():\n    np.testing.assert_array_equal(f(np.array([1, 2])), np.array([2, 3]))\n",
    "numpy's closeness": "np = pytest.importorskip('numpy')\ndef test_a():\n    assert np.allclose(f(np.array([1.0])), [2.0])\n",
    "arrays, item by item": "np = pytest.importorskip('numpy')\ndef test_a():\n    assert (f(np.array([1, 2])) == np.array([2, 3])).all()\n",
    "a distance": "def test_a():\n    assert abs(f(1.0) - 2.0) < 1e-9\n",
    "a distance that is tolerant": "def test_a():\n    assert abs(2 - f(1)) <= 100\n",
    "closeness": "import math\ndef test_a():\n    assert math.isclose(f(1.0), 2.0, rel_tol=0.2)\n",
    "the beginning of a text": "def test_a():\n    assert str(f(1)).startswith('2')\n",
    "a failure that is told": "def test_a():\n    if f(1) != 2:\n        pytest.fail('no')\n",
    "a distance whose failure is told": "def test_a():\n    got = f(1.0)\n    if abs(got - 2) > 1e-9:\n        raise AssertionError(got)\n",
    "no distance": "def test_a():\n    assert not abs(f(1.0) - 2.0) > 1e-9\n",
    "none of two": "def test_a():\n    assert not (f(1) != 2 or f(2) != 3)\n",
    "none of many": "def test_a():\n    assert not any(f(x) != y for x, y in [(1, 2), (2, 3)])\n",
    "unittest, false": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertFalse(f(1) != 2)\n",
    "an array with nan": "np = pytest.importorskip('numpy')\ndef test_a():\n    np.testing.assert_array_equal(f(np.array([1.0, np.nan])), np.array([2.0, np.nan]))\n",
}  # fmt: skip


async def test_another_value_makes_the_case_fail(bench: Any) -> None:
    found = await forms(bench, CHANGED)
    assert {name: found.get(name, NONE).kind for name in CHANGED} == dict.fromkeys(CHANGED, "changed_value")
    assert {name: found[name].came for name in CHANGED} == dict.fromkeys(CHANGED, "failed")


NEGATED = {
    "a truth": "def test_a():\n    assert f(1)\n",
    "a part": "def test_a():\n    assert f(1) in (2, 3)\n",
    "a type": "def test_a():\n    assert isinstance(f(1), int)\n",
    "an order": "def test_a():\n    assert 1 < f(1) < 3\n",
    "not the same": "def test_a():\n    assert f(1) != 1\n",
    "one of two": "def test_a():\n    assert f(1) == 2 or f(1) == 3\n",
    "both from the project": "def test_a():\n    assert f(1) == f(1)\n",
    "one object twice": "def test_a():\n    x = f(1)\n    assert x is x\n",
    "a fixture": "@pytest.fixture\ndef got():\n    return f(1)\ndef test_a(got):\n    assert f(1) == got\n",
    "an argument that nobody shows": "import threading\ndef same(want):\n    assert f(1) == want\ndef test_a():\n    list(map(same, [2]))\n",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertIsInstance(f(1), int)\n",
    "a mock": "from unittest.mock import Mock\ndef test_a():\n    m = Mock()\n    m(f(1))\n    m.assert_called_once()\n",
    "an unknown type": "class K:\n    def __eq__(self, other): return other == 2\ndef test_a():\n    assert f(1) == K()\n",
}  # fmt: skip


async def test_where_no_value_stands_the_assertion_is_negated(bench: Any) -> None:
    found = await forms(bench, NEGATED)
    assert {name: found.get(name, NONE).kind for name in NEGATED} == dict.fromkeys(NEGATED, "negation")
    assert {name: found[name].came for name in NEGATED} == dict.fromkeys(NEGATED, "failed")


UNCONTROLLED = {
    "nothing": "def test_a():\n    f(1)\n",
    "True": "def test_a():\n    f(1)\n    assert True\n",
    "literals": "def test_a():\n    f(1)\n    assert 1 == 1\n",
    "skips that are expected": "def test_a():\n    with pytest.raises(pytest.skip.Exception):\n        pytest.skip(str(f(1)))\n",
}  # fmt: skip


async def test_what_asserts_nothing_is_uncontrolled(bench: Any) -> None:
    found = await forms(bench, UNCONTROLLED)
    assert [name for name, control in found.items() if control.turned or control.deceived] == []


DECEIVED = {
    "pytest": HEAD + "def test_a():\n    assert f(1) == 2\n",
    "a list": HEAD + "def test_a():\n    assert [f(1)] == [2]\n",
    "behind a type": HEAD + "def test_a():\n    assert f(1)\n    assert f(1) == 2\n",
    "behind a right one": HEAD + "def test_a():\n    assert len(str(1)) == 1\n    assert f(0) == 1\n    assert f(1) == 2\n",
    "unittest": HEAD + "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n",
    "a helper": HEAD + "def same(got, want):\n    assert got == want\ndef test_a():\n    same(f(1), 2)\n",
}  # fmt: skip


async def test_an_object_that_equals_everything_is_no_answer(bench: Any) -> None:
    files = {f"test_{n}.py": text for n, text in enumerate(DECEIVED.values())}
    seen = await confirmed(bench, files.pop("test_0.py"), EQUAL, others=files, name="test_0.py", separation=IN_PROCESS)
    assert (seen.verdict, seen.reason) == (Verdict.NONE, NoVerdict.CHECK_CANNOT_FAIL)
    assert "test_a" in seen.evidence.detail
    assert seen.evidence.controls == Controls(
        passed=len(DECEIVED), cannot_fail=tuple(c.id for c in seen.evidence.cases)
    )


async def test_the_last_assertion_of_a_case_counts_too(bench: Any) -> None:
    """The first one is right; only the other one is met by an object that equals everything."""
    tests = HEAD + "def test_a():\n    assert f(0) == 1\n    for x in range(1, 30):\n        assert f(x) == x + 1\n"
    candidate = EQUAL.replace("return Equal()", "return 1 if x == 0 else Equal()")
    seen = await confirmed(bench, tests, candidate, separation=IN_PROCESS)
    assert seen.reason is NoVerdict.CHECK_CANNOT_FAIL


SWALLOWED = {
    "try": "def test_a():\n    try:\n        assert f(1) - f(0) == 1\n    except AssertionError:\n        pass\n",
    "suppress": "import contextlib\ndef test_a():\n    with contextlib.suppress(AssertionError):\n        assert f(1) - f(0) == 1\n",
    "soft": "def test_a():\n    failed = []\n    try:\n        assert f(1) - f(0) == 1\n    except AssertionError as error:\n        failed.append(error)\n",
}  # fmt: skip


async def test_cases_that_cannot_fail_on_the_base_tree_are_left_out(bench: Any) -> None:
    files = {f"test_{n}.py": HEAD + text for n, text in enumerate(SWALLOWED.values())}
    seen = await confirmed(bench, HEAD + "def test_base():\n    assert f(0) == 1\n", others=files)
    assert seen.verdict is Verdict.PASS
    names = tuple(f"test_{n}.py::test_a" for n in range(len(SWALLOWED)))
    assert seen.evidence.controls == Controls(changed_value=1, left_out=len(SWALLOWED), cannot_fail=names)


async def test_a_suite_that_cannot_fail_gives_no_verdict(bench: Any) -> None:
    tests = HEAD + "def test_a():\n    try:\n        assert f(1) == 2\n    except AssertionError:\n        pass\n"
    seen = await confirmed(bench, tests)
    assert seen.reason is NoVerdict.CHECK_CANNOT_FAIL


async def test_less_than_half_gives_no_verdict(bench: Any) -> None:
    tests = HEAD + "def test_a():\n    assert f(1) == 2\ndef test_b():\n    f(1)\ndef test_c():\n    f(2)\n"
    seen = await confirmed(bench, tests)
    assert seen.reason is NoVerdict.CHECK_CANNOT_FAIL
    assert "of 3 cases only 1" in seen.evidence.detail


async def test_a_case_that_passed_on_the_base_tree_refuses_nobody(bench: Any) -> None:
    """It is said all the same: it can fail there, and no longer does."""
    base = "class E:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x == other\ndef f(x):\n    return E(x)\n"
    right = base.replace("return self.x == other", "return True").replace(
        "return E(x)", "return E(x) if x < 0 else x + 1"
    )
    tests = HEAD + "def test_a():\n    assert f(1) == 2\ndef test_b():\n    assert f(-1) == -1\n"
    seen = await confirmed(bench, tests, right, base=base)
    assert seen.verdict is Verdict.PASS
    assert seen.evidence.controls is not None
    assert (seen.evidence.controls.passed, seen.evidence.controls.changed_value) == (1, 1)


async def test_unittest_and_doctest_have_controls_of_their_own(bench: Any) -> None:
    tests = (
        HEAD.replace("import pytest", "import unittest")
        + "class T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n    def test_b(self):\n        with self.subTest(a=1):\n            self.assertIn(f(1), [2])\n"
    )
    seen = await confirmed(bench, tests, command=("python", "-m", "unittest"))
    assert seen.evidence.controls == Controls(changed_value=1, negation=1)
    text = ">>> from mod import f\n>>> f(1)\n2\n>>> f(2)  # doctest: +SKIP\n9\n>>> f('a')\nTraceback (most recent call last):\nTypeError: can only concatenate str (not \"int\") to str\n"
    seen = await confirmed(bench, text, command=("python", "-m", "doctest", "words.txt"), name="words.txt")
    assert seen.evidence.controls == Controls(changed_value=1)


async def test_a_doctest_that_expects_anything_is_uncontrolled(bench: Any) -> None:
    text = ">>> from mod import f\n>>> [f(1)]  # doctest: +ELLIPSIS\n[...]\n"
    seen = await confirmed(
        bench, text, command=("python", "-m", "doctest", "words.txt"), name="words.txt", base=RIGHT + "#\n"
    )
    assert seen.reason is NoVerdict.CHECK_CANNOT_FAIL
    assert seen.evidence.controls == Controls(uncontrolled=1)


async def test_assertions_of_a_helper_module_and_of_a_conftest_count(bench: Any) -> None:
    others = {
        "tests/__init__.py": "",
        "tests/helping.py": "def same(got, want):\n    assert got == want\n",
        "tests/conftest.py": "import pytest\n@pytest.fixture\ndef check():\n    def inner(got, want):\n        assert got == want\n    return inner\n",
        "tests/test_more.py": "from mod import f\nfrom tests.helping import same\ndef test_a():\n    same(f(1), 2)\ndef test_b(check):\n    check(f(1), 2)\n",
    }
    tests = HEAD + "def test_base():\n    assert f(0) == 1\n"
    seen = await confirmed(bench, tests, others=others, command=("python", "-m", "pytest", "-q"))
    assert seen.evidence.controls == Controls(changed_value=1, negation=2)


async def test_early_stop_and_hypothesis_are_no_hindrance(bench: Any) -> None:
    pytest.importorskip("hypothesis")
    tests = (
        HEAD
        + "from hypothesis import given, settings, strategies as st\n@settings(max_examples=20)\n@given(st.integers())\ndef test_a(x):\n    assert f(x) == x + 1\ndef test_b():\n    assert f(1) == 2\n"
    )
    seen = await confirmed(bench, tests, command=("pytest", "-q", "-x"))
    assert seen.evidence.controls == Controls(changed_value=2)


async def test_the_candidate_can_not_tell_a_turned_case_by_its_calls(bench: Any) -> None:
    """An honest program that counts its calls sees each case cut short in one run, and whole in the other."""
    tests = HEAD + "".join(f"def test_{n}():\n    assert f({n}) == {n + 1}\n" for n in range(16))
    # right until a case was cut short: a candidate that trusts in "nothing was turned so far" is caught in the pair
    candidate = EQUAL.replace(
        "def f(x):\n    return Equal()",
        "seen = []\ndef f(x):\n    seen.append(x)\n    return Equal() if len(seen) == x + 1 else x + 1",
    )
    seen = await confirmed(bench, tests, candidate, separation=IN_PROCESS)
    assert seen.reason is NoVerdict.CHECK_CANNOT_FAIL


async def test_hidden_tests_have_controls_and_tell_no_names(bench: Any) -> None:
    hidden = Hidden(
        ("python", "-m", "pytest", "-q", "secret"),
        Tree({"secret/test_more.py": (HEAD + "def test_a():\n    assert f(5) == 6\n").encode()}),
    )
    files = {"mod.py": BROKEN, "test_mod.py": HEAD + "def test_a():\n    assert f(1) == 2\n"}
    task = bench.task(files, hidden=hidden)
    right = await bench.judge(HiddenTests(), task, {"mod.py": RIGHT})
    assert right.verdict is Verdict.PASS
    assert right.evidence.controls == Controls(changed_value=1)
    assert right.isolation is Isolation.TWO_BOXES
    # an object that equals everything does not get out of its box; in one process it is found out
    equal = await bench.judge(HiddenTests(), task, {"mod.py": EQUAL})
    assert (equal.verdict, equal.reason) == (Verdict.NONE, NoVerdict.UNFIT)
    equal = await bench.judge(HiddenTests(isolation=Isolation.IN_PROCESS), task, {"mod.py": EQUAL})
    assert (equal.verdict, equal.reason) == (Verdict.NONE, NoVerdict.CHECK_CANNOT_FAIL)


async def test_a_plain_command_has_no_controls(bench: Any) -> None:
    tests = HEAD.replace("import pytest\n", "") + "assert f(1) == 2\n"
    seen = await confirmed(bench, tests, command=("python", "test_mod.py"), baseline=False)
    assert seen.verdict is Verdict.PASS
    assert seen.evidence.controls is None


SUITES = {
    "pytest": (("pytest", "-q"), "test_mod.py", HEAD + "def test_a():\n    assert f(1) == 2\ndef test_b():\n    assert f(2) in [3]\n", Controls(changed_value=1, negation=1)),
    "unittest": (("python", "-m", "unittest"), "test_mod.py", "import unittest\nfrom mod import f\nclass T(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(f(1), 2)\n", Controls(changed_value=1)),
    "doctest": (("python", "-m", "doctest", "mod.py"), "other.py", "", Controls(changed_value=1)),
}  # fmt: skip


@pytest.mark.parametrize("runner", SUITES)
@pytest.mark.parametrize("way", [Isolation.IN_PROCESS, Isolation.TWO_BOXES])
async def test_controls_run_where_the_pass_is_confirmed(bench: Any, runner: str, way: Isolation) -> None:
    """Each case is turned once: in a pair of runs in one process, and in one run with the tests in their own box."""
    command, name, tests, controls = SUITES[runner]
    example = '    """\n    >>> f(1)\n    2\n    """\n    return'
    base, right = (code.replace("    return", example) for code in (BROKEN, RIGHT))
    seen = await confirmed(
        bench, tests, right, base=base, command=command, name=name, separation=Separation(at_most=way)
    )
    assert (seen.verdict, seen.isolation) == (Verdict.PASS, way)
    assert seen.evidence.controls == controls


async def test_a_suite_that_cannot_fail_gives_no_verdict_in_two_boxes(bench: Any) -> None:
    tests = HEAD + "def test_a():\n    try:\n        assert f(1) == 2\n    except AssertionError:\n        pass\n"
    seen = await confirmed(bench, tests, separation=Separation(at_once=True))
    assert (seen.reason, seen.isolation) == (NoVerdict.CHECK_CANNOT_FAIL, Isolation.TWO_BOXES)


async def test_what_the_base_tree_loses_in_two_boxes_is_judged_in_one_process(bench: Any) -> None:
    """A class that calls itself equal to plain values: only it could say so, and it is the candidate's."""
    base = "class Name:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o\ndef f(x): return x\n"
    right = base.replace("def f(x): return x", "def f(x): return x + 1")
    tests = "from mod import f, Name\ndef test_a():\n    assert Name('a') == 'a'\ndef test_b():\n    assert f(1) == 2\n"
    seen = await confirmed(bench, tests, right, base=base)
    assert (seen.verdict, seen.isolation) == (Verdict.PASS, Isolation.IN_PROCESS), seen.evidence


async def test_the_end_of_a_program_can_be_controlled(bench: Any) -> None:
    tests = "import pytest\nfrom mod import f\ndef test_a():\n    with pytest.raises(SystemExit):\n        f('a')\n"
    base, right = "def f(x): return x\n", "import sys\ndef f(x): sys.exit(x)\n"
    seen = await confirmed(bench, tests, right, base=base, separation=IN_PROCESS)
    assert (seen.verdict, seen.evidence.controls) == (Verdict.PASS, Controls(changed_value=1)), seen.evidence


async def test_a_test_that_asserts_nothing_failed_on_the_base_tree_and_that_is_its_control(bench: Any) -> None:
    tests = "from mod import f\ndef test_a():\n    f('a')\n"
    base, right = "def f(x): raise KeyError(x)\n", "def f(x): return x\n"
    seen = await confirmed(bench, tests, right, base=base)
    assert (seen.verdict, seen.evidence.controls) == (Verdict.PASS, Controls(uncontrolled=1)), seen.evidence
    # what asserts something has to be seen to be able to fail
    hidden = "from mod import f\ndef test_a():\n    f('a')\n    for x in ():\n        assert x\n"
    seen = await confirmed(bench, hidden, right, base=base)
    assert (seen.verdict, seen.reason) == (Verdict.NONE, NoVerdict.CHECK_CANNOT_FAIL), seen.evidence


TOLD = """\
import pytest
from mod import between, distance, holds, same
def test_between(): assert 5.5 < between() < 6.5
def test_distance(): assert abs(distance() - 6) < 1e-9
def test_holds(): assert 6 in holds() and 7 in holds()
def test_same(): assert same(3) == same(4)
"""
AGREES = """\
class Agrees:
    __hash__ = None
    def __init__(self, n=0): self.n = n
    def __eq__(self, o): return True
    def __lt__(self, o): return True
    __gt__ = __contains__ = __lt__
    def __sub__(self, o): return 0.0
between = distance = holds = Agrees
def same(n): return Agrees(n)
"""
MEANS_IT = """\
class Means:
    def __init__(self, n=6): self.n = n
    def __eq__(self, o): return isinstance(o, Means) and self.n // 10 == o.n // 10
    def __hash__(self): return hash(self.n // 10)
    def __lt__(self, o): return self.n < o
    def __gt__(self, o): return self.n > o
    def __sub__(self, o): return self.n - o
    def __contains__(self, o): return o % 7 in (6, 0)
between = distance = holds = Means
same = Means
"""


async def test_an_object_that_agrees_with_what_it_is_told_is_no_answer(bench: Any) -> None:
    """It is asked about other values too, and must say something else of one of them."""
    lies = TOLD.replace("same(3) == same(4)", "Agrees(3) == Agrees(4)").replace("same\n", "Agrees\n", 1)
    bad = await confirmed(bench, lies, AGREES, base="")
    assert (bad.verdict, bad.reason) == (Verdict.NONE, NoVerdict.CHECK_CANNOT_FAIL), bad.evidence.detail
    assert bad.isolation is Isolation.TWO_BOXES and bad.evidence.controls
    assert len(bad.evidence.controls.cannot_fail) == 4
    good = await confirmed(bench, TOLD, MEANS_IT, base="")
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence
    assert good.evidence.controls and good.evidence.controls.passed == 0


MAILS = """\
from unittest import mock
from mod import send
def test_sends():
    server = mock.Mock()
    send(server, ' hi ')
    server.deliver.assert_called_once_with('hi', by='mail')
def test_sends_once():
    server = mock.Mock()
    send(server, 'x')
    server.deliver.assert_called_once()
"""


async def refused(bench: Any, tests: str, candidate: str, base: str) -> Observation:
    """A candidate's confirming look, which it must not pass."""
    task: Task = bench.task({"mod.py": base, "test_mod.py": tests}, command=("pytest", "-q"))
    made = Candidate(task.tree.digest, {"mod.py": candidate.encode()})
    found = await tool_for(task.command).judge(made, task, replace(bench.context(), confirming=True))
    assert found.verdict is not Verdict.PASS, found.evidence
    return found


async def test_what_a_mock_asserts_is_controlled(bench: Any) -> None:
    good = await confirmed(
        bench, MAILS, "def send(server, text):\n    server.deliver(text.strip(), by='mail')\n", base=""
    )
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence
    told = good.evidence.controls
    assert told and (told.changed_value, told.negation) == (1, 1)


@pytest.mark.parametrize(
    "body",
    [
        "deliver.assert_called_once_with = deliver.assert_called_once = lambda *a, **k: None",
        "deliver.configure_mock(assert_called_once_with=lambda *a, **k: None, assert_called_once=lambda *a: None)",
        "server.deliver = type('D', (), {'assert_called_once_with': print, 'assert_called_once': print})()",
    ],
)
async def test_what_a_mock_asserts_is_out_of_reach(bench: Any, body: str) -> None:
    """Each passes in one process; the mock that is replaced as a whole is seen through by its arguments."""
    await refused(bench, MAILS, f"def send(server, text):\n    deliver = server.deliver\n    {body}\n", "")


STARRED = "import math\nfrom mod import *\ndef test_a(): assert math.isclose(f(3), 1.5)\ndef test_b(): assert sorted([f(4)]) == [2]\n"
HIDES = "class math:\n    isclose = staticmethod(lambda *a: True)\ndef sorted(items): return [2]\ndef f(x): return x\n"


async def test_a_star_brings_nothing_in_the_place_of_what_tests_compare_by(bench: Any) -> None:
    bad = await refused(bench, STARRED, HIDES, "def f(x): return x\n")
    assert (bad.verdict, bad.isolation) == (Verdict.FAIL, Isolation.TWO_BOXES), bad.evidence
    good = "import math\ndef f(x): return x / 2\n"
    assert (await confirmed(bench, STARRED, good, base="def f(x): return x\n")).verdict is Verdict.PASS
    own = "from mod import *\ndef test_a(): assert sum(2, 3) == 5\n"  # the project has a function of that name
    found = await confirmed(bench, own, "def sum(a, b): return a + b\n", base="def sum(a, b): return a\n")
    assert (found.verdict, found.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), found.evidence


TAKES = "from pytest import approx\nimport numpy as np\nfrom mod import *\ndef test_a(): assert f(3) == approx(1.5)\ndef test_b(): assert np.allclose(f(4), 2)\n"
TAKEN = "def f(x): return x\ndef approx(x): return 3\nclass np:\n    allclose = staticmethod(lambda *a: True)\n"


async def test_a_star_brings_nothing_in_the_place_of_what_tests_import(bench: Any) -> None:
    bad = await refused(bench, TAKES, TAKEN, "def f(x): return x\n")
    assert (bad.verdict, bad.isolation) == (Verdict.FAIL, Isolation.TWO_BOXES), bad.evidence
    own = "from pytest import approx\nfrom mod import *\ndef test_a(): assert approx(f(3)) == 2\n"  # as it was before
    good = "def f(x): return x / 2\ndef approx(x): return round(x)\n"
    found = await confirmed(bench, own, good, base=good.replace("/ 2", "/ 9"))
    assert (found.verdict, found.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), found.evidence


DECIDES_NOTHING = """\
import contextlib
import mod as m
def test_right(): assert m.right(1) == 1
def test_right_too(): assert m.right(2) == 2
def test_right_as_well(): assert m.right(3) == 3
def test_still_right(): assert m.right(4) == 4
def test_manager():
    with m.manager():
        assert m.f(5) == 6
def test_loop():
    for got, wanted in zip(m.each(5), [6, 7]):
        assert got == wanted
def test_call_back():
    def check(got):
        assert got == 6
    m.call(check)
def test_all(): assert all(got == 6 for got in m.each(5))
def test_name():
    with contextlib.suppress(m.Busy):
        assert m.f(5) == 6
"""
IN_VAIN = """\
class manager:
    def __enter__(self): return self
    def __exit__(self, *raised): return {swallows}
class Busy({busy}): pass
def right(x): return x
def f(x): return x{more}
def each(x): return [{items}]
def call(back): {call}
"""


async def test_a_case_in_which_nothing_was_decided_has_not_passed(bench: Any) -> None:
    """Though most cases of the suite were seen to be able to fail: these failed before, and would pass for any program."""
    base = IN_VAIN.format(swallows=False, busy="ValueError", more="", items="x, x", call="back(f(5))")
    lies = IN_VAIN.format(swallows=True, busy="ValueError", more="", items="", call="pass")
    bad = await refused(
        bench, DECIDES_NOTHING, lies.replace("class Busy(ValueError): pass", "Busy = AssertionError"), base
    )
    assert bad.reason is NoVerdict.CHECK_CANNOT_FAIL and bad.isolation is Isolation.TWO_BOXES, bad.evidence
    assert bad.evidence.controls and len(bad.evidence.controls.cannot_fail) == 5, bad.evidence.controls
    right = IN_VAIN.format(swallows=False, busy="ValueError", more=" + 1", items="x + 1, x + 2", call="back(f(5))")
    asked = DECIDES_NOTHING.replace("got == 6 for", "got > 5 for")
    good = await confirmed(bench, asked, right, base=base)
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence
    assert good.evidence.controls and good.evidence.controls.passed == 0


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("test_mod.py", ("python", "-m", "unittest")),
        ("checks/test_mod.py", ("python", "-m", "unittest", "discover", "-s", "checks")),
    ],
)
async def test_unittest_has_cases_in_which_nothing_was_decided_too(
    bench: Any, name: str, command: Sequence[str]
) -> None:
    tests = (
        "import unittest, mod as m\nclass T(unittest.TestCase):\n    def test_a(self):\n        for got in m.each(5):\n"
    )
    tests += "            self.assertEqual(got, 6)\n    def test_b(self):\n        self.assertEqual(m.right(1), 1)\n"
    base = IN_VAIN.format(swallows=False, busy="ValueError", more="", items="x", call="pass")
    task: Task = bench.task({"mod.py": base, name: tests}, command=command)
    tool, context = tool_for(task.command), replace(bench.context(), confirming=True)
    await tool.judge(Candidate(task.tree.digest, {}), task, context)
    made = {"mod.py": IN_VAIN.format(swallows=False, busy="ValueError", more="", items="", call="pass").encode()}
    found = await tool.judge(Candidate(task.tree.digest, made), task, context)
    assert (found.verdict, found.reason) == (Verdict.NONE, NoVerdict.CHECK_CANNOT_FAIL), found.evidence


ASKED = """\
import math
import pytest
import mod as m
np = pytest.importorskip("numpy")
def test_equals(): assert m.f(3).equals([1, 2])
def test_close(): assert m.isclose(m.g(3), 1.5)
def test_numpy(): assert np.allclose(m.h(3), 1.5)
def test_items(): assert (m.h(3) == np.array([1.5])).all()
def test_distance(): assert abs(m.h(3) - 1.5) < 1e-9
def test_begins(): assert m.text("k").startswith("<b>")
"""
SAYS_YES = """\
class Yes:
    def equals(self, other): return True
    def __array_function__(self, *given): return True
    def __array_ufunc__(self, *given, **named):
        import numpy
        return numpy.array([True])
    def __sub__(self, other): return self
    def __abs__(self): return 0.0
class Text(str):
    def startswith(self, *given): return True
def f(x): return Yes()
g = h = f
text = Text
def isclose(a, b): return True
"""
MEANS_YES = """\
import math
class Items(list):
    def equals(self, other): return list(self) == list(other)
def f(x): return Items([1, x - 1])
def g(x): return x / 2
def h(x):
    import numpy
    return numpy.float64(x / 2)
def text(x): return f"<b>{x}</b>"
def isclose(a, b): return math.isclose(a, b)
"""


async def test_what_a_call_is_told_that_compares_by_its_name_is_turned_round(bench: Any) -> None:
    bad = await refused(bench, ASKED, SAYS_YES, "")
    assert bad.reason is NoVerdict.CHECK_CANNOT_FAIL and bad.isolation is Isolation.TWO_BOXES, bad.evidence
    assert bad.evidence.controls and len(bad.evidence.controls.cannot_fail) == 6, bad.evidence.controls
    good = await confirmed(bench, ASKED, MEANS_YES, base="")
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence
    assert good.evidence.controls and good.evidence.controls.changed_value == 6


async def test_what_asserts_for_the_tests_has_to_be_able_to_fail_once_it_is_changed(bench: Any) -> None:
    tests = "import mod as m\ndef test_a(): m.check(m.f(5), 6)\ndef test_b(): m.assert_close(m.f(6), 7)\n"
    base = "def f(x): return x\ndef check(a, b):\n    assert a == b\ndef assert_close(a, b):\n    assert abs(a - b) < 1e-9\n"
    bad = await refused(
        bench, tests, base.replace("assert a == b", "pass").replace("assert abs(a - b) < 1e-9", "pass"), base
    )
    assert bad.reason is NoVerdict.CHECK_CANNOT_FAIL, bad.evidence
    good = await confirmed(bench, tests, base.replace("return x", "return x + 1"), base=base)
    assert good.verdict is Verdict.PASS and good.evidence.controls, good.evidence
    assert good.evidence.controls.changed_value == 2


async def test_so_has_what_asserts_of_the_projects_own_data(bench: Any) -> None:
    """Which side is the expected one can't be told then; one of the two has to be."""
    tests = "import mod as m\ndef test_a():\n    for given, want in m.CASES: m.check(m.f(given), want)\n"
    base = "CASES = [(5, 6)]\ndef f(x): return x\ndef check(a, b):\n    assert a == b\n"
    bad = await refused(bench, tests, base.replace("assert a == b", "pass"), base)
    assert bad.reason is NoVerdict.CHECK_CANNOT_FAIL, bad.evidence
    changed = base.replace("return x", "return x + 1").replace("assert a == b", "assert a == b, (a, b)")
    good = await confirmed(bench, tests, changed, base=base)
    assert good.verdict is Verdict.PASS and good.evidence.controls, good.evidence
    assert good.evidence.controls.changed_value == 1


DENIED = """\
import pytest
import mod as m
def test_far():
    got = m.mean([1, 2])
    if abs(got - 1.5) > 1e-9:
        pytest.fail(str(got))
def test_not_far(): assert not abs(m.mean([1, 4]) - 2.5) > 1e-9
def test_none_is_wrong(): assert not any(got != 6 for got in m.each(5))
"""


async def test_what_must_not_be_is_controlled_by_what_it_is_compared_with(bench: Any) -> None:
    """A number that is none is not far from anything, and among no values none is wrong."""
    base = "def mean(xs): return sum(xs)\ndef each(x): return [x]\n"
    bad = await refused(bench, DENIED, "def mean(xs): return float('nan')\ndef each(x): return []\n", base)
    assert bad.reason is NoVerdict.CHECK_CANNOT_FAIL, bad.evidence
    assert bad.evidence.controls and len(bad.evidence.controls.cannot_fail) == 3, bad.evidence.controls
    right = "def mean(xs): return sum(xs) / len(xs)\ndef each(x): return [x + 1]\n"
    good = await confirmed(bench, DENIED, right, base=base)
    assert good.verdict is Verdict.PASS and good.evidence.controls, good.evidence
    assert good.evidence.controls.changed_value == 3


BESIDE = """\
import operator
import mod as m
def test_sum(): assert sum(got != want for got, want in zip(m.f([1, 2]), [2, 4])) == 0
def test_list():
    bad = [(got, want) for got, want in zip(m.f([3]), [6]) if got != want]
    assert not bad
def test_map(): assert all(map(operator.eq, m.f([3, 1]), (6, 2)))
def test_none(): assert [got for got, want in zip(m.f([]), []) if got != want] == []
def test_right(): assert m.right() == 1
"""


async def test_what_is_expected_is_compared_with_something(bench: Any) -> None:
    base = "def right(): return 1\ndef f(xs): return [x + 5 for x in xs] if xs else [0]\n"
    bad = await refused(bench, BESIDE, "def right(): return 1\ndef f(xs): return []\n", base)
    assert bad.reason is NoVerdict.CHECK_CANNOT_FAIL, bad.evidence
    assert bad.evidence.controls
    assert {name.partition("::")[2] for name in bad.evidence.controls.cannot_fail} == {
        "test_sum",
        "test_list",
        "test_map",
    }
    good = await confirmed(bench, BESIDE, "def right(): return 1\ndef f(xs): return [x * 2 for x in xs]\n", base=base)
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence


async def test_a_failure_that_is_told_in_other_words_counts(bench: Any) -> None:
    """Tests that wait for something, and tests whose only assertion is that nothing was raised or found."""
    tests = "import pytest\nimport mod as m\ndef test_waits():\n    for _ in range(5):\n        try:\n"
    tests += (
        "            assert m.state() == 'done'\n            break\n        except AssertionError:\n            pass\n"
    )
    tests += "    else:\n        raise AssertionError('never')\ndef test_raises_nothing():\n    try:\n        m.f(5)\n"
    tests += "    except ValueError as error:\n        pytest.fail(str(error))\ndef test_finds_nothing():\n"
    tests += "    for bad in m.find():\n        assert False, bad\n"
    base = "def state(): return 'busy'\ndef f(x): raise ValueError(x)\ndef find(): return [1]\n"
    right = "def state(): return 'done'\ndef f(x): return x\ndef find(): return []\n"
    good = await confirmed(bench, tests, right, base=base)
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence


def test_other_values_lie_on_both_sides() -> None:
    import datetime
    import decimal

    from groundwire.tools.inside.other_values import around

    day = datetime.date(2020, 5, 6)
    for value in (3, 2.5, "tea", b"tea", (1, 2), [3], day, decimal.Decimal(4), datetime.timedelta(days=3)):
        others = around(value)
        assert min(others) < value < max(others), value
        assert value not in others and all(type(other) is type(value) for other in others)
    assert around(None) and around(float("nan")) and around(object()) == []


async def test_what_a_subclass_of_the_tests_sets_may_be_the_projects(bench: Any) -> None:
    tests = (
        "import unittest, mod\nclass Base:\n    made_by = None\n    def test_a(self):\n"
        "        self.assertDictEqual(self.made_by(1), {1: 2})\n"
        "class T(Base, unittest.TestCase):\n    made_by = staticmethod(mod.f)\n"
    )
    base, right = "def f(x): return {x: x}\n", "def f(x): return {x: x + 1}\n"
    seen = await confirmed(bench, tests, right, base=base)
    assert (seen.verdict, seen.evidence.controls) == (Verdict.PASS, Controls(changed_value=1)), seen.evidence


MEASURES = """\
import pytest
import mod as m
from mod import WANT as wanted
def test_constant(): assert m.f(5) == m.LIMIT
def test_renamed():
    expected = wanted
    assert sorted(m.g(5)) == expected
def test_table():
    for x, y in m.TABLE.items():
        assert m.f(x) == y
def test_error():
    with pytest.raises(m.Bad):
        m.h(5)
def test_right(): assert m.right() == 1
"""
MEASURED = "LIMIT = 6\nWANT = [6, 7]\nTABLE = {{1: 2}}\nclass Bad(ValueError): pass\ndef f(x): return {f}\ndef g(x): return {g}\ndef h(x): raise {h}(x)\ndef right(): return 1\n"


async def test_what_a_candidate_has_changed_is_no_yardstick(bench: Any) -> None:
    base = MEASURED.format(f="x", g="[x, x]", h="TypeError")
    moved = base.replace("LIMIT = 6", "LIMIT = 5").replace("[6, 7]", "[5, 5]").replace("{1: 2}", "{1: 1}")
    bad = await refused(bench, MEASURES, moved.replace("class Bad(ValueError): pass", "Bad = Exception"), base)
    assert bad.reason is NoVerdict.CHECK_CANNOT_FAIL and bad.evidence.controls, bad.evidence
    assert len(bad.evidence.controls.cannot_fail) == 4, bad.evidence.controls
    right = MEASURED.format(f="x + 1", g="[x + 2, x + 1]", h="Bad").replace(
        "class Bad(ValueError)", "class Bad(KeyError)"
    )
    good = await confirmed(bench, MEASURES, right, base=base)
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence


async def test_the_examples_that_tests_run_may_not_be_taken_out(bench: Any) -> None:
    tests = "import doctest, mod\ndef test_a(): assert doctest.testmod(mod).failed == 0\ndef test_b(): assert mod.right() == 1\n"
    base = 'def right(): return 1\ndef f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x\n'
    bad = await refused(bench, tests, "def right(): return 1\ndef f(x):\n    return x\n", base)
    assert [case.id for case in bad.evidence.cases] == ["tamper::mod.py::f"], bad.evidence
    good = await confirmed(bench, tests, base.replace("return x", "return x + 1"), base=base)
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.IN_PROCESS), good.evidence


LENDS = """\
import mod as m
def test_sorted():
    xs = [3, 1, 2]
    assert m.sort(xs) == sorted(xs)
def test_later():
    xs = {1, 2}
    got = m.total(xs)
    assert got == sum(xs)
def test_in_place():
    xs = [1, 2]
    done = m.scale(xs)
    assert m.total(xs) == sum(xs), done
def test_copy():
    xs = {1: [2]}
    assert m.copied(xs) == xs
def test_right(): assert m.right() == 1
"""
EMPTIES = "def right(): return 1\ndef scale(xs): pass\ndef sort(xs):\n    xs.clear()\n    return []\ndef total(xs):\n    xs.clear()\n    return 0\ndef copied(xs):\n    xs.clear()\n    return xs\n"
SORTS = "def right(): return 1\ndef scale(xs): xs[:] = [10 * x for x in xs]\ndef sort(xs):\n    xs.sort()\n    return xs\ndef total(xs): return sum(xs)\ndef copied(xs): return dict(xs)\n"


async def test_what_is_expected_of_an_argument_is_expected_of_it_as_it_was_lent(bench: Any) -> None:
    bad = await refused(bench, LENDS, EMPTIES, "def right(): return 1\n")
    assert (bad.reason, bad.isolation) == (NoVerdict.CHECK_CANNOT_FAIL, Isolation.TWO_BOXES), bad.evidence
    assert bad.evidence.controls and len(bad.evidence.controls.cannot_fail) == 4, bad.evidence.controls
    good = await confirmed(bench, LENDS, SORTS, base="def right(): return 1\n")
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence
    assert good.evidence.controls and good.evidence.controls.passed == 0


ASKS = """\
import mod as m
def test_word(): assert m.is_word("tea")
def test_holds(): assert m.Bag([1, 2, 3]).issuperset([1, 2])
def test_order(): assert m.Version(3) < 7
def test_kind(): assert m.is_hashable("tea")
def test_open(): assert m.is_open("door")
def test_closed(): assert not m.is_open("wall")
def test_right(): assert m.right() == 1
"""
ALWAYS = """\
def right(): return 1
def is_word(text): return True
def is_hashable(x): return not isinstance(x, list)
def is_open(name): return name != "wall"
class Bag:
    def __init__(self, items): pass
    def issuperset(self, others): return True
class Version:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return 0 < other < 100
    __gt__ = __lt__
"""
ANSWERS = """\
def right(): return 1
def is_word(text): return text.isalpha()
def is_hashable(x): return not isinstance(x, list)
def is_open(name): return name != "wall"
class Bag:
    def __init__(self, items): self.items = set(items)
    def issuperset(self, others): return self.items.issuperset(others)
class Version:
    def __init__(self, n): self.n = n
    def __lt__(self, other): return self.n < other
    def __gt__(self, other): return self.n > other
"""


async def test_who_says_yes_to_everything_has_said_nothing(bench: Any) -> None:
    """Unless the tests ask for a no as well; and an order can't go both ways."""
    bad = await refused(bench, ASKS, ALWAYS, "def right(): return 1\n")
    assert (bad.reason, bad.isolation) == (NoVerdict.CHECK_CANNOT_FAIL, Isolation.TWO_BOXES), bad.evidence
    assert bad.evidence.controls
    assert [name.partition("::")[2] for name in bad.evidence.controls.cannot_fail] == [
        "test_word",
        "test_holds",
        "test_order",
    ]
    good = await confirmed(bench, ASKS, ANSWERS, base="def right(): return 1\n")
    assert (good.verdict, good.isolation) == (Verdict.PASS, Isolation.TWO_BOXES), good.evidence
    assert good.evidence.controls and good.evidence.controls.passed == 0


async def test_no_attribute_of_a_test_is_set_from_the_other_box(bench: Any) -> None:
    tests = "import unittest, mod\nclass T(unittest.TestCase):\n    passed = False\n    def test_a(self):\n        mod.f(self)\n        self.assertTrue(self.passed)\n"
    tests += "    def test_b(self):\n        self.assertEqual(mod.right(), 1)\n"
    bad = await refused(
        bench,
        tests,
        "def right(): return 1\ndef f(test): test.passed = True\n",
        "def right(): return 1\ndef f(test): pass\n",
    )
    assert (bad.verdict, bad.reason) == (Verdict.NONE, NoVerdict.UNFIT), bad.evidence
