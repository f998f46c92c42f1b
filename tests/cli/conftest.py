"""Finished runs, made once for all who change a copy of them."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from cli import BUGGY, groundwire, lay_out
from forging import HOMES, Finished, finish, on_server


@pytest.fixture(scope="session")
def repair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The id of a repair, and the folder of its project, its ledger and its homes."""
    folder = tmp_path_factory.mktemp("repair")
    project, file = lay_out(folder / "project", BUGGY), folder / "ledger.db"
    homes = {f"XDG_{name.upper()}_HOME": str(folder / name) for name in HOMES}
    asked = ("--test", "python -m pytest -q", "--db", f"sqlite:///{file}", "--json")
    ran = groundwire("repair", project, *asked, env=homes)
    assert ran.code == 0, ran.out + ran.err
    with closing(sqlite3.connect(file)) as ledger:
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return ran.data["run_id"], folder


@pytest.fixture
def repaired(repair: tuple[str, Path], tmp_path: Path) -> tuple[str, Path]:
    """The id of a repair that has ended, and its ledger: a copy, with the key in the test's own home."""
    run, folder = repair
    state = Path(os.environ["XDG_STATE_HOME"])
    shutil.copytree(folder / "state", state)
    for heads in (state / "groundwire" / "keys").glob("*.heads"):
        heads.write_text(heads.read_text().replace(str(folder), str(tmp_path)))
    return run, Path(shutil.copy(folder / "ledger.db", tmp_path / "ledger.db"))


@pytest.fixture
def one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """No verdict is looked at again, a third of a small repair: test_outcome.py and test_show.py count second looks."""
    monkeypatch.setenv("GROUNDWIRE_REJUDGE", "0")


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
