"""Assertions in a box, or a process, of their own: what a candidate can't forge there, and what tests may still do."""

# small programs, each in one line where it fits
# ruff: noqa: E501
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import crossing_attacks
import crossing_shapes
import pytest
from time_enough import with_time_enough

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import CaseResult, Isolation, NoVerdict, Observation, Verdict
from groundwire.core._tasks import Hidden
from groundwire.tools import HiddenTests
from groundwire.tools._separation import modules_kept_separate

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
APART, ONE_BOX, TOGETHER = Isolation.TWO_BOXES, Isolation.PROCESS, Isolation.IN_PROCESS
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
            if event == "control":
                return
            if event == "case":
                fields.update(r="passed", m="")
                real("control", i=fields["i"], turned="x", k="changed_value", c="failed")
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
    base: str = PROJECT["mod.py"],
) -> Observation:
    name = "secret/test_more.py" if runner == "pytest" else "test_more.py"
    command = ("python", "-m", "pytest", "secret") if runner == "pytest" else ("python", "-m", "unittest", "test_more")
    hidden = Hidden(command, Tree({name: tests.encode()}))
    task = bench.task(
        {**PROJECT, "mod.py": base, **{f"{n}.py": text for n, text in (others or {}).items()}}, hidden=hidden
    )
    return await bench.judge(HiddenTests(isolation=isolation), task, {"mod.py": module})


ASSERTS = "from mod import f\ndef test_c():\n    assert f(5) == 6\n"


async def test_the_signal_says_which_was_used(bench: Any) -> None:
    for isolation in (APART, ONE_BOX):
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
    found = await judged(bench, ASSERTS, FORGES, isolation=TOGETHER)
    assert (found.verdict, found.isolation) == (PASS, TOGETHER)


@pytest.mark.parametrize("isolation", [APART, ONE_BOX])
async def test_who_is_judged_never_chooses_how(bench: Any, isolation: Isolation) -> None:
    """A value that equals everything is not what was asked for; and nothing weaker judges in its place."""
    found = await judged(bench, ASSERTS, PATCHES, isolation=isolation)
    assert (found.verdict, found.reason, found.isolation) == (NONE, NoVerdict.UNFIT, isolation), found.evidence


async def test_a_candidate_that_hangs_is_ended_and_the_next_case_goes_on(bench: Any) -> None:
    """In one box, where another process can be started for the next case; a box of its own has ended with it."""
    tests = "from mod import f\ndef test_c():\n    assert f(5) == 6\ndef test_d():\n    assert f(0) is None\n"
    hidden = Hidden(("pytest", "-q", "test_more.py"), Tree({"test_more.py": tests.encode()}))
    ended = {APART: {"test_c": "failed", "test_d": "failed"}, ONE_BOX: {"test_c": "failed", "test_d": "passed"}}
    for tool in (HiddenTests(), HiddenTests(isolation=ONE_BOX)):

        async def within(wall_s: float, tool: HiddenTests = tool) -> Observation:
            task = bench.task(PROJECT, hidden=hidden, limits=Limits(wall_s=wall_s))
            return await bench.judge(tool, task, {"mod.py": HANGS})

        found = await with_time_enough(5, within, lambda found: len(found.evidence.cases) == 2)
        assert found.verdict is FAIL
        cases = {c.id.partition("::")[2]: c.result.value for c in found.evidence.cases}
        assert cases == ended[found.isolation], found.evidence


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


@pytest.mark.parametrize("isolation", [APART, ONE_BOX])
async def test_every_shape_of_an_honest_program_crosses_and_fails_where_it_is_wrong(
    bench: Any, isolation: Isolation
) -> None:
    names = [*crossing_shapes.SHAPES] if isolation is APART else ["a file", "the work folder"]
    for wrong in (False, True):
        hidden = Hidden(("pytest", "-q", "test_more.py"), Tree({"test_more.py": crossing_shapes.tests(names).encode()}))
        task = bench.task({"m.py": "", "test_m.py": "import m\n"}, hidden=hidden, limits=Limits(wall_s=120))
        found = await bench.judge(HiddenTests(isolation=isolation), task, {"m.py": crossing_shapes.module(wrong=wrong)})
        assert found.isolation is isolation, found.evidence.detail
        odd = [names[i] for i, case in enumerate(found.evidence.cases) if case.result.ok is wrong]
        assert not odd, "these did not end as they should"
        assert len(found.evidence.cases) == len(names)


