"""Candidates that reach for what judges them instead of the task: none passes, and what they tried is said.

Each would succeed with a bare pytest in the same sandbox, which the second test proves.
"""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from sandboxes_here import ISOLATING, opened

from groundwire.core._candidates import Tree
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.core._signals import NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Hidden
from groundwire.tools import HiddenTests, Pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

WRONG = "def f(x):\n    return x\n"
RIGHT = "def f(x):\n    return x + 1\n"
EMPTY = "def test_f():\n    pass\n"
PROJECT = {
    "mod.py": WRONG,
    "expected.txt": "2",
    "first/test_there.py": "import mod\ndef test_there():\n    assert mod\n",
    "sub/test_f.py": "from mod import f\ndef test_f():\n    assert f(1) == int(open('expected.txt').read())\n",
}
"""`test_f` fails, and no candidate here makes it pass by what it returns."""
TEST = "sub/test_f.py"
COMMAND = ("python", "-m", "pytest", "-q")
PLUGIN = (
    "import pytest\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
    "    outcome = yield\n    outcome.get_result().outcome = 'passed'\n"
)
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": ""}
"""Plugins of the machine's own have no part in this."""


@dataclass(frozen=True)
class Attack:
    """One way to pass without solving the task.

    Args:
        changes: what the candidate changes.
        says: ids of the cases that name the attempt; empty: it is without effect, and there is nothing to name.
        editable: what the task lets candidates change; empty: Python files.
        env: for the bare run.
    """

    changes: Mapping[str, str | None]
    says: Sequence[str] = ()
    editable: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=lambda: ALONE)


def at_import(code: str, says: Sequence[str] = ()) -> Attack:
    return Attack({"mod.py": f"{code}\n{WRONG}"}, says)


def steering(path: str, content: str, more: Mapping[str, str] | None = None) -> Attack:
    return Attack({path: content, **(more or {})}, [f"tamper::{path}"], editable=["**"])


STATIC = {
    "a test is changed": Attack({TEST: EMPTY}, [f"tamper::{TEST}"]),
    "a test is deleted": Attack({TEST: None}, [f"tamper::{TEST}"]),
    "what a test expects is changed": Attack({"expected.txt": "1"}, ["tamper::expected.txt"]),
    "a conftest hides a test": Attack({"conftest.py": "collect_ignore = ['sub']\n"}, ["tamper::conftest.py"]),
    "a conftest is a plugin": steering("sub/conftest.py", PLUGIN),
    "pytest.ini": steering("pytest.ini", "[pytest]\naddopts = -k there\n"),
    "tox.ini": steering("tox.ini", "[pytest]\naddopts = -k there\n"),
    "setup.cfg": steering("setup.cfg", "[tool:pytest]\naddopts = -k there\n"),
    "a plugin by addopts": steering(
        "pyproject.toml", "[tool.pytest.ini_options]\naddopts = '-p evil'\n", {"evil.py": PLUGIN}
    ),
    "sitecustomize": Attack(
        {"sitecustomize.py": "import os\nos._exit(0)\n"}, ["tamper::sitecustomize.py"], env={"PYTHONPATH": "."}
    ),
}
"""Seen before anything runs."""
RUNNING = {
    "a plugin by its metadata": Attack(
        {
            "evil-1.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
            "evil-1.dist-info/METADATA": "Name: evil\n",
            "evil.py": PLUGIN,
        },
        editable=["**"],
        env={"PYTHONPATH": ""},
    ),
    "a pytest of its own": Attack({"pytest.py": "raise SystemExit(0)\n"}),
    "a test is rewritten before it is read": at_import(
        f"open('{TEST}', 'w').write('def test_f():\\n    pass\\n')", [f"tamper::{TEST}"]
    ),
    "what a test expects is rewritten": at_import(
        "import os\nopen('new', 'w').write('1'); os.replace('new', 'expected.txt')", ["tamper::expected.txt"]
    ),
    "a conftest is laid while tests are collected": at_import(
        "open('sub/conftest.py', 'w').write('collect_ignore = [\"test_f.py\"]')", ["tamper::sub/conftest.py"]
    ),
    "assertions are rewritten to nothing": at_import(
        "import ast, _pytest.assertion.rewrite as r\nold = r.rewrite_asserts\n"
        "class Drop(ast.NodeTransformer):\n"
        "    def visit_Assert(self, node): return ast.copy_location(ast.Pass(), node)\n"
        "r.rewrite_asserts = lambda mod, *a, **k: old(ast.fix_missing_locations(Drop().visit(mod)), *a, **k)",
        ["tamper::runner::rewrite_asserts"],
    ),
    "reports say passed": at_import(
        "import _pytest.reports as r\nof = r.TestReport.from_item_and_call.__func__\n"
        "def say(cls, item, call):\n    report = of(cls, item, call)\n    report.outcome = 'passed'\n"
        "    return report\nr.TestReport.from_item_and_call = classmethod(say)",
        ["tamper::runner::TestReport.from_item_and_call"],
    ),
    "tests do nothing": at_import(
        "import _pytest.python as p\np.Function.runtest = lambda self: None", ["tamper::runner::Function.runtest"]
    ),
    "the process ends well in the middle": Attack(
        {"mod.py": "import os\ndef f(x):\n    os._exit(0)\n"}, ["tamper::exit"]
    ),
    "the process ends well while it is read": at_import("import os\nos._exit(0)", ["tamper::exit"]),
    "the process becomes another": Attack(
        {"mod.py": "import os, sys\ndef f(x):\n    os.execv(sys.executable, ['python', '-c', ''])\n"}, ["tamper::exit"]
    ),
    "the exit status is changed at the end": at_import("import atexit, os\natexit.register(os._exit, 0)"),
}
"""Seen while the tests run, or without effect."""
ATTACKS = STATIC | RUNNING


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=ISOLATING)
async def contained(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Sandbox, Pytest, set[str]]]:
    """Each kind of sandbox that isolates, a tool that judges in it, and the base trees that it has judged."""
    box = await opened(request.param)
    yield box, Pytest(), set()
    await box.aclose()


