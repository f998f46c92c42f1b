"""What lies in each of two boxes, which suites can be judged so, and what no candidate may bring."""

from __future__ import annotations

from typing import Any, cast

import pytest
from time_enough import with_time_enough

from groundwire import FeedbackGraph, Rules, StopReason
from groundwire.core import (
    ActorContext,
    Candidate,
    Hidden,
    Isolation,
    Limits,
    NoVerdict,
    Observation,
    Task,
    Tree,
    Verdict,
)
from groundwire.core._signals import Crossings
from groundwire.graphs.run._firewall import withheld
from groundwire.tools import HiddenTests, Pytest, Separation
from groundwire.tools import _boxes as boxes
from groundwire.tools._boxes import STAND_IN, asked_names, candidates_box, why_one_box
from groundwire.tools._shadowing import refused_names, shadowed_names

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
TESTS = "from mod import f\ndef test_a():\n    assert f(1) == 2\n"
BROKEN, RIGHT = "def f(x):\n    return x\n", "def f(x):\n    return x + 1\n"


def task_of(files: dict[str, str], **more: Any) -> Task:
    return Task("t", tree=Tree({path: text.encode() for path, text in files.items()}), **more)


def candidate(task: Task, **files: str) -> Candidate:
    return Candidate(task.tree.digest, {path: text.encode() for path, text in files.items()})


PROJECT = {
    "mod.py": BROKEN,
    "pkg/__init__.py": "",
    "pkg/data.json": "{}",
    "tests/test_mod.py": TESTS,
    "tests/expected.txt": "2",
    "conftest.py": "",
    "pyproject.toml": "",
}


def test_what_lies_where() -> None:
    task = task_of(PROJECT)
    theirs = candidates_box(candidate(task, **{"mod.py": RIGHT, "more.py": "x = 1\n"}), task).files
    assert sorted(theirs) == ["mod.py", "more.py", "pkg/__init__.py", "pkg/data.json", "pyproject.toml"]
    ours = boxes.tests_box(task).files
    assert ours.keys() == PROJECT.keys()
    assert [path for path, content in ours.items() if content == STAND_IN] == ["mod.py", "pkg/__init__.py"]


def test_what_may_be_edited_and_is_no_module_lies_in_the_candidates_box_alone() -> None:
    task = task_of(PROJECT, editable=("mod.py", "pkg/*.json"))
    assert "pkg/data.json" not in boxes.tests_box(task).files
    assert "pkg/__init__.py" in boxes.tests_box(task).files and boxes.tests_box(task).files["pkg/__init__.py"] == b""


@pytest.mark.parametrize(
    ("tests", "asked"),
    [
        ("import solution\n", ["solution"]),
        ("from solution.deep import f\n", ["solution"]),
        ("def test_a():\n    from solution import f\n", ["solution"]),
        ("try:\n    import solution\nexcept ImportError:\n    solution = None\n", []),
        ("import pytest\nsolution = pytest.importorskip('solution')\n", ["pytest"]),
        ("from . import helper\nimport mod\n", []),
    ],
)
def test_a_module_that_is_missing_may_be_the_candidates(tests: str, asked: list[str]) -> None:
    assert asked_names(task_of({"mod.py": "", "tests/test_it.py": tests})) == asked


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        (TESTS, ""),
        ("import solution\n", ""),
        ("def test_a(caplog): pass\n", "caplog"),
        ("import multiprocessing\n", "multiprocessing"),
        ("def test_a(pytester): pass\n", "pytester"),
        ("import subprocess\ndef test_a(tmp_path): open(__file__)\n", ""),
        ("x = 'mod.py'\n", ""),
        ("def test_a(:\n", "parsed"),
    ],
)
def test_what_the_text_of_the_tests_says(tests: str, why: str) -> None:
    said = why_one_box(task_of({"mod.py": BROKEN, "tests/test_it.py": tests}))
    assert why in said and bool(said) is bool(why)


