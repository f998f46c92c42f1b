"""kill -9 at random moments of an episode that pays a provider: nothing is lost, paid twice or broken, and it ends as
if nobody had killed it."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import paying
import pytest
from cli import python
from sqlalchemy import create_engine, text

pytestmark = pytest.mark.slow
KILLS = int(os.environ.get("GROUNDWIRE_TEST_KILLS", "8")) // 2
"""Of each database; 100 in the soak."""


def kill(url: str, folder: Path, seed: int, *how: str) -> list[dict[str, Any]]:
    done = python(Path(paying.__file__), folder / "episodes", url, str(KILLS), str(seed), *how)
    assert done.code == 0, done.err
    results: list[dict[str, Any]] = json.loads(done.out)
    assert sum(result["kills"] for result in results) == KILLS
    return results


def test_nothing_is_lost_or_paid_twice_in_sqlite(tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    results = kill(f"sqlite:///{file}", tmp_path, seed=11)
    assert [result["wrong"] for result in results] == [[]] * len(results)
    with closing(sqlite3.connect(file)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_nothing_is_lost_or_paid_twice_where_answers_are_written_with_what_is_made_of_them(tmp_path: Path) -> None:
    results = kill(f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path, 13, "calls-only")
    assert [result["wrong"] for result in results] == [[]] * len(results)


@pytest.mark.postgres
def test_nothing_is_lost_or_paid_twice_in_postgres(postgres_url: str, tmp_path: Path) -> None:
    results = kill(postgres_url, tmp_path, seed=12)
    assert [result["wrong"] for result in results] == [[]] * len(results)
    engine = create_engine(postgres_url)
    with engine.connect() as database:
        broken = database.execute(text("SELECT conname FROM pg_constraint WHERE NOT convalidated")).fetchall()
        invalid = database.execute(text("SELECT indexrelid FROM pg_index WHERE NOT indisvalid")).fetchall()
    engine.dispose()
    assert (broken, invalid) == ([], [])
