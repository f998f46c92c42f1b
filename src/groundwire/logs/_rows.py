"""What all importers share: a row that lacks something, or holds something else, is refused with its place."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from groundwire.core._errors import RecordingError
from groundwire.core._text import first_problem, json_value, lines_of

R = TypeVar("R", bound=BaseModel)
MAX_CHARS = 64 * 1024 * 1024
"""Of a log that is one JSON value, which is read whole."""


def whole_json(file: Path) -> object:
    """A file that is one JSON value, plain or gzipped.

    Raises:
        RecordingError: it can't be read, is damaged, or is larger than 64 MiB.
    """
    lines: list[str] = []
    chars = 0
    for _, line in lines_of(file):
        lines.append(line)
        chars += len(line)
        if chars > MAX_CHARS:
            raise RecordingError(f"{file} holds more than {MAX_CHARS >> 20} MiB.", do="Check that it is such a log.")
    return json_value("\n".join(lines), str(file))


class LogRow(BaseModel):
    """A row of a log. Fields that are not named here are passed over: a log may say more than we read."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)


def checked(kind: type[R], fields: object, where: str, log: str) -> R:
    """`fields` as a row.

    Args:
        kind: the row's class.
        fields: what was read.
        where: file and line, for the message.
        log: what was expected, for the message (`an LDB log`).

    Raises:
        RecordingError: a field is missing, or is of another type.
    """
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        problem = first_problem(error)
        raise RecordingError(f"{where}: this is no row of {log}: {problem}", do="Check the file's form.") from None
