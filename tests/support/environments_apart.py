"""Environments of their own for packages that are large, or that clash with ours; made once, and kept.

They lie under `GROUNDWIRE_TEST_ENVIRONMENTS`, by default in the user's cache. A test that needs one that can't be made
here skips, with the reason.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from platformdirs import user_cache_path

__all__ = ["program_with"]

ROOT = Path(__file__).parents[2]
WITHIN_S = 540.0


@cache
def program_with(name: str, *packages: str, extras: str = "") -> Path:
    """The `groundwire` program of an environment that has these packages; skips where it can't be made.

    Args:
        name: the environment's own, among those that are kept.
        packages: what it holds besides groundwire, which is there as it stands in this checkout.
        extras: of groundwire, apart by commas.
    """
    kept = Path(os.environ.get("GROUNDWIRE_TEST_ENVIRONMENTS") or user_cache_path("groundwire-test-environments"))
    asked = hashlib.sha256(repr((sys.version_info[:2], packages, extras, str(ROOT))).encode()).hexdigest()[:8]
    home = kept / f"{name}-{asked}"
    made = home / "made"
    if not made.exists():
        ours = f"{ROOT}[{extras}]" if extras else str(ROOT)
        pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", home],
            [*pip, *packages, "-e", ROOT / "packages" / "groundwire-audit", "-e", ours],
        ):
            ran = subprocess.run(command, capture_output=True, text=True, timeout=WITHIN_S, check=False)
            if ran.returncode != 0:
                pytest.skip(f"no environment with {', '.join(packages)} can be made: {ran.stderr.strip()[-300:]}")
        made.touch()
    return home / "bin" / "groundwire"