@pytest.mark.parametrize(
    ("tests", "shared"),
    [
        (TESTS, False),
        ("import subprocess\n", True),
        ("def test_a(tmp_path): pass\n", True),
        ("x = __file__\n", True),
        ("x = 'mod.py'\n", True),
    ],
)
def test_files_cross_where_the_tests_use_any(tests: str, shared: bool) -> None:
    assert boxes.shares_files(task_of({"mod.py": BROKEN, "tests/test_it.py": tests})) is shared


def test_without_a_module_to_judge_there_is_nothing_to_keep_apart() -> None:
    assert why_one_box(task_of({"tests/test_it.py": "def test_a(): pass\n"}, editable=("*.json",)))


BASE = {"pkg/__init__.py": "", "pkg/a.py": "", "mod.py": "", "tests/test_mod.py": TESTS, "types.py": ""}


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("pdb.py", ["pdb"]),
        ("statistics/__init__.py", ["statistics"]),
        ("src/random.py", ["random"]),
        ("tests/_pytest.py", ["_pytest"]),
        ("_gw_recorder.py", ["_gw_recorder"]),
        ("fast.so", ["fast"]),
        ("mod.abi3.so", ["mod"]),
        # honest work
        ("pkg/types.py", []),
        ("pkg/random/__init__.py", []),
        ("types.py", []),
        ("mod/__init__.py", []),
        ("helpers.py", []),
        ("statistics/notes.txt", []),
        ("docs/pdb.py", []),
    ],
)
def test_what_shadows(path: str, names: list[str]) -> None:
    task = task_of(BASE)
    assert shadowed_names(candidate(task, **{path: ""}), task) == names


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("sitecustomize.py", True),
        ("deep/in/usercustomize.py", True),
        ("pkg/more.pth", True),
        ("pkg/\u202emod.py", True),
        ("pkg/\u200bmod.py", True),
        ("pkg/\u0085mod.py", True),
        ("pkg/größe.py", False),
        ("pkg/path.py", False),
    ],
)
def test_what_is_refused_wherever_it_lies(path: str, refused: bool) -> None:
    assert refused_names(candidate(task_of(BASE), **{path: ""})) == [path] * refused


async def test_a_refused_file_is_a_fail_that_names_it(bench: Any) -> None:
    task = bench.task({"mod.py": BROKEN, "test_mod.py": TESTS})
    found = await bench.judge(Pytest(), task, {"mod.py": RIGHT, "pkg/\u202emod.py": ""})
    assert found.verdict is FAIL and "refused::pkg/\u202emod.py" in {c.id for c in found.evidence.cases}
    assert "\u202e" not in found.evidence.detail


PATCHES = "import _pytest.python as runner\nrunner.Function.runtest.__code__ = (lambda self: None).__code__\n"


async def test_in_one_process_a_module_that_shadows_is_no_pass(bench: Any) -> None:
    """Without it this candidate passes there; in two boxes it lies where nothing imports it."""
    tests = f"import statistics\n{TESTS}def test_b(caplog): pass\n"
    lays = {"statistics.py": PATCHES}
    one = await bench.judge(Pytest(), bench.task({"mod.py": BROKEN, "test_mod.py": tests}), lays)
    assert (one.verdict, one.reason) == (NONE, NoVerdict.SHADOWS) and "shadows_statistics" in one.evidence.detail
    tests = f"import statistics\n{TESTS}"
    two = await bench.judge(Pytest(), bench.task({"mod.py": BROKEN, "test_mod.py": tests}), lays)
    assert (two.verdict, two.isolation) == (FAIL, Isolation.TWO_BOXES)
    honest = await bench.judge(
        Pytest(), bench.task({"mod.py": BROKEN, "test_mod.py": tests}), {"mod.py": RIGHT, **lays}
    )
    assert (honest.verdict, honest.isolation) == (PASS, Isolation.TWO_BOXES)


FROM_SCRATCH = (
    "import pytest\nfrom solution import f\nfrom solution.deep import g\ndef test_a():\n    assert f(1) == g(2)\n"
)


async def test_a_module_that_the_candidate_writes_from_scratch(bench: Any) -> None:
    task = bench.task({"README": "", "test_it.py": FROM_SCRATCH})
    files = {"solution/__init__.py": RIGHT, "solution/deep.py": "def g(x):\n    return x\n", "pytest.py": PATCHES}
    found = await bench.judge(Pytest(), task, files)
    assert (found.verdict, found.isolation) == (PASS, Isolation.TWO_BOXES), found.evidence
    wrong = await bench.judge(Pytest(), task, {**files, "solution/__init__.py": PATCHES + BROKEN})
    assert wrong.verdict is not PASS, wrong.evidence


