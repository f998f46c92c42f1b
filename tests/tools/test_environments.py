"""Interpreters of the project's own: without pytest, with one of another age."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from groundwire.core._signals import NoVerdict, Verdict
from groundwire.sandbox import open_sandbox
from groundwire.tools import Pytest, Unittest

pytestmark = pytest.mark.slow

FILES = {
    "mod.py": "def f(x):\n    return x + 1\n",
    "test_mod.py": "import unittest\nfrom mod import f\nclass T(unittest.TestCase):\n    def test_a(self):\n"
    "        self.assertEqual(f(1), 2)\n"
    "    @unittest.skip('later')\n    def test_b(self):\n        pass\n",
}


def make_environment(python: Path, folder: Path) -> Path:
    """Makes an empty virtual environment; returns its folder of packages."""
    subprocess.run([str(python), "-m", "venv", "--without-pip", str(folder)], check=True)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    return packages


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare") / "venv"
    make_environment(Path(sys.executable), folder)
    return folder / "bin" / "python"


async def test_a_missing_pytest_is_no_verdict_with_its_cure(bare_python: Path, bench_of: Any) -> None:
    sandbox = await open_sandbox(python=bare_python)
    try:
        bench = bench_of(sandbox)
        found = await bench.judge(Pytest(), bench.task(FILES))
        assert (found.verdict, found.reason) == (Verdict.NONE, NoVerdict.RUNNER_MISSING)
        assert "No module named 'pytest'" in found.evidence.detail
        assert "python -m pip install pytest" in found.evidence.detail and "--python" in found.evidence.detail
        assert (await bench.judge(Unittest(), bench.task(FILES, command=("python", "-m", "unittest")))).verdict is (
            Verdict.PASS
        )
    finally:
        await sandbox.aclose()


async def test_an_old_pytest_is_no_verdict(bare_python: Path, bench_of: Any) -> None:
    (packages,) = (bare_python.parent.parent / "lib").glob("python*/site-packages")
    (packages / "pytest.py").write_text("__version__ = '6.2.5'\nversion_tuple = (6, 2, 5)\n")
    sandbox = await open_sandbox(python=bare_python)
    try:
        bench = bench_of(sandbox)
        found = await bench.judge(Pytest(), bench.task(FILES))
        assert (found.verdict, found.reason) == (Verdict.NONE, NoVerdict.RUNNER_MISSING)
        assert "pytest 6.2.5 is older than 7.0" in found.evidence.detail
    finally:
        await sandbox.aclose()
        (packages / "pytest.py").unlink()


def others(*versions: str) -> list[Path]:
    """Interpreters of other versions that really run: from the path, or installed beside ours."""
    found: list[Path] = []
    for version in versions:
        beside = sorted(Path(sys.base_prefix).parent.glob(f"*/bin/python{version}"))
        for python in [*filter(None, [shutil.which(f"python{version}")]), *beside]:
            asked = [str(python), "-c", "import sys; print(sys.executable)"]
            answer = subprocess.run(asked, capture_output=True, text=True, check=False)
            if answer.returncode == 0:
                found.append(Path(answer.stdout.strip()))
                break
    return found


@pytest.mark.parametrize("python", others("3.9", "3.10", "3.12", "3.13", "3.14"), ids=lambda p: p.name)
async def test_other_pythons_run_unittest_with_coverage(python: Path, bench_of: Any) -> None:
    sandbox = await open_sandbox(python=python)
    try:
        bench = bench_of(sandbox)
        task = bench.task(FILES, command=("python", "-m", "unittest"))
        found = await bench.judge(Unittest(), task, coverage=True)
        assert found.verdict is Verdict.PASS, found.evidence
        assert found.coverage == {"": {"mod.py": (1,)}, "test_mod.T.test_a": {"mod.py": (2,)}}
    finally:
        await sandbox.aclose()


@pytest.mark.parametrize("python", others("3.12", "3.13", "3.14"), ids=lambda p: p.name)
async def test_newer_pythons_run_pytest_with_coverage(python: Path, bench_of: Any, tmp_path: Path) -> None:
    packages = make_environment(python, tmp_path / "venv")
    for name in ("pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for file in metadata.distribution(name).files or ():
            if file.parts[0] != ".." and file.suffix != ".pyc":
                target = packages / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), target)
    sandbox = await open_sandbox(python=tmp_path / "venv/bin/python")
    try:
        bench = bench_of(sandbox)
        wrong = FILES | {"mod.py": "def f(x):\n    if x:\n        return x\n    return 0\n"}
        found = await bench.judge(Pytest(), bench.task(wrong), coverage=True)
        assert found.verdict is Verdict.FAIL, found.evidence
        assert "AssertionError: 1 != 2" in found.evidence.failed()[0].message
        assert found.coverage == {"": {"mod.py": (1,)}, "test_mod.py::T::test_a": {"mod.py": (2, 3)}}
    finally:
        await sandbox.aclose()
