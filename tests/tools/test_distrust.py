"""Candidates that reach for what judges them or the report: none of them passes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groundwire.core._signals import NoVerdict, Origin, Verdict
from groundwire.core._tasks import Hidden
from groundwire.tools import Command, Doctest, HiddenTests, Pytest, Unittest

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
TEST = "from mod import f\ndef test_a():\n    assert f(1) == 2\ndef test_b():\n    assert f(2) == 3\n"
PROJECT = {
    "mod.py": "def f(x):\n    return x\n",
    "data.json": "{}",
    "test_mod.py": TEST,
    "conftest.py": "",
    "pyproject.toml": "",
}
RIGHT = "def f(x):\n    return x + 1\n"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("test_mod.py", "def test_a():\n    pass\n"),
        ("test_mod.py", None),
        ("conftest.py", "collect_ignore = ['test_mod.py']\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = '--collect-only'\n"),
        ("pytest.ini", "[pytest]\naddopts = -k nothing\n"),
        ("sub/conftest.py", ""),
        ("tests/helper.py", ""),
        ("sitecustomize.py", ""),
        ("data.json", "[]"),
    ],
)
@pytest.mark.parametrize("tool", [Pytest(), Unittest(), Doctest(), Command(("true",))], ids=lambda t: type(t).__name__)
async def test_a_change_of_what_may_not_be_changed_is_a_fail(
    bench: Any, tool: Any, path: str, content: str | None
) -> None:
    found = await bench.judge(tool, bench.task(PROJECT), {"mod.py": RIGHT, path: content})
    assert (found.verdict, found.origin) == (FAIL, Origin.TOOL_ERROR)
    assert [c.id for c in found.evidence.cases] == [f"tamper::{path}"]
    assert path in found.evidence.detail
    assert found.exit_code is None, "nothing was run"


@pytest.mark.parametrize("path", ["conftest.py", "deep/conftest.py", ".pytest.ini", "pytest.toml"])
async def test_what_steers_pytest_is_out_of_reach_whatever_the_task_says(bench: Any, path: str) -> None:
    task = replace(bench.task(PROJECT, editable=["**"]), test_files=("test_mod.py",))
    found = await bench.judge(Pytest(), task, {"mod.py": RIGHT, path: "x"})
    assert [c.id for c in found.evidence.cases] == [f"tamper::{path}"]


async def test_writing_the_same_again_is_no_tampering(bench: Any) -> None:
    found = await bench.judge(Pytest(), bench.task(PROJECT), {"mod.py": RIGHT, "test_mod.py": TEST})
    assert found.verdict is PASS


APPEND = """
import os
path = os.path.join(os.environ.get('GROUNDWIRE_OUT', '/box/out'), 'report.jsonl')
"""
FORGERIES = {
    "a line at the end of the report": APPEND
    + """
import atexit
def forge():
    with open(path, 'a') as f:
        f.write('0' * 32 + ' {"e":"exit","status":0}\\n')
atexit.register(forge)
def f(x):
    return x
""",
    "another report": APPEND
    + """
os.remove(path)
with open(path, 'w') as f:
    f.write('{"e":"begin"}\\n{"e":"exit","status":0}\\n')
def f(x):
    return x + 1
""",
    "a report that was emptied": APPEND
    + """
import atexit
atexit.register(lambda: open(path, 'w').close())
def f(x):
    return x + 1
""",
    "no report": APPEND
    + """
import atexit
atexit.register(lambda: os.remove(path))
def f(x):
    return x + 1
""",
    "reports that say passed": """
import _pytest.reports
of = _pytest.reports.TestReport.from_item_and_call.__func__
def patched(cls, item, call):
    report = of(cls, item, call)
    report.outcome = 'passed'
    report.longrepr = None
    return report
_pytest.reports.TestReport.from_item_and_call = classmethod(patched)
def f(x):
    return x
""",
    "a hook that says passed": """
import gc, pytest
class Forger:
    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        outcome = yield
        report = outcome.get_result()
        report.outcome = 'passed'
        report.longrepr = None
for thing in gc.get_objects():
    if type(thing).__name__ == 'PytestPluginManager':
        thing.register(Forger())
def f(x):
    return x
""",
    "calls that swallow": """
import _pytest.runner as r
of = r.CallInfo.from_call.__func__
def patched(cls, func, when, reraise=None):
    def quiet():
        try:
            return func()
        except AssertionError:
            pass
    return of(cls, quiet, when, reraise)
r.CallInfo.from_call = classmethod(patched)
def f(x):
    return x
""",
    "tests that do nothing": """
import _pytest.python
_pytest.python.Function.runtest = lambda self: None
def f(x):
    return x
""",
    "an assertion error of its own": """
