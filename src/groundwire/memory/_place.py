"""Which database: a URL, or the default file, read and checked before anything is opened."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_data_path

from groundwire.core._errors import ConfigError, StorageError
from groundwire.core._paths import expand_user

if TYPE_CHECKING:
    from sqlalchemy.engine import URL


_SQLITE = ("sqlite", "sqlite+pysqlite")
_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")
_FORMS = "Write sqlite:///FILE, postgresql://USER@HOST/DATABASE, or archive:FOLDER to read what was archived."
_ARCHIVE = "archive:"


@dataclass(frozen=True)
class DatabaseLocation:
    """A database.

    Args:
        url: how SQLAlchemy opens it.
        shown: the same for people, without any password.
        file: SQLite's file; None where there is none.
        is_default: True where nobody named it, so that its folder is ours to make.
        archive: the folder of which `file` is made, to be read alone; None: it is a ledger.
    """

    url: URL
    shown: str
    file: Path | None = None
    is_default: bool = False
    archive: Path | None = None

    @property
    def is_sqlite(self) -> bool:
        """True for SQLite, False for PostgreSQL."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_durable(self) -> bool:
        """False for SQLite in memory."""
        return not self.is_sqlite or self.file is not None


def check_form(url: str) -> None:
    """Refuses a URL that names no database of ours; a cheap look at its beginning, for which SQLAlchemy is not loaded.

    Raises:
        ConfigError: it is none. The message does not repeat it, since it may hold a password.
    """
    if url.startswith(_ARCHIVE):
        return
    driver, found, _ = url.partition("://")
    if not found:
        is_file = url.endswith((".db", ".sqlite", ".sqlite3")) and "@" not in url
        raise ConfigError("The database's URL can't be read.", do=f"Write sqlite:///{url}" if is_file else _FORMS)
    if driver not in (*_SQLITE, *_POSTGRES):
        raise ConfigError(f"groundwire can't keep its memory in {driver!r}.", do=_FORMS)


def locate(url: str | None) -> DatabaseLocation:
    """Reads a URL.

    Args:
        url: any SQLAlchemy URL of SQLite or PostgreSQL; `archive:FOLDER`; None:
            `$XDG_DATA_HOME/groundwire/groundwire.db`.

    Raises:
        ConfigError: not such a URL, or nothing is archived in the folder. The message does not repeat a URL, since it
            may hold a password.
        StorageError: PostgreSQL's driver is not installed.
    """
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    if url is None:
        return _file(user_data_path("groundwire") / "groundwire.db", is_default=True)
    if url.startswith(_ARCHIVE):
        return _archived(Path.cwd() / expand_user(Path(url.removeprefix(_ARCHIVE))))
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        raise ConfigError("The database's URL can't be read.", do=_FORMS) from error
    if parsed.drivername in _POSTGRES:
        return _server(parsed)
    if parsed.drivername not in _SQLITE:
        raise ConfigError(f"groundwire can't keep its memory in {parsed.drivername!r}.", do=_FORMS)
    if parsed.database in (None, "", ":memory:"):
        return DatabaseLocation(parsed, "sqlite://")
    if parsed.database.startswith("file:") or parsed.query:
        raise ConfigError("A SQLite URL with options, or of the file: kind, is not supported.", do=_FORMS)
    return _file(Path(parsed.database))


def _archived(folder: Path) -> DatabaseLocation:
    from groundwire.memory._archive_files import cache_file  # here, since most ledgers are no archives

    folder = folder.resolve()
    manifests = archived_in(folder)
    if not manifests:
        raise ConfigError(
            f"Nothing is archived in {folder}.", do="Name the folder that  groundwire archive RUN --to FOLDER  wrote."
        )
    file = cache_file(folder, manifests)
    return DatabaseLocation(located_at(file).url, archive_name(folder), file, archive=folder)


def archive_name(folder: Path) -> str:
    """How the ledger in an archive is called."""
    return f"{_ARCHIVE}{folder.resolve()}"


def archived_in(folder: Path) -> list[Path]:
    """What says which run lies there, a file a run, for all that a folder holds."""
    return sorted(path for path in folder.glob("*/archive.json") if not path.parent.name.startswith("."))


def located_at(file: Path) -> DatabaseLocation:
    """The database of a SQLite file."""
    return _file(file)


def _file(path: Path, *, is_default: bool = False) -> DatabaseLocation:
    from sqlalchemy.engine import URL

    path = Path.cwd() / expand_user(path)
    url = URL.create("sqlite", database=str(path))
    return DatabaseLocation(url, url.render_as_string(), path, is_default)


def _server(parsed: URL) -> DatabaseLocation:
    from sqlalchemy.engine import URL

    if find_spec("psycopg") is None:
        raise StorageError(
            "PostgreSQL's driver, psycopg, is not installed.", do="Install it: pip install 'groundwire[postgres]'"
        )
    url = parsed.set(drivername="postgresql+psycopg")
    shown = URL.create(
        "postgresql",
        username=url.username,
        host=url.host,
        port=url.port,
        database=url.database,
        query={name: value for name, value in url.query.items() if "pass" not in name.lower()},
    )
    return DatabaseLocation(url, shown.render_as_string())


def prepare(place: DatabaseLocation) -> None:
    """Makes SQLite's file where there is none: 0600, and the default one's folder 0700.

    Raises:
        StorageError: the folder is missing or the file can't be made.
    """
    if place.file is None:
        return
    if place.archive is not None:
        from groundwire.memory._archive_files import restored

        restored(place)
        return
    try:
        if place.is_default:
            _make_folder(place.file.parent)
        os.close(os.open(place.file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        if place.file.is_dir():
            raise StorageError(
                f"Can't open {place.shown}: it is a folder.", do="Name a file, for example sqlite:///lessons.db."
            ) from None
    except FileNotFoundError as error:
        raise StorageError(
            f"Can't create {place.shown}: its folder does not exist.",
            do=f"Create it (mkdir -p {place.file.parent}), or name another file.",
        ) from error
    except OSError as error:
        hint = " or set XDG_DATA_HOME to one that is" if place.is_default else " or name another file"
        raise StorageError(
            f"Can't create {place.shown}: {(error.strerror or 'unknown reason').lower()}.",
            do=f"Make the folder writable,{hint}.",
        ) from error


def _make_folder(folder: Path) -> None:
    if not folder.exists():
        _make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
