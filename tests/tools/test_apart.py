"""Assertions in a process of their own: what a candidate can't forge there, and what the tests may still do."""

# small programs, each in one line where it fits
# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import Isolation, Observation, Verdict
from groundwire.core._tasks import Hidden
from groundwire.tools import HiddenTests
from groundwire.tools._apartness import modules_kept_apart

PASS, FAIL = Verdict.PASS, Verdict.FAIL
APART, TOGETHER = Isolation.PROCESS, Isolation.IN_PROCESS
PROJECT = {
    "mod.py": "def f(x):\n    return x\n",
    "test_mod.py": "from mod import f\ndef test_a():\n    assert f(1) == 2\n",
}
RIGHT = "def f(x):\n    return x + 1\n"

FORGES = """\
import gc, os
def f(x):
    return 0
for thing in gc.get_objects():
    if type(thing).__name__ == "Recorder":
        def emit(event, real=thing.emit, **fields):
            if event == "case":
                fields.update(r="passed", m="")
            if event == "exit":
                fields["status"] = 0
            real(event, **fields)
            if event == "exit":
                os._exit(0)
        thing.emit = emit
"""
PATCHES = """\
import sys
def f(x):
    class Equal:
        __hash__ = None
        def __eq__(self, other): return True
    return Equal()
"""
LEAVES = "import os\ndef f(x):\n    os._exit(0)\n"
HANGS = "import time\ndef f(x):\n    while x: time.sleep(1)\n"
READS_THE_CALLER = """\
import sys
def f(x):
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if type(value).__name__ == "AssertionRewritingHook": return x + 1
        frame = frame.f_back
    return 0
"""


async def judged(
    bench: Any,
    tests: str,
    module: str,
    *,
    isolation: Isolation = APART,
    runner: str = "pytest",
    others: Mapping[str, str] | None = None,
) -> Observation:
    name = "secret/test_more.py" if runner == "pytest" else "test_more.py"
    command = ("python", "-m", "pytest", "secret") if runner == "pytest" else ("python", "-m", "unittest", "test_more")
    hidden = Hidden(command, Tree({name: tests.encode()}))
    task = bench.task({**PROJECT, **{f"{n}.py": text for n, text in (others or {}).items()}}, hidden=hidden)
    return await bench.judge(HiddenTests(isolation=isolation), task, {"mod.py": module})


ASSERTS = "from mod import f\ndef test_c():\n    assert f(5) == 6\n"


async def test_the_signal_says_which_was_used(bench: Any) -> None:
    for isolation in (APART, TOGETHER):
        right = await judged(bench, ASSERTS, RIGHT, isolation=isolation)
        wrong = await judged(bench, ASSERTS, PROJECT["mod.py"], isolation=isolation)
        assert (right.verdict, right.isolation) == (PASS, isolation), right.evidence
        assert (wrong.verdict, wrong.isolation) == (FAIL, isolation), wrong.evidence
        assert "assert 5 == 6" in wrong.evidence.failed()[0].message


@pytest.mark.parametrize("module", [FORGES, LEAVES, READS_THE_CALLER], ids=["forges", "leaves", "reads the caller"])
async def test_what_a_candidate_can_not_do_from_outside(bench: Any, module: str) -> None:
    found = await judged(bench, ASSERTS, module)
    assert (found.verdict, found.isolation) == (FAIL, APART), found.evidence


async def test_in_one_process_a_report_can_be_forged(bench: Any) -> None:
    """Why the other process is there: without it this candidate, which solves nothing, passes."""
    assert (await judged(bench, ASSERTS, FORGES, isolation=TOGETHER)).verdict is PASS


async def test_a_value_that_equals_everything_can_not_be_sent(bench: Any) -> None:
    found = await judged(bench, ASSERTS, PATCHES)
    assert found.isolation is TOGETHER, "the tests were run again in one process, and the signal says so"


async def test_a_candidate_that_hangs_is_ended_and_the_next_case_goes_on(bench: Any) -> None:
    tests = "from mod import f\ndef test_c():\n    assert f(5) == 6\ndef test_d():\n    assert f(0) is None\n"
    hidden = Hidden(("pytest", "-q", "test_more.py"), Tree({"test_more.py": tests.encode()}))
    task = bench.task(PROJECT, hidden=hidden, limits=Limits(wall_s=12))
    found = await bench.judge(HiddenTests(), task, {"mod.py": HANGS})
    assert {c.id.partition("::")[2]: c.result.value for c in found.evidence.cases} == {
        "test_c": "failed",
        "test_d": "passed",
    }, found.evidence