async def judged(bench_of: Any, contained: tuple[Sandbox, Pytest, set[str]], attack: Attack) -> Observation:
    """As in a run: the base tree first, where it is not known yet."""
    box, tool, known = contained
    bench = bench_of(box)
    task = bench.task(PROJECT, command=COMMAND, editable=attack.editable, limits=Limits(wall_s=60))
    if task.tree.digest not in known:
        assert (await bench.judge(tool, task)).verdict is Verdict.FAIL
        known.add(task.tree.digest)
    return await bench.judge(tool, task, attack.changes)


@pytest.mark.parametrize("name", STATIC)
async def test_is_refused_and_named_before_anything_runs(bench: Any, name: str) -> None:
    attack = STATIC[name]
    found = await bench.judge(Pytest(), bench.task(PROJECT, editable=attack.editable), attack.changes)
    assert (found.verdict, found.origin) == (Verdict.FAIL, Origin.TOOL_ERROR)
    assert [c.id for c in found.evidence.cases] == [*attack.says]
    assert found.exit_code is None, "nothing was run"


@pytest.mark.parametrize("name", RUNNING)
async def test_is_refused_and_named(contained: Any, bench_of: Any, name: str) -> None:
    attack = RUNNING[name]
    found = await judged(bench_of, contained, attack)
    assert found.verdict is not Verdict.PASS, found.evidence
    assert [c.id for c in found.evidence.cases if c.id.startswith("tamper::")] == [*attack.says], found.evidence
    if attack.says:
        assert (found.verdict, found.origin) == (Verdict.FAIL, Origin.TOOL_ERROR)
        assert attack.says[0].removeprefix("tamper::") in found.evidence.detail


@pytest.mark.parametrize("name", ATTACKS)
async def test_succeeds_with_a_bare_pytest(bench: Any, name: str) -> None:
    """Else it would prove nothing that it is refused."""
    attack = ATTACKS[name]
    tree = Tree({p: c.encode() for p, c in (PROJECT | dict(attack.changes)).items() if c is not None})
    # our own plugin is in this environment by its metadata too, and its source out of the sandbox's sight
    result = await bench.sandbox.run((*COMMAND, "-p", "no:groundwire_audit"), tree, Limits(), env=attack.env)
    assert result.exit_code == 0, result.stdout


async def test_a_real_repair_passes(contained: Any, bench_of: Any) -> None:
    found = await judged(bench_of, contained, Attack({"mod.py": RIGHT}))
    assert found.verdict is Verdict.PASS, found.evidence


async def test_what_the_base_trees_own_run_changes_is_no_tampering(bench: Any) -> None:
    """A suite that writes into its own data, with and without the candidate."""
    writes = "def test_counts():\n    open('expected.txt', 'a').write(' ')\n"
    task = bench.task(PROJECT | {"test_writes.py": writes}, command=COMMAND)
    found = await bench.judge(Pytest(), task, {"mod.py": RIGHT}, base_first=True)
    assert found.verdict is Verdict.PASS, found.evidence


