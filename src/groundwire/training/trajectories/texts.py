"""Texts and who wrote them: a person, a program or a model."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from groundwire.core.models import ToolCall

__all__ = ["Author", "Frozen", "Message", "ModelRevision", "Span"]


class Author(StrEnum):
    """Who wrote a text."""

    HUMAN = "human"
    """A person: the task, the project's files, our prompt around them."""
    ENV = "env"
    """A program or a world: test output, scenes, tool results, rules."""
    MODEL = "model"
    """A model; also what a model may have had a part in."""


class Frozen(BaseModel):
    """What all parts of a trajectory are."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings", defer_build=True)


class ModelRevision(Frozen):
    """Which model wrote something."""

    name: str
    """As the user named it."""
    revision: str
    """`model_revision` of the run's config; else the id that the provider reported."""


class Span(Frozen):
    """A part of a message by one author. Spans follow each other without a gap, so they cover the whole message."""

    start: int
    """Of its first character."""
    end: int
    """Behind its last character."""
    author: Author
    what: str = ""
    """The tag it stands in (`task`, `evidence`, `reflection`), or `prompt`."""


class Message(Frozen):
    """One message as it was sent."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    spans: tuple[Span, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    """The id of the tool call whose result this is."""
