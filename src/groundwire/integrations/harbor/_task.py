"""Harbor's task folders as tasks: `instruction.md`, `task.toml`, `environment/`, `tests/test.sh`.

The format is that of Harbor 0.26 (its `TaskConfig`, `TaskPaths` and `Verifier`); Harbor itself is not needed. What the
verifier works from is all in the task's hidden tree, so a ledger's task is judged the same where the folder is gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from groundwire.core._candidates import Tree
from groundwire.core._errors import TaskError
from groundwire.core._paths import expand_user
from groundwire.core._sandboxes import MIB, Limits
from groundwire.core._tasks import HARBOR_VERIFIER, Hidden, Task
from groundwire.integrations.harbor._config import StepSection, TaskToml, read_config
from groundwire.integrations.harbor._dockerfile import ImageRecipe
from groundwire.integrations.harbor._ignoring import links_in, without_ignored
from groundwire.integrations.harbor._verification import (
    ENVIRONMENT,
    SCRIPT,
    STEPS,
    TESTS,
    Verification,
    below,
    verification_of,
)

CONFIG = "task.toml"
INSTRUCTION = "instruction.md"
SOLUTION = "solution"
WORKDIR = "workdir"
SETUP = "setup.sh"
TEST_SCRIPT = f"{TESTS}/{SCRIPT}"
MEMORY_MB = 2048
"""Where a task names no memory."""
PROCESSES = 512
_CANARY = re.compile(r"^(<!--.*canary.*-->|#.*canary.*)$", re.IGNORECASE)
FETCHES = re.compile(
    rb"(?m)^[^#\n]*\b(curl|wget|uvx|npx|apt(-get)?\s+(-\S+\s+)*(install|update)|apk\s+add|git\s+clone"
    rb"|(pip3?|uv|npm|yarn|cargo|go|conda)\s+(pip\s+)?(install|add|sync|get|ci|run\s+--with))\b"
)


@dataclass(frozen=True)
class HarborTask:
    """One task of Harbor's, as it lies in its folder; or one step of it.

    Args:
        name: its package's name, else its folder's.
        instruction: what is asked for; of a task of several steps each has its own.
        files: `task.toml`, `environment/` and `tests/`; and of steps what they bring, without their solutions.
        solution: what lies in `solution/`, and in those of the steps; no actor, critic or verifier is given it.
        step: the step that is meant; empty: the task.
    """

    name: str
    instruction: str
    files: Tree
    solution: Tree = field(default_factory=Tree)
    step: str = ""

    @classmethod
    def from_folder(cls, folder: str | Path) -> HarborTask:
        """Reads a task.

        Args:
            folder: the one that holds `task.toml`.

        Raises:
            TaskError: something is missing or malformed, a link leads out of the folder, or a Dockerfile copies from
                outside of it.
        """
        root = expand_user(folder).resolve()
        _refuse_links_out(root)
        whole = Tree.from_folder(root)
        config = read_config(whole.files.get(CONFIG, b""), str(root / CONFIG))
        asked = [f"{STEPS}/{step.name}/{INSTRUCTION}" for step in config.steps] or [INSTRUCTION]
        if lacking := next((path for path in asked if path not in whole.files), ""):
            raise TaskError(f"{root} has no {lacking}.", do="Say there what the task is.")
        links = links_in(root, whole)
        laid = without_ignored(whole, links)
        linked_out = links.keys() - laid.files.keys()  # where a link leads is not known of a tree any more
        task = cls(
            name=config.task.name if config.task else root.name,
            instruction=_instruction(whole, INSTRUCTION),
            files=_only(whole, lambda path: _is_kept(path) and not _is_solution(path) and path not in linked_out),
            solution=_only(laid, _is_solution),
        )
        _ = task.recipe  # what is wrong with it is said now
        return task

    @classmethod
    def of(cls, task: Task) -> HarborTask:
        """The one that a task of ours was made of, or its step.

        Raises:
            TaskError: it was not made of one.
        """
        if not is_harbor_task(task) or task.hidden is None:
            raise TaskError(f"{task.id} is no task of Harbor's.", do="Read one with HarborTask.from_folder(FOLDER).")
        step = "".join(task.hidden.command[1:])
        return cls(task.id.removesuffix(f"#{step}"), task.prompt, task.hidden.tree, step=step)

    @cached_property
    def config(self) -> TaskToml:
        """What `task.toml` says."""
        return read_config(self.files.files[CONFIG], f"{CONFIG} of {self.name}")

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of its steps, in order; empty: it is one task."""
        return tuple(step.name for step in self.config.steps)

    def at(self, step: str) -> HarborTask:
        """One of its steps.

        Args:
            step: its name.

        Raises:
            TaskError: it has no such step.
        """
        if step not in self.steps:
            raise TaskError(f"{self.name} has no step {step!r}.", do=f"It has: {', '.join(self.steps) or 'none'}.")
        path = f"{STEPS}/{step}/{INSTRUCTION}"
        return replace(self, step=step, instruction=_instruction(self.files, path))

    @property
    def next_step(self) -> HarborTask | None:
        """The step after the one that is meant; None after the last."""
        if not self.step:
            return None
        place = self.steps.index(self.step) + 1
        return self.at(self.steps[place]) if place < len(self.steps) else None

    @property
    def section(self) -> StepSection | None:
        """What `task.toml` says of the step that is meant."""
        return next((step for step in self.config.steps if step.name == self.step), None)

    @cached_property
    def verification(self) -> Verification:
        """How its verifier is run.

        Raises:
            TaskError: it has several steps, and none is meant.
        """
        if self.config.steps and self.section is None:
            raise TaskError(
                f"{self.name} has {len(self.steps)} steps, each with a verifier of its own.",
                do=f"Take one:  .at({self.steps[0]!r})",
            )
        return verification_of(self.config, self.files, self.section)

    @cached_property
    def context(self) -> Tree:
        """The files that the image is built of."""
        return below(self.files, ENVIRONMENT)

    @cached_property
    def recipe(self) -> ImageRecipe | None:
        """What the Dockerfile says; None where an image is named instead."""
        try:
            return verification_of(self.config, self.files, self.section).agents.recipe
        except TaskError as error:
            raise TaskError(f"{self.name}: {error.what}", do=error.do) from error

    @property
    def workdir(self) -> str:
        """The folder of the project in the task's environment; empty: only the image says."""
        named = self.config.environment.workdir or (self.recipe.workdir if self.recipe else "")
        return named.rstrip("/")

    def why_not(self) -> str:
        """Why it can't be judged here, by what its files alone tell; empty if it may.

        Of a task of several steps the first that can't be is named.
        """
        if self.config.steps and self.section is None:
            told = ((step, self.at(step).why_not()) for step in self.steps)
            return next((f"of its step {step}: {why}" for step, why in told if why), "")
        if self.section is not None and self.section.healthcheck is not None:
            return "it waits for a service that has to be started first"
        return self.verification.why_not()

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
        if self.config.steps and self.section is None:
            return next((why for step in self.steps if (why := self.at(step).why_not_in_a_sandbox())), "")
        if SETUP in self.brought.files:
            return f"its step runs {SETUP}, which may name absolute paths"
        verifier = self.verification
        if verifier.has_tests:
            return "its verifier has an image of its own"
        if verifier.own is not None and verifier.collect:
            return "its verifier collects by a command from where the work was done"
        if (cpus := verifier.world.cpus) is not None and cpus < 1:
            return "it asks for less than one CPU"
        return ""

    @property
    def fetches(self) -> str:
        """The line of the test script that asks for the network; empty if none does."""
        if self.config.steps and self.section is None:
            return next((line for step in self.steps if (line := self.at(step).fetches)), "")
        found = FETCHES.search(self.verification.tests.files.get(SCRIPT, b""))
        return found[0].decode("utf-8", "replace").strip()[:120] if found else ""

    def task(self) -> Task:
        """As a task of ours: the project's files are seen, the verifier is hidden and judges once, at the end.

        Of a task of several steps no verifier judges the whole, and a step is judged on the project as it is given
        (`task_on`), of which files that only the image has are part: `run_steps` sees to that.
        """
        return self.task_on(self.project)

    def task_on(self, project: Tree) -> Task:
        """The same, for a project as it stands: of a step, as the steps before it left it.

        Args:
            project: the files of the project's folder.
        """
        verifier = verification_of(self.config, self.files, self.section)
        place = f"\n\nThe files are those of {self.workdir}; paths below it are given from there." * bool(self.workdir)
        return Task(
            id=f"{self.name}#{self.step}" if self.step else self.name,
            family=self.name.partition("/")[0] if "/" in self.name else "harbor",
            prompt=f"{self.instruction.strip()}{place}",
            tree=project,
            command=HARBOR_VERIFIER,
            editable=("**",),
            test_files=(),
            hidden=Hidden(
                (*HARBOR_VERIFIER, *([self.step] if self.step else [])),
                _only(self.files, self._is_hidden),
            ),
            limits=Limits(
                wall_s=verifier.timeout_s,
                cpu_s=verifier.timeout_s,
                memory_bytes=(verifier.world.memory_mb or MEMORY_MB) * MIB,
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

    @property
    def brought(self) -> Tree:
        """What its step brings into the project's folder, before anybody works on it."""
        return below(self.files, f"{STEPS}/{self.step}/{WORKDIR}") if self.step else Tree()

    def with_project(self, tree: Tree) -> HarborTask:
        """The same, with these files in the project's folder of its image.

        Args:
            tree: the project as the actor was shown it.
        """
        if self.step:
            return self  # its steps work on from one another's files, and all of them are laid
        shown = {f"{ENVIRONMENT}/{origin}": tree.files[path] for path, origin in self._origins().items()}
        return replace(self, files=Tree({**self.files.files, **shown}, self.files.executable))

    def _is_hidden(self, path: str) -> bool:
        """Whether the verifier needs a file, or a later step: none of what the step itself shows and brings."""
        parts = path.split("/")
        if parts[0] != STEPS or not self.step:
            return True
        if parts[1] == self.step:
            return parts[2:3] == [TESTS]
        return parts[1] in self.steps[self.steps.index(self.step) :]

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
    return task.hidden is not None and task.hidden.command[:1] == HARBOR_VERIFIER


def is_harbor_folder(folder: Path) -> bool:
    """True if a folder holds a task in Harbor's form: not our `task.toml`, which has no instruction beside it."""
    if not (folder / CONFIG).is_file():
        return False
    return (folder / INSTRUCTION).is_file() or (folder / "steps").is_dir()


def _refuse_links_out(root: Path) -> None:
    for path in root.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            raise TaskError(
                f"{path.relative_to(root)} of the task {root.name} is a link to something outside of its folder.",
                do="Put the file itself there.",
            )


def _only(tree: Tree, wanted: Callable[[str], bool]) -> Tree:
    files = {path: body for path, body in tree.files.items() if wanted(path)}
    return Tree(files, tree.executable & files.keys())


def _is_kept(path: str) -> bool:
    return path == CONFIG or path.partition("/")[0] in (ENVIRONMENT, TESTS, STEPS)


def _is_solution(path: str) -> bool:
    parts = path.split("/")
    return SOLUTION in (parts[0], *(parts[2:3] if parts[0] == STEPS else ()))


def _instruction(tree: Tree, path: str) -> str:
    return _without_canaries(tree.files.get(path, b"").decode("utf-8", "replace"))


def _without_canaries(text: str) -> str:
    """Without the lines at its beginning that mark a benchmark, which Harbor shows no agent either."""
    lines = text.split("\n")
    first = next((place for place, line in enumerate(lines) if not _CANARY.match(line.strip())), len(lines))
    return "\n".join(lines[first:]).lstrip("\n")
