"""Harbor's task folders as tasks: `instruction.md`, `task.toml`, `environment/`, `tests/test.sh`.

The format is that of Harbor 0.26 (its `TaskConfig`, `TaskPaths` and `Verifier`); Harbor itself is not needed. What the
verifier works from is all in the task's hidden tree, so a ledger's task is judged the same where the folder is gone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError
from groundwire.core._paths import expand_user
from groundwire.core._sandboxes import MIB, Limits
from groundwire.core._tasks import HARBOR_VERIFIER, Hidden, Task
from groundwire.integrations.harbor._dockerfile import ImageRecipe, read_dockerfile
from groundwire.sandbox._task_containers import ImageSource

CONFIG = "task.toml"
INSTRUCTION = "instruction.md"
ENVIRONMENT = "environment"
TESTS = "tests"
SOLUTION = "solution"
TEST_SCRIPT = f"{TESTS}/test.sh"
DOCKERFILE = "Dockerfile"
COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
MEMORY_MB = 2048
"""Where a task names no memory."""
PROCESSES = 512
_CANARY = re.compile(r"^(<!--.*canary.*-->|#.*canary.*)$", re.IGNORECASE)
_FETCHES = re.compile(
    rb"(?m)^[^#\n]*\b(curl|wget|uvx|npx|apt(-get)?\s+(-\S+\s+)*(install|update)|apk\s+add|git\s+clone"
    rb"|(pip3?|uv|npm|yarn|cargo|go|conda)\s+(pip\s+)?(install|add|sync|get|ci|run\s+--with))\b"
)
_TEMPLATE = re.compile(r"\$\{(\w+)(?::-(.*?))?\}")
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class _Section(BaseModel):
    """Keys that are not read here are left to Harbor."""

    model_config = ConfigDict(extra="ignore", defer_build=True)


class _Package(_Section):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$")]


class _Agent(_Section):
    timeout_sec: Seconds | None = None
    user: str | int | None = None


class _World(_Section):
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


class _Verifier(_Section):
    timeout_sec: Seconds = 600.0
    env: dict[str, str] = {}
    user: str | int | None = None
    environment_mode: str | None = None
    environment: Any = None
    collect: list[Any] = []


class _Config(_Section):
    task: _Package | None = None
    agent: _Agent = _Agent()
    environment: _World = _World()
    verifier: _Verifier = _Verifier()
    steps: list[Any] | None = None

    @field_validator("steps", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any) -> Any:
        return value or None


@dataclass(frozen=True)
class HarborTask:
    """One task of Harbor's, as it lies in its folder.

    Args:
        name: its package's name, else its folder's.
        instruction: what is asked for.
        files: `task.toml`, `environment/` and `tests/`.
        solution: what lies in `solution/`; no actor, critic or verifier is given it.
    """

    name: str
    instruction: str
    files: Tree
    solution: Tree = field(default_factory=Tree)

    @classmethod
    def from_folder(cls, folder: str | Path) -> HarborTask:
        """Reads a task.

        Args:
            folder: the one that holds `task.toml`.

        Raises:
            TaskError: something is missing or malformed, a link leads out of the folder, or the Dockerfile copies from
                outside of it.
        """
        root = expand_user(folder).resolve()
        _refuse_links_out(root)
        whole = Tree.from_folder(root)
        config = _config(whole.files.get(CONFIG, b""), str(root / CONFIG))
        text = whole.files.get(INSTRUCTION)
        if text is None and not config.steps:
            raise TaskError(f"{root} has no {INSTRUCTION}.", do="Say there what the task is.")
        task = cls(
            name=config.task.name if config.task else root.name,
            instruction=_without_canaries((text or b"").decode("utf-8", "replace")),
            files=_below(whole, ENVIRONMENT, TESTS, keep=(CONFIG,)),
            solution=_below(whole, SOLUTION),
        )
        _ = task.recipe  # what is wrong with it is said now
        return task

    @classmethod
    def of(cls, task: Task) -> HarborTask:
        """The one that a task of ours was made of.

        Raises:
            TaskError: it was not made of one.
        """
        if not is_harbor_task(task) or task.hidden is None:
            raise TaskError(f"{task.id} is no task of Harbor's.", do="Read one with HarborTask.from_folder(FOLDER).")
        return cls(task.id, task.prompt, task.hidden.tree)

    @cached_property
    def config(self) -> _Config:
        """What `task.toml` says."""
        return _config(self.files.files[CONFIG], f"{CONFIG} of {self.name}")

    @cached_property
    def context(self) -> Tree:
        """The files that the image is built of."""
        return _inside(self.files, ENVIRONMENT)

    @cached_property
    def recipe(self) -> ImageRecipe | None:
        """What the Dockerfile says; None where an image is named instead."""
        text = self.context.files.get(DOCKERFILE)
        if text is None:
            return None
        try:
            return read_dockerfile(text.decode("utf-8", "replace"), self.context.files)
        except TaskError as error:
            raise TaskError(f"{self.name}: {error.what}", do=error.do) from error

    @property
    def workdir(self) -> str:
        """The folder of the project in the task's environment; empty: only the image says."""
        named = self.config.environment.workdir or (self.recipe.workdir if self.recipe else "")
        return named.rstrip("/")

    def why_not(self) -> str:
        """Why it can't be judged here, by what its files alone tell; empty if it may."""
        config, world = self.config, self.config.environment
        if config.steps:
            return "it has several steps, each with a verifier of its own; only tasks of one step are judged here"
        if config.verifier.environment_mode == "separate" or config.verifier.environment is not None:
            return "its verifier wants an environment of its own; only those that judge where the work was done are run"
        if compose := next((name for name in COMPOSE if name in self.context.files), ""):
            return f"{ENVIRONMENT}/{compose} asks for several containers"
        if config.verifier.collect:
            return "its verifier collects from running services"
        if world.os.lower() != "linux":
            return f"it is for {world.os}"
        if world.gpus or world.tpu:
            return "it needs a GPU or TPU"
        if world.healthcheck is not None:
            return "it waits for a service that has to be started first"
        if TEST_SCRIPT not in self.files.files:
            return f"it has no {TEST_SCRIPT}"
        if self.recipe is None and not world.docker_image:
            return f"it has neither {ENVIRONMENT}/{DOCKERFILE} nor an image ([environment] docker_image)"
        if lacking := [name for name, default in self._templates() if default is None]:
            return f"its verifier is given {lacking[0]} of the host's environment, as one that asks a model is"
        return ""

    def why_not_in_a_sandbox(self) -> str:
        """Why the sandbox of bubblewrap won't do, which has the system's programs and no image; empty if it will."""
        recipe = self.recipe
        if recipe is None:
            return f"the image {self.config.environment.docker_image} is its world"
        if not self.workdir:
            return "its Dockerfile names no WORKDIR"
        outside = next((path for path in recipe.files if not path.startswith(f"{self.workdir}/")), "")
        if recipe.needs or outside:
            return f"its Dockerfile needs {recipe.needs[0] if recipe.needs else outside}"
        if self.config.environment.cpus is not None and self.config.environment.cpus < 1:
            return "it asks for less than one CPU"
        return ""

    @property
    def fetches(self) -> str:
        """The line of the test script that asks for the network; empty if none does."""
        found = _FETCHES.search(self.files.files.get(TEST_SCRIPT, b""))
        return found[0].decode("utf-8", "replace").strip()[:120] if found else ""

    def image(self, *, name: str = "", network: bool = False) -> ImageSource:
        """The image that it is judged in.

        Args:
            name: one to use in its place.
            network: lets the build use the network.
        """
        world = self.config.environment
        prebuilt = name or world.docker_image or ""
        return ImageSource(
            prebuilt=prebuilt,
            context=self.context.files,
            executable=self.context.executable,
            bases=self.recipe.bases if self.recipe else (),
            timeout_s=world.build_timeout_sec,
            network=network,
        )

    def env(self) -> Mapping[str, str]:
        """The variables of its verifier: those of the environment, then its own; nothing of the host's."""
        filled = dict(self._templates())
        given = {**self.config.environment.env, **self.config.verifier.env}
        return {name: _TEMPLATE.sub(lambda m: filled.get(m[1]) or "", value) for name, value in given.items()}

    def _templates(self) -> list[tuple[str, str | None]]:
        given = {**self.config.environment.env, **self.config.verifier.env}
        return [(m[1], m[2]) for value in given.values() for m in _TEMPLATE.finditer(value)]

    def task(self) -> Task:
        """As a task of ours: the project's files are seen, the verifier is hidden and judges once, at the end."""
        place = f"\n\nThe files are those of {self.workdir}; paths below it are given from there." * bool(self.workdir)
        memory = self.config.environment.memory_mb or MEMORY_MB
        return Task(
            id=self.name,
            family=self.name.partition("/")[0] if "/" in self.name else "harbor",
            prompt=f"{self.instruction.strip()}{place}",
            tree=self.project,
            command=HARBOR_VERIFIER,
            editable=("**",),
            test_files=(),
            hidden=Hidden(HARBOR_VERIFIER, self.files),
            limits=Limits(
                wall_s=self.config.verifier.timeout_sec,
                cpu_s=self.config.verifier.timeout_sec,
                memory_bytes=memory * MIB,
                processes=PROCESSES,
                open_files=1024,
            ),
            kind="write",
        )

    @cached_property
    def project(self) -> Tree:
        """The files of the project's folder that the Dockerfile copies; what it makes by running is not seen."""
        files, modes = self.context.files, self.context.executable
        origins = self._origins()
        return Tree(
            {path: files[origin] for path, origin in origins.items()},
            frozenset(path for path, origin in origins.items() if origin in modes),
        )

    def with_project(self, tree: Tree) -> HarborTask:
        """The same, with these files in the project's folder of its image.

        Args:
            tree: the project as the actor was shown it.
        """
        shown = {f"{ENVIRONMENT}/{origin}": tree.files[path] for path, origin in self._origins().items()}
        return replace(self, files=Tree({**self.files.files, **shown}, self.files.executable))

    def _origins(self) -> Mapping[str, str]:
        """Path in the project's folder → path in the context, of what the Dockerfile copies there."""
        if self.recipe is None or not self.workdir:
            return {}
        start = f"{self.workdir}/"
        return {
            path.removeprefix(start): origin for path, origin in self.recipe.files.items() if path.startswith(start)
        }


