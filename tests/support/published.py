"""Where published logs lie beside the repository; tests that need them are skipped where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"


def published(name: str) -> Path:
    """A folder of published logs."""
    folder = DATA / name
    if not folder.is_dir():
        pytest.skip(f"the published logs {name} are not beside the repository (../shared/data/{name})")
    return folder
