"""A user who may not write or read everywhere, also where root runs the tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

__all__ = ["as_nobodys", "open_folder", "powerless"]

NOBODY = 65534


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user can reach; pytest's own are for their owner only."""
    folder = Path(tempfile.mkdtemp(prefix="groundwire-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.fixture
def powerless() -> Iterator[None]:
    """Root may write everywhere, so it becomes nobody for the test."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)


def as_nobodys(path: Path, mode: int) -> None:
    if os.geteuid() == 0:
        os.chown(path, NOBODY, -1)
    path.chmod(mode)
