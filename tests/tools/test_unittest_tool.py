"""The unittest tool, on small real projects."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._signals import NoVerdict, Verdict
from groundwire.tools import Unittest

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
MOD = "def f(x):\n    return x + 1\n"
RUN = ("python", "-m", "unittest")
HEAD = "import unittest\nfrom mod import f\nclass T(unittest.TestCase):\n"
GOOD = HEAD + "    def test_a(self):\n        self.assertEqual(f(1), 2)\n"


def scene(name: str, files: dict[str, str], verdict: Verdict, reason: NoVerdict | None = None, **more: Any) -> Any:
    return pytest.param(files, {"verdict": verdict, "reason": reason, "command": RUN, **more}, id=name)


SCENES = [
    scene("discovery", {"mod.py": MOD, "test_m.py": GOOD}, PASS, says="1 of 1 test"),
    scene(
        "one fails",
        {"mod.py": MOD, "test_m.py": GOOD + "    def test_b(self):\n        self.assertEqual(f(1), 3, 'why')\n"},
        FAIL,
        cases={"test_m.T.test_a": "passed", "test_m.T.test_b": "failed"},
        message="AssertionError: 2 != 3 : why",
    ),
    scene(
        "an error is a failure in error",
        {"mod.py": "def f(x):\n    return 1 / 0\n", "test_m.py": GOOD},
        FAIL,
        cases={"test_m.T.test_a": "error"},
        message="mod.py:2 in f: return 1 / 0",
    ),
    scene(
        "named module",
        {"mod.py": MOD, "tests/__init__.py": "", "tests/test_m.py": GOOD},
        PASS,
        command=("python", "-m", "unittest", "tests.test_m.T.test_a"),
        cases={"tests.test_m.T.test_a": "passed"},
    ),
    scene(
        "named file",
        {"mod.py": MOD, "tests/__init__.py": "", "tests/test_m.py": GOOD},
        PASS,
        command=("python3", "-m", "unittest", "-v", "tests/test_m.py"),
        cases={"tests.test_m.T.test_a": "passed"},
    ),
    scene(
        "discover with a start folder",
        {"mod.py": MOD, "tests/__init__.py": "", "tests/test_m.py": GOOD},
        PASS,
        command=("python", "-m", "unittest", "discover", "-s", "tests", "-t", "."),
        cases={"tests.test_m.T.test_a": "passed"},
    ),
    scene(
        "no such module",
        {"mod.py": MOD},
        NONE,
        NoVerdict.USAGE,
        command=("python", "-m", "unittest", "tests.test_gone"),
    ),
    scene(
        "a start folder that is not there",
        {"mod.py": MOD},
        NONE,
        NoVerdict.USAGE,
        command=("python", "-m", "unittest", "discover", "-s", "gone"),
        says="not importable",
    ),
    scene("no such option", {"mod.py": MOD}, NONE, NoVerdict.USAGE, command=("python", "-m", "unittest", "--no-such")),
    scene("no tests", {"mod.py": MOD}, NONE, NoVerdict.NOTHING_COLLECTED),
    scene(
        "nothing matches",
        {"mod.py": MOD, "test_m.py": GOOD},
        NONE,
        NoVerdict.NOTHING_COLLECTED,
        command=("python", "-m", "unittest", "-k", "nothing_like_it"),
    ),
    scene(
        "all skipped",
        {"test_m.py": "import unittest\nclass T(unittest.TestCase):\n    @unittest.skip('later')\n"
        "    def test_a(self):\n        pass\n"},
        NONE,
        NoVerdict.ALL_SKIPPED,
        cases={"test_m.T.test_a": "skipped"},
    ),
    scene(
        "a class that skips in its set-up",
        {
            "test_m.py": "import unittest\nclass S(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n"
            "        raise unittest.SkipTest('no')\n    def test_a(self):\n        pass\n"
            "    def test_b(self):\n        pass\n"
            "class T(unittest.TestCase):\n    def test_c(self):\n        pass\n"
        },
        PASS,
        cases={"test_m.S.test_a": "skipped", "test_m.S.test_b": "skipped", "test_m.T.test_c": "passed"},
        says="1 of 3 tests passed (2 skipped)",
    ),
    scene(
        "a module that skips itself",
        {"test_m.py": "import unittest\nraise unittest.SkipTest('no')\n"},
        NONE,
        NoVerdict.ALL_SKIPPED,
    ),
    scene(
        "a class whose set-up fails",
        {
            "test_m.py": "import unittest\nclass T(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n"
            "        raise OSError('no')\n    def test_a(self):\n        pass\n"
        },
        FAIL,
        cases={"setUpClass (test_m.T)": "error"},
        message="OSError: no",
        partial=True,
    ),
    scene(
        "expected failures",
        {
            "test_m.py": "import unittest\nclass T(unittest.TestCase):\n    @unittest.expectedFailure\n"
            "    def test_a(self):\n        self.fail('no')\n    def test_b(self):\n        pass\n"
        },
        PASS,
        cases={"test_m.T.test_a": "xfailed", "test_m.T.test_b": "passed"},
    ),
    scene(
        "unexpected success",
        {"test_m.py": "import unittest\nclass T(unittest.TestCase):\n    @unittest.expectedFailure\n"
        "    def test_a(self):\n        pass\n"},
        FAIL,
        cases={"test_m.T.test_a": "failed"},
    ),
    scene(
        "subtests",
        {
            "test_m.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
            "        for i in range(3):\n"
            "            with self.subTest(i=i):\n                self.assertNotEqual(i, 1)\n"
        },
        FAIL,
        cases={"test_m.T.test_a": "failed"},
        message="AssertionError: 1 == 1",
    ),
    scene(
        "syntax error in the code under repair",
        {"mod.py": "def f(x:\n", "test_m.py": GOOD, "test_n.py": "import unittest\n"
        "class T(unittest.TestCase):\n    def test_n(self):\n        pass\n"},
        FAIL,
        cases={"test_m": "error", "test_n.T.test_n": "passed"},
        message="SyntaxError",
        says="1 of 2 tests",
    ),
    scene(
        "syntax error in a named module",
        {"mod.py": "def f(x:\n", "test_m.py": GOOD},
        FAIL,
        command=("python", "-m", "unittest", "test_m"),
        cases={"test_m": "error"},
        message="SyntaxError",
    ),
    scene(
        "sys.exit(0) at import",
        {"mod.py": "raise SystemExit(0)\n", "test_m.py": GOOD},
        FAIL,
        command=("python", "-m", "unittest", "test_m"),
        message="SystemExit",
    ),
    scene("os._exit(0) at import", {"mod.py": "import os\nos._exit(0)\n"
    "", "test_m.py": GOOD}, NONE, NoVerdict.RUNNER_CRASHED),
    scene(
        "os._exit(0) in a case",
        {"mod.py": "import os\ndef f(x):\n    os._exit(0)\n", "test_m.py": GOOD},
        FAIL,
        cases={"test_m.T.test_a": "failed"},
        message="did not finish",
        partial=True,
    ),
    scene(
        "early stop",
        {"test_m.py": "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n"
        "        self.fail()\n    def test_b(self):\n        pass\n"},
        FAIL,
        command=("python", "-m", "unittest", "-f"),
        cases={"test_m.T.test_a": "failed"},
        partial=True,
    ),
    scene(
        "async cases",
        {"test_m.py": "import unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n"
        "    async def test_a(self):\n        pass\n"},
        PASS,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "expected"), SCENES)
async def test_rule(bench: Any, files: dict[str, str], expected: dict[str, Any]) -> None:
    await bench.check(Unittest(), files, **expected)


async def test_a_hanging_case_fails_alone(bench: Any) -> None:
    files = {
        "mod.py": "import time\ndef f(x):\n    time.sleep(99)\n",
        "test_m.py": GOOD + "    def test_b(self):\n        pass\n",
    }
    found, wall_s = await bench.judge_hanging(Unittest(), files, 3, whole=True)
    assert found.verdict is FAIL and not found.partial
    assert {c.id: c.result.value for c in found.evidence.cases} == {
        "test_m.T.test_a": "failed",
        "test_m.T.test_b": "passed",
    }
    assert f"did not finish within {wall_s / 2:g} s" in found.evidence.failed()[0].message


async def test_a_class_that_hangs_in_its_set_up_fails(bench: Any) -> None:
    files = {
        "test_m.py": "import time, unittest\nclass T(unittest.TestCase):\n    @classmethod\n"
        "    def setUpClass(cls):\n"
        "        time.sleep(99)\n    def test_a(self):\n        pass\n"
    }
    found, wall_s = await bench.judge_hanging(Unittest(), files, 3)
    assert found.verdict is FAIL
    assert f"did not finish within {wall_s / 2:g} s" in found.evidence.failed()[0].message


async def test_coverage_is_per_case(bench: Any) -> None:
    files = {
        "mod.py": "def f(x):\n    if x:\n        return 2\n    return 2\n",
        "test_m.py": GOOD + "    def test_b(self):\n        self.assertEqual(f(0), 2)\n",
    }
    found = await bench.judge(Unittest(), bench.task(files), coverage=True)
    assert found.coverage == {
        "": {"mod.py": (1,)},
        "test_m.T.test_a": {"mod.py": (2, 3)},
        "test_m.T.test_b": {"mod.py": (2, 4)},
    }


async def test_code_under_test_that_skips_its_test_fails(bench: Any) -> None:
    files = {"mod.py": MOD, "test_m.py": GOOD + "    def test_b(self):\n        pass\n"}
    changes = {"mod.py": "import unittest\ndef f(x):\n    raise unittest.SkipTest('no')\n"}
    found = await bench.judge(Unittest(), bench.task(files), changes, base_first=True)
    assert (found.verdict, found.reason) in [(FAIL, None), (NONE, NoVerdict.COUNT_MISMATCH)]
