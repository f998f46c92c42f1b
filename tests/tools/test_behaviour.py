"""Doubt about patches that pass: calls that end worse than before the patch. In a real sandbox."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._contexts import DoubtingTool, ToolContext
from groundwire.core._errors import SandboxUnavailable
from groundwire.core._sandboxes import Limits, Sandbox
from groundwire.tools import Command, Pytest, Unittest
from groundwire.tools._behaviour import Behaviour

pytestmark = pytest.mark.asyncio(loop_scope="module")

BASE = "def area(a, b):\n    return a + b\n"
FILES = {
    "pkg/shapes.py": BASE,
    "pkg/__init__.py": "",
    "tests/test_shapes.py": (
        "from pkg.shapes import area\ndef test_area():\n    assert area(2, 3) == 6\n    assert area(1, 4) == 4\n"
    ),
    "conftest.py": "",
}


async def doubt(bench: Any, patched: str, files: dict[str, str] | None = None, **more: Any) -> str:
    task = bench.task({**FILES, **(files or {})}, **more)
    found: str = await Behaviour().doubt(bench_candidate(task, patched), task, bench.context())
    return found


def bench_candidate(task: Any, patched: str) -> Any:
    from groundwire.core._candidates import Candidate

    return Candidate(task.tree.digest, {"pkg/shapes.py": patched.encode()})


async def test_a_right_patch_raises_no_doubt(bench: Any) -> None:
    assert await doubt(bench, "def area(a, b):\n    return a * b\n") == ""
    assert await doubt(bench, "def area(a, b):\n    return float(a * b)\n") == "", "6.0 is as good as 6"


@pytest.mark.parametrize(
    ("patched", "why"),
    [
        ("def area(a, b):\n    return {2: 6, 1: 4}[a]\n", "raises KeyError"),
        ("def area(a, b):\n    if a in (1, 2):\n        return a * b\n", "returns NoneType"),
        ("def area(a, b):\n    while a not in (1, 2):\n        pass\n    return a * b\n", "hangs"),
        ("def area(a, b):\n    if a not in (1, 2):\n        exit()\n    return a * b\n", "raises SystemExit"),
        ("import os\ndef area(a, b):\n    if a not in (1, 2):\n        os._exit(0)\n    return a * b\n",
         "ends the process"),
    ],
)  # fmt: skip
async def test_calls_that_end_worse_than_before(bench: Any, patched: str, why: str) -> None:
    said = await doubt(bench, patched)
    assert said.endswith(f"calls like those of the tests end worse than before: {why}"), said
    assert int(said.split()[0]) > 10


async def test_what_ended_badly_before_is_held_against_nobody(bench: Any) -> None:
    strict = "def area(a, b):\n    if a < 0 or b < 0:\n        raise ValueError\n    return a {} b\n"
    assert await doubt(bench, strict.format("*"), {"pkg/shapes.py": strict.format("+")}) == ""


async def test_a_call_that_raised_is_no_excuse_for_one_that_hangs(bench: Any) -> None:
    raising = "def area(a, b):\n    return a // 0\n"
    hanging = "def area(a, b):\n    while a > 2:\n        pass\n    return a * b\n"
    assert "hangs" in await doubt(bench, hanging, {"pkg/shapes.py": raising})


async def test_tests_in_a_src_layout(bench: Any) -> None:
    files = {"src/pkg/shapes.py": BASE, "src/pkg/__init__.py": "", "pyproject.toml": "[project]\nname = 'pkg'\n"}
    task = bench.task({**files, "tests/test_shapes.py": FILES["tests/test_shapes.py"]})
    from groundwire.core._candidates import Candidate

    wrong = Candidate(task.tree.digest, {"src/pkg/shapes.py": b"def area(a, b):\n    return {2: 6, 1: 4}[a]\n"})
    assert "KeyError" in await Behaviour().doubt(wrong, task, bench.context())


async def test_nothing_to_vary_is_no_doubt(bench: Any) -> None:
    files = {"tests/test_shapes.py": "import pkg.shapes\ndef test_a():\n    assert pkg.shapes\n"}
    assert await doubt(bench, "def area(a, b):\n    return None\n", files) == ""


async def test_no_sandbox_is_no_doubt(bench: Any) -> None:
    async def refuse() -> Sandbox:
        raise SandboxUnavailable("bubblewrap does not work here.", do="Install it.")

    task = bench.task(FILES)
    context = ToolContext(sandbox=refuse, call=bench.context().call)
    assert await Behaviour().doubt(bench_candidate(task, "def area(a, b):\n    return 1\n"), task, context) == ""


async def test_output_of_a_candidate_stays_out_of_it(bench: Any) -> None:
    loud = "print('returns int\\n' * 100_000)\ndef area(a, b):\n    print('x' * 10_000)\n    return a * b\n"
    assert await doubt(bench, loud, limits=Limits(wall_s=20, output_bytes=1000)) == ""


async def test_tools_that_run_python_tests_can_doubt() -> None:
    assert isinstance(Pytest(), DoubtingTool)
    assert isinstance(Unittest(), DoubtingTool)
    assert not isinstance(Command(), DoubtingTool)
