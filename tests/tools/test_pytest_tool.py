"""What pytest says of its cases, and the verdict on that: small real projects, real pytest, a real sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._candidates import Candidate
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
        "all pass", {"mod.py": MOD, "test_m.py": GOOD}, PASS, cases={"test_m.py::test_a": "passed"}, says="1 of 1 test"
    ),
    scene(
        "one fails",
        {"mod.py": MOD, "test_m.py": GOOD + "def test_b():\n    assert f(1) == 3, 'why'\n"},
        FAIL,
        cases={"test_m.py::test_a": "passed", "test_m.py::test_b": "failed"},
        says="1 of 2 tests passed (1 failed)",
        message="assert 2 == 3",
    ),
    scene(
        "the frame in the code under test is named",
        {"mod.py": "def f(x):\n    return 1 / 0\n", "test_m.py": GOOD},
        FAIL,
        message="mod.py:2 in f: return 1 / 0",
    ),
    scene(
        "set-up error",
        {"test_m.py": "import pytest\n@pytest.fixture\ndef x():\n    raise OSError('no')\ndef test_a(x):\n    pass\n"},
        FAIL,
        cases={"test_m.py::test_a": "error"},
        message="OSError: no",
    ),
    scene(
        "tear-down error",
        {
            "test_m.py": "import pytest\n@pytest.fixture\ndef x():\n    yield\n    raise OSError('no')\n"
            "def test_a(x):\n    pass\n"
        },
        FAIL,
        cases={"test_m.py::test_a": "error"},
    ),
    scene(
        "expected failures are ok",
        {"test_m.py": "import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert 0\ndef test_b():\n    pass\n"},
        PASS,
        cases={"test_m.py::test_a": "xfailed", "test_m.py::test_b": "passed"},
    ),
    scene(
        "unexpected pass",
        {"test_m.py": "import pytest\n@pytest.mark.xfail\ndef test_a():\n    pass\n"},
        PASS,
        cases={"test_m.py::test_a": "xpassed"},
    ),
    scene(
        "strict unexpected pass",
        {"test_m.py": "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_a():\n    pass\n"},
        FAIL,
        cases={"test_m.py::test_a": "failed"},
        message="XPASS(strict)",
    ),
    scene(
        "only expected failures",
        {"test_m.py": "import pytest\n@pytest.mark.xfail\ndef test_a():\n    assert 0\n"},
        NONE,
        NoVerdict.ALL_SKIPPED,
        says="failed as expected",
    ),
    scene(
        "all skipped",
        {"test_m.py": "import pytest\ndef test_a():\n    pytest.skip('later')\n"},
        NONE,
        NoVerdict.ALL_SKIPPED,
        cases={"test_m.py::test_a": "skipped"},
    ),
    scene(
        "a file that skips itself",
        {"test_m.py": "import pytest\npytest.importorskip('no_such_thing')\ndef test_a():\n    pass\n"},
        NONE,
        NoVerdict.ALL_SKIPPED,
        cases={"test_m.py": "skipped"},
    ),
    scene("no tests", {"mod.py": MOD, "test_m.py": "x = 1\n"}, NONE, NoVerdict.NOTHING_COLLECTED, cases={}),
    scene("no files", {"mod.py": MOD}, NONE, NoVerdict.NOTHING_COLLECTED),
    scene(
        "all deselected",
        {"mod.py": MOD, "test_m.py": GOOD},
        NONE,
        NoVerdict.ALL_DESELECTED,
        command=("pytest", "-k", "nothing_like_it"),
        says="All 1 tests were deselected",
    ),
    scene(
        "some deselected",
        {"mod.py": MOD, "test_m.py": GOOD + "def test_b():\n    assert 0\n"},
        PASS,
        command=("pytest", "-k", "test_a"),
        cases={"test_m.py::test_a": "passed"},
    ),
    scene(
        "syntax error in the code under repair",
        {"mod.py": "def f(x:\n", "test_m.py": GOOD},
        FAIL,
        cases={"test_m.py": "error"},
        message="SyntaxError",
        partial=False,
    ),
    scene(
        "a syntax error does not hide the other files",
        {"mod.py": "def f(x:\n", "test_m.py": GOOD, "test_n.py": "def test_n():\n    pass\n"},
        FAIL,
        cases={"test_m.py": "error"},
        says="0 of 2 tests",
        partial=True,
    ),
    scene(
        "import error in conftest",
        {"mod.py": "from os import gone\n", "conftest.py": "import mod\n", "test_m.py": "def test_a():\n    pass\n"},
        FAIL,
        cases={"conftest.py": "error"},
        message="cannot import name 'gone'",
        partial=True,
    ),
    scene(
        "syntax error in a deeper conftest",
        {"mod.py": "def f(:\n", "a/b/conftest.py": "import mod\n", "a/b/test_m.py": "def test_a():\n    pass\n"},
        FAIL,
        message="SyntaxError",
        command=("python", "-m", "pytest"),
    ),
    scene("file not found", {"mod.py": MOD}, NONE, NoVerdict.USAGE, command=("pytest", "nope.py"), says="nope.py"),
    scene(
        "unknown option", {"test_m.py": GOOD}, NONE, NoVerdict.USAGE, command=("pytest", "--no-such"), says="--no-such"
    ),
    scene("no session", {"test_m.py": GOOD}, NONE, NoVerdict.USAGE, command=("pytest", "--version")),
    scene(
        "collect only",
        {"mod.py": MOD, "test_m.py": GOOD},
        NONE,
        NoVerdict.COUNT_MISMATCH,
        command=("pytest", "--collect-only"),
    ),
    scene("not for pytest", {"test_m.py": GOOD}, NONE, NoVerdict.USAGE, command=("make", "test"), says="tool_for"),
]


@pytest.mark.parametrize(("files", "expected"), SCENES)
async def test_rule(bench: Any, files: dict[str, str], expected: dict[str, Any]) -> None:
    await bench.check(Pytest(), files, **expected)


async def test_a_missing_plugin_is_hinted_at(bench: Any) -> None:
    files = {"test_m.py": "def test_a(mocker):\n    pass\n"}
    found = await bench.judge(Pytest(), bench.task(files))
    assert found.verdict is FAIL
    assert "a pytest plugin may be missing" in found.evidence.detail


async def test_a_candidate_of_another_base_is_not_judged(bench: Any) -> None:
    task = bench.task({"mod.py": MOD, "test_m.py": GOOD})
    found = await Pytest().judge(Candidate(bench.task({}).tree.digest, {}), task, bench.context())
    assert (found.verdict, found.reason) == (NONE, NoVerdict.USAGE)
