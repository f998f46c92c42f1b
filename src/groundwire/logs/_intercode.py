"""InterCode's logs (arXiv 2306.14898): in each episode commands, what they printed, and a reward a turn.

The reward is computed from the gold answer, and the agent was shown it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pydantic import Field, model_validator

from groundwire.core._errors import RecordingError
from groundwire.core._paths import at_home
from groundwire.logs._rows import Row, checked, whole_json

LOG = "an InterCode log"


class Turns(Row):
    """All turns of one episode, side by side."""

    actions: list[str] = Field(min_length=1)
    observations: list[object]
    """Text, or rows that a database gave."""
    rewards: list[float]

    @model_validator(mode="after")
    def _as_many_of_each(self) -> Turns:
        if not len(self.actions) == len(self.observations) == len(self.rewards):
            raise ValueError("actions, observations and rewards are not as many")
        return self


class InterCodeEpisode(Row):
    """One question, and what was done about it."""

    environment: str
    """`ic_bash`, `ic_python` or `ic_sql`."""
    task_id: str | int
    query: str
    turns: Turns = Field(validation_alias="turn_history")


def read_intercode(path: str | Path) -> Iterator[InterCodeEpisode]:
    """The episodes of a log, plain or gzipped.

    Raises:
        RecordingError: the file can't be read, is damaged or larger than 64 MiB, or an episode lacks what it needs.
    """
    file = at_home(path)
    value = whole_json(file)
    if not isinstance(value, Mapping):
        raise RecordingError(f"{file}: this is no {LOG.removeprefix('an ')}: no JSON object.", do="Check the file.")
    for name, fields in cast("Mapping[str, object]", value).items():
        yield checked(InterCodeEpisode, fields, f"{file}, episode {name!r:.40}", LOG)
