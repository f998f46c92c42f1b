"""Files of rows, JSON lines or Parquet. A file is there whole or not at all: it gets its name when it is complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from groundwire.core._errors import ConfigError, StorageError
from groundwire.training._schema import Form, Row

FORMATS = (".jsonl", ".parquet")
ROWS_AT_ONCE = 256
"""Rows of one group of a Parquet file."""


class Sink(Protocol):
    """Takes rows."""

    def write(self, row: Row, line: str) -> None:
        """One row, and the same as JSON."""
        ...


_LINE_ENDS = str.maketrans({end: f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"})
"""What JSON lets stand as it is and `str.splitlines` takes for a line's end, so that a row would be read as two."""


class _Lines:
    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, row: Row, line: str) -> None:
        said = line if line.isascii() else line.translate(_LINE_ENDS)
        self._file.write(said.encode() + b"\n")


class _Table:
    def __init__(self, file: BinaryIO, form: Form) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise ConfigError(
                "Parquet needs pyarrow.", do='pip install "groundwire[training]", or write .jsonl'
            ) from error
        from groundwire.training._arrow import schema_of

        self._arrow: Any = pa
        self._schema = schema_of(form)
        self._writer: Any = pq.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []

    def write(self, row: Row, line: str) -> None:
        self._rows.append(row.model_dump(mode="json"))
        if len(self._rows) >= ROWS_AT_ONCE:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Ends what nobody will read; else the writer would try to when the file is closed."""
        with suppress(Exception):
            self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(self._arrow.RecordBatch.from_pylist(self._rows, schema=self._schema))
            self._rows.clear()


@contextmanager
def opened(path: Path, form: Form) -> Generator[Sink]:
    """A sink whose file gets its name when the block ends well; else nothing is left, and what was there before stays.

    Args:
        path: ends in `.jsonl` or `.parquet`; the folder must be there.
        form: the form of the rows.

    Raises:
        ConfigError: another ending, no such folder, or pyarrow is not installed.
        StorageError: it can't be written.
    """
    if path.suffix not in FORMATS:
        raise ConfigError(f"{path.name} ends in neither .jsonl nor .parquet.", do="Name the file accordingly.")
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else "is in a folder that is not there"
        raise ConfigError(f"{path} {what}.", do="Name another file, or make the folder.")
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            if path.suffix == ".jsonl":
                yield _Lines(file)
            else:
                table = _Table(file, form)
                try:
                    yield table
                except BaseException:
                    table.abandon()
                    raise
                table.close()
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} can't be written: {error.strerror or error}.", do="Make room, or name a file in another folder."
    )
