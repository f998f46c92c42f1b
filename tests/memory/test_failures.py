"""Each way a database can fail gives one clear error, and nothing is lost or half written."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest
from powerless import as_nobodys
from sqlalchemy.engine import make_url

from groundwire.core._errors import StorageBusy, StorageError
from groundwire.core._records import Admission, EpisodeRecord, RunRecord
from groundwire.memory import SqlStore
from groundwire.memory._database import explain
from groundwire.memory._place import locate
from groundwire.sandbox._bwrap_launch import find_bwrap


async def failure(url: str | None, *, busy_s: float = 30.0) -> StorageError:
    """The error of an append, checked to be fit for people."""
    store = SqlStore(url, busy_s=busy_s)
    try:
        with pytest.raises(StorageError) as caught:
            await store.append(RunRecord(config="confidential value"))
    finally:
        await store.aclose()
    error = caught.value
    assert error.do and error.exit_code == 6
    for word in ("INSERT", "SELECT", "sqlalche.me", "Error", "confidential"):
        assert word not in str(error)
    assert "confidential" not in repr(error.__cause__)
    return error


async def test_a_folder_that_can_not_be_written(
    open_folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_nobodys(open_folder, 0o555)
    request.getfixturevalue("powerless")
    error = await failure(f"sqlite:///{open_folder}/x.db")
    assert str(error).startswith(f"Can't create sqlite:///{open_folder}/x.db: permission denied.")
    monkeypatch.setenv("XDG_DATA_HOME", str(open_folder / "data"))
    assert "set XDG_DATA_HOME" in (await failure(None)).do


async def test_a_file_that_can_not_be_written(open_folder: Path, request: pytest.FixtureRequest) -> None:
    file = open_folder / "x.db"
    before = RunRecord()
    store = SqlStore(f"sqlite:///{file}")
    await store.append(before)
    await store.aclose()
    for path in (file, open_folder):
        as_nobodys(path, 0o555)
    request.getfixturevalue("powerless")
    error = await failure(f"sqlite:///{file}")
    assert "read-only" in str(error) or "can't be opened" in str(error)


@pytest.mark.parametrize("path", ["file.txt/x.db", "folder"])
async def test_a_path_that_is_no_file(tmp_path: Path, path: str) -> None:
    (tmp_path / "file.txt").touch()
    (tmp_path / "folder").mkdir()
    assert str(tmp_path / path) in str(await failure(f"sqlite:///{tmp_path / path}"))


async def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("These are my notes. " * 200)
    assert "it is not a SQLite database" in str(await failure(f"sqlite:///{file}"))
    assert file.read_text() == "These are my notes. " * 200


async def test_a_database_whose_pages_are_damaged(tmp_path: Path) -> None:
    file = tmp_path / "x.db"
    store = SqlStore(f"sqlite:///{file}")
    await store.append(RunRecord())
    await store.aclose()
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    assert "damaged" in str(await failure(f"sqlite:///{file}"))


async def test_a_table_of_somebody_else(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "x.db")) as other:
        other.execute("CREATE TABLE signals (wave TEXT)")
    error = await failure(f"sqlite:///{tmp_path}/x.db")
    assert "a table that has the name of one of groundwire's" in str(error)
    with closing(sqlite3.connect(tmp_path / "x.db")) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("signals",)], "all or nothing"


async def test_a_lock_that_is_never_released(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/x.db"
    store = SqlStore(url)
    await store.append(RunRecord())
    await store.aclose()
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        error = await failure(url, busy_s=0.3)
        assert isinstance(error, StorageBusy) and error.retryable
        other.execute("ROLLBACK")


async def test_a_lock_that_is_released_in_time_is_waited_for(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/x.db", busy_s=20)
    first, second = RunRecord(), RunRecord()
    await store.append(first)
    with closing(sqlite3.connect(tmp_path / "x.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(store.append(second))
        await asyncio.sleep(0.3)
        assert await store.runs() == [first], "readers never wait, nor does the event loop"
        assert not waiting.done()
        other.execute("ROLLBACK")
        await waiting
    assert await store.runs() == [second, first]
    await store.aclose()


FILL = """
    import asyncio, resource, sys
    from groundwire.core._errors import StorageError
    from groundwire.memory import SqlStore
    from groundwire.core._records import Artifact, RunRecord

    async def main():
        store = SqlStore(f"sqlite:///{sys.argv[1]}/x.db")
        run = RunRecord()
        await store.append(run)
        if sys.argv[2] == "limit":
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        try:
            for number in range(100):
                await store.append(Artifact(digest=str(number), kind="changes", body=bytes(100_000)))
        except StorageError as error:
            print(error)
        assert await store.runs() == [run]
        await store.artifact("0")
        await store.aclose()

    asyncio.run(main())
