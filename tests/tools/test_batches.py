"""Many candidates at once: in order, in a real fork server, with one that dies, with none at all."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from time_enough import with_time_enough

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import BatchTool, ToolContext
from groundwire.core._errors import SandboxCrashed, SandboxUnavailable
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox, WarmSandbox
from groundwire.core._signals import CaseOutcome, CaseResult, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.logs._functions import function_task
from groundwire.tools import Command, Doctest, HiddenTests, Pytest, Unittest, _batches
from groundwire.tools._baselines import Baseline, outcome_of
from groundwire.tools._batches import FEW, side_by_side

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
BASE = "def f(x):\n    return x\n"
RIGHT = "def f(x):\n    return x + 1\n"
FILES = {
    "mod.py": BASE,
    "test_mod.py": "import json\nfrom mod import f\ndef test_a():\n    assert f(1) == 2\ndef test_b():\n"
    "    assert f(-1) == 0\n",
}


@dataclass
class Watched:
    """A real sandbox whose fork servers are counted, and fail on demand."""

    inner: Sandbox
    unavailable: bool = False
    crashes: int = 0
    started: int = 0
    closed: int = 0
    warm_runs: int = 0
    cold_runs: int = 0
    limits: list[float] = field(default_factory=list[float])
    first_run: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def info(self) -> Any:
        return self.inner.info

    @property
    def python(self) -> Any:
        return self.inner.python

    async def run(self, command: Sequence[str], tree: Any, limits: Limits, **more: Any) -> ExecResult:
        self.cold_runs += 1
        self.limits.append(limits.wall_s)
        return await self.inner.run(command, tree, limits, **more)

    async def warm(self, tree: Any, **more: Any) -> WarmSandbox:
        if self.unavailable:
            raise SandboxUnavailable("no fork server here")
        self.started += 1
        return WatchedServer(self, await self.inner.warm(tree, **more))

    async def aclose(self) -> None:
        await self.inner.aclose()


@dataclass
class WatchedServer:
    owner: Watched
    inner: WarmSandbox

    async def run(self, arguments: Sequence[str], changes: Any, limits: Limits, **more: Any) -> ExecResult:
        self.owner.warm_runs += 1
        self.owner.first_run.set()
        self.owner.limits.append(limits.wall_s)
        if self.owner.crashes:
            self.owner.crashes -= 1
            raise SandboxCrashed("the fork server died")
        return await self.inner.run(arguments, changes, limits, **more)

    async def aclose(self) -> None:
        self.owner.closed += 1
        await self.inner.aclose()


@pytest.fixture
def watched(bench: Any) -> Watched:
    return Watched(bench.sandbox)


def context_of(sandbox: Watched, bench: Any) -> ToolContext:
    async def opened() -> Sandbox:
        return sandbox

    return ToolContext(sandbox=opened, call=bench.context().call)


def candidates(task: Any, *sources: str) -> list[Candidate]:
    return [Candidate(task.tree.digest, {"mod.py": s.encode()}) for s in sources]


async def all_of(tool: BatchTool, some: Sequence[Candidate], task: Any, context: ToolContext) -> list[Observation]:
    async with aclosing(tool.judge_many(some, task, context)) as observations:
        return [o async for o in observations]


def essence(o: Observation) -> Any:
    return o.verdict, o.reason, o.origin, o.partial, [(c.id, c.result, c.message) for c in o.evidence.cases]


async def test_warm_and_cold_say_the_same_in_order(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES)
    some = candidates(
        task,
        BASE + "# 1\n",
        "def f(x:\n",
        RIGHT,
        "import os\nos._exit(0)\n",
        "import os\ndef f(x):\n    os._exit(0)\n",
        "def f(x):\n    return 1 / x - 1\n",
        "import gone\n",
        "def f(x):\n    return 2 if x == 1 else 5\n",
        "import sys\ndef f(x):\n    sys.stdout.write('x' * 1000)\n    return x + 1\n",
        "def f(x):\n    return input()\n",
    )
    some.append(Candidate(task.tree.digest, {"test_mod.py": b""}))
    some.append(Candidate("another base", {"mod.py": b""}))
    tool = Pytest()
    many = await all_of(tool, some, task, context_of(watched, bench))
    assert [o.verdict for o in many] == [FAIL, FAIL, PASS, NONE, FAIL, FAIL, FAIL, FAIL, PASS, FAIL, FAIL, NONE]
    assert many[10].origin is Origin.TOOL_ERROR
    assert (watched.started, watched.closed, watched.cold_runs) == (1, 1, 0)
    alone = [await tool.judge(c, task, bench.context()) for c in some]
    assert [essence(o) for o in many] == [essence(o) for o in alone]


@pytest.mark.parametrize("kind", ["unittest", "doctest"])
async def test_other_runners_are_warm_too(bench: Any, watched: Watched, kind: str) -> None:
    base = 'def f(x):\n    """\n    >>> f(1)\n    2\n    """\n    return x\n'
    files = {
        "mod.py": base,
        "test_mod.py": "import unittest, mod\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.assertEqual(mod.f(1), 2)\n",
    }
    command = ("python", "-m", kind) if kind == "unittest" else ("python", "-m", kind, "mod.py")
    task = bench.task(files, command=command)
    some = candidates(
        task, *(base.replace("return x", f"return x + {n}") for n in range(2, 6)), base.replace("x\n", "x + 1\n")
    )
    tool = Unittest() if kind == "unittest" else Doctest()
    found = await all_of(tool, some, task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL] * 4 + [PASS]
    assert watched.warm_runs == 5


async def test_any_command_runs_side_by_side(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES, command=("python", "-c", "import mod; assert mod.f(1) == 2"))
    some = candidates(task, *[BASE + f"# {n}\n" for n in range(5)], RIGHT)
    found = await all_of(Command(), some, task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL] * 5 + [PASS]
    assert (watched.started, watched.cold_runs) == (0, 6)


async def test_a_reader_may_stop_at_the_first_pass(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES)
    some = candidates(task, BASE + "#\n", RIGHT, *[BASE + f"# {n}\n" for n in range(200)])
    before = asyncio.all_tasks()
    seen: list[Verdict] = []
    async with aclosing(Pytest().judge_many(some, task, context_of(watched, bench))) as observations:
        async for o in observations:
            seen.append(o.verdict)
            if o.verdict is PASS:
                break
    assert seen == [FAIL, PASS]
    assert watched.warm_runs < 30
    assert watched.closed == watched.started == 1
    assert asyncio.all_tasks() == before


async def test_a_cancelled_reader_leaves_nothing_behind(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES, limits=Limits(wall_s=30))
    some = candidates(task, *[f"import time\ntime.sleep(60)  # {n}\n" for n in range(10)])
    before = asyncio.all_tasks()
    reading = asyncio.create_task(all_of(Pytest(), some, task, context_of(watched, bench)))
    await watched.first_run.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert watched.closed == watched.started == 1
    assert asyncio.all_tasks() == before


async def test_without_a_fork_server_it_is_only_slower(bench: Any, watched: Watched) -> None:
    watched.unavailable = True
    task = bench.task(FILES)
    found = await all_of(Pytest(), candidates(task, *[BASE] * 4, RIGHT), task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL] * 4 + [PASS]
    assert watched.cold_runs == 5


async def test_few_candidates_need_no_fork_server(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES)
    some = candidates(task, *[BASE + f"# {n}\n" for n in range(FEW - 1)])
    found = await all_of(Pytest(), some, task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL] * (FEW - 1)
    assert watched.started == 0
    assert await all_of(Pytest(), [], task, context_of(watched, bench)) == []


async def test_a_server_that_dies_is_replaced(bench: Any, watched: Watched) -> None:
    watched.crashes = 1
    task = bench.task(FILES)
    found = await all_of(Pytest(), candidates(task, *[BASE] * 5, RIGHT), task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL] * 5 + [PASS]
    assert watched.started == watched.closed == 2


async def test_a_candidate_that_kills_every_server_has_no_verdict(bench: Any, watched: Watched) -> None:
    watched.crashes = 1_000
    task = bench.task(FILES)
    found = await all_of(Pytest(), candidates(task, *[BASE] * 5), task, context_of(watched, bench))
    assert {(o.verdict, o.reason) for o in found} == {(NONE, NoVerdict.SANDBOX)}
    assert watched.warm_runs == 10, "each is tried twice, not more"
    assert "the fork server died" in found[0].evidence.detail


@pytest.mark.parametrize("count", [1, 6])
async def test_no_sandbox_is_no_verdict(bench: Any, count: int) -> None:
    async def refuse() -> Sandbox:
        raise SandboxUnavailable("bubblewrap does not work here.", do="Install it.")

    context = ToolContext(sandbox=refuse, call=bench.context().call)
    task = bench.task(FILES)
    found = await all_of(Pytest(), candidates(task, *[BASE] * count), task, context)
    assert [(o.verdict, o.reason) for o in found] == [(NONE, NoVerdict.SANDBOX)] * count
    assert found[0].evidence.detail == "The sandbox failed: bubblewrap does not work here. Install it."


async def test_a_known_base_gives_tight_limits_and_a_few_second_looks(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES, limits=Limits(wall_s=60))
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    await all_of(tool, candidates(task, *[BASE + f"# {n}\n" for n in range(4)]), task, context_of(watched, bench))
    assert len(watched.limits) == 1 + 4, "the base tree in a fork server"
    within_s = watched.limits.pop()
    watched.limits.clear()
    slow = "import time\ndef f(x):\n    time.sleep({})\n    return x + 1\n"
    some = candidates(task, BASE + "# 1\n", slow.format(1.2 * within_s), *[BASE + f"# {n}\n" for n in range(3)])
    found = await all_of(tool, some, task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL, PASS, FAIL, FAIL, FAIL], [o.evidence.detail for o in found]
    first, second = min(watched.limits), max(watched.limits)
    assert first == within_s >= 2
    assert second == pytest.approx(5 * first, rel=0.01)
    looks = Counter(watched.limits)
    assert looks.keys() == {first, second} and looks[first] == 5
    assert looks[second] <= 5, "one second look, and where the machine is busy one more for each that was late"


async def test_endless_candidates_cost_little(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES, limits=Limits(wall_s=60))
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    some = candidates(task, *[f"def f(x):\n    while True:\n        pass  # {n}\n" for n in range(5)])
    found = await all_of(tool, some, task, context_of(watched, bench))
    assert {o.verdict for o in found} == {FAIL}
    assert len(watched.limits) == 1 + 5 + 1
    assert "did not finish within" in found[-1].evidence.failed()[0].message


async def test_a_case_may_wait_for_longer_than_it_may_compute(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES, limits=Limits(wall_s=60))
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    endless = "def f(x):\n    while x > 0:\n        pass\n    return 0\n"
    waiting = "import time\ndef f(x):\n    time.sleep(0.5 * (x > 0))\n    return x + 1\n"
    others = [BASE + f"# {n}\n" for n in range(2)]
    found = await all_of(tool, candidates(task, endless, waiting, *others), task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL, PASS, FAIL, FAIL]
    (cut,) = found[0].evidence.failed()
    assert "did not finish within" in cut.message
    assert found[0].partial and found[0].evidence.late == (cut.id,), "nothing runs behind a case that hangs"


async def test_imports_of_a_test_file_are_not_held_to_a_cases_time(bench: Any, watched: Watched) -> None:
    slow = "import time\nend = time.process_time() + 0.8\nwhile time.process_time() < end:\n    pass\n"
    task = bench.task({**FILES, "test_mod.py": slow + FILES["test_mod.py"]}, limits=Limits(wall_s=60))
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    found = await all_of(tool, candidates(task, *[BASE] * 3, RIGHT), task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL, FAIL, FAIL, PASS]
    assert len(watched.limits) == 1 + 4


async def test_coverage_of_many_is_not_warm(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES)

    async def opened() -> Sandbox:
        return watched

    context = ToolContext(sandbox=opened, call=bench.context().call, want_coverage=True)
    found = await all_of(Pytest(), candidates(task, *[BASE] * 5), task, context)
    assert all(o.coverage for o in found)
    assert watched.started == 0


async def test_every_tool_can_judge_many() -> None:
    assert all(isinstance(tool, BatchTool) for tool in (Pytest(), Unittest(), Doctest(), Command(), HiddenTests()))


async def each_of(
    tool: Pytest, some: Sequence[Candidate], task: Any, context: ToolContext
) -> list[tuple[int, Verdict]]:
    async with aclosing(tool.judge_each(some, task, context)) as observations:
        return [(number, o.verdict) async for number, o in observations]


async def test_a_slow_candidate_holds_no_other_back(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES, limits=Limits(wall_s=60))
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    slow = "import time\ndef f(x):\n    time.sleep(30)\n"
    some = candidates(task, slow, *[BASE + f"# {n}\n" for n in range(5)], RIGHT)
    found = await each_of(tool, some, task, context_of(watched, bench))
    assert found[-1] == (0, FAIL), "it was looked at again, last of all"
    assert dict(found) == {0: FAIL, **dict.fromkeys(range(1, 6), FAIL), 6: PASS}


async def test_of_two_that_pass_the_likelier_comes_first(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES, limits=Limits(wall_s=60))
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    a_little_slower = f"import time\ntime.sleep(0.3)\n{RIGHT}"
    for _ in range(3):
        some = candidates(task, BASE + "#\n", a_little_slower, RIGHT, BASE + "# 2\n")
        found = await each_of(tool, some, task, context_of(watched, bench))
        assert [number for number, verdict in found if verdict is PASS] == [1, 2]


async def test_what_failed_on_the_base_tree_runs_first_and_ends_the_run(bench: Any, watched: Watched) -> None:
    files = {
        "mod.py": "def f(x):\n    return x\ndef g(x):\n    return x\n",
        "test_mod.py": "from mod import f, g\n"
        + "".join(f"def test_{n}():\n    assert f(1)\n" for n in range(20))
        + "def test_f():\n    assert f(1) == 2\ndef test_g():\n    assert g(1) == 2\n",
    }
    task = bench.task(files)
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    half = "def f(x):\n    return x + 1\ndef g(x):\n    return x\n"
    breaks = "def f(x):\n    return 2 * (len(calls.append(x) or calls) < 2)\ncalls = []\ndef g(x):\n    return 2\n"
    whole = "def f(x):\n    return x + 1\ng = f\n"
    found = await all_of(
        tool, candidates(task, files["mod.py"] + "#\n", half, breaks, whole), task, context_of(watched, bench)
    )
    ran = [[case.id.partition("::")[2] for case in o.evidence.cases] for o in found]
    assert ran[0] == ["test_f", "test_g"], "no better than the base tree"
    assert found[0].partial and len(ran[0]) == 2
    assert len(ran[1]) == 22 and not found[1].partial, "what mends a part is judged whole"
    assert not found[2].partial and ran[2][0] == "test_0", "what mends all is judged in the cases' own order"
    assert [o.verdict for o in found] == [FAIL, FAIL, FAIL, PASS]


async def test_a_hanging_case_of_the_base_tree_is_named_and_costs_little(bench: Any) -> None:
    files = {"mod.py": "def f():\n    while True:\n        pass\n", "test_mod.py": "from mod import f\n"
             "def test_a():\n    f()\n" + "".join(f"def test_{n}():\n    pass\n" for n in range(4))}  # fmt: skip
    task = bench.task(files, limits=Limits(wall_s=60, case_s=1.0))
    tool = Pytest()
    seen = await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    assert seen.verdict is FAIL and not seen.partial
    assert seen.evidence.late == ("test_mod.py::test_a",)
    assert "out of time: test_mod.py::test_a" in seen.evidence.detail
    assert "did not finish within 1 s of processor time" in seen.evidence.failed()[0].message


async def test_a_base_tree_whose_hanging_cases_use_up_its_run_is_judged_in_a_fork_server_all_the_same(
    bench: Any, watched: Watched
) -> None:
    """Its first run ends before all cases have run; what hung there is not waited for as long again."""
    hanging = "".join(f"def test_{n}():\n    f()\n" for n in range(3))
    files = {
        "mod.py": "def f():\n    while True:\n        pass\ndef g():\n    return 1\n",
        "test_mod.py": f"from mod import f, g\n{hanging}def test_g():\n    assert g() == 2\ndef test_h():\n    pass\n",
    }

    async def known(wall_s: float) -> tuple[Task, Pytest, Observation]:
        task, tool = bench.task(files, limits=Limits(wall_s=wall_s)), Pytest()
        base = Candidate(task.tree.digest, {})
        first, _ = [await tool.judge(base, task, bench.context()) for _ in range(2)]
        return task, tool, first

    task, tool, first = await with_time_enough(3, known, lambda found: bool(found[2].evidence.cases))
    assert first.partial
    source = "def f():\n    return 1\ndef g():\n    return {}\n"
    found = await all_of(tool, candidates(task, *map(source.format, (0, 1, 2, 3))), task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL, FAIL, PASS, FAIL], [o.evidence.detail for o in found]
    assert {o.evidence.note for o in found} == {""} and not watched.cold_runs


async def test_a_search_that_is_gone_on_with_finds_out_about_the_base_tree_first(bench: Any, watched: Watched) -> None:
    task = bench.task(FILES, limits=Limits(wall_s=60))
    some = candidates(task, *[BASE + f"# {n}\n" for n in range(15)], RIGHT)
    found = await all_of(Pytest(), some, task, replace(context_of(watched, bench), trial=1))
    assert [o.verdict for o in found] == [FAIL] * 15 + [PASS]
    assert watched.cold_runs == 1
    assert max(watched.limits[1:]) < 60, "limits are the base tree's"


async def test_no_item_is_lost_while_results_wait_for_earlier_ones() -> None:
    async def work(item: int) -> int:
        return item

    results = side_by_side(work, range(9), width=1, waits=lambda _found: 0.01)
    assert sorted([number async for number, _ in results]) == list(range(9))


async def test_a_candidate_that_may_decide_how_a_run_begins_is_judged_from_scratch_and_says_so(bench: Any) -> None:
    files = {"data.txt": "1", "mod.py": BASE, "more/gone.py": "", "test_mod.py": FILES["test_mod.py"]}
    task = bench.task(files, command=("pytest", "-q"), editable=("mod.py", "more/*", "data.txt"))
    tool = Pytest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    wrong = b"def f(x):\n    return x + 2\n"
    changes: list[dict[str, bytes | None]] = [
        {"mod.py": wrong},
        {"mod.py": wrong, "data.txt": b"2"},
        {"mod.py": wrong, "more/gone.py": None},
        {"mod.py": wrong, "more/new.py": b""},
        {"mod.py": wrong, "setup.cfg": b"[tool:pytest]\npython_functions = other_*\n"},
    ]
    some = [Candidate(task.tree.digest, each) for each in changes]
    many = await all_of(tool, some, task, bench.context())
    alone = [await tool.judge(candidate, task, bench.context()) for candidate in some]
    assert [(o.verdict, o.reason) for o in many] == [(o.verdict, o.reason) for o in alone]
    scratch = "judged from scratch: it changes"
    assert [o.evidence.note for o in many] == ["", f"{scratch} data.txt", f"{scratch} more/gone.py", "", ""]
    assert "may not" in many[4].evidence.detail


async def test_functions_are_judged_in_a_fork_server_without_site_packages(bench: Any, watched: Watched) -> None:
    task = function_task(
        "f", "def f(x):\n    return x\n", "f", visible=["assert f(1) == 2", "assert f(2) == 3"], hidden="check = f"
    )
    sources = ("return x + 2", "import pytest", "import sys; return x + (not sys.flags.no_site)", "return x + 1")
    some = [Candidate(task.tree.digest, {"solution.py": f"def f(x):\n    {s}\n".encode()}) for s in sources]
    tool = Unittest()
    await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())
    found = await all_of(tool, some, task, context_of(watched, bench))
    assert [o.verdict for o in found] == [FAIL, FAIL, FAIL, PASS]
    assert "No module named 'pytest'" in found[1].evidence.cases[0].message
    assert watched.warm_runs == len(some) + 1


MANY_FILES = {
    "mod.py": BASE,
    "tests/conftest.py": "import sys\nsys.path.insert(0, '.')\n",
    "tests/test_mod.py": "import pytest\nfrom mod import f\nclass TestF:\n"
    "    @pytest.mark.parametrize('x', range(20))\n    def test_a(self, x):\n        assert f(x) == x + 1\n"
    "    def test_b(self):\n        assert f('a') == 'ab'\ndef test_c():\n    assert f(0) < 5\n",
    "tests/test_other.py": "import mod\ndef test_d():\n    assert mod.f(7) < 100\n",
}
ALMOST = "def f(x):\n    return x + 1 if x != 3 else 200\n"
FIX = "def f(x):\n    return x + 'b' if isinstance(x, str) else x + 1\n"


async def test_many_candidates_meet_the_cases_alone_that_failed_on_the_base_tree(bench: Any, watched: Watched) -> None:
    """What mends nothing is told by some of these cases; what mends something is judged by all others too."""
    tool, task = Pytest(), bench.task(MANY_FILES, command=("pytest", "-q", "tests"))
    context = context_of(watched, bench)
    await tool.judge(Candidate(task.tree.digest, {}), task, context)
    wrong = [f"def f(x):\n    return x - {n}\n" for n in range(1, 16)]
    some = candidates(task, *wrong, ALMOST, FIX)
    seen = await all_of(tool, some, task, context)
    assert [o.verdict for o in seen] == [FAIL] * 16 + [PASS]
    for narrow in seen[:15]:
        assert narrow.partial
        assert len(narrow.evidence.cases) == 12
        assert narrow.evidence.collected == 23
        assert "no others ran" in narrow.evidence.detail
    assert "tests/test_mod.py::TestF::test_a[0]" in {c.id for c in seen[15].evidence.cases}
    assert {c.id for c in seen[-1].evidence.cases} >= {"tests/test_other.py::test_d", "tests/test_mod.py::test_c"}
    assert len(seen[-1].evidence.cases) == 23
    alone = [await tool.judge(one, task, context) for one in (some[0], some[-2], some[-1])]
    assert [o.verdict for o in alone] == [FAIL, FAIL, PASS]


async def test_what_mends_all_and_breaks_another_case_fails_by_that(bench: Any, watched: Watched) -> None:
    other = "import mod\ndef test_d():\n    assert mod.f(30) > 29\n"
    tool, task = Pytest(), bench.task({**MANY_FILES, "tests/test_other.py": other}, command=("pytest", "-q", "tests"))
    context = context_of(watched, bench)
    await tool.judge(Candidate(task.tree.digest, {}), task, context)
    breaks = FIX.replace("else x + 1", "else x + 1 if x < 20 else 0")
    seen = await all_of(tool, candidates(task, breaks, *(f"{BASE}# {n}\n" for n in range(16))), task, context)
    assert seen[0].verdict is FAIL
    assert [c.id for c in seen[0].evidence.failed()] == ["tests/test_other.py::test_d"]


async def test_a_case_that_ends_otherwise_by_itself_decides_no_way(bench: Any, watched: Watched) -> None:
    """Else each candidate of a project with a flaky case was judged from scratch, after three runs for nothing."""
    flaky = "import os\ndef test_luck():\n    assert int.from_bytes(os.urandom(8), 'big') % 2\n"
    tool, task = Pytest(), bench.task({**FILES, "test_luck.py": flaky})
    context = context_of(watched, bench)
    base = Candidate(task.tree.digest, {})
    ends = {(await tool.judge(base, task, context)).evidence.passed() for _ in range(12)}
    assert len(ends) == 2, "one in two thousand times this says nothing"
    seen = await all_of(
        tool, candidates(task, *[f"def f(x):\n    return x + {n}\n" for n in range(2, 7)]), task, context
    )
    assert {o.verdict for o in seen} == {FAIL}
    assert not any(o.evidence.note for o in seen)
    assert watched.cold_runs == 12, "only the base tree ran by itself"


def ends(*outcomes: dict[str, tuple[CaseResult, str]]) -> Any:
    """A search in which the base tree comes to that, run by run."""
    said = iter(outcomes)

    class Search:
        async def base(self) -> dict[str, tuple[CaseResult, str]]:
            return next(said)

    return Search()


async def test_a_way_is_not_given_up_for_a_case_that_ends_so_and_so_in_it() -> None:
    """Two looks at the base tree may not show that a case is flaky; to give up the way costs more than a third."""
    passed, failed = (CaseResult.PASSED, ""), (CaseResult.FAILED, "test_a.py:3")
    baseline = Baseline({}, 1.0, 1.0, 1.0, healthy=True, timed=True, outcome={"a": failed, "b": passed, "c": passed})

    differing = _batches._difference  # pyright: ignore[reportPrivateUsage]
    same, luck = {"a": failed, "b": passed, "c": passed}, {"a": failed, "b": passed, "c": failed}
    assert await differing(ends(same), baseline, baseline.outcome) == ""
    assert await differing(ends(luck, same), baseline, baseline.outcome) == ""
    said = "c: failed at test_a.py:3, by itself passed"
    assert await differing(ends(luck, luck), baseline, baseline.outcome) == said
    assert "by itself passed" in await differing(ends(same | {"b": failed}, luck | {"b": failed}), baseline, ["b"])
    assert await differing(ends({"a": failed}), baseline, ["a"]) == "", "the others were not asked for"


async def test_what_did_not_end_by_itself_says_nothing_of_a_way() -> None:
    differing = _batches._difference  # pyright: ignore[reportPrivateUsage]
    failed, passed = (CaseResult.FAILED, ""), (CaseResult.PASSED, "")
    cut = Baseline({"a": CaseResult.FAILED, "b": CaseResult.FAILED}, 1.0, 1.0, None, healthy=False, timed=False,
                   outcome={"a": failed, "b": failed}, late=frozenset({"b"}))  # fmt: skip
    together = {"a": failed, "b": passed, "never came to it": passed}
    assert await differing(ends(together, together), cut, cut.outcome) == ""
    assert "never came to it" in await differing(ends(together, together), replace(cut, timed=True), cut.outcome)
    assert "a: passed" in await differing(ends({**together, "a": passed}, {**together, "a": passed}), cut, cut.outcome)


async def test_a_case_that_runs_out_of_time_holds_no_candidate_up_where_others_failed() -> None:
    slow = CaseOutcome(id="slow", result=CaseResult.FAILED, message="did not finish within 1 s\n  test_a.py:3 in f")
    bad = CaseOutcome(id="bad", result=CaseResult.FAILED, message="1 != 2\n  test_a.py:9 in g")
    ended = outcome_of([slow, bad])
    assert ended == {"slow": (CaseResult.FAILED, ""), "bad": (CaseResult.FAILED, "test_a.py:9")}
    known = Baseline({"slow": CaseResult.FAILED, "bad": CaseResult.FAILED}, 1.0, 1.0, 1.0, healthy=False, timed=True,
                     outcome=ended, late=frozenset({"slow"}))  # fmt: skip
    assert known.failing == ("bad",)
    assert replace(known, outcome={"slow": ended["slow"]}).failing == ("slow",), "a loop that never ends is a bug too"


async def test_a_case_may_compute_as_long_as_the_base_trees_slowest_suggests() -> None:
    known = Baseline({}, 1.0, 1.0, 0.0, healthy=True, timed=True)
    limits = Limits(wall_s=60)
    assert known.pace(limits).limits.case_s == 0.1
    assert replace(known, slowest_s=0.5).pace(limits).limits.case_s == 10
    assert replace(known, slowest_s=None, healthy=False).pace(limits).limits.case_s == 0.3
