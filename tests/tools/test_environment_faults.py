"""What is wrong with the environment, and not with the code, is no FAIL: it is named, with what to do."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from groundwire.core._candidates import Candidate
from groundwire.core._signals import NoVerdict, Observation, Verdict
from groundwire.tools import Pytest, Unittest

pytestmark = pytest.mark.asyncio(loop_scope="module")

MOD = "def f(x):\n    return x\n"
TEST = "from mod import f\ndef test_a():\n    assert f(1) == 2\n"
NOT_HERE = "a_module_of_nobody"


async def judged(bench: Any, files: dict[str, str], command: str = "python -m pytest -q") -> Observation:
    task = bench.task(files, command=command.split())
    tool = Unittest() if "unittest" in command else Pytest()
    return await tool.judge(Candidate(task.tree.digest, {}), task, bench.context())


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"mod.py": f"import os, {NOT_HERE}\n{MOD}", "test_mod.py": TEST}, "python -m pytest -q"),
        ({"mod.py": MOD, "test_mod.py": f"from {NOT_HERE}.sub import x\n{TEST}"}, "python -m pytest -q"),
        ({"mod.py": MOD, "conftest.py": f"import {NOT_HERE}\n", "test_mod.py": TEST}, "python -m pytest -q"),
        (
            {"mod.py": MOD, "test_mod.py": f"def test_b():\n    import {NOT_HERE}\n{TEST}"},
            "python -m pytest -q",
        ),
        (
            {
                "mod.py": MOD,
                "test_mod.py": f"import unittest, {NOT_HERE}\nclass T(unittest.TestCase):\n    def test_a(self):\n"
                "        pass\n",
            },
            "python -m unittest -q",
        ),
    ],
)
async def test_a_module_that_nobody_has_is_named(bench: Any, files: dict[str, str], command: str) -> None:
    found = await judged(bench, files, command)
    assert (found.verdict, found.reason) == (Verdict.NONE, NoVerdict.MODULE_MISSING), found.evidence
    assert f"the module {NOT_HERE} is in no file of the project and is not installed" in found.evidence.detail
    assert "--python" in found.evidence.detail


async def test_what_a_candidate_itself_imports_is_its_own_fault(bench: Any) -> None:
    task = bench.task({"mod.py": MOD, "test_mod.py": TEST})
    candidate = Candidate(task.tree.digest, {"mod.py": f"import {NOT_HERE}\n{MOD}".encode()})
    found = await Pytest().judge(candidate, task, bench.context())
    assert found.verdict is Verdict.FAIL


async def test_a_module_that_is_only_spoken_of_is_a_failure(bench: Any) -> None:
    source = f"import importlib\ndef f(x):\n    return importlib.import_module('{NOT_HERE}')\n"
    found = await judged(bench, {"mod.py": source, "test_mod.py": TEST})
    assert found.verdict is Verdict.FAIL


async def test_plain_pytest_does_not_look_in_the_root(bench: Any) -> None:
    files = {"mod.py": MOD, "tests/test_mod.py": TEST}
    found = await judged(bench, files, "pytest -q")
    assert found.verdict is Verdict.FAIL
    assert "use python -m pytest" in found.evidence.detail
    found = await judged(bench, {"lib/deep/mod.py": MOD, "tests/test_mod.py": TEST}, "pytest -q")
    assert "PYTHONPATH=FOLDER" in found.evidence.detail


async def test_an_installed_copy_is_found_at_the_baseline(bench: Any) -> None:
    files = {
        "src/iniconfig/__init__.py": "def f(x):\n    return x\n",
        "tests/test_it.py": "import iniconfig\ndef test_a():\n    assert iniconfig.f(1) == 2\n",
    }
    found = await judged(bench, files)
    assert (found.verdict, found.reason) == (Verdict.NONE, NoVerdict.USAGE), found.evidence
    assert "import iniconfig from /" in found.evidence.detail and "an installed copy" in found.evidence.detail
    found = await judged(bench, files, "PYTHONPATH=src python -m pytest -q")
    assert found.verdict in (Verdict.FAIL, Verdict.NONE)


@pytest.mark.parametrize(
    ("options", "named"),
    [("-n auto", "pytest-xdist"), ("--benchmark-skip", "pytest-benchmark"), ("--nobody-has-this", "a pytest plugin")],
)
async def test_options_of_a_plugin_that_is_not_declared_are_explained(bench: Any, options: str, named: str) -> None:
    files = {"mod.py": MOD, "test_mod.py": TEST, "pytest.ini": f"[pytest]\naddopts = {options}\n"}
    found = await judged(bench, files)
    assert (found.verdict, found.reason) == (Verdict.NONE, NoVerdict.USAGE), found.evidence
    assert f"; {named} may be missing" in found.evidence.detail and "-p NAME" in found.evidence.detail


@pytest.mark.skipif(find_spec("pytest_cov") is not None, reason="pytest-cov is installed, so it takes its options")
async def test_options_that_say_nothing_of_what_passes_are_passed_over_without_their_plugin(bench: Any) -> None:
    options = "--cov=mod --cov --cov-report=term-missing --no-cov-on-fail --cov-fail-under 80 --cov-branch"
    files = {"mod.py": MOD, "test_mod.py": TEST, "pytest.ini": f"[pytest]\naddopts = {options}\n"}
    found = await judged(bench, files)
    assert found.verdict is Verdict.FAIL, found.evidence
    assert [case.id for case in found.evidence.failed()] == ["test_mod.py::test_a"]


async def test_a_module_that_is_still_to_be_written_is_no_fault_of_the_environment(bench: Any) -> None:
    found = await judged(bench, {"test_mod.py": f"from {NOT_HERE} import f\ndef test_a():\n    assert f(1) == 2\n"})
    assert found.verdict is Verdict.FAIL


async def test_a_program_that_is_not_there_is_named(bench: Any) -> None:
    """No change to the code mends that, and a search for one ended at its limits without a word about it."""
    test = f"import subprocess\nimport mod\ndef test_a():\n    subprocess.run(['{NOT_HERE}'])\n"
    found = await judged(bench, {"mod.py": MOD, "test_mod.py": test})
    assert found.verdict is Verdict.FAIL
    assert f"the program {NOT_HERE}" in found.evidence.detail
    assert "--deselect" in found.evidence.detail
    data = await judged(bench, {"mod.py": MOD, "test_mod.py": "def test_a():\n    open('data.json')\n"})
    assert "program" not in data.evidence.detail