WITHIN = "from pkg.mod import f\nfrom ..mod import f as g\ndef test_a():\n    assert f(1) == g(1) == 2\n"


async def test_a_module_that_becomes_a_package_and_tests_within_a_package(bench: Any) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/mod.py": BROKEN,
        "pkg/tests/__init__.py": "",
        "pkg/tests/test_mod.py": WITHIN,
    }
    task = bench.task(files)
    for changes in (
        {"pkg/mod.py": RIGHT},
        {"pkg/mod.py": None, "pkg/mod/__init__.py": "from .inner import f\n", "pkg/mod/inner.py": RIGHT},
    ):
        found = await bench.judge(Pytest(), task, changes)
        assert (found.verdict, found.isolation) == (PASS, Isolation.TWO_BOXES), found.evidence


READS_THE_KEY_AGAIN = """\
import os
def f(x):
    os.lseek(0, 0, os.SEEK_SET) if os.fstat(0).st_size else None
    return x + 1 if os.read(0, 100) == b"" and "KEY" not in str(os.environ) else 0
"""


@pytest.mark.parametrize("many", [False, True], ids=["alone", "in a fork server"])
async def test_no_descriptor_and_no_variable_holds_the_key_once_it_was_read(bench: Any, many: bool) -> None:
    """In one process with the tests, which the visible ones' text asks for here."""
    task = bench.task({"mod.py": BROKEN, "test_mod.py": f"{TESTS}def test_b(caplog): pass\n"})
    reads = candidate(task, **{"mod.py": READS_THE_KEY_AGAIN})
    found = [o async for o in Pytest().judge_many([reads] * (4 if many else 1), task, bench.context())]
    assert {o.verdict for o in found} == {PASS}, found[0].evidence


async def test_a_pass_of_many_is_confirmed_too(bench: Any) -> None:
    task = bench.task({"mod.py": BROKEN, "test_mod.py": TESTS})
    forged = candidate(task, **{"mod.py": PATCHES + BROKEN})
    right = candidate(task, **{"mod.py": RIGHT})
    found = [o async for o in Pytest().judge_many([forged, right, forged, right], task, bench.context())]
    assert [o.verdict for o in found] == [FAIL, PASS, FAIL, PASS]
    assert {o.isolation for o in found} == {Isolation.TWO_BOXES}


async def test_without_the_second_look_it_is_forged(bench: Any) -> None:
    """What the confirming look is there for."""
    task = bench.task({"mod.py": BROKEN, "test_mod.py": TESTS})
    once = Pytest(separation=Separation(at_most=Isolation.IN_PROCESS))
    assert (await bench.judge(once, task, {"mod.py": PATCHES + BROKEN})).verdict is PASS


async def test_where_two_boxes_are_required_nothing_less_passes(bench: Any) -> None:
    required = Separation(required=True)
    suites = (
        f"{TESTS}def test_b(caplog): pass\n",  # its text does not fit
        "from mod import Box\ndef test_a():\n    assert list(Box.all()) == [1]\n",  # its run does not
    )
    for tests in suites:
        right = RIGHT + "class Box:\n    @staticmethod\n    def all():\n        return iter([1])\n"
        task = bench.task({"mod.py": right + "# \n", "test_mod.py": tests})
        found = await bench.judge(Pytest(separation=required), task, {"mod.py": right})
        assert found.verdict is PASS if found.isolation is Isolation.TWO_BOXES else found.reason is NoVerdict.UNFIT
    right = await bench.judge(
        Pytest(separation=required), bench.task({"mod.py": BROKEN, "test_mod.py": TESTS}), {"mod.py": RIGHT}
    )
    assert (right.verdict, right.isolation) == (PASS, Isolation.TWO_BOXES)


