"""What Harbor's `task.toml` says, as far as judging a task here needs it."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from groundwire.core._errors import TaskError

MAIN = "main"
"""The service that the agent works in."""
TEMPLATE = re.compile(r"\$\{(\w+)(?::-(.*?))?\}")
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_NOT_IN_A_NAME = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f#]')


class _Section(BaseModel):
    """Keys that are not read here are left to Harbor."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


class _Package(_Section):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)*$")]


class _Agent(_Section):
    timeout_sec: Seconds | None = None
    user: str | int | None = None


class _Solution(_Section):
    env: dict[str, str] = {}


class WorldSection(_Section):
    """`[environment]`, and `[verifier.environment]`, which has the same keys."""

    docker_image: str | None = None
    os: str = "linux"
    build_timeout_sec: Seconds = 600.0
    cpus: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    memory_mb: Annotated[int, Field(gt=0)] | None = None
    gpus: int | None = None
    tpu: Any = None
    env: dict[str, str] = {}
    workdir: str | None = None
    healthcheck: Any = None

    @model_validator(mode="before")
    @classmethod
    def _older(cls, data: Any) -> Any:
        """`memory = "2G"`, as tasks were written before `memory_mb`."""
        size = data.get("memory") if isinstance(data, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if isinstance(size, str) and (found := re.fullmatch(r"\s*([\d.]+)\s*([KMG])B?\s*", size.upper())):
            factor = {"K": 1 / 1024, "M": 1, "G": 1024}[found[2]]
            return {"memory_mb": max(1, int(float(found[1]) * factor)), **cast("dict[str, Any]", data)}
        return data  # pyright: ignore[reportUnknownVariableType]


class ArtifactSection(_Section):
    """What of the agent's environment a separate verifier is given."""

    source: str
    destination: str | None = None
    exclude: list[str] = []
    service: str | None = None

    @field_validator("source")
    @classmethod
    def _inside(cls, value: str) -> str:
        if ".." in PurePosixPath(value).parts:
            raise ValueError("an artifact's path leads upwards")
        return value


def _whole(value: Any) -> Any:
    """An artifact that is given by its path alone."""
    return {"source": value} if isinstance(value, str) else value


Artifacts = list[Annotated[ArtifactSection, BeforeValidator(_whole)]]


class CollectSection(_Section):
    """A command that is run where the agent worked, before artifacts are taken out of there."""

    command: str
    service: str = MAIN
    timeout_sec: Seconds = 60.0
    user: str | int | None = None


class VerifierSection(_Section):
    """`[verifier]` and `[steps.verifier]`."""

    timeout_sec: Seconds = 600.0
    env: dict[str, str] = {}
    user: str | int | None = None
    environment_mode: Literal["shared", "separate"] | None = None
    environment: WorldSection | None = None
    collect: list[CollectSection] = []

    @model_validator(mode="after")
    def _one_of_both(self) -> VerifierSection:
        if self.environment_mode == "shared" and self.environment is not None:
            raise ValueError('environment_mode = "shared" and an environment of its own exclude each other')
        return self

    @property
    def is_separate(self) -> bool | None:
        """Whether it has an environment of its own; None: it does not say."""
        if self.environment_mode is not None:
            return self.environment_mode == "separate"
        return None if self.environment is None else True


class StepSection(_Section):
    """One of `[[steps]]`."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    agent: _Agent = _Agent()
    verifier: VerifierSection = VerifierSection()
    min_reward: float | dict[str, float] | None = None
    healthcheck: Any = None
    artifacts: Artifacts = []

    @field_validator("name")
    @classmethod
    def _a_folder(cls, value: str) -> str:
        if not value.strip() or value.strip(".") == "" or value[-1] in ". " or _NOT_IN_A_NAME.search(value):
            raise ValueError("a step's name has to be that of one folder")
        return value


class TaskToml(_Section):
    """The whole file."""

    task: _Package | None = None
    agent: _Agent = _Agent()
    environment: WorldSection = WorldSection()
    verifier: VerifierSection = VerifierSection()
    solution: _Solution = _Solution()
    steps: list[StepSection] = []
    artifacts: Artifacts = []
    multi_step_reward_strategy: Literal["mean", "final"] = "mean"

    @field_validator("steps", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any) -> Any:
        return value or []

    @field_validator("steps")
    @classmethod
    def _apart(cls, steps: list[StepSection]) -> list[StepSection]:
        names = [unicodedata.normalize("NFC", step.name).casefold() for step in steps]
        if len(set(names)) < len(names):
            raise ValueError("two steps have one name")
        return steps

    @field_validator("multi_step_reward_strategy", mode="before")
    @classmethod
    def _mean_by_default(cls, value: Any) -> Any:
        return value or "mean"


def read_config(text: bytes, where: str) -> TaskToml:
    """Reads `task.toml`.

    Args:
        text: its content.
        where: which file it is, for errors.

    Raises:
        TaskError: it is no TOML, or a value is not what Harbor takes.
    """
    try:
        return TaskToml.model_validate(tomllib.loads(text.decode("utf-8")))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaskError(f"{where} is no TOML: {error}", do="Correct it.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise TaskError(f"{where}: {place}: {first['msg']}", do="See Harbor's page on task.toml.") from error
