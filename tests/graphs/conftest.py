"""Fixtures for graph tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from guessing import ANSWER
from sqlalchemy.engine import make_url

from groundwire import Task, Tree


@pytest.fixture
def task() -> Task:
    """A word to be guessed."""
    return Task(id="guess", family="words", tree=Tree({ANSWER: b"nothing"}))


POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)


@pytest.fixture(params=["memory", "sqlite", POSTGRES])
def saver_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where checkpoints are kept: each kind."""
    return _saver_url(request, tmp_path)


@pytest.fixture(params=["sqlite", POSTGRES])
def durable_saver_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where checkpoints are kept: each kind that outlives its connection."""
    return _saver_url(request, tmp_path)


def _saver_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        url = make_url(request.getfixturevalue("postgres_url")).set(drivername="postgresql")
        return url.render_as_string(hide_password=False)
    return "memory" if request.param == "memory" else str(tmp_path / "checkpoints.db")
