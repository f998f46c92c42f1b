"""What a run of pytest leaves out: only what neither the project nor the command asks for."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._sandboxes import Limits
from groundwire.tools._commands import read_command
from groundwire.tools._pytest_tool import PRELOAD, for_nobody, without_cache

PLAIN = {"mod.py": "def f(x):\n    return x\n", "test_mod.py": "from mod import f\ndef test_a():\n    assert f(1)\n"}


def left_out(bench: Any, command: str = "pytest -q", **files: str) -> set[str]:
    task = bench.task({**PLAIN, **{name.replace("__", "."): text for name, text in files.items()}})
    arguments = for_nobody(task, read_command(command.split()))
    assert arguments[-1] == "--tb=no"
    assert arguments[:-1:2] == ("-p",) * (len(arguments) // 2)
    return {word.removeprefix("no:") for word in arguments[1:-1:2]}


COMMAND_LINE_ONLY = {"pastebin", "stepwise", "setuponly", "setupplan"}
EVERYTHING = COMMAND_LINE_ONLY | {
    "junitxml", "debugging", "doctest", "legacypath", "unittest", "logging", "recwarn", "monkeypatch", "tmpdir",
    "subtests", "threadexception", "unraisableexception",
}  # fmt: skip


def test_a_plain_project_needs_none_of_them(bench: Any) -> None:
    assert left_out(bench) == EVERYTHING


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("def test_b(tmpdir):\n    pass\n", {"legacypath", "tmpdir"}),
        ("def test_b(tmp_path):\n    pass\n", {"tmpdir"}),
        ("def test_b(request):\n    assert request.fspath\n", {"legacypath"}),
        ("def test_b(record_property):\n    pass\n", {"junitxml"}),
        ("def test_b():\n    breakpoint()\n", {"debugging"}),
        ("def test_b(doctest_namespace):\n    pass\n", {"doctest", "debugging"}),
        ("class TestB(TestCase):\n    pass\n", {"unittest", "debugging"}),
        ("import unittest\n", {"unittest", "debugging"}),
        ("def test_b(caplog):\n    pass\n", {"logging"}),
        ("import logging\n", {"logging"}),
        ("def test_b(monkeypatch):\n    pass\n", {"monkeypatch"}),
        ("def test_b(subtests):\n    pass\n", {"subtests"}),
        ("def test_b(recwarn):\n    pass\n", {"recwarn", "threadexception", "unraisableexception"}),
        ("pytestmark = pytest.mark.filterwarnings('error')\n", {"threadexception", "unraisableexception"}),
    ],
)
def test_what_a_test_asks_for_is_kept(bench: Any, text: str, kept: set[str]) -> None:
    assert left_out(bench, test_more__py=text) == EVERYTHING - kept


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        ("pytest -W error", {"threadexception", "unraisableexception"}),
        ("pytest --junitxml=x.xml", {"junitxml"}),
        ("pytest --doctest-modules", {"doctest", "debugging"}),
        ("pytest --sw", {"stepwise"}),
        ("pytest --setup-show", {"setuponly", "setupplan"}),
        ("pytest --pdb", {"debugging"}),
        ("pytest --pastebin=all", {"pastebin"}),
        ("pytest -p something", EVERYTHING - COMMAND_LINE_ONLY),
        ("pytest -psomething", EVERYTHING - COMMAND_LINE_ONLY),
        ("PYTEST_PLUGINS=something pytest", EVERYTHING - COMMAND_LINE_ONLY),
    ],
)
def test_what_the_command_asks_for_is_kept(bench: Any, command: str, kept: set[str]) -> None:
    assert left_out(bench, command) == EVERYTHING - kept


def test_options_in_a_configuration_file_count_too(bench: Any) -> None:
    assert "stepwise" not in left_out(bench, pytest__ini="[pytest]\naddopts = --stepwise\n")


def test_a_declared_plugin_may_use_what_the_project_does_not_name(bench: Any) -> None:
    assert left_out(bench, requirements__txt="pytest-html\n") == COMMAND_LINE_ONLY
    assert left_out(bench, conftest__py="pytest_plugins = ['mine']\n") == COMMAND_LINE_ONLY


def test_text_files_may_hold_doctests(bench: Any) -> None:
    assert left_out(bench, test_more__txt=">>> 1\n1\n") == EVERYTHING - {"doctest", "debugging"}


def test_the_cache_is_kept_where_it_is_spoken_of(bench: Any) -> None:
    invocation = read_command(["pytest"])
    assert without_cache(bench.task(PLAIN), invocation) == ("-p", "no:cacheprovider")
    assert without_cache(bench.task({**PLAIN, "test_b.py": "def test_b(cache):\n    pass\n"}), invocation) == ()
    assert without_cache(bench.task(PLAIN), read_command(["pytest", "--lf"])) == ()


@pytest.mark.asyncio(loop_scope="module")
async def test_a_fork_finds_all_of_pytest_loaded(bench: Any) -> None:
    task = bench.task(PLAIN)
    warm = await bench.sandbox.warm(task.tree, preload=PRELOAD)
    code = (
        "import sys; before = set(sys.modules); import pytest; pytest.main(['-q', 'test_mod.py']); "
        "print([m for m in set(sys.modules) - before if m.startswith(('_pytest', 'unittest'))])"
    )
    try:
        done = await warm.run(("-c", code), {}, Limits(wall_s=20))
    finally:
        await warm.aclose()
    assert done.stdout.decode().splitlines()[-1] == "[]", done.stdout
