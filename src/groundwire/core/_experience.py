"""Experience: what actions led to in worlds of one family, how often, and how the trials that took them ended.

Memory concludes it from what environments said (`Store.experience`), and hands it to actors that ask for it
(`Needs.experience`). Places are known by a digest of what is seen there, so that no scene is kept twice.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from groundwire.core._errors import StorageError
from groundwire.core._scenes import Scene, Status
from groundwire.core._signals import canonical

MOST = 10_000
"""Rows of one circle that an actor is given: those that were seen last."""
PLACE_CHARS = 16


def place_of(scene: Scene) -> str:
    """The name of what is seen: 64 bits of a digest over its text and what can be done there, as hex."""
    shown = canonical([scene.text, list(scene.actions)])
    return hashlib.sha256(shown.encode()).hexdigest()[:PLACE_CHARS]


@dataclass(frozen=True, slots=True)
class Followed:
    """What an action once led to, at one place.

    Args:
        place: where it led (`place_of`); empty where the trial was over.
        status: how it stood there.
        choices: how many things could be done there; 0 where it was over, or the world did not say.
        times: how often it led there.
        trials: trials that did this, here, and in which it led there the last time.
        won: of these, how many were won in the end.
        why: how a trial ended here without being won, in a few words; empty where none did.
    """

    place: str
    status: Status
    choices: int
    times: int
    trials: int = 0
    won: int = 0
    why: str = ""


Known = Mapping[str, Mapping[str, tuple[Followed, ...]]]
"""Place → action → what followed. In the order of their texts, so that the same is always walked in the same way."""

Row = tuple[str, str, Followed]


@dataclass(frozen=True)
class Experience:
    """What memory knows of a world, in two circles.

    Args:
        task: of this very task: the same seed has the same world.
        family: of all tasks of its family, this one among them.
    """

    task: Known = field(default_factory=dict[str, Mapping[str, tuple[Followed, ...]]])
    family: Known = field(default_factory=dict[str, Mapping[str, tuple[Followed, ...]]])

    @property
    def is_empty(self) -> bool:
        """True where nothing is known."""
        return not self.task and not self.family

    def to_bytes(self) -> bytes:
        """As it is kept."""
        return zlib.compress(canonical([_rows(self.task), _rows(self.family)]).encode())

    @classmethod
    def from_bytes(cls, body: bytes) -> Experience:
        """Reads `to_bytes` back.

        Raises:
            StorageError: it is something else.
        """
        try:
            circles = json.loads(zlib.decompress(body))
            task, family = ([_row(*row) for row in circle] for circle in circles)
        except (zlib.error, ValueError, TypeError) as error:
            raise StorageError(
                f"What a trial was given to learn from can't be read: {error}.",
                do="The record was changed after it was written; restore the database from a copy.",
            ) from error
        return cls(known(task), known(family))


NO_EXPERIENCE = Experience()


def known(rows: Iterable[Row]) -> Known:
    """Rows of (place, action, what followed), each different, as a circle."""
    ordered = sorted(rows, key=lambda row: (row[0], row[1], row[2].place, row[2].status))
    found: dict[str, dict[str, tuple[Followed, ...]]] = {}
    for place, action, followed in ordered:
        there = found.setdefault(place, {})
        there[action] = (*there.get(action, ()), followed)
    return found


def _rows(circle: Known) -> list[list[object]]:
    return [
        [place, action, f.place, f.status.value, f.choices, f.times, f.trials, f.won, f.why]
        for place, actions in circle.items()
        for action, all_followed in actions.items()
        for f in all_followed
    ]


def _row(
    place: str, action: str, to: str, status: str, choices: int, times: int, trials: int, won: int, why: str
) -> Row:
    return place, action, Followed(to, Status(status), choices, times, trials, won, why)
