from __future__ import annotations

import asyncio
import stat
import sys
from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError, StorageError
from groundwire.core._records import RunRecord
from groundwire.memory import SqlStore
from groundwire.memory._place import locate, prepare

SECRET = "s3cret-pa55"


def test_the_default_is_private_to_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data" / "home"))
    store = SqlStore()
    file = tmp_path / "data" / "home" / "groundwire" / "groundwire.db"
    assert store.url == f"sqlite:///{file}"
    assert not file.exists(), "nothing is made before it is used"
    asyncio.run(store.append(RunRecord()))
    for path in tmp_path.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert {path.name for path in file.parent.iterdir()} == {
        "groundwire.db",
        "groundwire.db-wal",
        "groundwire.db-shm",
    }
    asyncio.run(store.aclose())
    assert [path.name for path in file.parent.iterdir()] == ["groundwire.db"]


def test_a_relative_file_stays_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert locate("sqlite:///lessons.db").shown == f"sqlite:///{tmp_path}/lessons.db"
    assert locate("sqlite:///~/lessons.db").shown == "sqlite:////home/somebody/lessons.db"


def test_a_file_may_have_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "100% a#b & ü \U0001f9ea %20"))
    default = SqlStore()
    run = RunRecord()
    asyncio.run(default.append(run))
    asyncio.run(default.aclose())
    named = SqlStore(default.url)
    assert asyncio.run(named.runs()) == [run], "the URL that is shown can be typed in"
    asyncio.run(named.aclose())
    assert (tmp_path / "100% a#b & ü \U0001f9ea %20" / "groundwire" / "groundwire.db").is_file()


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:"])
async def test_sqlite_in_memory_works_and_does_not_claim_to_last(url: str) -> None:
    store = SqlStore(url)
    assert not store.durable
    run = RunRecord()
    await store.append(run)
    assert await store.runs() == [run]
    await store.aclose()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "not a url",
        f"mysql://user:{SECRET}@host/db",
        f"postgresql+asyncpg://user:{SECRET}@host/db",
        "sqlite+aiosqlite:///x.db",
        "sqlite:///file:x.db?uri=true",
        "sqlite:///x.db?mode=ro",
        f"postgresql://user:{SECRET}@host:port/db",
    ],
)
def test_a_url_that_can_not_be_used_says_which_can(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        SqlStore(url)
    assert "sqlite:///FILE" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_postgres_without_its_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StorageError, match=r"pip install 'groundwire\[postgres\]'"):
        SqlStore(f"postgresql://user:{SECRET}@host/db")


def test_a_password_is_never_shown() -> None:
    pytest.importorskip("psycopg")
    store = SqlStore(f"postgres://user:{SECRET}@host:5433/db?sslmode=require&password={SECRET}&sslpassword={SECRET}")
    assert store.url == "postgresql://user@host:5433/db?sslmode=require"
    assert SECRET not in repr(store)
    assert store.durable


def test_a_folder_that_is_missing_is_not_made_up(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="folder does not exist") as caught:
        prepare(locate(f"sqlite:///{tmp_path}/typo/lessons.db"))
    assert f"mkdir -p {tmp_path}/typo" in caught.value.do
    assert not (tmp_path / "typo").exists()
