"""Scenes: what an environment shows, and how it stands there."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

SCENE_CHARS = 6000
ACTION_CHARS = 500
HINTS = 200


class Status(StrEnum):
    """How it stands."""

    RUNNING = "running"
    WON = "won"
    """The goal is reached. `done` is not `won`."""
    LOST = "lost"
    ENDED = "ended"
    """Over, and nobody says how: no verdict, and nothing is corrected."""


@dataclass(frozen=True)
class Scene:
    """What an environment shows after an action, or first of all.

    Args:
        text: what can be seen, in words. It names the state: the same state has the same text, letter for letter.
        status: how it stands.
        actions: hints: what can be done now; empty where anything may be tried.
        event: what the action brought about, where that is no part of the state: "That was not allowed: -10."
    """

    text: str
    status: Status = Status.RUNNING
    actions: tuple[str, ...] = ()
    event: str = ""

    @property
    def shown(self) -> str:
        """What has just happened, and then what can be seen: the whole answer to an action."""
        return f"{self.event}\n{self.text}" if self.event else self.text


def tidied(scene: Scene) -> Scene:
    """A scene as it is compared, sealed and shown: printable, and not endless.

    Raises:
        TypeError: it is no scene.
    """
    given: Any = scene
    if not isinstance(given, Scene):
        raise TypeError(f"a world answers with a scene, and this one did with a {type(given).__name__}")
    listed: Any = scene.actions
    parts: list[object] = [
        scene.text,
        scene.event,
        *(scene.actions[:HINTS] if isinstance(listed, tuple | list) else [0]),
    ]
    if not all(isinstance(part, str) for part in parts):
        raise TypeError(f"a scene is made of texts, and this one is not: {reprlib.repr(scene)}")
    hints = tuple(cleaned(hint[:ACTION_CHARS]) for hint in scene.actions[:HINTS])
    return Scene(cleaned(_cut(scene.text)), Status(scene.status), hints, cleaned(scene.event[:ACTION_CHARS]))


def _cut(text: str) -> str:
    if len(text) <= SCENE_CHARS:
        return text
    half = SCENE_CHARS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters cut …\n{text[-half:]}"


def cleaned(text: str) -> str:
    """The same, with nothing in it that can't be printed; line ends and tabs are kept."""
    return "".join(c if c.isprintable() or c in "\n\t" else " " if c.isspace() else "\ufffd" for c in text)
