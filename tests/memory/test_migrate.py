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
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from embedding import Tiny
from sqlalchemy import Boolean, Engine, MetaData, Table, inspect, text

from groundwire.core._errors import StorageError
from groundwire.core._records import Record, RunRecord
from groundwire.core._seal import Mint
from groundwire.core._signals import Signal
from groundwire.memory import SqlStore
from groundwire.memory._derived_tables import DERIVED
from groundwire.memory._engine import HEAD, VERSION_TABLE, config, current, open_engine, upgrade
from groundwire.memory._lessons import Lessons
from groundwire.memory._place import DatabaseLocation, locate, prepare
from groundwire.memory._policy import State
from groundwire.memory._sql import Sql
from groundwire.memory._statements import SEQUENCE
from groundwire.memory._tables import TABLES, Base

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
        options = {"version_table": VERSION_TABLE, "include_name": _is_in_the_models}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, Base.metadata) == []
        assert set(Base.metadata.tables) == {*TABLES, *DERIVED}
        if connection.dialect.name == "postgresql":
            assert connection.dialect.has_sequence(connection, SEQUENCE)


def _is_in_the_models(name: str | None, kind: str, _parents: object) -> bool:
    """The full-text index is the database's own: a virtual table in SQLite, a generated column in PostgreSQL."""
    return not (name or "").startswith("lesson_words") and (kind, name) not in (
        ("column", "words"),
        ("index", "ix_reflections_words"),
    )


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
        from groundwire.core._records import RunRecord
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
    asyncio.run(_compare(f"sqlite:///{file}", json.loads(dump.with_suffix(".json").read_text())))


@pytest.mark.postgres
@pytest.mark.parametrize("dump", RELEASED, ids=lambda path: path.stem)
def test_so_does_one_on_a_server(dump: Path, postgres_url: str) -> None:
    with closing(sqlite3.connect(":memory:")) as old:
        old.executescript(dump.read_text())
        _copy(old, locate(postgres_url), dump.stem)
    asyncio.run(_compare(postgres_url, json.loads(dump.with_suffix(".json").read_text())))


def _copy(old: sqlite3.Connection, place: DatabaseLocation, revision: str) -> None:
    """The same rows in a PostgreSQL database of the same revision."""
    engine = open_engine(place, connections=1, lock_wait_s=5)
    with engine.begin() as connection:
        command.upgrade(config(connection), revision)
        for table in (table for table in Base.metadata.tables if inspect(connection).has_table(table)):
            target = Table(table, MetaData(), autoload_with=connection)
            found = old.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found]
            flags = [column.name for column in target.c if isinstance(column.type, Boolean)]
            for row in rows:
                row.update({name: bool(row[name]) for name in flags})
            if rows:
                connection.execute(target.insert(), rows)
        connection.execute(text(f"SELECT setval('{SEQUENCE}', 1000)"))
    engine.dispose()


async def _compare(url: str, written: dict[str, Any]) -> None:
    store = SqlStore(url, embedder=Tiny())
    (run,) = await store.runs()
    (episode,) = await store.episodes(run.id)
    records = await store.records(episode.id)
    known = {name for name, _ in written["records"]}
    kept = [as_json(record) for record in [run, *records] if type(record).__name__ in known]
    for (_, now), (_, then) in zip(kept, written["records"], strict=True):
        assert then.items() <= now.items(), "what an older version did not know has a default"
    lessons = await store.recall(episode.task_id, episode.family)
    assert [lesson.text for lesson in lessons] == written["lessons"]
    assert (await store.artifact("artifact")).hex() == written["artifact"]
    for record in records:
        if isinstance(record, Signal):
            Mint(run.id, SEED_KEY).verify(record)
    mark = await store.recall("another task", episode.family, text="exclusive bound")
    assert [lesson.text for lesson in mark] == written["lessons"], "the family's, and full text finds it"
    assert "words 1" in mark[0].why
    assert "meaning 1" in mark[0].why, "what was learned before gets its vector"
    assert (await store.edit_statistics("family", "")).family == {"compare.boundary": (1, 0)}
    lessons_of = Lessons(store)
    (info,) = await lessons_of.search("exclusive bound")
    assert (info.reflection.text, info.state) == (written["lessons"][0], State.ACTIVE), "the index holds it as well"
    assert await lessons_of.rates("task") != [], "trials of before count"
    assert await lessons_of.forget([info.reflection.id]) == 1
    assert await lessons_of.search("exclusive bound") == await store.recall(episode.task_id, episode.family) == []
    left = Sql("SELECT count(*) FROM lesson_vectors")
    assert await store.run_read(lambda session: left.rows(session)[0][0]) == 0
    await store.append(RunRecord())
    await store.aclose()


def as_json(record: Record) -> list[Any]:
    body = json.loads(record.to_json()) if isinstance(record, Signal) else asdict(record)  # pyright: ignore[reportArgumentType]
    return [type(record).__name__, json.loads(json.dumps(body))]


def test_the_current_schema_has_a_seeded_dump() -> None:
    assert RELEASED[-1].stem == HEAD, "add one with: python tests/memory/schemas/make.py"