async def lies(bench: Any, names: list[str], isolation: Isolation) -> dict[str, CaseResult]:
    hidden = Hidden(("pytest", "-q", "test_more.py"), Tree({"test_more.py": crossing_attacks.tests(names).encode()}))
    task = bench.task({"m.py": "", "test_m.py": "import m\n"}, hidden=hidden, limits=Limits(wall_s=120))
    found = await bench.judge(HiddenTests(isolation=isolation), task, {"m.py": crossing_attacks.module()})
    assert found.isolation is isolation, found.evidence.detail
    assert not any("ended its process before" in case.message for case in found.evidence.cases), "no lie was looked at"
    return dict(zip(names, (case.result for case in found.evidence.cases), strict=True))


async def test_no_way_to_lie_is_taken_for_an_answer(bench: Any) -> None:
    last = "ends its process"  # and with it its box: what comes after it is asked in vain
    ended = await lies(bench, [name for name in crossing_attacks.ATTACKS if name != last], APART)
    ended |= await lies(bench, [last], APART)
    assert {name for name, result in ended.items() if result is not CaseResult.FAILED} == set()


async def test_most_of_these_lies_pass_in_one_process(bench: Any) -> None:
    """What is shown above is shown against something."""
    ended = await lies(bench, [n for n in crossing_attacks.ATTACKS if n not in crossing_attacks.SEEN_THROUGH], TOGETHER)
    assert {name for name, result in ended.items() if result is not CaseResult.PASSED} == set()


NEEDS_MORE = {
    "a set that shrank, and whose order can't be kept": ("from mod import f\ndef test_c():\n    assert list(f()) == [1, 8]\n", "def f():\n    found = set(range(100))\n    for x in range(100):\n        if x not in (1, 8):\n            found.discard(x)\n    return found\n"),
    "the end of the program": ("import pytest, mod\ndef test_c():\n    with pytest.raises(SystemExit):\n        mod.f()\n", "import sys\ndef f():\n    sys.exit(1)\n"),
    "log records": ("import mod\ndef test_c(caplog):\n    mod.f()\n    assert 'hello' in caplog.text\n", "import logging\ndef f():\n    logging.warning('hello')\n"),
    "the runner's own objects": ("import mod\ndef test_c(request):\n    assert mod.f(request) == 'test_c'\n", "def f(r):\n    return r.node.name\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEEDS_MORE)
async def test_where_the_base_trees_own_run_needs_more_it_is_one_process(bench: Any, name: str) -> None:
    tests, module = NEEDS_MORE[name]
    found = await judged(bench, tests, f"{module}# judged\n", base=module)
    assert (found.verdict, found.isolation) == (PASS, TOGETHER), found.evidence


@pytest.mark.parametrize("name", ["the end of the program", "log records"])
async def test_where_the_text_of_the_tests_needs_more_it_is_one_process(bench: Any, name: str) -> None:
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
        ("def test_a(monkeypatch): pass\n", ("mod.py",)),
        ("def test_a(caplog): pass\n", ()),
        ("import sys\nsys.modules.pop('mod')\n", ()),
        ("def test_a():\n    with pytest.raises(SystemExit): pass\n", ()),
        ("def test_a(:\n", ()),
        ("x = " + "(" * 5000, ()),
    ],
)
async def test_what_the_source_of_the_tests_says(bench: Any, tests: str, kept: tuple[str, ...]) -> None:
    assert modules_kept_separate(bench.task({**PROJECT, "test_mod.py": tests})) == kept


# --- what the candidate gives is never run where the assertions are

TAKES_OVER = "setattr(__import__('sys').modules['test_more'].test_f, '__code__', (lambda: None).__code__)"
"""Makes the other case pass, wherever it is run in the tests' own process."""
BOX = """\
import pickle
class Box:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return self.x == other.x
    __hash__ = None
    def __repr__(self): return f"Box({self.x!r})"
    def dumped(self): return pickle.dumps(self.x)
    @staticmethod
    def typed(x: "int") -> "list[int]": return [x]
def text(): return "{'a': 1}"
"""
RUNS_IT = {
    "eval": "def test_runs():\n    assert eval(repr(Box(1))) == Box(1)\n    assert eval(text()) == {'a': 1}\n",
    "type hints": "import typing\ndef test_runs():\n    assert typing.get_type_hints(Box.typed)['x'] is int\n",
    "exec": "def test_runs():\n    scope = {'Box': Box}\n    exec(f'y = {Box(1)!r}', scope)\n    assert scope['y'] == Box(1)\n",
    "compile": "def test_runs():\n    compile(repr(Box(1)), '', 'eval')\n    assert eval(compile(text(), '', 'eval')) == {'a': 1}\n",
    "a tree": "import ast\ndef test_runs():\n    assert eval(compile(ast.parse(text(), mode='eval'), '', 'eval')) == {'a': 1}\n",
    "pickle.loads": "import pickle\ndef test_runs():\n    assert pickle.loads(Box(1).dumped()) == 1\n",
    "pickle.load": "import io, pickle\ndef test_runs():\n    assert pickle.load(io.BytesIO(Box(1).dumped())) == 1\n",
    "Unpickler": "import io, pickle\ndef test_runs():\n    assert pickle.Unpickler(io.BytesIO(Box(1).dumped())).load() == 1\n",
    "marshal": "import marshal\ndef test_runs():\n    assert marshal.loads(b'i' + Box(1).x.to_bytes(4, 'little')) == 1\n",
}
FITS = {"eval", "type hints"}
HOSTILE = (
    BOX.replace('return f"Box({self.x!r})"', f'return "[{TAKES_OVER}, Box(1)][1]"')
    .replace("return \"{'a': 1}\"", f'return "[{TAKES_OVER}, dict(a=1)][1]"')
    .replace('"int"', f'"[{TAKES_OVER}, int][1]"')
    .replace("return pickle.dumps(self.x)", "return pickle.dumps(Takes())")
    + f'class Takes:\n    def __reduce__(self): return eval, ("[{TAKES_OVER}, 1][1]",)\n'
)


