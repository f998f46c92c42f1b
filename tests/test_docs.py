"""Python in the guides runs as printed, and links between them lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
RUNNABLE = ["budgets.md", "memory.md"]
"""Guides whose Python stands for itself; in the others it is a fragment of a program."""


@pytest.mark.parametrize("name", RUNNABLE)
def test_python_runs_as_printed(name: str, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(), re.DOTALL)
    assert blocks
    for code in blocks:
        ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=600)
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("guide", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_links_lead_somewhere(guide: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", guide.read_text()):
        assert (guide.parent / target).exists(), target


def test_every_memory_command_is_in_the_guide() -> None:
    from groundwire.cli.commands._memory import memory

    text = (DOCS / "memory.md").read_text()
    for command in memory.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        assert f"`{name}" in text or f", `{name} " in text, name
