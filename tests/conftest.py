"""Shared fixtures: no real model is called and nothing is written outside the test's own folder."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from postgres_server import postgres_server, postgres_url
from powerless import open_folder, powerless
from services import need_services

__all__ = [
    "homes_of_all",
    "nothing_stays_changed",
    "open_folder",
    "own_homes",
    "postgres_server",
    "postgres_url",
    "powerless",
]

# a busy machine is no finding: nothing here is asserted about time
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


# What is imported and collected stays to the end, over a million objects: looking through them at each full collection
# of garbage took half of the time of quick tests.


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("soak") and "soak" not in item.config.option.markexpr:
        pytest.skip("soak: run by hand, with -m soak")
    need_services(item)


@pytest.fixture(autouse=True, scope="session")
def homes_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where fixtures of a module or of a session write what would go to the user's own folders: ledgers, keys, logs."""
    folder = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME"):
            patch.setenv(variable, str(folder / variable.lower()))
        yield


@pytest.fixture(autouse=True)
def nothing_stays_changed() -> Iterator[None]:
    """A test puts back what it changes of the process: nobody knows which one comes next."""
    before = _of_the_process()
    yield
    assert _of_the_process() == before, "a test that changes this has to restore it: monkeypatch does"


OURS = (b"GROUNDWIRE_", b"XDG_", b"HOME", b"PATH", b"TMPDIR")
"""How variables begin that tests set; libraries set some of their own for good when they are loaded."""
LOGS = [*map(logging.getLogger, (None, "groundwire", "asyncio", "aiosqlite", "sqlalchemy.engine", "langgraph"))]


def _of_the_process() -> tuple[str, dict[bytes, bytes], list[str]]:
    """The folder, the environment, and who logs all there is."""
    environment = {name: os.environb[name] for name in os.environb if name.startswith(OURS)}
    verbose = [log.name for log in LOGS if 0 < log.level <= logging.DEBUG]
    return os.getcwd(), environment, verbose  # noqa: PTH109  a tenth of the time


@pytest.fixture(autouse=True)
def own_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_stays_changed: None) -> None:
    """Data, state and configuration folders of the test's own; real model calls refused."""
    # code that a user names is imported for good, with what lies beside it
    monkeypatch.setattr(sys, "path", [*sys.path])
    for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("GROUNDWIRE_MODEL_CALLS", "refuse")
