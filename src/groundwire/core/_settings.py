"""Settings: flag > environment > `[tool.groundwire]` in pyproject.toml > default.

A project's own pyproject.toml may come from a stranger, so it can choose what is run and how much may be spent, and
never where records go, which interpreter runs, or how code is isolated.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from groundwire.core._errors import ConfigError
from groundwire.core._text import one_of

PREFIX = "GROUNDWIRE_"
FROM_PROJECT = frozenset(
    {"test", "hidden", "hidden_dir", "model", "width", "report", "require_two_boxes"}
    | {"max_usd", "max_tokens", "max_calls", "max_seconds", "max_trials"}
)


class Settings(BaseModel):
    """What a run is asked to do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    test: str | None = None
    """Command that judges a candidate."""
    hidden: str | None = None
    """Command that judges once, at the end."""
    hidden_dir: str | None = None
    """Folder that only the final judging may see."""
    report: str | None = None
    """JUnit XML file that the test command writes, relative to the project's root."""
    model: str | None = None
    """Model id; None: the search actor, which needs no model."""
    actor_command: str | None = None
    """Program that edits the files in the place of an actor of ours."""
    actor_env: tuple[str, ...] = ()
    """Names of variables that this program sees too; in a variable of the environment, apart by commas."""
    actor_seconds: float = 600.0
    """Wall seconds of one run of it."""
    actor_sandbox: bool | None = None
    """It runs in the sandbox, not as the user; None: unless the run has none (`sandbox = "subprocess"`), or the
    command names a file that the sandbox does not show."""
    actor_network: bool = False
    """The network can be reached from there."""
    actor_host: tuple[str, ...] = ()
    """`host:port` that can be reached from there, and nothing else can; in a variable, apart by commas."""
    actor_git: bool = False
    """The files it edits are in a repository of one commit."""
    may_contradict: bool = False
    """A model or program is told that it may say, in the place of a change, that a test contradicts the task."""
    model_tests: bool = False
    """The model writes the tests; a candidate that passes these is not verified."""
    own_tests: bool = False
    """The model writes tests beside the user's: they may ask for another try, and take no PASS back."""
    require_two_boxes: bool = False
    """What was not judged with the assertions in a box of their own is no PASS, and what can't be is not begun."""
    rejudge: int | None = None
    """Times a verdict is looked at again before anything rests on it; None: once."""
    test_strength: int = Field(default=8, ge=0, le=1000)
    """The most mutants of a verified patch by which its tests are measured; 0, `off`: none."""
    width: int | None = None
    """Candidates judged in one trial; None: the actor's own default."""
    max_usd: float | None = None
    max_tokens: int | None = None
    max_calls: int | None = None
    """Model calls."""
    max_seconds: float | None = None
    max_trials: int | None = None
    case_seconds: float | None = Field(default=None, gt=0)
    """Processor seconds that one test may take; None: what the task says, 10 by default."""
    total_usd: float | None = None
    """Of all episodes of a run together, as the other totals."""
    total_tokens: int | None = None
    total_calls: int | None = None
    total_seconds: float | None = None
    model_seconds: float | None = Field(default=None, gt=0)
    """Seconds that one request to a model may take in all; None: 120, and 900 where vLLM runs here."""
    usd_per_token: float | None = None
    """Price of a model whose price is not known, in US dollars a token."""
    db: str | None = None
    """SQLAlchemy URL of ledger and memory; None: SQLite under the user's data folder."""
    namespace: str = ""
    """Whose memory is used (a tenant's): no lesson, statistic or recorded answer of another one is ever seen."""
    embeddings: bool = False
    """Lessons are also compared by their meaning, with the small model of the extra `embeddings`."""
    sandbox: str | None = None
    """`bubblewrap`, `landlock`, `docker` or `subprocess`; None: the strongest that works without a daemon."""
    image: str = "python:3.12-slim"
    """Docker image."""
    python: Path | None = None
    """Interpreter that runs the project."""
    seed: int = 0
    reuse: Literal["never", "calls", "all"] = "never"
    """What of the ledger may stand for new work: nothing, answers of models, or verdicts as well."""

    @field_validator("actor_env", "actor_host", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value

    @field_validator("test_strength", mode="before")
    @classmethod
    def _off(cls, value: object) -> object:
        return 0 if value == "off" else value

    @classmethod
    def resolve(cls, flags: Mapping[str, Any], *, project: Path | None = None) -> Self:
        """Puts the layers together.

        Args:
            flags: from the command line; a value of None was not given.
            project: folder whose pyproject.toml is read.

        Raises:
            ConfigError: a value is wrong, or the project sets what it may not.
        """
        environment = {
            name: os.environ[PREFIX + name.upper()] for name in cls.model_fields if PREFIX + name.upper() in os.environ
        }
        limits = {name for name in os.environ if name.startswith((f"{PREFIX}MAX_", f"{PREFIX}TOTAL_"))}
        for name in sorted(limits - {PREFIX + field.upper() for field in cls.model_fields}):
            known = [PREFIX + field.upper() for field in cls.model_fields if field.startswith(("max_", "total_"))]
            raise ConfigError(f"{name} is no setting, so a limit that was meant is not kept.", do=one_of(name, known))
        given = {name: value for name, value in flags.items() if value is not None}
        try:
            return cls.model_validate({**_from_project(project), **environment, **given})
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(str(x) for x in first["loc"])
            raise ConfigError(
                f"The setting {name} is wrong: {first['msg']} (got {first['input']!r}).",
                do=f"Set --{name.replace('_', '-')} or {PREFIX}{name.upper()} to a valid value.",
            ) from error


def _from_project(project: Path | None) -> dict[str, Any]:
    path = project / "pyproject.toml" if project else None
    if path is None or not path.is_file():
        return {}
    try:
        table: object = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("groundwire", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError):
        return {}  # a broken pyproject.toml may be the very thing to repair
    if not isinstance(table, dict):
        return {}
    values: dict[str, Any] = {str(k).replace("-", "_"): v for k, v in table.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    refused = sorted(values.keys() - FROM_PROJECT)
    if refused:
        raise ConfigError(
            f"{path} sets {', '.join(refused)} in [tool.groundwire], which a project may not set.",
            do="Give it as a flag or an environment variable; a project's file may come from a stranger.",
        )
    if str(values.get("model", "")).startswith("local:"):
        raise ConfigError(
            f"{path} names a model file, which a project may not: llama.cpp would read it outside the sandbox.",
            do="Give it with --model or GROUNDWIRE_MODEL, if you trust the file.",
        )
    return values
