"""The state of an episode: ids and digests only. Bodies live in the ledger, so checkpoints stay small."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict


class Route(StrEnum):
    """Where the last node leads; decided by the runtime, never by a model."""

    NEXT = "next"
    REFINE = "refine"
    ADVANCE = "advance"
    CONFIRM = "confirm"
    REFER = "refer"
    HAND_IN = "hand_in"
    """The loop has ended, and what stands (`graphs.run.answer`) goes to the tool that has the last word."""
    STOP = "stop"


class EpisodeState(BaseModel):
    """Subclass it to add typed fields of your own."""

    model_config = ConfigDict(extra="forbid")

    episode_id: str
    trial: int = 0
    """0 is the baseline; the first proposal is trial 1."""
    step: int = 0
    """Actor steps in this trial."""
    candidate: str = ""
    """Digest of the current candidate."""
    signal: str = ""
    """Id of the last signal about it."""
    admission: str = ""
    """Id of the admission that opened the way to the next actor; spent by it."""
    reflection: str = ""
    """Id of the reflection on that signal."""
    escalation: int = 0
    route: Route = Route.NEXT
    stop_reason: str = ""
    detail: str = ""


def as_kept(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a state as LangGraph is given them: texts for enumerations, so that a checkpoint needs no class of ours
    to be read back."""
    return {name: value.value if isinstance(value, Enum) else value for name, value in fields.items()}
