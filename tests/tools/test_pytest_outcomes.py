"""Runs that end otherwise than they should: exits, crashes, hangs, limits."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._sandboxes import Limits
from groundwire.core._signals import CaseResult, NoVerdict, Verdict
from groundwire.tools import Pytest

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
MOD = "def f(x):\n    return x + 1\n"
GOOD = "from mod import f\n\ndef test_a():\n    assert f(1) == 2\n"


def scene(name: str, files: dict[str, str], verdict: Verdict, reason: NoVerdict | None = None, **more: Any) -> Any:
    return pytest.param(files, {"verdict": verdict, "reason": reason, **more}, id=name)


SCENES = [
    scene(
        "sys.exit(0) at import",
        {"mod.py": "import sys\nsys.exit(0)\n", "test_m.py": GOOD},
        FAIL,
        cases={"test_m.py": "error"},
        message="SystemExit",
    ),
    scene(
        "sys.exit(0) in conftest",
        {
            "mod.py": "import sys\nsys.exit(0)\n",
            "conftest.py": "import mod\n",
            "test_m.py": "def test_a():\n    pass\n",
        },
        FAIL,
        message="SystemExit",
        partial=True,
    ),
    scene(
        "os._exit(0) at import",
        {"mod.py": "import os\nos._exit(0)\n", "test_m.py": GOOD},
        NONE,
        NoVerdict.RUNNER_CRASHED,
        says="while it collected test_m.py",
    ),
    scene(
        "os._exit(0) in a test",
        {"mod.py": "import os\ndef f(x):\n    os._exit(0)\n", "test_m.py": GOOD + "def test_b():\n    pass\n"},
        FAIL,
        cases={"test_m.py::test_a": "failed"},
        message="did not finish: the process ended with exit status 0",
        partial=True,
    ),
    scene(
        "os._exit(0) at exit",
        {
            "mod.py": MOD + "import atexit, os\natexit.register(os._exit, 0)\n",
            "test_m.py": GOOD + "def test_b():\n    assert 0\n",
        },
        FAIL,
    ),
    scene(
        "another exit status at exit",
        {"mod.py": MOD + "import atexit, os\natexit.register(os._exit, 3)\n", "test_m.py": GOOD},
        NONE,
        NoVerdict.RUNNER_CRASHED,
        says="announced exit status 0",
    ),
    scene(
        "segfault in a test",
        {"mod.py": "import ctypes\ndef f(x):\n    ctypes.string_at(0)\n", "test_m.py": GOOD},
        FAIL,
        message="SIGSEGV",
        partial=True,
    ),
    scene(
        "KeyboardInterrupt in a test",
        {"mod.py": "def f(x):\n    raise KeyboardInterrupt\n", "test_m.py": GOOD},
        FAIL,
        message="did not finish: KeyboardInterrupt",
        partial=True,
    ),
    scene(
        "pytest.exit(0) in a test",
        {"mod.py": "import pytest\ndef f(x):\n    pytest.exit('done', returncode=0)\n", "test_m.py": GOOD},
        FAIL,
        message="did not finish",
        partial=True,
    ),
    scene(
        "pytest.exit(0) at import",
        {"mod.py": "import pytest\npytest.exit('done', returncode=0)\n", "test_m.py": GOOD},
        FAIL,
        cases={"test_m.py": "error"},
    ),
    scene(
        "early stop",
        {"test_m.py": "def test_a():\n    assert 0\ndef test_b():\n    pass\n"},
        FAIL,
        command=("pytest", "-x"),
        cases={"test_m.py::test_a": "failed"},
        says="0 of 2 tests",
        partial=True,
    ),
]


@pytest.mark.parametrize(("files", "expected"), SCENES)
async def test_rule(bench: Any, files: dict[str, str], expected: dict[str, Any]) -> None:
    await bench.check(Pytest(), files, **expected)


async def test_a_hanging_case_fails_alone(bench: Any) -> None:
    files = {
        "mod.py": "def f(x):\n    while True:\n        pass\n",
        "test_m.py": GOOD + "def test_b():\n    pass\n",
    }
    found, wall_s = await bench.judge_hanging(Pytest(), files, 4, whole=True)
    assert found.verdict is FAIL and not found.partial
    assert {c.id: c.result for c in found.evidence.cases} == {
        "test_m.py::test_a": CaseResult.FAILED,
        "test_m.py::test_b": CaseResult.PASSED,
    }
    (hung,) = found.evidence.failed()
    assert f"did not finish within {wall_s / 2:g} s" in hung.message
    assert "mod.py:" in hung.message


async def test_a_case_that_no_alarm_reaches_fails_with_where_it_hung(bench: Any) -> None:
    files = {
        "mod.py": "def f(x):\n    while True:\n        try:\n            while True:\n                pass\n"
        "        except BaseException:\n            pass\n",
        "test_m.py": GOOD + "def test_b():\n    pass\n",
    }
    found, _ = await bench.judge_hanging(Pytest(), files, 4)
    assert found.verdict is FAIL and found.partial
    (hung,) = found.evidence.failed()
    assert hung.id == "test_m.py::test_a"
    assert "did not finish" in hung.message and "wall_s" in hung.message
    assert "mod.py" in hung.message and "in f" in hung.message


async def test_an_endless_import_is_a_broken_file(bench: Any) -> None:
    files = {"mod.py": "while True:\n    pass\n", "test_m.py": GOOD}
    found, wall_s = await bench.judge_hanging(Pytest(), files, 4)
    assert found.verdict is FAIL
    assert found.evidence.failed()[0].id == "test_m.py"
    assert f"did not finish within {wall_s / 2:g} s" in found.evidence.failed()[0].message


async def test_a_limit_before_any_case_is_no_verdict(bench: Any) -> None:
    files = {
        "mod.py": "while True:\n    try:\n        while True:\n            pass\n"
        "    except BaseException:\n        pass\n",
        "test_m.py": GOOD,
    }
    collecting = "wall_s while it collected test_m.py"
    found, _ = await bench.judge_hanging(Pytest(), files, 2, says=collecting)
    assert (found.verdict, found.reason) == (NONE, NoVerdict.LIMIT_HIT)
    assert collecting in found.evidence.detail


async def test_memory_that_runs_out_in_a_case_fails_that_case(bench: Any) -> None:
    files = {
        "mod.py": "def f(x):\n    kept = []\n    while True:\n        kept.append(bytes(8_000_000))\n",
        "test_m.py": GOOD,
    }
    found = await bench.judge(Pytest(), bench.task(files, limits=Limits(wall_s=120, memory_bytes=256 << 20)))
    assert found.verdict is FAIL
    assert found.evidence.failed()[0].id == "test_m.py::test_a"