async def test_hidden_files_are_no_candidates_however_they_are_called(bench: Any) -> None:
    """A helper of the hidden tests lies with them, not where the candidate runs."""
    from groundwire.core import Hidden

    hidden = Hidden(
        ("python", "-m", "pytest", "-q", "secret"),
        Tree({"secret/answers.py": b"SIX = 6\n", "secret/test_more.py": b"from answers import SIX\nfrom mod import f\n"
              b"def test_b():\n    assert f(5) == SIX\n"}),
    )  # fmt: skip
    task = bench.task({"mod.py": BROKEN, "test_mod.py": TESTS}, hidden=hidden)
    steals = "def f(x):\n    import sys\n    sys.path.append('secret')\n    from answers import SIX\n    return SIX\n"
    assert (await bench.judge(HiddenTests(), task, {"mod.py": steals})).verdict is FAIL
    right = await bench.judge(HiddenTests(), task, {"mod.py": RIGHT})
    assert (right.verdict, right.isolation) == (PASS, Isolation.TWO_BOXES), right.evidence


async def test_what_is_laid_beside_the_module_is_the_candidates_in_one_box_too(bench: Any) -> None:
    from groundwire.core import Hidden

    hidden = Hidden(("python", "-m", "pytest", "-q", "secret"), Tree({"secret/test_more.py": TESTS.encode()}))
    task = bench.task({"mod.py": BROKEN, "test_mod.py": TESTS}, hidden=hidden)
    package = {"mod/__init__.py": f"{PATCHES}{BROKEN}"}
    found = await bench.judge(HiddenTests(isolation=Isolation.PROCESS), task, package)
    assert (found.verdict, found.isolation) == (FAIL, Isolation.PROCESS), found.evidence


SLOW_ACROSS = """\
import sys
def f(x):
    if any("_gw_crossing_candidate" in name for name in sys.modules) and x:
        while True: pass
    return x + 1
"""


async def test_what_was_in_time_in_one_process_is_not_failed_for_time_in_two(bench: Any) -> None:
    """Each call crosses: that costs time, and is not the candidate's doing."""

    async def within(wall_s: float) -> Observation:
        task = bench.task({"mod.py": BROKEN, "test_mod.py": TESTS}, limits=Limits(wall_s=wall_s))
        return await bench.judge(Pytest(), task, {"mod.py": SLOW_ACROSS})

    found = await with_time_enough(3, within, lambda found: found.reason is not NoVerdict.LIMIT_HIT)
    assert (found.verdict, found.reason) == (NONE, NoVerdict.UNFIT) and "in time" in found.evidence.detail


# --- how often a PASS is run


