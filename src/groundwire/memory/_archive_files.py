"""An archive: a folder with a folder a run, each a Parquet file a table and what was written into it (`archive.json`).

    FOLDER/RUN/archive.json  runs.parquet  episodes.parquet  signals.parquet  links.parquet  artifacts.parquet …

Rows are as they lie in the database, `seq` among them, so that a restored run is held against its links as any other,
and so that any reader of Parquet can ask them (`FOLDER/*/signals.parquet`). A folder may hold the runs of several
ledgers. It is read by being restored into a database of SQLite, which is kept for the next reader.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Self, cast

from platformdirs import user_cache_path

from groundwire.core._errors import ConfigError, StorageError
from groundwire.memory._mapping import CODECS, covered
from groundwire.memory._place import DatabaseLocation, archived_in
from groundwire.memory._text import unescape

FORMAT = 1
"""Of the folder; raised when what is in it changes its meaning."""
MANIFEST = "archive.json"
ROWS_AT_ONCE = 5_000
BYTES_AT_ONCE = 32 << 20
"""A group of rows is written when it has so many rows, or so much text."""
_NAME = re.compile(r"[a-z_]+")
_BY_TABLE = {codec.table: codec for codec in CODECS.values()}


@dataclass(frozen=True)
class ArchivedTable:
    """One table of an archived run.

    Args:
        rows: how many.
        file: SHA-256 of the Parquet file.
        content: SHA-256 over the rows, whatever file they lie in.
    """

    rows: int
    file: str
    content: str


@dataclass(frozen=True)
class ArchivedRun:
    """What an archive says of one run.

    Args:
        run: its id.
        namespace: whose it is, as its rows have it.
        graph: its graph's name.
        created_at: when it began.
        archived_at: when it was archived.
        ledger: where from, without any password.
        schema: the revision of the tables.
        episodes: how many.
        last_seq: the highest number among its rows.
        tables: by name.
    """

    run: str
    namespace: str
    graph: str
    created_at: str
    archived_at: str
    ledger: str
    schema: str
    episodes: int
    last_seq: int
    tables: Mapping[str, ArchivedTable]

    def text(self) -> str:
        """As `archive.json` has it."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def read(cls, path: Path) -> Self:
        """Reads an `archive.json`.

        Raises:
            StorageError: it can't be read, or a newer groundwire wrote it.
        """
        try:
            said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            found = said.pop("format")
            if found != FORMAT:
                raise StorageError(
                    f"Can't read {path}: its format is {found}, and this version knows {FORMAT}.",
                    do="Upgrade groundwire (pip install -U groundwire).",
                )
            tables = {name: ArchivedTable(**table) for name, table in said.pop("tables").items()}
            made = cls(**said, tables=tables)
            if made.run != path.parent.name or not all(name in _BY_TABLE for name in tables):
                raise ValueError("it is not about this folder, or names a table that no ledger has")
            return made
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StorageError(f"Can't read {path}: {error}.", do="Restore the folder from a copy.") from error


class RunWriter:
    """Writes one run's rows; the folder gets its name when all of them are on disk.

    Args:
        archive: the archive's folder; made where it is not there.
        run_id: the run.

    Raises:
        ConfigError: pyarrow is not installed.
        StorageError: it can't be written.
    """

    def __init__(self, archive: Path, run_id: str) -> None:
        self._arrow, self._parquet = _parquet()
        if Path(run_id).name != run_id or run_id.startswith("."):  # of a stranger's ledger
            raise StorageError(f"{run_id!r} can't be the name of a folder.", do="Look where that run came from.")
        self._to = archive / run_id
        self._part = archive / f".{run_id}.{secrets.token_hex(8)}.part"
        self._part.mkdir(parents=True, mode=0o700)
        self._schemas = _schemas(self._arrow)
        self._writers: dict[str, Any] = {}
        self._rows: dict[str, list[Sequence[Any]]] = {}
        self._bytes: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._contents: dict[str, Any] = {}
        self.last_seq = 0

    def add(self, table: str, row: Sequence[Any]) -> None:
        """Adds a row: `seq`, the table's columns in their order, and the namespace where it has one."""
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        self._counts[table] = self._counts.get(table, 0) + 1
        self._contents.setdefault(table, hashlib.sha256()).update(_said(table, row))
        self.last_seq = max(self.last_seq, row[0])
        size = self._bytes.get(table, 0) + sum(len(v) for v in row if isinstance(v, (str, bytes)))
        self._bytes[table] = size
        if len(rows) >= ROWS_AT_ONCE or size >= BYTES_AT_ONCE:
            self._flush(table)

    def _flush(self, table: str) -> None:
        rows = self._rows.pop(table, [])
        self._bytes[table] = 0
        schema = self._schemas[table]
        if table not in self._writers:
            self._writers[table] = self._parquet.ParquetWriter(
                self._part / f"{table}.parquet", schema, compression="zstd"
            )
        columns = list(zip(*rows, strict=True))
        arrays = [
            self._arrow.array(_in_type(column, field.type, self._arrow), field.type)
            for column, field in zip(columns, schema, strict=True)
        ]
        self._writers[table].write_batch(self._arrow.RecordBatch.from_arrays(arrays, schema=schema))

    def close(self, **told: Any) -> ArchivedRun:
        """Writes what is left and the manifest, and gives the folder its name.

        Args:
            **told: what else the manifest says (`ArchivedRun`).
        """
        for table in list(self._rows):
            self._flush(table)
        for writer in self._writers.values():
            writer.close()
        self._writers = {}
        tables: dict[str, ArchivedTable] = {}
        for table, count in sorted(self._counts.items()):
            path = self._part / f"{table}.parquet"
            _to_disk(path)
            tables[table] = ArchivedTable(count, _sha256(path), self._contents[table].hexdigest())
        made = ArchivedRun(run=self._to.name, last_seq=self.last_seq, tables=tables, **told)
        manifest = self._part / MANIFEST
        manifest.write_text(made.text(), encoding="utf-8")
        _to_disk(manifest)
        _to_disk(self._part)
        self._part.rename(self._to)
        _to_disk(self._to.parent)
        return made

    def abandon(self) -> None:
        """Leaves nothing of it."""
        for writer in self._writers.values():
            with suppress(Exception):
                writer.close()
        with suppress(OSError):
            for path in self._part.iterdir():
                path.unlink()
            self._part.rmdir()