def is_harbor_task(task: Task) -> bool:
    """True if the verifier of a Harbor task judges it."""
    return task.hidden is not None and task.hidden.command == HARBOR_VERIFIER


def is_harbor_folder(folder: Path) -> bool:
    """True if a folder holds a task in Harbor's form: not our `task.toml`, which has no instruction beside it."""
    if not (folder / CONFIG).is_file():
        return False
    return (folder / INSTRUCTION).is_file() or (folder / "steps").is_dir()


def _config(text: bytes, where: str) -> _Config:
    try:
        return _Config.model_validate(tomllib.loads(text.decode("utf-8")))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaskError(f"{where} is no TOML: {error}", do="Correct it.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise TaskError(f"{where}: {place}: {first['msg']}", do="See Harbor's page on task.toml.") from error


def _refuse_links_out(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise TaskError(
                f"{path.relative_to(root)} of the task {root.name} is a link to something outside of its folder.",
                do="Put the file itself there.",
            )


def _below(tree: Tree, *folders: str, keep: tuple[str, ...] = ()) -> Tree:
    files = {path: body for path, body in tree.files.items() if path.partition("/")[0] in folders or path in keep}
    return Tree(files, tree.executable & files.keys())


def _inside(tree: Tree, folder: str) -> Tree:
    start = f"{folder}/"
    files = {path.removeprefix(start): body for path, body in tree.files.items() if path.startswith(start)}
    return Tree(files, frozenset(path.removeprefix(start) for path in tree.executable if path.startswith(start)))


def _without_canaries(text: str) -> str:
    """Without the lines at its beginning that mark a benchmark, which Harbor shows no agent either."""
    lines = text.split("\n")
    first = next((place for place, line in enumerate(lines) if not _CANARY.match(line.strip())), len(lines))
    return "\n".join(lines[first:]).lstrip("\n")
