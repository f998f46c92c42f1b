"""Which runs have a head start: those in which nothing of the project is loaded before the candidate is there."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.core._sandboxes import Limits
from groundwire.tools import Doctest, Pytest, Unittest
from groundwire.tools._running import Launch

pytestmark = pytest.mark.asyncio(loop_scope="module")

HOW = "import importlib.machinery, mod\nHOW = importlib.machinery.SourceFileLoader.source_to_code.__module__\n"
ASKS = f"{HOW}def test_a():\n    assert not HOW\n"
CASE = (
    f"{HOW}import unittest\nclass TestA(unittest.TestCase):\n    def test_a(self):\n        self.assertEqual(HOW, '')\n"
)
DOCS = f"{HOW}def f():\n    '''\n    >>> HOW\n    0\n    '''\n"
FIXTURE = "import pytest\n@pytest.fixture\ndef one():\n    return 1\n"


@pytest.mark.parametrize(
    ("tool", "files", "command", "ahead"),
    [
        (Pytest(), {"test_a.py": ASKS}, "pytest -q", True),
        (Pytest(), {"test_a.py": ASKS, "pytest.ini": "[pytest]\naddopts = -p no:logging -s\n"}, "pytest", True),
        (Pytest(), {"test_a.py": ASKS, "conftest.py": f"import mod\n{FIXTURE}"}, "pytest -q", True),
        (Pytest(), {"test_a.py": ASKS, "conftest.py": f"{FIXTURE}pytest_plugins = []\n"}, "pytest -q", True),
        (Pytest(), {"test_a.py": ASKS, "requirements.txt": "pytest-asyncio\n"}, "pytest -q", True),
        (Pytest(), {"test_a.py": CASE}, "python -S -m pytest -q", False),
        (Pytest(), {"test_a.py": ASKS, "tests/helping.py": FIXTURE}, "PYTHONPATH=tests pytest -p helping", False),
        (Pytest(), {"test_a.py": ASKS, "pytest.ini": "[pytest]\nlog_file = run.log\n"}, "pytest", False),
        (Unittest(), {"test_a.py": CASE}, "python -m unittest", True),
        (Unittest(), {"test_a.py": CASE}, "python -S -m unittest test_a", True),
        (Doctest(), {"docs.py": DOCS}, "python -m doctest docs.py", True),
    ],
)
async def test_it(bench: Any, tool: Pytest, files: dict[str, str], command: str, ahead: bool) -> None:
    task = bench.task({"mod.py": "VALUE = 1\n", **files}, command=command.split())
    start = tool._judge.start(task)  # pyright: ignore[reportPrivateUsage]
    assert isinstance(start, Launch)
    assert start.quick is not None
    warm = await bench.sandbox.warm(task.tree, preload=start.preload, support=start.support, flags=start.flags)
    try:
        found = await warm.run(
            start.quick,
            {"mod.py": b"VALUE = 2\n"},
            Limits(wall_s=30),
            env=start.env,
            collect=start.collect,
            stdin=b"00\n",
            head_start=start.head_start,
        )
    finally:
        await warm.aclose()
    said = found.files["report.jsonl"].decode() + found.stdout.decode()
    assert ("groundwire.sandbox.guest.headstart" in said) is ahead, said
    assert ahead or "_frozen_importlib_external" in said or "No module named" in said, said
