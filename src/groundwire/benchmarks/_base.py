"""What a benchmark is, and how its files are found."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar, cast

from groundwire.core._errors import TaskError
from groundwire.core._tasks import Task
from groundwire.core._text import json_lines, json_value, lines_of
from groundwire.logs._rows import LogRow, checked

R = TypeVar("R", bound=LogRow)
MAX_CHARS = 256 * 1024 * 1024


@dataclass(frozen=True)
class Item:
    """One task of a benchmark.

    Args:
        task: visible tests steer, hidden ones judge once, at the end.
        split: the part of the benchmark that it belongs to.
        image: the Docker image that was published for it; empty: none was.
    """

    task: Task
    split: str = "test"
    image: str = ""


class Benchmark(Protocol):
    """A public set of tasks. Hidden tests are in `task.hidden` and in nothing else of a task."""

    @property
    def name(self) -> str:
        """As on the command line."""
        ...

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are read, under the names that they are published by."""
        ...

    @property
    def download(self) -> str:
        """Where they are published; for people, never fetched."""
        ...

    @property
    def repairs(self) -> bool:
        """True if something stands there already that the tests are to fail on first; False: it is to be written."""
        ...

    def items(self, data: Path) -> Iterator[Item]:
        """The tasks, in the files' order.

        Args:
            data: one of the files, or a folder that holds them, at most one level down.

        Raises:
            TaskError: a file is not there, or holds something else.
            RecordingError: it is damaged, or a row lacks something; with the number of the line.
        """
        ...


def find_file(data: Path, names: tuple[str, ...], benchmark: Benchmark) -> Path:
    """The first of `names` that is there, plain or gzipped: the path itself, in the folder, or one folder down.

    Args:
        data: what the user named.
        names: the names a file may have.
        benchmark: whose it is, for the message.

    Raises:
        TaskError: none is there.
    """
    if data.is_file():
        folder, wanted = data.parent, {name for name in names if data.name in (name, f"{name}.gz")}
        if wanted:
            return data
    else:
        folder = data
    for name in names:
        for pattern in (name, f"{name}.gz", f"*/{name}", f"*/{name}.gz"):
            found = next(iter(sorted(folder.glob(pattern))), None)
            if found is not None and (pattern.startswith(name) or data.is_dir()):
                return found
    if data.is_file() and len(benchmark.files) == 1:
        return data  # renamed; its rows say if it is the right one
    raise TaskError(
        f"{' or '.join(names)}, which {benchmark.name} reads, was not found in {data}.",
        do=f"Fetch it from {benchmark.download}, and name its folder:  groundwire bench {benchmark.name} --data …",
    )


def read_rows(kind: type[R], path: Path, benchmark: str) -> Iterator[tuple[R, str]]:
    """The rows of a file of JSON lines, or of one JSON list, each with its place for messages.

    Args:
        kind: the rows' class.
        path: plain or gzipped.
        benchmark: its name, for messages.

    Raises:
        RecordingError: it is damaged, or a row lacks something.
    """
    of = f"the benchmark {benchmark}"
    if not _is_list(path):
        for number, fields in json_lines(path):
            yield checked(kind, fields, f"{path}:{number}", of), f"{path}:{number}"
        return
    text = "\n".join(line for _, line in lines_of(path))
    if len(text) > MAX_CHARS:
        raise TaskError(f"{path} is larger than {MAX_CHARS >> 20} MiB.", do="Give it as JSON lines.")
    for number, fields in enumerate(cast("list[object]", json_value(text, str(path))), start=1):
        yield checked(kind, fields, f"{path}, row {number}", of), f"{path}, row {number}"


def _is_list(path: Path) -> bool:
    opened = gzip.open if path.name.endswith(".gz") else open
    try:
        with opened(path, "rb") as file:
            return file.read(64).lstrip().startswith(b"[")
    except (OSError, EOFError):
        return False  # reading it says what is wrong
