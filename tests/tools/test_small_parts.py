"""Commands, texts, plugin names, preloading, order, delivery."""

from __future__ import annotations

import ast
import asyncio
import marshal
import sys
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from virtual_time import run_in_virtual_time

import groundwire.tools
from groundwire.core._candidates import Tree
from groundwire.core._tasks import split_command
from groundwire.tools import Command, Doctest, Pytest, Unittest, tool_for
from groundwire.tools._baselines import MANY, Baseline, Baselines
from groundwire.tools._batches import side_by_side
from groundwire.tools._commands import read_command
from groundwire.tools._preload import imports_from_outside
from groundwire.tools._python_runner import declared_names, support_files
from groundwire.tools._summaries import cut_stream, harmless, shorten

INSIDE = Path(groundwire.tools.__file__).parent / "inside"


@pytest.mark.parametrize(
    ("command", "runner", "arguments", "flags", "here"),
    [
        ("pytest", "pytest", "", "", False),
        ("py.test -q tests", "pytest", "-q tests", "", False),
        (".venv/bin/pytest -x", "pytest", "-x", "", False),
        ("python -m pytest tests", "pytest", "tests", "", True),
        ("python3.12 -X dev -W error -u -m pytest -q", "pytest", "-q", "-X dev -W error -u", True),
        ("A=1 B='x y' python3 -m unittest -v", "unittest", "-v", "", True),
        ("env A=1 pytest", "pytest", "", "", False),
        ("uv run pytest -q", "pytest", "-q", "", False),
        ("poetry run python -m doctest a.py", "doctest", "a.py", "", True),
        ("uv run --frozen pytest", "command", "uv run --frozen pytest", "", False),
        ("uv run tool", "command", "uv run tool", "", False),
        ("python test.py", "command", "python test.py", "", False),
        ("python -c pytest", "command", "python -c pytest", "", False),
        ("python -m coverage run -m pytest", "command", "python -m coverage run -m pytest", "", False),
        ("python -m", "command", "python -m", "", False),
        ("make test", "command", "make test", "", False),
        ("A=1", "command", "", "", False),
    ],
)
def test_commands_are_understood(command: str, runner: str, arguments: str, flags: str, here: bool) -> None:
    found = read_command(split_command(command))
    assert (found.runner, " ".join(found.arguments), " ".join(found.flags), found.here) == (
        runner,
        arguments,
        flags,
        here,
    )


def test_variables_in_front_are_kept() -> None:
    assert read_command(("A=1", "B=x=y z", "pytest")).env == {"A": "1", "B": "x=y z"}


@given(st.lists(st.text(max_size=8), max_size=6))
def test_any_words_are_a_command(words: list[str]) -> None:
    found = read_command(words)
    assert all(w in words for w in (*found.arguments, *found.flags))


def test_the_tool_for_a_command() -> None:
    assert isinstance(tool_for(()), Pytest)
    assert isinstance(tool_for(("pytest", "-q")), Pytest)
    assert isinstance(tool_for(("python", "-m", "unittest")), Unittest)
    assert isinstance(tool_for(("python", "-m", "doctest", "a.py")), Doctest)
    assert isinstance(tool_for(("make", "test")), Command)
    assert isinstance(tool_for(("pytest", "--junitxml=r.xml"), report="r.xml"), Command)


def test_a_misspelled_public_name_is_an_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Pytset'"):
        _ = groundwire.tools.Pytset  # type: ignore[attr-defined]  # a misspelling, on purpose


def test_declared_plugins() -> None:
    tree = Tree(
        {
            "pyproject.toml": b"[dependency-groups]\ntest = ['Pytest_Mock>=3', 'anyio']\n",
            "requirements/test.txt": b"pytest.asyncio==1  # not pytest-cov\n#pytest-xdist\n"
            b"git+https://x/y#egg=pytest-foo\n",
            "README.md": b"pytest-randomly",
            "src/mod.py": b"'pytest-timeout'",
        }
    )
    names = declared_names(tree)
    assert {"pytest-mock", "anyio", "pytest-asyncio", "pytest-foo"} <= names
    assert not names & {"pytest-cov", "pytest-xdist", "pytest-randomly", "pytest-timeout"}


