"""Environments of their own, for packages that clash with ours or are large: found where they were made before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER_VARIABLE = "GROUNDWIRE_TEST_ENVIRONMENTS"


def python_with(*packages: str) -> Path:
    """The interpreter of a virtual environment that holds these packages, and groundwire not; skips where none can be.

    Args:
        packages: requirements, as pip takes them; the first one names the environment.
    """
    place = os.environ.get(FOLDER_VARIABLE)
    if not place:
        pytest.skip(
            f"needs an environment with {packages[0]}: {FOLDER_VARIABLE}=FOLDER says where they are kept or made"
        )
    folder = Path(place) / packages[0]
    python = folder / "bin/python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        done = subprocess.run([python, "-m", "pip", "install", "-q", *packages], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"{packages[0]} can't be installed: {done.stderr.strip()[-300:]}")
        (folder / "complete").touch()
    return python
