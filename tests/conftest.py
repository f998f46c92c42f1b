"""Shared fixtures: no real model is called and nothing is written outside the test's own folder."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from hypothesis import settings
from postgres_server import postgres_server, postgres_url
from powerless import open_folder, powerless
from services import need_services

__all__ = ["open_folder", "own_homes", "postgres_server", "postgres_url", "powerless"]

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


@pytest.fixture(autouse=True)
def own_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Data, state and configuration folders of the test's own; real model calls refused."""
    for variable in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / variable.lower()))
    monkeypatch.setenv("GROUNDWIRE_MODEL_CALLS", "refuse")
