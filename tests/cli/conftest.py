"""A finished run, made once for all who change a copy of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from forging import Finished, finish, on_server


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finish(tmp_path_factory.mktemp("finished"))


@pytest.fixture
def user(finished: Finished, tmp_path: Path) -> Finished:
    return finished.copied_to(tmp_path / "user")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, user: Finished) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{user.file}"
    return on_server(request.getfixturevalue("postgres_url"), user)
