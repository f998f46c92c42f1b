"""How one verifier of a task is run: with which files, in which environment, and what it is given to judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError
from groundwire.integrations.harbor._config import (
    MAIN,
    TEMPLATE,
    ArtifactSection,
    CollectSection,
    StepSection,
    TaskToml,
    WorldSection,
)
from groundwire.integrations.harbor._dockerfile import ImageRecipe, read_dockerfile
from groundwire.integrations.harbor._ignoring import without_ignored
from groundwire.sandbox._task_containers import ImageSource

ENVIRONMENT = "environment"
TESTS = "tests"
STEPS = "steps"
DOCKERFILE = "Dockerfile"
SCRIPT = "test.sh"
COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
PUBLISHED = "/logs/artifacts"
"""What an agent leaves there is always given to a separate verifier."""


@dataclass(frozen=True)
class BuiltFrom:
    """An image, and what `task.toml` says of the container that is made of it.

    Args:
        world: the section.
        context: the files that it is built of, where no image is named.
        place: the folder of the task that they lie in.
        named: an image that is there already; empty: it is built.
    """

    world: WorldSection
    context: Tree
    place: str
    named: str

    @cached_property
    def recipe(self) -> ImageRecipe | None:
        """What the Dockerfile says; None where there is none.

        Raises:
            TaskError: it can't be read, or copies what is not there.
        """
        text = self.context.files.get(DOCKERFILE)
        return None if text is None else read_dockerfile(text.decode("utf-8", "replace"), self.context.files)

    @property
    def workdir(self) -> str:
        """The folder that commands run in; empty: only the image says."""
        return (self.world.workdir or (self.recipe.workdir if self.recipe else "")).rstrip("/")

    def image(self, *, network: bool) -> ImageSource:
        """Where the image comes from.

        Args:
            network: lets the build use the network.
        """
        return ImageSource(
            prebuilt=self.named,
            context=self.context.files,
            executable=self.context.executable,
            bases=self.recipe.bases if self.recipe else (),
            timeout_s=self.world.build_timeout_sec,
            network=network,
        )

    def why_not(self) -> str:
        """Why no container can be made of it here; empty if one can."""
        if compose := next((name for name in COMPOSE if name in self.context.files), ""):
            return f"{self.place}/{compose} asks for several containers"
        if self.world.os.lower() != "linux":
            return f"it is for {self.world.os}"
        if self.world.gpus or self.world.tpu:
            return "it needs a GPU or TPU"
        if self.world.healthcheck is not None:
            return "it waits for a service that has to be started first"
        if self.recipe is None and not self.named:
            return f"it has neither {self.place}/{DOCKERFILE} nor an image ([environment] docker_image)"
        return ""


@dataclass(frozen=True)
class Verification:
    """One verifier: the task's, or that of one of its steps.

    Args:
        timeout_s: wall seconds.
        user: whom it runs as; empty: the image's own user.
        tests: what lies in `/tests`, laid there or in its image.
        agents: the environment that the agent works in.
        own: the verifier's environment, where it is not the agent's.
        has_tests: True: the image of `own` holds the tests.
        artifacts: what `own` is given of the agent's environment, in order.
        collect: what is run in the agent's environment before.
        given: its variables as they are written: those of its environment, then its own.
        wanted: the names of its own.
    """

    timeout_s: float
    user: str
    tests: Tree
    agents: BuiltFrom
    own: BuiltFrom | None
    has_tests: bool
    artifacts: tuple[ArtifactSection, ...]
    collect: tuple[CollectSection, ...]
    given: Mapping[str, str]
    wanted: frozenset[str]

    @property
    def world(self) -> WorldSection:
        """What is said of the container that it runs in."""
        return (self.own or self.agents).world

    def env(self) -> Mapping[str, str]:
        """Its variables; nothing of the host's, whose variables its environment goes without."""
        unset = {name for name, value in self.given.items() if _lacking(value)}
        return {
            name: TEMPLATE.sub(lambda found: found[2] or "", value)
            for name, value in self.given.items()
            if name not in unset
        }

    def why_not(self) -> str:
        """Why it can't be run here, by what the task's files alone tell; empty if it may be."""
        for built in (self.agents, self.own):
            if built is not None and (why := built.why_not()):
                return why
        if SCRIPT not in self.tests.files and not self.has_tests:
            return f"it has no {TESTS}/{SCRIPT}"
        for name, value in self.given.items():
            if (host := _lacking(value)) and (name in self.wanted or self._is_read(name)):
                return f"its verifier is given {host} of the host's environment, as one that asks a model is"
        other = next((one.service for one in (*self.artifacts, *self.collect) if one.service not in (None, MAIN)), None)
        if other is not None:
            return f"its verifier collects from the service {other}, which is a container of its own"
        return self._why_no_artifacts() if self.own is not None else ""

    def _why_no_artifacts(self) -> str:
        relative = next((one.source for one in self.artifacts if not one.source.strip("/") or one.source[0] != "/"), "")
        if relative:
            return f"its artifact {relative!r} is no absolute path below the root"
        place = PurePosixPath(self.agents.workdir or "/")
        reached = (PurePosixPath(one.source) for one in self.artifacts)
        if self.collect or any(one.is_relative_to(place) or place.is_relative_to(one) for one in reached):
            return ""
        named = ", ".join(one.source for one in self.artifacts)
        return f"its verifier is given {named}, and a candidate can change nothing but what lies in {place}"

    def _is_read(self, variable: str) -> bool:
        """Whether a file of the tests names a variable."""
        return any(variable.encode() in body for body in self.tests.files.values())


