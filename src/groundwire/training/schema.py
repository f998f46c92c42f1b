"""Rows of training data: their published, versioned schemas, and what a form is.

`groundwire export --schema FORMAT` prints a row's JSON Schema; docs/training.md lists the fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from groundwire.signals import Origin
from groundwire.training.trajectories import Author, Trajectory

__all__ = [
    "VERSION",
    "ChatMessage",
    "Form",
    "Options",
    "Part",
    "Provenance",
    "Rejected",
    "Row",
    "json_schema",
]

VERSION = 1
"""Of all row schemas together; one more whenever a field is taken away or means something else."""


class _Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, ser_json_inf_nan="strings", defer_build=True
    )


class ChatMessage(_Frozen):
    """One message, as chat templates take it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


class Part(_Frozen):
    """Who wrote one part of a row."""

    part: str
    """The column, with the index of a message: `prompt[1]`, `completion`."""
    start: int = 0
    """Of its first character in that message's content."""
    end: int
    """Behind its last character."""
    origin: Author
    """human, env or model."""
    what: str = ""
    """The tag that it stood in (`task`, `evidence`, `reflection`), where there was one."""


class Provenance(_Frozen):
    """Where a row comes from, and what it rests on."""

    runs: tuple[str, ...]
    """Ids of the runs."""
    episodes: tuple[str, ...]
    """Ids of the episodes."""
    task: str
    """The task's id."""
    trials: tuple[int, ...]
    """Trials of these episodes, counted from 1."""
    candidates: tuple[str, ...] = ()
    """Digests of the candidates that the row's answers made."""
    signals: tuple[str, ...] = ()
    """Ids of the sealed signals that its rewards and labels rest on."""
    signal_origins: tuple[Origin, ...] = ()
    """Where these came from, each origin once."""
    seals: Literal["verified", "unverified"]
    """Whether the seals of these could be checked; a row whose seal is broken is never exported."""
    origin: Author
    """What vouches for the row: `human`, a person wrote what is learned; `env`, an executed check judged it; `model`,
    nothing but a model stands behind it."""
    origins: tuple[Part, ...]
    """Who wrote which part of it."""
    not_evidence: tuple[str, ...] = ()
    """Columns that hold what a model wrote. Such text shows how it went about it and proves nothing: what was observed
    is in the signals alone."""
    model: str
    """The model whose answers are learned from; empty where none wrote anything."""
    model_revision: str
    """Its revision."""
    target_model: str | None = None
    """The model that is to be trained, where that was named."""
    off_policy: bool | None = None
    """True where another model wrote what is learned than the one to be trained; null where none was named."""
    oracle: bool
    """True where a signal used the answer key."""
    hidden: bool
    """True where hidden tests decided: the task can no longer be used to evaluate what is trained on this."""
    grounded: bool
    """False where a loop of the graph needed no outside signal."""
    flaws: tuple[str, ...] = ()
    """What was wrong with the episode, where rows of such episodes were asked for all the same."""


class Row(_Frozen):
    """What all rows have. Subclasses add the columns that their trainers read."""

    schema_version: int = VERSION
    """Of the row's schema."""
    provenance: Provenance
    """Where the row comes from, and what it rests on."""


@dataclass(frozen=True)
class Rejected:
    """Something that gives no row.

    Args:
        reason: a short name, by which the report counts.
        where: which episode, trial or turn.
    """

    reason: str
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What whoever exports may choose.

    Args:
        target_model: the model that is to be trained; empty where that is not known.
        only_passed: leave out what executed checks failed, where a form has a use for both.
    """

    target_model: str = ""
    only_passed: bool = False


Make = Callable[[Iterable[Trajectory], Options], Iterator[Row | Rejected]]
"""A pure function; it may go through the trajectories more than once."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """A kind of export.

    Args:
        name: what `--format` calls it.
        row: the type of its rows.
        make: makes them.
        about: what it is for, in one line; with the paper, where there is one.
    """

    name: str
    row: type[Row]
    make: Make = field(repr=False)
    about: str


def json_schema(form: Form) -> dict[str, Any]:
    """The published JSON Schema of a form's rows."""
    schema = form.row.model_json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"groundwire.training.{form.name}.v{VERSION}",
        **schema,
        "description": form.about,
    }
