"""What all importers share: a row that lacks something, or holds something else, is refused with its place."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from groundwire.errors import RecordingError

__all__ = ["Row", "checked"]

R = TypeVar("R", bound=BaseModel)


class Row(BaseModel):
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
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = f"{place}: {first['msg']}" if place else first["msg"]
        raise RecordingError(f"{where}: this is no row of {log}: {problem}.", do="Check the file's form.") from None
