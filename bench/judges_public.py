"""Public judges of code, each in an environment of its own: what its scorer says of tests that are run as it runs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any


class NotHere(Exception):
    """A judge that can't be had on this machine, and why."""


def environment(folder: Path, *packages: str) -> Path:
    """The interpreter of a virtual environment that holds these packages; made where it is not there.

    Raises:
        NotHere: the packages can't be installed.
    """
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", *packages], capture_output=True, text=True)
        if done.returncode:
            raise NotHere(f"{', '.join(packages)} can't be installed: {done.stderr.strip().splitlines()[-1]}")
        (folder / "complete").touch()
    return python


PUBLIC: dict[str, Any] = {}