USES = {
    "arguments by name, and the output": (
        "import mod\ndef test_c(capsys):\n    assert mod.f(5, by=2) == 7\n    assert capsys.readouterr().out == 'adding\\n'\n",
        "def f(x, *, by=1):\n    print('adding')\n    return x + by\n",
    ),
    "an argument that is changed": (
        "from mod import f\ndef test_c():\n    xs = [3, 1, 2]\n    f(xs)\n    assert xs == [1, 2, 3]\n",
        "def f(xs):\n    xs.sort()\n",
    ),
    "built-in exceptions": (
        "import pytest\nfrom mod import f\ndef test_c():\n    with pytest.raises(ValueError, match='no 5'):\n        f(5)\n",
        "def f(x):\n    raise ValueError(f'no {x}')\n",
    ),
    "exceptions of its own": (
        "import pytest\nfrom mod import Odd, f\ndef test_c():\n    with pytest.raises(Odd) as caught:\n        f(5)\n"
        "    assert caught.value.n == 5\n    assert isinstance(caught.value, KeyError)\n",
        "class Odd(KeyError):\n    def __init__(self, n):\n        super().__init__('odd')\n        self.n = n\n"
        "def f(x):\n    raise Odd(x)\n",
    ),
    "a star, a constant, a module in a package": (
        "from mod import *\nimport pkg.deep as deep\ndef test_c():\n    assert (f(1), LIMIT, deep.g(2)) == (2, 3, 4)\n",
        "LIMIT = 3\ndef f(x):\n    return x + 1\n",
    ),
    "large, nested and strange values": (
        "from mod import f\ndef test_c():\n"
        "    for x in (10**400, -2**70, float('inf'), 1j, b'\\x00\\xff', {1, (2, 'z')}, {'k': [None, True]}, range(3)):\n"
        "        assert f(x) == x and type(f(x)) is type(x)\n    assert f(float('nan')) != f(float('nan'))\n",
        "def f(x):\n    return x\n",
    ),
    "the order of a set": (
        "from mod import f\ndef test_c():\n    assert list(f()) == [8, 0]\n",
        "def f():\n    return {8, 0}\n",
    ),
    "a recursion that ends in an error": (
        "import pytest\nfrom mod import f\ndef test_c():\n    with pytest.raises(RecursionError):\n        f(1)\n",
        "def f(x):\n    return f(x)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", USES)
async def test_what_works_from_another_process(bench: Any, name: str) -> None:
    tests, module = USES[name]
    deep = {"pkg/__init__": "", "pkg/deep": "def g(x):\n    return 2 * x\n"}
    found = await judged(bench, tests, module, others=deep)
    assert (found.verdict, found.isolation) == (PASS, APART), found.evidence


NEEDS_MORE = {
    "a class": ("from mod import Box\ndef test_c():\n    assert Box(5).x == 5\n", "class Box:\n    def __init__(self, x):\n        self.x = x\n"),
    "an instance check": ("from mod import Box, f\ndef test_c():\n    assert not isinstance(5, Box)\n", "class Box: pass\ndef f(): pass\n"),
    "a generator": ("from mod import f\ndef test_c():\n    assert list(f()) == [1]\n", "def f():\n    yield 1\n"),
    "a callback": ("from mod import f\ndef test_c():\n    assert f(lambda: 3) == 3\n", "def f(g):\n    return g()\n"),
    "state of the module": ("import mod\ndef test_c():\n    mod.f()\n    assert mod.SEEN == [1]\n", "SEEN = []\ndef f():\n    SEEN.append(1)\n"),
    "a set that shrank, and whose order can't be kept": ("from mod import f\ndef test_c():\n    assert list(f()) == [1, 8]\n", "def f():\n    found = set(range(100))\n    for x in range(100):\n        if x not in (1, 8):\n            found.discard(x)\n    return found\n"),
    "a replaced name": ("import mod\ndef test_c():\n    mod.LIMIT = 5\n    assert mod.f() == 5\n", "LIMIT = 3\ndef f():\n    return LIMIT\n"),
    "monkeypatch": ("import mod\ndef test_c(monkeypatch):\n    monkeypatch.setenv('A', '1')\n    assert mod.f() == '1'\n", "import os\ndef f():\n    return os.environ.get('A')\n"),
    "warnings": ("import pytest, mod\ndef test_c():\n    with pytest.warns(UserWarning):\n        mod.f()\n", "import warnings\ndef f():\n    warnings.warn('x')\n"),
    "a cache": ("from mod import f\ndef test_c():\n    f.cache_clear()\n    assert f(1) == 1\n", "import functools\n@functools.lru_cache\ndef f(x):\n    return x\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDS_MORE)
async def test_tests_that_need_more_run_in_one_process(bench: Any, name: str) -> None:
    found = await judged(bench, *NEEDS_MORE[name])
    assert (found.verdict, found.isolation) == (PASS, TOGETHER), found.evidence


async def test_unittest_too(bench: Any) -> None:
    tests = "import unittest\nfrom mod import f\nclass T(unittest.TestCase):\n    def test_c(self):\n        self.assertEqual(f(5), 6)\n"
    for module, verdict in ((RIGHT, PASS), (PROJECT["mod.py"], FAIL), (FORGES, FAIL)):
        found = await judged(bench, tests, module, runner="unittest")
        assert (found.verdict, found.isolation) == (verdict, APART), found.evidence


async def test_a_module_that_can_not_be_imported_fails(bench: Any) -> None:
    for module in ("def f(x) return", "import nothing_of_this_name\n", "raise RuntimeError('at import')\n"):
        found = await judged(bench, ASSERTS, module)
        assert (found.verdict, found.isolation) == (FAIL, APART), found.evidence


@pytest.mark.parametrize(
    ("tests", "kept"),
    [
        (ASSERTS, ("mod.py",)),
        ("def test_a(monkeypatch): pass\n", ()),
        ("from unittest.mock import patch\n", ()),
        ("import random\nrandom.seed(1)\n", ()),
        ("def test_a(:\n", ()),
        ("x = " + "(" * 5000, ()),
    ],
)
async def test_what_the_source_of_the_tests_says(bench: Any, tests: str, kept: tuple[str, ...]) -> None:
    assert modules_kept_apart(bench.task({**PROJECT, "test_mod.py": tests})) == kept