class Once:
    """Proposes one answer."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def propose(self, context: ActorContext, n: int) -> list[Candidate]:
        return [candidate(context.task, **{"mod.py": self._text})]


class Counting:
    """A sandbox that counts its runs."""

    def __init__(self, sandbox: Any) -> None:
        self._sandbox = sandbox
        self.one = self.pairs = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    async def run(self, *given: Any, **more: Any) -> Any:
        self.one += 1
        return await self._sandbox.run(*given, **more)

    async def run_pair(self, *given: Any) -> Any:
        self.pairs += 1
        return await self._sandbox.run_pair(*given)


@pytest.mark.parametrize(
    ("looks", "tests", "runs"),
    [
        (3, TESTS, (1, 3)),
        (2, TESTS, (1, 2)),
        (1, TESTS, (1, 2)),
        (3, f"{TESTS}def test_b(caplog):\n    assert f(1) == 2\n", (4, 0)),
        (3, f"{TESTS}def test_b():\n    s = {{}}\n    exec(f'y = {{f(1)}}', s)\n    assert s['y'] == 2\n", (4, 2)),
    ],
    ids=["three looks", "two looks", "one look", "in one process", "in one process, as its run shows"],
)
async def test_a_pass_is_run_no_more_often_than_it_is_looked_at_and_once_with_controls(
    bench: Any, looks: int, tests: str, runs: tuple[int, int]
) -> None:
    """The confirming looks are those in two boxes, and controls ride on the last; also where nobody looks again."""
    task = bench.task({"mod.py": BROKEN, "test_mod.py": tests}, command=("pytest", "-q"))
    sandbox = Counting(bench.sandbox)
    graph = FeedbackGraph().add_actor("write", Once(RIGHT)).add_tool("test", Pytest()).add_edge("write", "test")
    rules = Rules() if looks == 3 else Rules(rejudge_passes=looks - 1)
    result = await graph.compile(rules=rules, sandbox=cast("Any", sandbox)).arun(task)
    assert result.stop_reason is StopReason.VERIFIED
    assert (sandbox.one, sandbox.pairs) == runs
    assert result.account.controls[0].changed_value > 0


# --- what crossed, and where the candidate's own word decided

POINTS = "class P:\n    def __init__(self, x): self.x = x\n    def __eq__(self, other): return self.x == other.x\n"
COMPARES = (
    "from mod import P, f\ndef test_plain():\n    assert f(1) == 2\n"
    "def test_own():\n    assert P(1) == P(1)\ndef test_attribute():\n    assert P(3).x == 3\n"
)


async def test_comparisons_that_the_candidate_makes_are_counted_and_its_classes_named(bench: Any) -> None:
    files = {"mod.py": POINTS + BROKEN, "test_mod.py": COMPARES}
    hidden = Hidden(("pytest", "-q", "test_more.py"), Tree({"test_more.py": COMPARES.encode()}))
    task = bench.task(files, hidden=hidden)
    right = {"mod.py": POINTS + RIGHT}
    seen = await bench.judge(Pytest(), task, right)
    assert (seen.verdict, seen.isolation) == (PASS, Isolation.TWO_BOXES)
    assert seen.evidence.crossings == Crossings(own_equality=1, cases=("test_mod.py::test_own",), classes=("mod.P",))
    kept = withheld(await bench.judge(HiddenTests(), task, right))
    assert kept.evidence.crossings == Crossings(own_equality=1), "hidden tests tell no names"
    plain = bench.task({"mod.py": BROKEN, "test_mod.py": TESTS})
    assert (await bench.judge(Pytest(), plain, {"mod.py": RIGHT})).evidence.crossings is None


SAYS_ANOTHER_THING = "class Q:\n    def __eq__(self, other): return lambda: other\n"
ASKS_FOR_IT = """\
import mod
def test_q():
    assert (mod.Q() == 'a')() == 'a'
def test_f():
    assert mod.f(1) == 2
"""


async def test_hidden_tests_that_the_base_tree_loses_in_two_boxes_are_judged_in_one_process(bench: Any) -> None:
    """What stands between the boxes is no fault of who is judged: `==` is decided where the tests are."""
    files = {"mod.py": BROKEN + SAYS_ANOTHER_THING, "test_mod.py": "import mod\ndef test_a(): assert mod.f\n"}
    hidden = Hidden(("python", "-m", "pytest", "-q", "secret"), Tree({"secret/test_q.py": ASKS_FOR_IT.encode()}))
    tool, task = HiddenTests(), bench.task(files, hidden=hidden)
    wrong = await bench.judge(tool, task, {"mod.py": "# wrong\n" + BROKEN + SAYS_ANOTHER_THING})
    right = await bench.judge(tool, task, {"mod.py": RIGHT + SAYS_ANOTHER_THING})
    assert [(wrong.verdict, wrong.isolation), (right.verdict, right.isolation)] == [
        (FAIL, Isolation.IN_PROCESS),
        (PASS, Isolation.IN_PROCESS),
    ], (wrong.evidence, right.evidence)


async def test_what_only_the_candidate_makes_of_itself_is_no_reason_for_one_process(bench: Any) -> None:
    files = {"mod.py": "class Q(str): pass\n" + BROKEN, "test_mod.py": "import mod\ndef test_a(): assert mod.f\n"}
    asks = ASKS_FOR_IT.replace("(mod.Q() == 'a')()", "mod.Q('a')")
    hidden = Hidden(("python", "-m", "pytest", "-q", "secret"), Tree({"secret/test_q.py": asks.encode()}))
    found = await bench.judge(HiddenTests(), bench.task(files, hidden=hidden), {"mod.py": RIGHT + SAYS_ANOTHER_THING})
    assert found.verdict is not PASS and found.isolation is Isolation.TWO_BOXES, found.evidence