@pytest.mark.parametrize("way", RUNS_IT)
async def test_what_the_tests_are_given_is_not_run_beside_them(bench: Any, way: str) -> None:
    tests = f"from mod import Box, f, text\n{RUNS_IT[way]}def test_f():\n    assert f(1) == 2\n"
    wrong, right = f"{BOX}def f(x):\n    return x\n", f"{BOX}{RIGHT}"
    honest = await judged(bench, tests, right, base=wrong)
    assert honest.verdict is PASS, honest.evidence
    assert honest.isolation is (APART if way in FITS else TOGETHER)
    forged = await judged(bench, tests, f"{HOSTILE}def f(x):\n    return x\n", base=wrong)
    assert (forged.verdict, forged.isolation) != (PASS, APART), "it is never said to be unforgeable"
    if way in FITS:
        assert forged.verdict is not PASS


async def test_what_the_tests_hold_or_have_made_themselves_is_run_as_ever(bench: Any) -> None:
    tests = (
        "import collections, dataclasses, io, pickle, textwrap\nfrom mod import Box, f\n"
        "SOURCE = '''\n    def g(x):\n        return x + 1\n    '''\n"
        "P = collections.namedtuple('P', 'x')\n"
        "@dataclasses.dataclass\nclass D:\n    x: int\n"
        "def test_text():\n    scope = {}\n    exec(textwrap.dedent(SOURCE), scope)\n    assert scope['g'](1) == f(1)\n"
        "    assert eval('1 + 1') == f(1) and eval('x', {'x': 2}) == f(1) and eval('[1, 2]') == [1, f(1)]\n"
        "    y = 2\n    assert eval('y') == f(1)\n    assert P(1).x + D(1).x == f(1)\n"
        "def test_pickle():\n    assert pickle.loads(pickle.dumps(Box(1))) == Box(1)\n"
        "    file = io.BytesIO()\n    pickle.dump([2], file)\n    pickle.dump(3, file)\n    file.seek(0)\n"
        "    assert pickle.load(file) == [f(1)] and pickle.load(file) == 3\n"
    )
    base = f"{BOX}def f(x):\n    return x\n"
    seen = await judged(bench, tests, f"{BOX}{RIGHT}", base=base)
    assert (seen.verdict, seen.isolation) == (PASS, APART), seen.evidence
    assert (await judged(bench, tests, base, base=base)).verdict is FAIL


BUILDS_A_JUDGE = """\
import sys
class Agrees:
    def __eq__(self, other): return True
def f(x):
    frame, other_end = sys._getframe(), None
    while frame and not hasattr(other_end, "_back"):
        frame, other_end = frame.f_back, frame.f_locals.get("self")
    if not hasattr(other_end, "_back"):
        return Agrees()
    asked = []
    def first_time(*given):
        asked.append(given)
        return len(asked) == 1
    made = other_end._back("special", type, "__call__", ("Made", (), {"__eq__": first_time, "__module__": "m"}), ())
    return other_end._back("special", made, "__call__", (), ())
"""


async def test_nothing_is_called_back_but_what_the_tests_have_lent(bench: Any) -> None:
    """A class of the library has a name on both sides: what is made of it over here would be compared as if it were ours."""
    found = await judged(bench, PROJECT["test_mod.py"], BUILDS_A_JUDGE)
    assert found.verdict is not PASS and found.isolation is APART, found.evidence