"""


def fill(*prefix: str, folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    script = textwrap.dedent(FILL)
    command = [*prefix, sys.executable, "-c", script, str(folder), how]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    bubblewrap = str(find_bwrap())
    mount = ["--size", str(2 << 20), "--tmpfs", str(tmp_path)]
    if subprocess.run(
        [bubblewrap, "--dev-bind", "/", "/", *mount, "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("bwrap can't mount a small disk here")
    done = fill(bubblewrap, "--dev-bind", "/", "/", *mount, folder=tmp_path, how="disk")
    assert done.returncode == 0, done.stderr
    assert "the disk is full" in done.stdout and "Free space" in done.stdout


def test_a_file_size_limit(tmp_path: Path) -> None:
    done = fill(folder=tmp_path, how="limit")
    assert done.returncode == 0, done.stderr
    assert "the disk refused to read or write" in done.stdout and "ulimit -f" in done.stdout


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (sqlite3.OperationalError("vtable constructor failed: database is locked"), "stayed locked"),
        (sqlite3.OperationalError("no such table: signals"), "not as groundwire made them"),
        (sqlite3.ProgrammingError("odd"), "reported an error"),
        (ValueError("odd"), "reported ValueError"),
    ],
)
def test_errors_that_are_hard_to_bring_about(error: Exception, words: str) -> None:
    assert words in str(explain(error, "write to", locate("sqlite:///x.db")))


async def test_a_server_that_is_not_there() -> None:
    pytest.importorskip("psycopg")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        error = await failure(f"postgresql://user:s3cret@127.0.0.1:{port}/db")
    assert "the server can't be reached" in str(error)
    assert f"postgresql://user@127.0.0.1:{port}/db" in str(error)
    assert "s3cret" not in str(error) + repr(error.__cause__)


@pytest.mark.postgres
async def test_a_wrong_password_or_database(postgres_url: str) -> None:
    good = make_url(postgres_url)
    for bad, words in (
        (good.set(password="wr0ng"), "it refused the user or password"),
        (good.set(database="nowhere"), "there is no database of that name"),
    ):
        error = await failure(bad.render_as_string(hide_password=False))
        assert words in str(error)
        assert "wr0ng" not in str(error) + repr(error.__cause__)
        assert str(good.password) not in str(error) + repr(error.__cause__)


@pytest.mark.postgres
async def test_a_connection_that_was_cut_is_made_again(postgres_url: str) -> None:
    import psycopg

    name = f"cut {os.getpid()}"
    named = make_url(postgres_url).update_query_dict({"application_name": name})
    store = SqlStore(named.render_as_string(hide_password=False))
    first, second = RunRecord(), RunRecord()
    await store.append(first)
    server = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(server) as other:
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
        assert other.execute(query, (name,)).fetchall() == [(True,)]
    await store.append(second)
    assert await store.runs() == [second, first]
    await store.aclose()


async def test_a_write_that_failed_keeps_no_later_one_from_being_written(tmp_path: Path) -> None:
    """Both use one connection; nothing of the first may be left on it."""
    store = SqlStore(f"sqlite:///{tmp_path}/x.db")
    episode = EpisodeRecord(run_id="r", task_id="t")
    first, second = (
        Admission(episode_id=episode.id, trial=1, signal_id="s", candidate_digest="c", edge="refine", admitted=True)
        for _ in range(2)
    )
    await store.append(episode, first)
    for _ in range(2):
        with pytest.raises(StorageError, match="admitted"):
            await store.append(RunRecord(id="lost"), second)
    await store.append(RunRecord(id="kept"))
    assert [run.id for run in await store.runs()] == ["kept"]
    with closing(sqlite3.connect(tmp_path / "x.db", timeout=0.1)) as other:
        other.execute("BEGIN IMMEDIATE")  # nobody holds the lock
        other.rollback()
    await store.aclose()