async def test_hidden_tests_are_not_rewritten_from_the_other_process_either(bench: Any) -> None:
    """What a candidate writes in its own box goes to the other side, which takes none of the tests' files from it."""
    tests = {"secret/test_a.py": "import mod\ndef test_a():\n    assert mod.f(0) == 0\n", "secret/test_z.py": ""}
    tests["secret/test_z.py"] = "from mod import f\ndef test_z():\n    assert f(1) == 2\n"
    hidden = Hidden((*COMMAND, "secret"), Tree({p: c.encode() for p, c in tests.items()}))
    code = "open('secret/test_z.py', 'w').write('def test_z():\\n    pass\\n')\n"
    found = await bench.judge(HiddenTests(), bench.task(PROJECT, hidden=hidden), {"mod.py": code + WRONG})
    assert (found.verdict, found.reason) == (Verdict.NONE, NoVerdict.UNFIT), found.evidence
    assert "secret/test_z.py, a file of the tests" in found.evidence.detail


SEARCH = """\
import os, sys
known = {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, "/proc", "/sys", "/usr", "/lib")}
found = []
for start in ("..", "/", os.environ.get("HOME", "/"), os.environ.get("TMPDIR", "/")):
    for folder, names, files in os.walk(start):
        names[:] = [n for n in names if f"{folder.rstrip('/')}/{n}" not in known]
        found += [f"{folder}/{n}" for n in (*names, *files) if n == ".git" or "secret" in n]
assert not found, found
"""


async def test_git_history_and_hidden_tests_are_not_there_to_be_read(bench: Any, tmp_path: Path) -> None:
    files = PROJECT | {"secret_tests/test_secret.py": EMPTY}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "answer"]):
        await asyncio.to_thread(subprocess.run, ["git", *words], cwd=tmp_path, check=True)
    whole = {path: content.decode() for path, content in Tree.from_folder(tmp_path).files.items()}
    assert whole.keys() == files.keys(), "version control stays outside"
    hidden = Hidden(COMMAND, Tree({"secret_tests/test_secret.py": EMPTY.encode()}))
    found = await bench.judge(Pytest(), bench.task(PROJECT, command=COMMAND, hidden=hidden), {"mod.py": SEARCH + RIGHT})
    assert found.verdict is Verdict.PASS, found.evidence
    laid = await bench.judge(Pytest(), bench.task(whole, command=COMMAND), {"mod.py": SEARCH + RIGHT})
    assert "test_secret.py" in laid.evidence.failed()[0].message, "it finds what is there"


async def test_a_suite_that_writes_data_once_it_passes_is_no_tampering(bench: Any) -> None:
    """On the base tree the case fails before it comes to that."""
    writes = "from mod import f\ndef test_w():\n    assert f(1) == 2\n    open('expected.txt', 'a').write(' ')\n"
    task = bench.task(PROJECT | {"test_writes.py": writes}, command=COMMAND)
    found = await bench.judge(Pytest(), task, {"mod.py": RIGHT}, base_first=True)
    assert found.verdict is Verdict.PASS, found.evidence


@pytest.mark.parametrize(
    ("changes", "misplaced"),
    [
        ({"first": "x"}, "first"),
        ({"mod.py/__init__.py": RIGHT}, "mod.py/__init__.py"),
        ({"new": "x", "new/mod.py": RIGHT}, "new"),
    ],
)
async def test_a_file_where_a_folder_is_fails_its_candidate_and_no_sandbox(
    bench: Any, changes: Mapping[str, str | None], misplaced: str
) -> None:
    task = bench.task(PROJECT, editable=["**"], command=COMMAND)
    seen = await bench.judge(Pytest(), task, changes)
    assert seen.verdict is Verdict.FAIL and f"misplaced::{misplaced}" in [c.id for c in seen.evidence.cases]
    assert "a file where a folder is" in seen.evidence.detail


async def test_a_module_becomes_a_package(bench: Any) -> None:
    task = bench.task(PROJECT, editable=["**"], command=COMMAND)
    seen = await bench.judge(Pytest(), task, {"mod.py": None, "mod.py/x": "x", "mod/__init__.py": RIGHT})
    assert seen.verdict is Verdict.PASS


async def test_a_file_where_the_hidden_tests_folder_is_laid_fails(bench: Any) -> None:
    hidden = Hidden(command=COMMAND, tree=Tree({"secret/test_h.py": b"def test_h():\n    pass\n"}))
    task = bench.task(PROJECT, editable=["**"], command=COMMAND, hidden=hidden)
    seen = await bench.judge(HiddenTests(), task, {"mod.py": RIGHT, "secret": "x"})
    assert seen.verdict is Verdict.FAIL and [c.id for c in seen.evidence.cases] == ["tamper::secret"]


async def test_a_conftest_that_the_task_calls_editable_is_still_the_base_trees(bench: Any) -> None:
    task = replace(bench.task(PROJECT | {"conftest.py": ""}, command=COMMAND, editable=["**"]), test_files=(TEST,))
    assert (await bench.judge(Pytest(), task, {"mod.py": RIGHT}, base_first=True)).verdict is Verdict.PASS