def archived_runs(archive: Path) -> list[ArchivedRun]:
    """The runs of an archive, in the order in which they began.

    Raises:
        StorageError: one can't be read.
    """
    return sorted(map(ArchivedRun.read, archived_in(archive)), key=lambda run: (run.created_at, run.run))


def content_of(archive: Path, run: ArchivedRun) -> Mapping[str, str]:
    """What lies on the disk of a run now, as `ArchivedTable.content` has it, by table.

    Raises:
        StorageError: a file can't be read, or was changed.
    """
    found: dict[str, str] = {}
    for table, told in run.tables.items():
        content = hashlib.sha256()
        for _, rows in _batches(archive, run, table, told):
            for row in rows:
                content.update(_said(table, row))
        found[table] = content.hexdigest()
    return found


def archived_keys(archive: Path, run: ArchivedRun) -> Sequence[str]:
    """The keys of a run's bodies.

    Raises:
        StorageError: the file can't be read, or was changed.
    """
    told = run.tables.get("artifacts")
    if told is None:
        return []
    batches = _batches(archive, run, "artifacts", told, ("seq", "digest"))
    return [unescape(str(row[1])) for _, rows in batches for row in rows]


# --- reading: an archive as a database


def restored(place: DatabaseLocation) -> None:
    """Makes the database of an archive where there is none of what the folder holds now.

    Raises:
        ConfigError: pyarrow is not installed.
        StorageError: the archive can't be read, or the database not be made.
    """
    assert place.archive is not None and place.file is not None
    if place.file.exists():
        return
    _parquet()
    folder = place.file.parent
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside = place.file.with_name(f".{place.file.name}.{secrets.token_hex(8)}.part")
        try:
            restore(place.archive, archived_runs(place.archive), beside)
            beside.replace(place.file)
        finally:
            _remove(beside)
    except OSError as error:
        raise StorageError(
            f"The database of {place.shown} can't be made in {folder}: {error.strerror or error}.",
            do="Make room there, or set XDG_CACHE_HOME to another folder.",
        ) from error
    # those of what the folder held before
    for older in folder.glob(f"{place.file.name.partition('-')[0]}-*.db"):
        if older != place.file:
            _remove(older)


def restore(archive: Path, runs: Sequence[ArchivedRun], file: Path) -> None:
    """Makes a database of archived runs, with this version's tables.

    Rows are numbered behind those of the run before, since several ledgers may have given the same numbers. What memory
    concludes stays with the ledger that the runs are from, and is not made again here.

    Args:
        archive: its folder.
        runs: those to restore.
        file: the database; it must not be there.

    Raises:
        StorageError: a file can't be read, was changed, or a newer groundwire wrote it.
    """
    os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    behind = 0
    try:
        for schema, alike in groupby(sorted(runs, key=lambda run: run.schema), key=lambda run: run.schema):
            # into tables as they were then; what came later is added as in any other database
            _make_tables(file, schema)
            with closing(sqlite3.connect(file, isolation_level=None)) as database:
                for pragma in ("journal_mode=OFF", "synchronous=OFF", "cache_size=-65536"):
                    database.execute(f"PRAGMA {pragma}")
                database.execute("BEGIN")
                for run in alike:
                    for table, told in run.tables.items():
                        for names, rows in _batches(archive, run, table, told):
                            database.executemany(_insert(table, names), [(row[0] + behind, *row[1:]) for row in rows])
                    behind += run.last_seq
                database.execute("COMMIT")
        _make_tables(file, "")
    except sqlite3.Error as error:
        raise StorageError(
            f"{archive} can't be restored: {error}.",
            do="Restore the folder from a copy, and look whether one run lies there twice.",
        ) from error


