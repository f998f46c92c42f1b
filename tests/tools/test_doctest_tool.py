"""The doctest tool, on small real projects."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._signals import NoVerdict, Origin, Verdict
from groundwire.tools import Doctest

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASS, FAIL, NONE = Verdict.PASS, Verdict.FAIL, Verdict.NONE
RIGHT = 'def f(x):\n    """Adds.\n\n    >>> f(1)\n    2\n    """\n    return x + 1\n'
WRONG = RIGHT.replace("return x + 1", "return x + 2")
RUN = ("python", "-m", "doctest", "mod.py")


async def test_each_docstring_is_a_case(bench: Any) -> None:
    source = RIGHT + 'def g():\n    """\n    >>> g()\n    1\n    """\n    return 2\ndef h():\n'
    source += '    """No examples."""\n'
    found = await bench.judge(Doctest(), bench.task({"mod.py": source}, command=RUN))
    assert found.verdict is FAIL
    assert {c.id: c.result.value for c in found.evidence.cases} == {
        "mod.py::mod.f": "passed",
        "mod.py::mod.g": "failed",
    }
    assert "Expected:\n    1\nGot:\n    2" in found.evidence.failed()[0].message


async def test_pass_and_verbosity(bench: Any) -> None:
    found = await bench.judge(
        Doctest(), bench.task({"mod.py": RIGHT}, command=("python", "-m", "doctest", "-v", "mod.py"))
    )
    assert found.verdict is PASS
    assert found.evidence.detail == "1 of 1 test passed"


async def test_text_files_and_folders(bench: Any) -> None:
    files = {"pkg/mod.py": RIGHT, "README.txt": "A text.\n\n>>> 1 + 1\n2\n"}
    command = ("python", "-m", "doctest", "pkg/mod.py", "README.txt")
    found = await bench.judge(Doctest(), bench.task(files, command=command))
    assert found.verdict is PASS
    assert {c.id for c in found.evidence.cases} == {"pkg/mod.py::mod.f", "README.txt::README.txt"}


@pytest.mark.parametrize(
    ("source", "command", "reason"),
    [
        ("x = 1\n", RUN, NoVerdict.NOTHING_COLLECTED),
        (RIGHT, ("python", "-m", "doctest", "gone.py"), NoVerdict.USAGE),
        (RIGHT, ("python", "-m", "doctest", "--no-such", "mod.py"), NoVerdict.USAGE),
        (RIGHT, ("python", "-m", "doctest"), NoVerdict.USAGE),
        (RIGHT.replace(">>> f(1)", ">>> f(1)  # doctest: +SKIP"), RUN, NoVerdict.ALL_SKIPPED),
        ("import os\nos._exit(0)\n" + RIGHT, RUN, NoVerdict.RUNNER_CRASHED),
    ],
)
async def test_no_verdict(bench: Any, source: str, command: tuple[str, ...], reason: NoVerdict) -> None:
    found = await bench.judge(Doctest(), bench.task({"mod.py": source}, command=command))
    assert (found.verdict, found.reason) == (NONE, reason), found.evidence


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f(x:\n", "SyntaxError"),
        ("raise SystemExit(0)\n", "SystemExit"),
        ("import os\n" + RIGHT.replace("return x + 1", "os._exit(0)"), "did not finish"),
        ("import time\n" + RIGHT.replace("return x + 1", "time.sleep(99)"), "did not finish within {:g} s"),
    ],
)
async def test_fail(bench: Any, source: str, message: str) -> None:
    found, wall_s = await bench.judge_hanging(Doctest(), {"mod.py": source}, 3, command=RUN)
    assert found.verdict is FAIL, found.evidence
    assert message.format(wall_s / 2) in found.evidence.failed()[0].message


async def test_early_stop_is_partial(bench: Any) -> None:
    source = WRONG + 'def g():\n    """\n    >>> g()\n    1\n    """\n    return 1\n'
    found = await bench.judge(
        Doctest(), bench.task({"mod.py": source}, command=("python", "-m", "doctest", "-f", "mod.py"))
    )
    assert found.verdict is FAIL and found.partial


async def test_a_repair_is_a_pass(bench: Any) -> None:
    found = await bench.judge(Doctest(), bench.task({"mod.py": WRONG}, command=RUN), {"mod.py": RIGHT}, base_first=True)
    assert found.verdict is PASS


@pytest.mark.parametrize(
    "changed",
    [
        WRONG.replace("    2\n", "    3\n"),
        WRONG.replace("    >>> f(1)\n    2\n", ""),
        WRONG.replace(">>> f(1)", ">>> f(1)  # doctest: +SKIP"),
        "def f(x):\n    return x + 1\n",
    ],
    ids=["another answer", "no example", "skipped", "no docstring"],
)
async def test_changed_examples_are_tampering(bench: Any, changed: str) -> None:
    found = await bench.judge(Doctest(), bench.task({"mod.py": WRONG}, command=RUN), {"mod.py": changed})
    assert (found.verdict, found.origin) == (FAIL, Origin.TOOL_ERROR)
    assert [c.id for c in found.evidence.cases] == ["tamper::mod.py::f"]


async def test_more_examples_are_welcome(bench: Any) -> None:
    more = (
        RIGHT.replace('    """Adds.', '    """Adds, quickly.')
        + 'def g():\n    """\n    >>> g()\n    1\n    """\n    return 1\n'
    )
    found = await bench.judge(Doctest(), bench.task({"mod.py": WRONG}, command=RUN), {"mod.py": more}, base_first=True)
    assert found.verdict is PASS


async def test_coverage_is_per_case(bench: Any) -> None:
    found = await bench.judge(Doctest(), bench.task({"mod.py": WRONG}, command=RUN), coverage=True)
    assert found.coverage == {"": {"mod.py": (1,)}, "mod.py::mod.f": {"mod.py": (7,)}}
