"""What is said between an actor's machine and a world behind an address. Both sides check all of it.

    GET  BASE         → About
    POST BASE/reset   Reset → Begun
    POST BASE/act     Act   → Answered
    POST BASE/close   Close → {}

Each answer is JSON with status 200; any other status means that the world broke, with `Failed` to say why.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from groundwire.core.scenes import ACTION_CHARS, HINTS, Scene, Status

__all__ = ["MOST_BYTES", "About", "Act", "Answered", "Begun", "Close", "Failed", "Reset", "SceneModel"]

MOST_BYTES = 1 << 20
"""Of one request or answer."""

SessionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Line = Annotated[str, Field(max_length=ACTION_CHARS)]


class _Message(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class About(_Message):
    """What the world is.

    Args:
        prompt: what is asked for, the form of an action included.
        actions: the most actions of one trial.
        oracle: see `groundwire.core.environments.Environment`.
    """

    prompt: str = Field("Reach the goal.", max_length=4000)
    actions: int = Field(30, ge=1, le=1000)
    oracle: bool = False


class Reset(_Message):
    """Begins a trial.

    Args:
        seed: the same seed begins the same world.
    """

    seed: int


class SceneModel(_Message):
    """A scene; see `groundwire.core.environments.Scene`."""

    text: str
    status: Annotated[Status, Field(strict=False)] = Status.RUNNING
    actions: Annotated[list[Line], Field(max_length=HINTS)] = []
    event: Line = ""

    @classmethod
    def of(cls, scene: Scene) -> SceneModel:
        """The same, to be sent."""
        return cls(text=scene.text, status=scene.status, actions=list(scene.actions), event=scene.event)

    def scene(self) -> Scene:
        """The same, as it was received."""
        return Scene(self.text, self.status, tuple(self.actions), self.event)


class Begun(_Message):
    """A trial has begun.

    Args:
        session: names it from now on.
        scene: what is seen first.
    """

    session: SessionId
    scene: SceneModel


class Act(_Message):
    """Does one thing."""

    session: SessionId
    action: Line


class Answered(_Message):
    """What it led to."""

    scene: SceneModel


class Close(_Message):
    """The trial is over, or given up; nothing more is asked of it."""

    session: SessionId


class Failed(_Message):
    """Why a request was not done."""

    error: str = ""