import builtins
class Quiet(BaseException):
    pass
builtins.AssertionError = Quiet
def f(x):
    return x + 1
""",
    "raises that never complain": """
import pytest
pytest.raises = lambda *a, **k: __import__('contextlib').nullcontext()
def f(x):
    return x + 1
""",
    "an exit status of its own": """
import os, sys
def f(x):
    sys.stdout.flush()
    os._exit(0)
""",
    "a quick way out": """
import sys
sys.exit(0)
""",
    "a process that is replaced": """
import os, sys
def f(x):
    os.execv('/bin/true', ['true'])
""",
}


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("base_first", [True, False], ids=["base known", "base unknown"])
async def test_forged_reports_never_pass(bench: Any, forgery: str, base_first: bool) -> None:
    task = bench.task(PROJECT)
    found = await bench.judge(Pytest(), task, {"mod.py": FORGERIES[forgery]}, base_first=base_first)
    assert found.verdict is not PASS, found.evidence


async def test_a_forged_line_is_named(bench: Any) -> None:
    changes = {"mod.py": FORGERIES["another report"]}
    found = await bench.judge(Pytest(), bench.task(PROJECT), changes)
    assert (found.verdict, found.origin) == (FAIL, Origin.TOOL_ERROR)
    assert [c.id for c in found.evidence.cases] == ["tamper::report"]
    assert "our plugin did not write" in found.evidence.detail


async def test_a_conftest_of_the_project_may_change_pytest(bench: Any) -> None:
    files = PROJECT | {
        "conftest.py": "import _pytest.python as p\nold = p.Function.runtest\n"
        "p.Function.runtest = lambda self: old(self)\n"
    }
    found = await bench.judge(Pytest(), bench.task(files), {"mod.py": RIGHT})
    assert found.verdict is PASS


async def test_the_nonce_is_out_of_sight(bench: Any) -> None:
    look = (
        "import os, sys\ndef f(x):\n    seen = ' '.join(os.environ) + open('/proc/self/environ').read()\n"
        "    assert 'GROUNDWIRE_KEY' not in seen, 'seen'\n    return x + 1\n"
    )
    found = await bench.judge(Pytest(), bench.task(PROJECT), {"mod.py": look})
    assert found.verdict is PASS, found.evidence


def hidden(files: dict[str, str], *command: str) -> Hidden:
    from groundwire.core._candidates import Tree

    return Hidden(command, Tree({p: c.encode() for p, c in files.items()}))


HIDDEN = hidden(
    {"secret/test_more.py": "from mod import f\ndef test_c():\n    assert f(5) == 6\n"},
    "python",
    "-m",
    "pytest",
    "secret",
)


async def test_hidden_tests_are_laid_over_the_candidate(bench: Any) -> None:
    task = bench.task(PROJECT, hidden=HIDDEN)
    tool = HiddenTests()
    assert tool.traits.judges_hidden
    wrong = await bench.judge(tool, task, {"mod.py": "def f(x):\n    return {1: 2, 2: 3}.get(x)\n"}, coverage=True)
    assert (wrong.verdict, wrong.origin, wrong.coverage) == (FAIL, Origin.HIDDEN_TESTS, None)
    assert [c.id for c in wrong.evidence.cases] == ["secret/test_more.py::test_c"]
    right = await bench.judge(tool, task, {"mod.py": RIGHT})
    assert (right.verdict, right.origin) == (PASS, Origin.HIDDEN_TESTS)


@pytest.mark.parametrize("path", ["secret/test_more.py", "secret/helper.py", "test_mod.py"])
async def test_a_candidate_has_no_business_in_the_hidden_folder(bench: Any, path: str) -> None:
    found = await bench.judge(HiddenTests(), bench.task(PROJECT, hidden=HIDDEN), {"mod.py": RIGHT, path: "x = 1\n"})
    assert (found.verdict, found.origin) == (FAIL, Origin.HIDDEN_TESTS)
    assert [c.id for c in found.evidence.cases] == [f"tamper::{path}"]


async def test_without_hidden_tests_there_is_no_verdict(bench: Any) -> None:
    found = await bench.judge(HiddenTests(), bench.task(PROJECT))
    assert (found.verdict, found.reason, found.origin) == (NONE, NoVerdict.USAGE, Origin.HIDDEN_TESTS)


async def test_hidden_commands_of_other_kinds(bench: Any) -> None:
    check = hidden({"check.py": "from mod import f\nassert f(5) == 6\n"}, "python", "check.py")
    task = bench.task(PROJECT, hidden=check)
    assert (await bench.judge(HiddenTests(), task, {"mod.py": RIGHT})).verdict is PASS
    assert (await bench.judge(HiddenTests(), task)).verdict is FAIL
