"""A project in a git repository, as a coding agent finds it, and what an agent does in it."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from cli import BUGGY, lay_out

WRONG, RIGHT = BUGGY["shop/price.py"], BUGGY["shop/price.py"].replace("-=", "+=")


def git(folder: Path, *arguments: str) -> str:
    """Runs git as nobody in particular."""
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def committed(folder: Path, files: Mapping[str, str] = BUGGY) -> Path:
    """A repository with one commit of these files."""
    lay_out(folder, dict(files))
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "as it was")
    return folder


def mend(folder: Path) -> None:
    """What the agent should have done."""
    (folder / "shop/price.py").write_text(RIGHT)
