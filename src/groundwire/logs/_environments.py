"""Reflexion's logs on ALFWorld and WebShop: which environments were solved by then, and the reflections so far."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

from pydantic import Field

from groundwire.core._errors import RecordingError
from groundwire.core._paths import at_home
from groundwire.logs._rows import Row, checked, whole_json

LOG = "a Reflexion log of environments"


class EnvironmentTrial(Row):
    """One environment after one trial. Actions are not in the log."""

    name: str = Field(min_length=1)
    reflections: list[str] = Field(validation_alias="memory")
    """All so far: one is added after each failed trial."""
    solved: bool = Field(validation_alias="is_success")
    """In this trial or an earlier one."""


def read_environments(path: str | Path) -> Iterator[EnvironmentTrial]:
    """The environments of one trial's file, plain or gzipped.

    Raises:
        RecordingError: the file can't be read, is damaged or larger than 64 MiB, or a row lacks what it needs; with
            its place in the list, counted from 1.
    """
    file = at_home(path)
    value = whole_json(file)
    if not isinstance(value, list):
        raise RecordingError(f"{file}: this is no row of {LOG}: it holds no JSON list.", do="Check the file.")
    for number, fields in enumerate(cast("list[object]", value), start=1):
        yield checked(EnvironmentTrial, fields, f"{file}, row {number}", LOG)
