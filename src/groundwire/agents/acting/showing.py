"""Moves and scenes as labelled data for a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.text import data, head_tail, tagged
from groundwire.environments import Move, Scene

__all__ = ["hints_as_data", "moves_as_data", "scene_as_data"]

SCENE_CHARS = 3000
RESPONSE_CHARS = 800
STEPS_SHOWN = 20


def moves_as_data(moves: Sequence[Move]) -> str:
    """The last moves, each in its own element, after a line that says how many are left out."""
    left_out = len(moves) - STEPS_SHOWN
    parts = [tagged("left_out", "", steps=left_out)] if left_out > 0 else []
    shown = moves[-STEPS_SHOWN:]
    first = len(moves) - len(shown) + 1
    parts += [
        data("step", head_tail(move.scene.shown, RESPONSE_CHARS), number=number, action=move.action)
        for number, move in enumerate(shown, first)
    ]
    return "\n".join(parts)


def scene_as_data(scene: Scene, *, is_first: bool) -> str:
    """What is seen now; empty where the last step shows all of it."""
    if not is_first and len(scene.shown) <= RESPONSE_CHARS:
        return ""
    return data("scene", head_tail(scene.shown, SCENE_CHARS))


def hints_as_data(scene: Scene) -> str:
    """What can be done now; empty where nothing is said about it."""
    return data("can_do", "\n".join(" ".join(hint.split()) for hint in scene.actions)) if scene.actions else ""