def test_what_a_fork_server_loads() -> None:
    tree = Tree(
        {
            "src/pkg/mod.py": b"import numpy as np\nfrom json import loads\nfrom pkg.other import x\n",
            "src/pkg/other.py": b"import numpy.linalg\n    import inner\n",
            "tests/test_a.py": b"import pytest, pkg\nimport pytest_asyncio\nimport anyio\n",
            "pytest.ini": b"[pytest]\naddopts = -p anyio\n",
            "README.md": b"import torch\n",
        }
    )
    assert imports_from_outside(tree) == ("numpy", "json", "inner")


@given(st.text())
def test_harmless_texts_can_be_shown_and_stored(text: str) -> None:
    found = harmless(text)
    found.encode()
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in found)


@given(st.binary(max_size=400), st.integers(0, 1000), st.integers(3, 200))
def test_streams_are_bounded_and_counted(data: bytes, already: int, limit: int) -> None:
    text, cut = cut_stream(data, already, limit)
    assert len(text) <= 4 * limit + 40
    assert cut == already + max(0, len(data) - limit)
    if not cut:
        assert text == harmless(data.decode("utf-8", "backslashreplace"))


def test_head_and_tail_are_kept() -> None:
    text, cut = cut_stream(b"head" + b"x" * 100_000 + b"tail")
    assert text.startswith("head") and text.endswith("tail") and cut > 90_000
    assert shorten("a" * 50 + "b" * 50, 30) == "a" * 10 + "\n… 70 characters cut …\n" + "b" * 20


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, 4))
def test_each_result_comes_once_with_bounded_width(delays: list[int], width: int) -> None:
    running = most = 0

    async def work(item: tuple[int, int]) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(item[1]):
            await asyncio.sleep(0)
        running -= 1
        return item[0]

    async def main() -> list[tuple[int, int]]:
        async with aclosing(side_by_side(work, enumerate(delays), width=width)) as found:
            return [r async for r in found]

    assert sorted(asyncio.run(main())) == [(number, number) for number in range(len(delays))]
    assert most <= width


def test_a_result_may_wait_for_those_before_it_and_not_for_ever() -> None:
    async def work(seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def ask(*seconds: float) -> list[int]:
        waits = side_by_side(work, seconds, width=3, waits=lambda result: 0.5 if result == 0.01 else 0.0)
        async with aclosing(waits) as found:
            return [number async for number, _ in found]

    def numbers(*seconds: float) -> list[int]:
        return run_in_virtual_time(ask(*seconds))

    assert numbers(0.2, 0.01, 0.02) == [2, 0, 1]
    assert numbers(3.0, 0.01, 0.02) == [2, 1, 0]
    assert numbers(0.01, 0.2, 0.3) == [0, 1, 2]


async def test_an_error_ends_what_is_under_way() -> None:
    ended: list[int] = []

    async def work(item: int) -> int:
        try:
            await asyncio.sleep(0.01 if item == 1 else 60)
        finally:
            ended.append(item)
        raise ValueError(item)

    with pytest.raises(ValueError, match="1"):
        async with aclosing(side_by_side(work, [1, 2, 3], width=3)) as found:
            async for _ in found:
                pass
    assert sorted(ended) == [1, 2, 3]


def test_only_the_last_few_baselines_are_kept() -> None:
    known = Baselines()
    for number in range(MANY + 1):
        known.put(str(number), ("pytest",), Baseline({}, 1.0, 0.5, 0.5, healthy=True, timed=True))
    assert known.get("0", ("pytest",)) is None
    assert known.get(str(MANY), ("pytest",)) is not None


@pytest.mark.parametrize("path", sorted(INSIDE.glob("*.py")), ids=lambda p: p.stem)
def test_what_runs_inside_is_python_3_9_with_the_standard_library_and_pytest(path: Path) -> None:
    module = ast.parse(path.read_text(), feature_version=(3, 9))
    allowed = {*sys.stdlib_module_names, "pytest", "_pytest"}
    for node in ast.walk(module):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("groundwire.tools.inside"):
            names = [node.module]
        assert {n.partition(".")[0] for n in names if not n.startswith("_gw_")} <= allowed


def test_bytecode_is_delivered_for_our_own_python() -> None:
    files = support_files({"lines": None, "declared": []})
    compiled = files[f"__pycache__/_gw_recorder.{sys.implementation.cache_tag}.pyc"]
    assert compiled[4:8] == b"\x01\0\0\0", "by hash, unchecked"
    assert marshal.loads(compiled[16:]).co_names
