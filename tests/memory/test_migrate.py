"""The schema is made and upgraded by the migrations alone."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text

from groundwire.errors import StorageError
from groundwire.memory import SqlStore
from groundwire.memory.engine import open_engine
from groundwire.memory.migrate import HEAD, config, current, upgrade
from groundwire.memory.place import locate, prepare
from groundwire.memory.tables import SEQUENCE, VERSION_TABLE, Base
from groundwire.mint import Mint
from groundwire.records import Record, RunRecord
from groundwire.signals import Signal

RELEASED = sorted((Path(__file__).parent / "schemas").glob("*.sql"))
SEED_KEY = b"s" * 32


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    place = locate(url)
    prepare(place)
    made = open_engine(place, connections=2, lock_wait_s=5)
    upgrade(made, place)
    yield made
    made.dispose()


def test_the_migrations_make_what_the_models_say(engine: Engine) -> None:
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, Base.metadata) == []
        if connection.dialect.name == "postgresql":
            assert connection.dialect.has_sequence(connection, SEQUENCE)


def test_partial_index_is_the_one_of_the_models(engine: Engine) -> None:
    """Alembic does not compare an index's condition."""
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            query = "SELECT sql FROM sqlite_master WHERE name = 'uq_admissions_admitted'"
            assert "WHERE admitted = 1" in connection.execute(text(query)).scalar_one()
        else:
            query = (
                "SELECT indexdef FROM pg_indexes"
                " WHERE indexname = 'uq_admissions_admitted' AND schemaname = current_schema()"
            )
            assert "WHERE admitted" in connection.execute(text(query)).scalar_one()


def test_head_is_the_newest_revision(engine: Engine) -> None:
    with engine.connect() as connection:
        script = ScriptDirectory.from_config(config(connection))
        assert script.get_heads() == [HEAD]
        assert current(connection) == HEAD


async def test_a_newer_schema_is_refused_and_left_alone(url: str) -> None:
    store = SqlStore(url)
    await store.append(RunRecord())
    await store.aclose()
    engine = open_engine(locate(url), connections=1, lock_wait_s=5)
    with engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    engine.dispose()
    with pytest.raises(StorageError, match="a newer groundwire wrote it") as caught:
        await store.append(RunRecord())
    assert "pip install -U groundwire" in caught.value.do
    await store.aclose()


def test_opening_a_current_database_needs_no_alembic(tmp_path: Path) -> None:
    script = textwrap.dedent("""
        import asyncio, sys
        from groundwire.memory import SqlStore
        from groundwire.records import RunRecord
        async def main():
            store = SqlStore(f"sqlite:///{sys.argv[1]}/x.db")
            await store.append(RunRecord())
            await store.aclose()
            return "alembic" in sys.modules
        print(asyncio.run(main()))
    """)
    command = [sys.executable, "-c", script, str(tmp_path)]
    answers = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert answers == ["True\n", "False\n"]


async def test_many_may_open_a_fresh_database_at_once(url: str) -> None:
    stores = [SqlStore(url) for _ in range(6)]
    runs = [RunRecord() for _ in stores]
    await asyncio.gather(*(store.append(run) for store, run in zip(stores, runs, strict=True)))
    assert {run.id for run in await stores[0].runs()} == {run.id for run in runs}
    for store in stores:
        await store.aclose()


@pytest.mark.parametrize("dump", RELEASED, ids=lambda path: path.stem)
def test_a_database_of_every_released_schema_keeps_its_memory(dump: Path, tmp_path: Path) -> None:
    """cases.md 36: what `schemas/NAME.json` says was written is read back after the upgrade."""
    file = tmp_path / "old.db"
    with closing(sqlite3.connect(file)) as old:
        old.executescript(dump.read_text())
    asyncio.run(_compare(file, json.loads(dump.with_suffix(".json").read_text())))


async def _compare(file: Path, written: dict[str, Any]) -> None:
    store = SqlStore(f"sqlite:///{file}")
    (run,) = await store.runs()
    (episode,) = await store.episodes(run.id)
    records = await store.records(episode.id)
    assert [as_json(record) for record in [run, *records]] == written["records"]
    lessons = await store.recall(episode.task_id, episode.family)
    assert [lesson.text for lesson in lessons] == written["lessons"]
    assert (await store.artifact("artifact")).hex() == written["artifact"]
    for record in records:
        if isinstance(record, Signal):
            Mint(run.id, SEED_KEY).verify(record)
    await store.append(RunRecord())
    await store.aclose()


def as_json(record: Record) -> list[Any]:
    body = json.loads(record.to_json()) if isinstance(record, Signal) else asdict(record)  # pyright: ignore[reportArgumentType]
    return [type(record).__name__, json.loads(json.dumps(body))]


def test_the_current_schema_has_a_seeded_dump() -> None:
    assert RELEASED[-1].stem == HEAD, "add one with: python tests/memory/schemas/make.py"
