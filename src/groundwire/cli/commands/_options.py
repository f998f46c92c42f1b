"""Groups of flags that several commands have, and how Typer is told of them.

    @spelt_out
    def run(tasks: Tasks, limits: EpisodeLimits, sandbox: TaskSandbox, json: JsonLines = False) -> None: ...

A group is a dataclass whose fields are flags (`Annotated[TYPE, typer.Option(…)] = DEFAULT`) or groups. A field is
declared once: its name is the flag's, its text the help's. Typer reads a command's signature; `spelt_out` gives it one
that has the fields of each group in the group's place, and hands the command the groups. A command that says a thing in
other words subclasses the group and declares that field anew; its place stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from groundwire.cli._checks import settled

T = TypeVar("T")


def spelt_out(command: Callable[..., T]) -> Callable[..., T]:
    """The command as Typer reads it: with the flags of its groups in the place of the groups.

    Raises:
        ValueError: two of its groups have a flag of one name.
    """
    kinds = get_type_hints(command, include_extras=True)
    own = signature(command).parameters
    flags = [flag for name in own for flag in _flags(name, kinds[name], own[name].default)]

    @wraps(command)
    def told(**given: Any) -> T:
        return command(**{name: _given(name, kinds[name], given) for name in own})

    told.__dict__["__signature__"] = Signature(flags)
    told.__annotations__ = {flag.name: flag.annotation for flag in flags}
    return told


def _flags(name: str, kind: Any, default: object) -> Iterator[Parameter]:
    if is_dataclass(kind):
        kinds = get_type_hints(kind, include_extras=True)
        for field in fields(kind):
            yield from _flags(
                field.name, kinds[field.name], Parameter.empty if field.default is MISSING else field.default
            )
    else:
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _given(name: str, kind: Any, given: dict[str, Any]) -> Any:
    if not is_dataclass(kind):
        return given[name]
    kinds = get_type_hints(kind)
    made: Any = kind
    return made(**{field.name: _given(field.name, kinds[field.name], given) for field in fields(kind)})


class OfSettings:
    """A group whose flags are settings, each by its name (`groundwire.core.Settings`)."""


def flags_in(*groups: object) -> dict[str, Any]:
    """The settings among the flags of groups, and of the groups in these, for `Settings.resolve`."""
    found: dict[str, Any] = {}
    for group in groups:
        if is_dataclass(group):
            values = {field.name: getattr(group, field.name) for field in fields(group)}
            found |= flags_in(*values.values())
            if isinstance(group, OfSettings):
                found |= {name: value for name, value in values.items() if not is_dataclass(value)}
    return found


def checked_flags(*groups: OfSettings) -> dict[str, Any]:
    """As `flags_in`; what their texts alone can tell of them is right (`groundwire.cli._checks.settled`).

    Raises:
        ConfigError: something is wrong.
    """
    flags = flags_in(*groups)
    settled(flags)
    return flags


# Flags that are in no group, since they mean the same beside any of them.

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
JsonLines = Annotated[bool, typer.Option("--json", help="Print a JSON object a line instead of text.")]
View = Annotated[
    bool, typer.Option("--view", help="Print an address where a browser shows the run as it goes.  [extra: view]")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
RunId = Annotated[str, typer.Argument(help="The run's id, or any unique beginning of it.")]
SandboxKind = Annotated[
    str | None,
    typer.Option(
        help="bubblewrap, landlock, docker or subprocess (no isolation).  [default: the strongest without a daemon]"
    ),
]
Reuse = Annotated[str | None, typer.Option(help="What to reuse from the ledger: never, calls or all.")]

WonIf = Annotated[
    str | None,
    typer.Option(
        help="When an Env of Gymnasium is won, at its end: reward>=1 (of the last action), return>=475 (of the"
        " episode), info.NAME (true there) or terminated."
    ),
]


def with_rule(world: str, won_if: str | None) -> str:
    """A world's name with the rule for winning in it, as it is kept and resumed by."""
    return world if won_if is None else f"{world}{'&' if '?' in world else '?'}won_if={won_if}"


# The groups.


@dataclass(frozen=True, kw_only=True)
class Ledger(OfSettings):
    """Where ledger and memory are."""

    db: Annotated[
        str | None, typer.Option(help="Database URL of ledger and memory.  [default: SQLite in the user's data folder]")
    ] = None


@dataclass(frozen=True, kw_only=True)
class EpisodeLimits(OfSettings):
    """What one episode may use."""

    max_seconds: Annotated[float | None, typer.Option(min=0, help="Wall seconds of each episode.")] = None
    max_tokens: Annotated[int | None, typer.Option(min=0, help="Prompt and completion tokens of each episode.")] = None
    max_calls: Annotated[int | None, typer.Option(min=0, help="Model calls of each episode.")] = None
    max_usd: Annotated[
        float | None, typer.Option(min=0, help="US dollars of each episode; an unknown price is refused.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class RunTotals(OfSettings):
    """What all episodes of a run may use together."""

    total_usd: Annotated[float | None, typer.Option(min=0, help="US dollars of all episodes of a run together.")] = None
    total_tokens: Annotated[int | None, typer.Option(min=0, help="Tokens of all episodes of a run together.")] = None
    total_calls: Annotated[int | None, typer.Option(min=0, help="Model calls of all episodes of a run together.")] = (
        None
    )
    total_seconds: Annotated[
        float | None, typer.Option(min=0, help="Wall seconds of the whole run, since it was begun or gone on with.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class ModelCalls(OfSettings):
    """What a request to a model may cost, in money and in time."""

    usd_per_token: Annotated[float | None, typer.Option(min=0, help="Price of a model whose price is not known.")] = (
        None
    )
    model_seconds: Annotated[
        float | None, typer.Option(min=0.1, help="Seconds that one request to a model may take.  [default: 120]")
    ] = None


@dataclass(frozen=True, kw_only=True)
class TaskSandbox(OfSettings):
    """Where the code of tasks runs."""

    python: Annotated[Path | None, typer.Option(help="Interpreter that runs the tasks.  [default: the task's own]")] = (
        None
    )
    sandbox: SandboxKind = None
    require_two_boxes: Annotated[
        bool | None,
        typer.Option(
            "--require-two-boxes",
            help="Count only what was judged with tests and candidate in separate sandboxes; refuse to begin where"
            " the tests or the sandbox don't allow that.",
        ),
    ] = None
    image: Annotated[str | None, typer.Option(help="Docker image.  [default: python:3.12-slim]")] = None


Unverified = Annotated[
    bool,
    typer.Option("--unverified", help="Continue even if the records are not as they were written, and say so."),
]