def verification_of(config: TaskToml, files: Tree, step: StepSection | None) -> Verification:
    """The verifier of a task, or of one of its steps, as Harbor resolves it.

    Args:
        config: `task.toml`.
        files: the task's folder.
        step: one of its steps.

    Raises:
        TaskError: its test script is among what a `.harborignore` leaves out, or one can't be read.
    """
    agents = BuiltFrom(
        config.environment, below(files, ENVIRONMENT), ENVIRONMENT, config.environment.docker_image or ""
    )
    sections = [*([step.verifier] if step else []), config.verifier]
    separate = next((one.is_separate for one in sections if one.is_separate is not None), False)
    folders = [*([f"{STEPS}/{step.name}/{TESTS}"] if step else []), TESTS]
    own, bundled = None, False
    laid = without_ignored(files)
    if separate:
        world = next((one.environment for one in sections if one.environment is not None), config.environment)
        own = BuiltFrom(world, agents.context, ENVIRONMENT, agents.named)
        for section, folder in zip(sections, folders, strict=True):
            context = below(files, folder)
            image = section.environment.docker_image if section.environment else None
            if image or DOCKERFILE in context.files or any(name in context.files for name in COMPOSE):
                own, bundled = BuiltFrom(world, context, folder, image or ""), True
                break
    tests = Tree()
    for folder in reversed(folders):
        over = below(files if bundled else laid, folder)
        tests = Tree({**tests.files, **over.files}, (tests.executable - over.files.keys()) | over.executable)
    script = next((one for folder in folders if (one := f"{folder}/{SCRIPT}") in files.files), "")
    if not bundled and script and script not in laid.files and (step or not config.steps):
        raise TaskError(f"{script} judges, and a .harborignore leaves it out.", do="Let it in there:  !/test.sh")
    env = {**config.verifier.env, **(step.verifier.env if step else {})}
    user = next((one.user for one in sections if one.user is not None), "")
    artifacts = [*config.artifacts, *(step.artifacts if step else [])]
    if not any(one.source.rstrip("/") == PUBLISHED and one.service in (None, MAIN) for one in artifacts):
        artifacts.insert(0, ArtifactSection(source=PUBLISHED))
    return Verification(
        timeout_s=sections[0].timeout_sec,
        user=str(user),
        tests=tests,
        agents=agents,
        own=own,
        has_tests=bundled,
        artifacts=tuple(artifacts),
        collect=(*config.verifier.collect, *(step.verifier.collect if step else [])),
        given={**(own or agents).world.env, **env},
        wanted=frozenset(env),
    )


def below(tree: Tree, folder: str) -> Tree:
    """What lies below a folder, by its paths from there.

    Args:
        tree: the whole.
        folder: relative.
    """
    start = f"{folder}/"
    files = {path.removeprefix(start): body for path, body in tree.files.items() if path.startswith(start)}
    return Tree(files, frozenset(path.removeprefix(start) for path in tree.executable if path.startswith(start)))


def _lacking(value: str) -> str:
    """The variable of the host that a value needs, and that has no default; empty if there is none."""
    return next((found[1] for found in TEMPLATE.finditer(value) if found[2] is None), "")
