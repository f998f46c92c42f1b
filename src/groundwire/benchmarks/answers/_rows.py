"""Rows of published files: JSON lines, a JSON list or object, CSV, TSV, Parquet, or a file each in a folder."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from groundwire.benchmarks._base import Benchmark, read_rows
from groundwire.core._errors import ConfigError, RecordingError, TaskError
from groundwire.core._text import json_value
from groundwire.logs._rows import LogRow, checked, whole_json

R = TypeVar("R", bound=LogRow)
FIELD_CHARS = 1 << 20
"""Of one field of a CSV file."""
LISTS = ("Data", "data", "questions", "rows")
"""Under which of these a JSON object holds its rows."""


def rows_of(kind: type[R], data: Path, benchmark: Benchmark, header: Sequence[str] = ()) -> Iterator[tuple[R, str]]:
    """The rows of all files that a benchmark reads, each with its place for messages.

    Args:
        kind: the rows' class.
        data: one of the files, or a folder that holds them, at any depth where the set is published so.
        benchmark: whose they are; a name with `*` in it stands for all files of that form.
        header: names of the columns, where a CSV file has none of its own.

    Raises:
        TaskError: none is there.
        RecordingError: one is damaged, or a row lacks something.
        ConfigError: it is a Parquet file, and what reads those is not installed.
    """
    for path in _files(data, benchmark):
        yield from _read(kind, path, benchmark.name, header)


def _files(data: Path, benchmark: Benchmark) -> list[Path]:
    if data.is_file():
        return [data]
    for name in benchmark.files:
        if "*" in name:
            found = sorted(data.rglob(name))
        else:
            found = [
                path for form in (name, f"{name}.gz") for path in (*data.glob(form), *sorted(data.glob(f"*/{form}")))
            ]
            if len(found) > 1 and found[0].parent != data:
                raise TaskError(f"Several files below {data} are called {name}.", do=f"Name one:  --data {found[0]}")
            found = found[:1]
        if found:
            return found
    raise TaskError(
        f"{' or '.join(benchmark.files)}, which {benchmark.name} reads, was not found in {data}.",
        do=f"Fetch it from {benchmark.download}, and name it:  --data …",
    )


def _read(kind: type[R], path: Path, benchmark: str, header: Sequence[str]) -> Iterator[tuple[R, str]]:
    suffixes = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    if suffixes == "parquet":
        rows: Iterator[Any] = _parquet(path)
    elif suffixes in ("csv", "tsv"):
        rows = _table(path, "\t" if suffixes == "tsv" else ",", header)
    elif (held := _held(path)) is not None:
        rows = iter(held)
    else:
        yield from read_rows(kind, path, benchmark)
        return
    for number, fields in enumerate(rows, start=1):
        where = f"{path}, row {number}"
        yield checked(kind, fields, where, f"the benchmark {benchmark}"), where


def _open(path: Path) -> IO[str]:
    if path.name.endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _table(path: Path, delimiter: str, header: Sequence[str]) -> Iterator[dict[str, str]]:
    csv.field_size_limit(FIELD_CHARS)
    try:
        with _open(path) as file:
            for row in csv.DictReader(file, header or None, delimiter=delimiter):
                yield {name: value for name, value in row.items() if isinstance(name, str) and value is not None}  # pyright: ignore[reportUnnecessaryIsInstance, reportUnnecessaryComparison]  # longer and shorter rows
    except (OSError, EOFError, UnicodeDecodeError, csv.Error) as error:
        raise RecordingError(f"{path} can't be read: {error}.", do="Check that it is the published file.") from error


def _held(path: Path) -> list[object] | None:
    """The rows of a file that is one JSON object and holds a list of them, or is one row itself; None: it is no such
    file."""
    if path.suffix != ".json":
        return None
    try:
        with path.open("rb") as file:
            first = file.readline(1 << 16)
    except OSError:
        return None
    if not first.lstrip().startswith(b"{"):
        return None
    try:
        json.loads(first)
        return None  # JSON lines under another name, or one row a file: read line by line
    except ValueError:
        parsed = whole_json(path)
    fields = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    held = next((fields[name] for name in LISTS if isinstance(fields.get(name), list)), None)
    return cast("list[object]", held) if held is not None else [parsed]


def _parquet(path: Path) -> Iterator[Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError(f"{path} is a Parquet file.", do='pip install "groundwire[training]"') from error
    arrow: Any = pyarrow  # it has no types
    reader: Any = parquet
    try:
        with reader.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256):
                yield from batch.to_pylist()
    except (OSError, arrow.ArrowException) as error:
        raise RecordingError(f"{path} can't be read: {error}.", do="Check that it is the published file.") from error


def strings_in(text: str, where: str) -> list[str]:
    """A list of texts that is kept in one field, as JSON.

    Raises:
        RecordingError: it is none.
    """
    found = json_value(text, where)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in cast("list[object]", found)):
        raise RecordingError(f"{where}: this is no list of texts.", do="Check the file's form.")
    return cast("list[str]", found)