def _make_tables(file: Path, revision: str) -> None:
    """Brings a database's tables to a revision of the schema; empty: this version's."""
    from alembic import command
    from alembic.script import ScriptDirectory

    from groundwire.memory._engine import HEAD, WRITES, config, current, open_engine
    from groundwire.memory._place import located_at

    engine = open_engine(located_at(file), connections=1, lock_wait_s=5)
    try:
        with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
            settings = config(connection)
            known = {script.revision for script in ScriptDirectory.from_config(settings).walk_revisions()}
            if revision and revision not in known:
                raise StorageError(
                    f"A newer groundwire wrote this archive (its schema is {revision}, this one knows {HEAD}).",
                    do="Upgrade groundwire (pip install -U groundwire).",
                )
            if current(connection) != (revision or HEAD):
                command.upgrade(settings, revision or HEAD)
    finally:
        engine.dispose()
    with closing(sqlite3.connect(file)) as database:  # one file again, to be moved
        database.execute("PRAGMA journal_mode=DELETE")


def _insert(table: str, names: Sequence[str]) -> str:
    marks = ", ".join("?" * len(names))
    # bodies alone are shared by runs
    known = " ON CONFLICT (digest) DO NOTHING" if table == "artifacts" else ""
    columns = ", ".join(f'"{name}"' for name in names)
    return f"INSERT INTO {table} ({columns}) VALUES ({marks}){known}"


def _batches(
    archive: Path, run: ArchivedRun, table: str, told: ArchivedTable, columns: Sequence[str] | None = None
) -> Iterator[tuple[Sequence[str], list[Sequence[Any]]]]:
    """The columns' names, and rows, a group at a time."""
    _, parquet = _parquet()
    path = archive / run.run / f"{table}.parquet"
    try:
        if _sha256(path) != told.file:
            raise StorageError(f"{path} is not the file that was archived.", do="Restore it from a copy.")
        with parquet.ParquetFile(path) as file:
            names: list[str] = list(file.schema_arrow.names)
            if names[:1] != ["seq"] or not all(_NAME.fullmatch(name) for name in names):
                raise StorageError(f"{path} holds no table of a ledger.", do="Restore it from a copy.")
            for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, columns=columns):
                yield names, list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    except (OSError, ValueError) as error:  # pyarrow's own are of these
        raise StorageError(f"Can't read {path}: {error}.", do="Restore it from a copy.") from error


# --- parts


def cache_file(archive: Path, manifests: Sequence[Path]) -> Path:
    """Where the database of an archive is kept: another one for each state of its files.

    Args:
        archive: its folder.
        manifests: of its runs.
    """
    from groundwire.memory._engine import HEAD

    state = hashlib.sha256(HEAD.encode())
    for manifest in manifests:
        for path in sorted(manifest.parent.iterdir()):
            found = path.stat()
            state.update(f"\n{path}\0{found.st_size}\0{found.st_mtime_ns}\0{found.st_ino}".encode(errors="replace"))
    of = hashlib.sha256(os.fsencode(archive)).hexdigest()[:16]
    return user_cache_path("groundwire") / "archives" / f"{of}-{state.hexdigest()[:16]}.db"


def check_pyarrow() -> None:
    """Raises ConfigError where pyarrow is not installed."""
    _parquet()


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError("An archive needs pyarrow.", do='pip install "groundwire[archive]"') from error
    return pyarrow, parquet


def _schemas(arrow: Any) -> Mapping[str, Any]:
    """Columns by table, in the order in which rows are added."""
    from sqlalchemy import Boolean, Double, Integer, LargeBinary

    from groundwire.memory._statements import NAMED
    from groundwire.memory._tables import TABLES

    def kind(column: Any) -> Any:
        found = (
            (Integer, arrow.int64()),
            (Boolean, arrow.bool_()),
            (Double, arrow.float64()),
            (LargeBinary, arrow.large_binary()),
        )
        return next((made for of, made in found if isinstance(column.type, of)), arrow.large_string())

    schemas: dict[str, Any] = {}
    for table, codec in _BY_TABLE.items():
        names = ("seq", *codec.columns, *(("namespace",) if codec in NAMED else ()))
        schemas[table] = arrow.schema([(name, kind(TABLES[table].c[name])) for name in names])
    return schemas


def _in_type(column: Sequence[Any], kind: Any, arrow: Any) -> list[Any]:
    if arrow.types.is_boolean(kind):  # SQLite has none
        return [None if value is None else bool(value) for value in column]
    return [_plain(value) for value in column]


def _plain(value: Any) -> Any:
    """Bytes, where a driver gives a view of them."""
    return bytes(cast("memoryview[int]", value)) if isinstance(value, memoryview) else value


def _said(table: str, row: Sequence[Any]) -> bytes:
    codec = _BY_TABLE[table]
    width = len(codec.columns) + 1
    return (
        json.dumps([row[0], *covered(codec, [_plain(value) for value in row[1:width]]), *row[width:]]).encode() + b"\n"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(file: Path) -> None:
    for end in ("", "-wal", "-shm", "-journal"):
        with suppress(OSError):
            file.with_name(file.name + end).unlink(missing_ok=True)
