"""Projects with odd names, odd output, plugins of their own; coverage, and what is known of the base tree."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._sandboxes import Limits
from groundwire.core._signals import NoVerdict, Verdict
from groundwire.tools import Pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
MOD = "def f(x):\n    return x + 1\n"
GOOD = "from mod import f\n\ndef test_a():\n    assert f(1) == 2\n"


def scene(name: str, files: dict[str, str], verdict: Verdict, reason: NoVerdict | None = None, **more: Any) -> Any:
    return pytest.param(files, {"verdict": verdict, "reason": reason, **more}, id=name)


SCENES = [
    scene(
        "input() in a test",
        {"mod.py": "def f(x):\n    return input()\n", "test_m.py": GOOD},
        FAIL,
        command=("pytest", "-s"),
        message="EOFError",
    ),
    scene(
        "odd parameters",
        {
            "test_m.py": "import pytest\n@pytest.mark.parametrize('s', ['a b', 'ü', '::', '[', '\\n', '', '\\x00'])\n"
            "def test_a(s):\n    pass\n"
        },
        PASS,
        says="7 of 7 tests",
    ),
    scene(
        "long, equal and many-coloured parameters",
        {
            "test_m.py": "import pytest\n@pytest.mark.parametrize('s', ['x' * 3000, '\U0001f600', 'a', 'a', 'b::c'])\n"
            "def test_a(s):\n    pass\n"
        },
        PASS,
        says="5 of 5 tests",
    ),
    scene(
        "odd parameters, not escaped",
        {
            "pytest.ini": "[pytest]\ndisable_test_id_escaping_and_forfeit_all_rights_to_community_support = true\n",
            "test_m.py": "import pytest\n@pytest.mark.parametrize('s', ['ü', '\\n', '\\x1b[31m'])\n"
            "def test_a(s):\n    pass\n",
        },
        PASS,
        cases={
            "test_m.py::test_a[ü]": "passed",
            "test_m.py::test_a[\n]": "passed",
            "test_m.py::test_a[\\x1b[31m]": "passed",
        },
    ),
    scene(
        "one node twice",
        {"mod.py": MOD, "test_m.py": GOOD},
        PASS,
        command=("pytest", "--keep-duplicates", "test_m.py", "test_m.py"),
        cases={"test_m.py::test_a": "passed", "test_m.py::test_a#2": "passed"},
    ),
    scene(
        "unittest classes and subtests",
        {
            "test_m.py": "import unittest\nclass T(unittest.TestCase):\n    def test_s(self):\n"
            "        for i in range(3):\n            with self.subTest(i=i):\n"
            "                self.assertNotEqual(i, 1)\n"
            "    @unittest.skip('no')\n    def test_k(self):\n        pass\n"
        },
        FAIL,
        cases={"test_m.py::T::test_s": "failed", "test_m.py::T::test_k": "skipped"},
    ),
    scene(
        "doctests run by pytest",
        {"mod.py": 'def f(x):\n    """\n    >>> f(1)\n    3\n    """\n    return x + 1\n'},
        FAIL,
        command=("pytest", "--doctest-modules"),
        cases={"mod.py::mod.f": "failed"},
    ),
    scene(
        "variables, launcher and module form",
        {
            "lib/mod.py": MOD,
            "tests/test_m.py": "import os\n" + GOOD + "def test_e():\n    assert os.environ['FLAVOUR'] == 'sour'\n",
        },
        PASS,
        command=(
            "FLAVOUR=sour",
            "PYTHONPATH=lib",
            "uv",
            "run",
            "python",
            "-W",
            "ignore",
            "-m",
            "pytest",
            "-q",
            "tests",
        ),
        says="2 of 2 tests",
    ),
    scene(
        "an installable project's src folder",
        {"pyproject.toml": "[project]\nname = 'x'\n", "src/mod.py": MOD, "tests/test_m.py": GOOD},
        PASS,
    ),
    scene(
        "modules that are named like the runner's",
        {
            "mod.py": MOD,
            "json.py": "raise SystemExit\n",
            "pluggy.py": "x = 1\n",
            "pytest.py": "x = 1\n",
            "test_m.py": GOOD,
        },
        PASS,
        command=("python", "-m", "pytest"),
    ),
    scene(
        "a test that forks",
        {
            "test_m.py": "import os\ndef test_a():\n    if os.fork() == 0:\n        raise ValueError\n"
            "    os.wait()\ndef test_b():\n    pass\n"
        },
        PASS,
        says="2 of 2",
    ),
    scene(
        "a test that leaves the folder",
        {"mod.py": MOD, "test_m.py": "import os\n" + GOOD + "    os.chdir('/')\ndef test_b():\n    assert f(1) == 3\n"},
        FAIL,
        message="test_m.py:8 in test_b",
    ),
    scene(
        "output that is not UTF-8",
        {"test_m.py": "import os\ndef test_a():\n    os.write(1, b'\\xff\\xfe\\x1b[2J')\n    assert 0\n"},
        FAIL,
        command=("pytest", "-s"),
        says="0 of 1",
    ),
    scene(
        "an exception without words",
        {
            "mod.py": "class E(Exception):\n    def __str__(self):\n        raise E\ndef f(x):\n    raise E\n",
            "test_m.py": GOOD,
        },
        FAIL,
        message="exception str() failed",
    ),
]


@pytest.mark.parametrize(("files", "expected"), SCENES)
async def test_rule(bench: Any, files: dict[str, str], expected: dict[str, Any]) -> None:
    await bench.check(Pytest(), files, **expected)


async def test_fifty_megabytes_of_output_are_cut_and_counted(bench: Any) -> None:
    files = {
        "mod.py": "import os\ndef f(x):\n    for _ in range(50):\n"
        "        os.write(1, b'x' * 1_000_000)\n    return 2\n",
        "test_m.py": GOOD,
    }
    found = await bench.judge(Pytest(), bench.task(files, command=("pytest", "-s"), limits=Limits(wall_s=60)))
    assert found.verdict is PASS, found.evidence.detail
    assert len(found.evidence.stdout) < 9_000
    assert found.evidence.stdout_cut > 49_900_000
    assert "1 passed" in found.evidence.stdout


async def test_output_that_is_not_utf8_is_escaped(bench: Any) -> None:
    files = {"test_m.py": "import os\ndef test_a():\n    os.write(1, b'\\xff\\xfe\\x1b[2J\\x00')\n"}
    found = await bench.judge(Pytest(), bench.task(files, command=("pytest", "-s")))
    assert found.verdict is PASS
    assert "\\xff\\xfe\\x1b[2J\\x00" in found.evidence.stdout


async def test_messages_are_bounded(bench: Any) -> None:
    files = {
        "test_m.py": "import pytest\n@pytest.mark.parametrize('i', range(200))\ndef test_a(i):\n"
        "    raise ValueError('x' * 100_000 + str(i))\n"
    }
    found = await bench.judge(Pytest(), bench.task(files))
    assert found.verdict is FAIL
    assert len(found.evidence.cases) == 200
    assert sum(len(c.message) for c in found.evidence.cases) < 64 * 1024 + 200 * 121
    assert "characters cut" in found.evidence.cases[0].message


async def test_coverage_is_per_case_and_of_the_editable_files(bench: Any) -> None:
    files = {
        "mod.py": "def f(x):\n    if x:\n        return 1\n    return 2\n",
        "late.py": "X = 1\n",
        "conftest.py": "Y = 1\n",
        "test_m.py": "from mod import f\ndef test_a():\n    assert f(1) == 1\ndef test_b():\n"
        "    import late\n    assert f(0) == 1\n",
    }
    found = await bench.judge(Pytest(), bench.task(files), coverage=True)
    assert found.verdict is FAIL
    assert found.coverage == {
        "": {"mod.py": (1,)},
        "test_m.py::test_a": {"mod.py": (2, 3)},
        "test_m.py::test_b": {"mod.py": (2, 4), "late.py": (1,)},
    }


async def test_no_coverage_unless_asked(bench: Any) -> None:
    found = await bench.judge(Pytest(), bench.task({"mod.py": MOD, "test_m.py": GOOD}))
    assert found.coverage is None


async def test_a_case_that_ran_on_the_base_must_run_again(bench: Any) -> None:
    files = {
        "mod.py": "VALUES = [1, 2, 3]\ndef f(x):\n    return x + 2\n",
        "test_m.py": "import pytest\nfrom mod import f, VALUES\n@pytest.mark.parametrize('x', VALUES)\n"
        "def test_a(x):\n    assert f(x) == x + 1\n",
    }
    task = bench.task(files)
    tool = Pytest()
    fewer = {"mod.py": "VALUES = [1]\ndef f(x):\n    return x + 1\n"}
    found = await bench.judge(tool, task, fewer, base_first=True)
    assert (found.verdict, found.reason) == (NONE, NoVerdict.COUNT_MISMATCH)
    assert "test_m.py::test_a[2]" in found.evidence.detail
    fixed = {"mod.py": "VALUES = [1, 2, 3, 4]\ndef f(x):\n    return x + 1\n"}
    assert (await bench.judge(tool, task, fixed)).verdict is PASS


async def test_a_file_that_now_skips_itself_is_no_pass(bench: Any) -> None:
    files = {
        "mod.py": "def f(x):\n    return x + 2\n",
        "test_m.py": "import pytest\nmod = pytest.importorskip('mod', exc_type=ImportError)\n"
        "def test_a():\n    assert mod.f(1) == 2\n",
        "test_n.py": "def test_n():\n    pass\n",
    }
    found = await bench.judge(Pytest(), bench.task(files), {"mod.py": "import gone\n"}, base_first=True)
    assert (found.verdict, found.reason) == (NONE, NoVerdict.COUNT_MISMATCH)


async def test_a_case_that_is_now_skipped_is_no_pass(bench: Any) -> None:
    files = {
        "mod.py": "ON = True\ndef f(x):\n    return x + 2\n",
        "test_m.py": "import pytest, mod\n@pytest.mark.skipif(not mod.ON, reason='off')\n"
        "def test_a():\n    assert mod.f(1) == 2\ndef test_b():\n    pass\n",
    }
    found = await bench.judge(Pytest(), bench.task(files), {"mod.py": "ON = False\n"}, base_first=True)
    assert (found.verdict, found.reason) == (NONE, NoVerdict.COUNT_MISMATCH)


@pytest.mark.parametrize("trick", ["skip", "xfail"])
async def test_code_under_test_that_skips_its_test_fails(bench: Any, trick: str) -> None:
    files = {"mod.py": "def f(x):\n    return 0\n", "test_m.py": GOOD + "def test_b():\n    pass\n"}
    changes = {"mod.py": f"import pytest\ndef f(x):\n    pytest.{trick}('no')\n"}
    found = await bench.judge(Pytest(), bench.task(files), changes)
    assert found.verdict is FAIL
    assert "ended the case itself" in found.evidence.failed()[0].message


async def test_only_declared_plugins_are_loaded(bench: Any) -> None:
    files = {"test_m.py": "def test_a(request):\n    assert not request.config.pluginmanager.has_plugin('asyncio')\n"}
    assert (await bench.judge(Pytest(), bench.task(files))).verdict is PASS
    asks = {"test_m.py": "def test_a(request):\n    assert request.config.pluginmanager.has_plugin('asyncio')\n"}
    declared = asks | {"requirements-dev.txt": "pytest_asyncio>=1  # for the loops\n"}
    assert (await bench.judge(Pytest(), bench.task(declared))).verdict is PASS
    named = asks | {"pytest.ini": "[pytest]\naddopts = -p pytest_asyncio\n"}
    assert (await bench.judge(Pytest(), bench.task(named))).verdict is PASS
    required = asks | {"pytest.ini": "[pytest]\nrequired_plugins = pytest-asyncio\n"}
    assert (await bench.judge(Pytest(), bench.task(required))).verdict is PASS
