"""Rows of training data: their published, versioned schemas, and what a form is.

`groundwire export --schema FORMAT` prints a row's JSON Schema; docs/training.md lists the fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from groundwire.core._errors import ConfigError
from groundwire.core._signals import Origin
from groundwire.training._losses import Losses
from groundwire.training._trajectories import Author, Trajectory

VERSION = 2
"""Of all row schemas together; one more whenever a field is taken away or means something else."""


class _Frozen(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, ser_json_inf_nan="strings", defer_build=True
    )


class ChatFunction(_Frozen):
    """A function that a model asked for."""

    name: str
    """Its name."""
    arguments: str
    """A JSON object, as the model wrote it."""


class ChatToolCall(_Frozen):
    """A tool call, in the form of OpenAI's chat API."""

    id: str
    """What the tool's message names."""
    type: Literal["function"] = "function"
    """Always `function`."""
    function: ChatFunction
    """What was asked for."""


class ChatMessage(_Frozen):
    """One message, as chat templates take it."""

    role: Literal["system", "user", "assistant", "tool"]
    """Who speaks."""
    content: str
    """What is said."""
    tool_calls: tuple[ChatToolCall, ...] | None = None
    """What an assistant's message asked for; left out where that is nothing."""
    tool_call_id: str | None = None
    """Whose result a tool's message is; left out elsewhere."""

    @model_serializer(mode="wrap")
    def _only_what_is_there(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # templates ask whether a message has tool calls, and some take an empty list for a yes
        return {name: value for name, value in serialize(self).items() if value is not None}


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
    turns: tuple[str, ...] = ()
    """Ids of the answers that are learned from: the model call's, and the sample's number behind `#`."""
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
    imported: tuple[str, ...] = ()
    """Published logs that episodes were read from: their verdicts are the log's word, and nothing was run here."""
    flaws: tuple[str, ...] = ()
    """What was wrong with the episode, where rows of such episodes were asked for all the same."""


class Row(_Frozen):
    """What all rows have. Subclasses add the columns that their trainers read."""

    answers: ClassVar[frozenset[str]] = frozenset({"completion", "completions", "chosen", "rejected"})
    """Columns in which an answer may stand; everywhere else it is looked for (`training.leaks`)."""
    told: ClassVar[tuple[str, ...]] = ()
    """Columns of numbers whose means the closing report gives."""

    schema_version: int = VERSION
    """Of the row's schema."""
    provenance: Provenance
    """Where the row comes from, and what it rests on."""

    def shown(self) -> Iterator[tuple[str, str]]:
        """Every text in which no answer may stand, with its column and place: `prompt[1]` for a message's content."""
        for column, value in self.model_dump(mode="json").items():
            if column not in ("provenance", *self.answers):
                yield from texts_in(value, column)


def texts_in(value: object, name: str) -> Iterator[tuple[str, str]]:
    """Every text of plain data, with its place."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[str, object]", value).items():
            yield from texts_in(item, name if key == "content" else f"{name}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from texts_in(item, f"{name}[{index}]")


@dataclass(frozen=True)
class Rejected:
    """Something that became no row, and why.

    Args:
        reason: a short name, by which the report counts.
        where: which episode, trial or turn.
    """

    reason: str
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of an export.

    Args:
        target_model: the model that is to be trained; empty where that is not known.
        keep_failed: keep what executed checks failed; None: as is usual for the form.
        losses: by `Turn.id`, the losses of answers under the model that is to be trained, where they were measured.
        agreement: share of a question's answers that must say the same, where a form keeps what agrees, 0 to 1.
        least_answers: how many answers a question must have there.
        least_group: how many answers a group of `grpo` must have: one alone has no advantage over itself.
        least_continuations: how many walks must have gone on from a step (`intervention`), or make a tree (`glad`).
        thresholds: of single formats (`Thresholds`).
    """

    target_model: str = ""
    keep_failed: bool | None = None
    losses: Mapping[str, Losses] = field(default_factory=dict[str, Losses])
    agreement: float = 0.6
    least_answers: int = 5
    least_group: int = 2
    least_continuations: int = 2
    thresholds: Thresholds = field(default_factory=lambda: Thresholds())

    def __post_init__(self) -> None:
        """Raises:
        ConfigError: a number is out of range.
        """
        for name in ("least_answers", "least_group", "least_continuations"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} {getattr(self, name)} is out of range.", do="Use a whole number from 1 up.")
        if not 0 <= self.agreement <= 1:
            raise ConfigError(f"An agreement of {self.agreement} is out of range.", do="Use a number from 0 to 1.")


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """The numbers of single formats, as published where they are; `groundwire export --set NAME=NUMBER`.

    Args:
        agent_r_alpha: a good walk is worth more than this, 0 to 1.
        agent_r_beta: a good walk is worth more than a bad one by more than this, 0 to 1.
        intervention_pass: least share of the continuations that were right, 0 to 1.
        match_tir_discount: of the rewards of later calls, 0 to 1.
        empg_k: how much a step's confidence counts (`step_entropies`).
        empg_k_next: how much the next step's counts.
        empg_zeta: the weight of the bonus for a sure next step.
        score_alpha: SCoRe's bonus for getting better (`two_attempts`).
        rise_tau: temperature of the weights of a reward-weighted regression, above 0.
        lambda_ratio: `grpo`: share of right answers of a group from which length has a price, 0 to 1 (GRPO-λ).
        lambda_alpha: the price, 0 to 1.
    """

    agent_r_alpha: float = 0.5
    agent_r_beta: float = 0.2
    intervention_pass: float = 1 / 32
    match_tir_discount: float = 0.9
    empg_k: float = 1.0
    empg_k_next: float = 1.0
    empg_zeta: float = 0.05
    score_alpha: float = 10.0
    rise_tau: float = 0.4
    lambda_ratio: float = 0.5
    lambda_alpha: float = 0.2

    def __post_init__(self) -> None:
        """Raises:
        ConfigError: a number is out of range.
        """
        free = ("empg_k", "empg_k_next", "empg_zeta", "score_alpha", "rise_tau")
        for one in fields(self):
            value: float = getattr(self, one.name)
            most = math.inf if one.name in free else 1.0
            if not 0 <= value <= most or not math.isfinite(value) or (one.name == "rise_tau" and not value):
                wanted = "a number from 0 to 1" if most == 1.0 else "a number above 0"
                raise ConfigError(f"{one.name} {value} is out of range.", do=f"Use {wanted}.")

    @classmethod
    def of(cls, told: Iterable[str]) -> Self:
        """From `NAME=NUMBER`.

        Raises:
            ConfigError: there is no such name, or it is no number, or out of range.
        """
        names = [one.name for one in fields(cls)]
        values: dict[str, float] = {}
        for text in told:
            name, _, number = text.partition("=")
            try:
                values[name.strip()] = float(number)
            except ValueError as error:
                raise ConfigError(f"{text!r} sets no number.", do="Write NAME=NUMBER.") from error
            if name.strip() not in names:
                raise ConfigError(f"There is no {name.strip()!r} to be set.", do=f"Use one of: {', '.join(names)}.")
        return cls(**values)


Make = Callable[[Iterable[Trajectory], Options], Iterator[Row | Rejected]]
"""A pure function; it may go through the trajectories more than once."""


@dataclass(frozen=True, kw_only=True)
class Form:
    """An export format.

    Args:
        name: what `--format` calls it.
        row: the type of its rows.
        make: makes them.
        about: what it is for, in one line; with the paper, where there is one.
        repeats: rows that are the same but for their provenance are all kept: how often something came is part of it.
        note: what whoever exports must be told of its rows.
    """

    name: str
    row: type[Row]
    make: Make = field(repr=False)
    about: str
    repeats: bool = False
    note: str = ""


def json_schema(form: Form) -> dict[str, Any]:
    """The published JSON Schema of a form's rows."""
    schema = form.row.model_json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"groundwire.training.{form.name}.v{VERSION}",
        **schema,
        "description": form.about,
    }
