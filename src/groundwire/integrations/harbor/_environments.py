"""Where a task's own scripts are run: in containers of its images, or in bubblewrap where it needs no image."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxCrashed, SandboxUnavailable, TaskError
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox, SandboxInfo
from groundwire.integrations.harbor._artifacts import carried_over, carried_tree, tree_of
from groundwire.integrations.harbor._rewards import REWARD_JSON, REWARD_TEXT
from groundwire.integrations.harbor._task import SETUP, SOLUTION, TEST_SCRIPT, HarborTask
from groundwire.integrations.harbor._verification import PUBLISHED, STEPS, TESTS
from groundwire.sandbox._task_containers import ContainerCommand, TaskContainers
from groundwire.tools._summaries import cut_stream, how_it_ended

SANDBOXES = ("docker", "bubblewrap")
LOGS = "/logs/verifier"
LOG_FOLDERS = ("/logs", LOGS, "/logs/agent", PUBLISHED)
COPYING_S = 120.0
"""Seconds for taking artifacts out of a container, beside those of the commands that collect them."""
_REWARDS = tuple(f"{LOGS}/{name}" for name in (REWARD_JSON, REWARD_TEXT))
_RESERVED = (f"{LOGS}/", f"/{TESTS}/")
"""Where nothing of a candidate lies, also where the project's folder is the root."""
_NOTHING = ("sh", "-c", ":")
_OUT = "/box/out"
_WORK = "/box/work"
_CTRF_NAMES = ("ctrf.json", "ctrf-report.json")
_JUDGED = (
    'mkdir -p "$GROUNDWIRE_OUT/logs/verifier" "$GROUNDWIRE_OUT/logs/agent" "$GROUNDWIRE_OUT/logs/artifacts"'
    ' && cp -r "$GROUNDWIRE_SUPPORT/tests" "$GROUNDWIRE_OUT/tests" && chmod -R u+rwx "$GROUNDWIRE_OUT/tests"'
    ' && cd "$PLACE" && exec /tests/test.sh'
)
"""Nothing of a task is in it: its script is found by the path that Harbor lays it under."""


class JudgedIn(NamedTuple):
    """How the verifier's script ended, with what it left, and in what it ran."""

    end: ExecResult
    info: SandboxInfo


@dataclass(frozen=True)
class HarborEnvironments:
    """Runs the scripts of Harbor's tasks.

    Args:
        sandbox: `docker` or `bubblewrap`; None: Docker where the image can be had, else bubblewrap where the task needs
            no image.
        image: an image that is here, in the place of the task's own.
        python: the interpreter in bubblewrap; None: this one.
        network: lets images' builds and scripts use the network, as they may in Harbor.

    Raises:
        SandboxUnavailable: another sandbox is named, where a task's absolute paths can't be had.
    """

    sandbox: str | None = None
    image: str = ""
    python: Path | None = None
    network: bool = False

    def __post_init__(self) -> None:
        if self.sandbox is not None and self.sandbox not in SANDBOXES:
            raise SandboxUnavailable(
                f"A task of Harbor's has its files at fixed places, which the sandbox {self.sandbox} can't give it.",
                do="Name docker or bubblewrap, or leave --sandbox out.",
            )

    async def check(self, harbor: HarborTask) -> None:
        """Looks whether what a task is judged in can be had here; builds its images if need be.

        Raises:
            SandboxError, TaskError: it can't; says what is missing.
        """
        if self.sandbox != "bubblewrap":
            try:
                async with aclosing(await self._containers(harbor)):
                    pass
                if harbor.verification.own is not None:
                    async with aclosing(await self._containers(harbor, verifiers=True)):
                        pass
                return
            except SandboxUnavailable:
                if self.sandbox == "docker" or self._needs_image(harbor):
                    raise
        self._refuse_image(harbor)
        async with aclosing(await self._bubblewrap(harbor)):
            return

    async def judge(self, harbor: HarborTask, before: Tree, after: Tree, limits: Limits) -> JudgedIn:
        """Runs the verifier.

        Args:
            harbor: the task, or the step.
            before: the project as it was shown.
            after: the project as the candidate left it.
            limits: of the verifier.

        Raises:
            SandboxError, TaskError: it can't be run.
        """
        if self.sandbox == "bubblewrap":
            self._refuse_image(harbor)
            return await self._judge_in_bubblewrap(harbor, after, limits)
        try:
            if harbor.verification.own is not None:
                return await self._judge_apart(harbor, before, after, limits)
            return await self._judge_in_docker(harbor, before, after, limits)
        except SandboxUnavailable as error:
            if self.sandbox == "docker" or self._needs_image(harbor):
                raise
            try:
                return await self._judge_in_bubblewrap(harbor, after, limits)
            except SandboxUnavailable as second:
                raise SandboxUnavailable(f"{error.what} Nor does bubblewrap: {second.what}", do=error.do) from second

    async def begin(self, harbor: HarborTask, project: Tree | None = None) -> Tree:
        """The project as a step begins: as the steps before left it, with what it brings and what its `setup.sh` does.

        Args:
            harbor: the step.
            project: as they left it; None: as the image has it.

        Raises:
            TaskError: `setup.sh` failed, or changed something outside of the project's folder, which no step after it
                would see here.
            SandboxError: it can't be run.
        """
        if project is None:
            project = await self._of_the_image(harbor)
        brought = harbor.brought
        begun = Tree(
            {**project.files, **brought.files}, (project.executable - brought.files.keys()) | brought.executable
        )
        if SETUP not in brought.files:
            return begun
        if self.sandbox == "bubblewrap":
            self._refuse_image(harbor)
        return await self._set_up(harbor, begun)

    async def solved(self, harbor: HarborTask, project: Tree) -> Tree:
        """The project as the task's own solution leaves it: in Docker.

        Args:
            harbor: the task, or the step.
            project: as it was before.

        Raises:
            TaskError: there is no solution, or it failed.
            SandboxError: Docker or the image can't be had.
        """
        folders = [*([f"{STEPS}/{harbor.step}/{SOLUTION}"] if harbor.step else []), SOLUTION]
        folder = next((one for one in folders if any(f.startswith(f"{one}/") for f in harbor.solution.files)), SOLUTION)
        files = {path: body for path, body in harbor.solution.files.items() if path.startswith(f"{folder}/")}
        if f"{folder}/solve.sh" not in files:
            raise TaskError(
                f"{harbor.name} has no {folder}/solve.sh.", do="Write one; it shows that the task can be solved."
            )
        at = {path: f"/{SOLUTION}/{path.removeprefix(f'{folder}/')}" for path in files}
        script = f"/{SOLUTION}/solve.sh"
        laid = {at[path]: body for path, body in files.items()}
        executable = {script, *(at[path] for path in harbor.solution.executable if path in at)}
        env = {**harbor.verification.agents.world.env, **harbor.config.solution.env}
        job = ContainerCommand((script,), laid=laid, executable=frozenset(executable), env=_plain(env))
        end, tree, _ = await self._working(harbor, project, job)
        if end.exit_code != 0:
            said = cut_stream(end.stderr or end.stdout, limit=500)[0].strip()
            raise TaskError(f"{folder}/solve.sh of {harbor.name} {how_it_ended(end)}: {said}", do="Correct it.")
        return tree

    # Docker.

    async def _containers(self, harbor: HarborTask, *, verifiers: bool = False) -> TaskContainers:
        verifier = harbor.verification
        built = verifier.own if verifiers and verifier.own is not None else verifier.agents
        source = built.image(network=self.network)
        if self.image and not (verifiers and verifier.has_tests):
            source = replace(source, prebuilt=self.image)
        return await TaskContainers.open(source)

    async def _judge_in_docker(self, harbor: HarborTask, before: Tree, after: Tree, limits: Limits) -> JudgedIn:
        async with aclosing(await self._containers(harbor)) as containers:
            root = harbor.workdir or containers.workdir.rstrip("/")
            project = project_laid(harbor, before, after, root)
            return JudgedIn(
                await containers.run(verifiers_script(harbor, project, root), limits), containers.info.under(limits)
            )

    async def _judge_apart(self, harbor: HarborTask, before: Tree, after: Tree, limits: Limits) -> JudgedIn:
        """In an environment of the verifier's own, which gets nothing but the artifacts of the agent's."""
        verifier = harbor.verification
        async with aclosing(await self._containers(harbor)) as containers:
            root = harbor.workdir or containers.workdir.rstrip("/")
            jobs = [replace(project_laid(harbor, before, after, root), command=_NOTHING, user="0", folders=LOG_FOLDERS)]
            jobs += [
                ContainerCommand(
                    ("sh", "-c", hook.command),
                    env=_plain(verifier.agents.world.env),
                    workdir=root,
                    user="" if hook.user is None else str(hook.user),
                )
                for hook in verifier.collect
            ]
            *first, last = jobs
            wall_s = COPYING_S + sum(hook.timeout_sec for hook in verifier.collect)
            taken = await containers.run(
                replace(last, archives=tuple(one.source for one in verifier.artifacts)),
                limits.model_copy(update={"wall_s": wall_s}),
                before=first,
            )
        if taken.limit_hit is not None:
            raise SandboxCrashed("What the verifier is to be given could not be collected in its time.")
        carried = carried_over(verifier.artifacts, taken.files)
        async with aclosing(await self._containers(harbor, verifiers=True)) as containers:
            root = (verifier.own or verifier.agents).workdir or containers.workdir.rstrip("/")
            given = ContainerCommand(_NOTHING, deleted=carried.emptied, unpacked=carried.archive, user="0")
            ready = ContainerCommand(("sh", "-c", f"chmod +x /{TEST_SCRIPT}"), user="0")
            end = await containers.run(
                verifiers_script(harbor, ContainerCommand(()), root),
                limits,
                before=[given, *([ready] if verifier.has_tests else [])],
            )
            return JudgedIn(end, containers.info.under(limits))

    async def _of_the_image(self, harbor: HarborTask) -> Tree:
        """The project with all that the image has in its folder: what it lacks is removed where a step is judged."""
        if self.sandbox != "bubblewrap":
            try:
                return (await self._working(harbor, None, ContainerCommand(_NOTHING)))[1]
            except SandboxUnavailable:
                if self.sandbox == "docker" or self._needs_image(harbor):
                    raise
        return harbor.project

    async def _set_up(self, harbor: HarborTask, begun: Tree) -> Tree:
        job = ContainerCommand(("sh", "-c", f'exec bash "$PWD/{SETUP}"'), env=_plain(harbor.config.environment.env))
        end, tree, changed = await self._working(harbor, begun, job)
        if end.exit_code != 0:
            said = cut_stream(end.stderr or end.stdout, limit=500)[0].strip()
            raise TaskError(f"{SETUP} of the step {harbor.step} {how_it_ended(end)}: {said}", do="Correct it.")
        if changed:
            raise TaskError(
                f"{SETUP} of the step {harbor.step} changes {changed[0]}, outside of the project's folder, which is all"
                " that goes from step to step here.",
                do="Let the Dockerfile do it.",
            )
        return tree

    async def _working(
        self, harbor: HarborTask, project: Tree | None, job: ContainerCommand
    ) -> tuple[ExecResult, Tree, tuple[str, ...]]:
        """Runs a script in the agent's environment: how it ended, the project then, and what else was changed."""
        limits = harbor.task_on(Tree()).limits.model_copy(update={"network": self.network})
        async with aclosing(await self._containers(harbor)) as containers:
            root = harbor.workdir or containers.workdir.rstrip("/")
            lay = ContainerCommand(()) if project is None else project_laid(harbor, project, project, root)
            job = replace(
                job,
                laid={**lay.laid, **job.laid},
                executable=lay.executable | job.executable,
                exact=lay.exact,
                folders=LOG_FOLDERS,
                workdir=root,
                archives=(root or "/",),
                may_change=(root, *LOG_FOLDERS, f"/{SOLUTION}", "/tmp", "/var/tmp"),
            )
            end = await containers.run(job, limits)
        name = root.rpartition("/")[2]
        archive = end.files.get(root or "/", b"")
        return end, tree_of(archive, f"/{name}") if archive else Tree(), end.changed_elsewhere

    # Bubblewrap.

    def _needs_image(self, harbor: HarborTask) -> str:
        return "it was told to" if self.image else harbor.why_not_in_a_sandbox()

    def _refuse_image(self, harbor: HarborTask) -> None:
        if why := self._needs_image(harbor):
            raise SandboxUnavailable(f"Bubblewrap can't stand in for the image: {why}.", do="Use Docker.")

    async def _bubblewrap(self, harbor: HarborTask) -> Sandbox:
        """The sandbox, with the folders at the places where the task's author had them."""
        from groundwire.sandbox._bubblewrap import Bubblewrap  # where Docker serves it is not needed

        links = {"/tests": f"{_OUT}/tests", "/logs": f"{_OUT}/logs", harbor.workdir: _WORK}
        return await Bubblewrap.open(self.python or Path(sys.executable), links=links)

    async def _judge_in_bubblewrap(self, harbor: HarborTask, after: Tree, limits: Limits) -> JudgedIn:
        verifier = harbor.verification
        if verifier.own is not None:
            after = carried_tree(verifier.artifacts, harbor.workdir, harbor.project, after)
        kept = [f"logs/verifier/{name}" for name in (REWARD_JSON, REWARD_TEXT, *_CTRF_NAMES)]
        tests = {f"{TESTS}/{path}": body for path, body in verifier.tests.files.items()}
        async with aclosing(await self._bubblewrap(harbor)) as sandbox:
            end = await sandbox.run(
                ("sh", "-c", _JUDGED),
                after,
                limits,
                env=_in_bubblewrap(harbor, verifier.env()),
                support=tests,
                collect=kept,
            )
            files = {name.removeprefix("logs/verifier/"): body for name, body in end.files.items()}
            return JudgedIn(replace(end, files=files), sandbox.info.under(limits))


def _in_bubblewrap(harbor: HarborTask, env: Mapping[str, str]) -> Mapping[str, str]:
    known = {**(harbor.recipe.env if harbor.recipe else {}), **env}
    return {**{name: value for name, value in known.items() if name != "PATH"}, "PLACE": harbor.workdir}


def project_laid(harbor: HarborTask, before: Tree, after: Tree, root: str) -> ContainerCommand:
    """The project as it is put into a container, which has it already as the image does.

    Of a step all of it is put there, since the image knows nothing of the steps before.

    Args:
        harbor: the task, or the step.
        before: the project as the image has it.
        after: as it is to be.
        root: its folder; empty: the container's root.
    """
    whole = bool(harbor.step)
    changed = {
        path: body
        for path, body in after.files.items()
        if whole or before.files.get(path) != body or (path in before.executable) != (path in after.executable)
    }
    laid = {f"{root}/{path}": body for path, body in changed.items()}
    return ContainerCommand(
        (),
        laid={path: body for path, body in laid.items() if not path.startswith(_RESERVED)},
        executable=frozenset(f"{root}/{path}" for path in after.executable),
        deleted=tuple(f"{root}/{path}" for path in before.files.keys() - after.files.keys()),
        exact=(root or "/") if whole else "",
    )


def verifiers_script(harbor: HarborTask, project: ContainerCommand, root: str) -> ContainerCommand:
    """The verifier's script, over a project.

    Args:
        harbor: the task, or the step.
        project: as it is put into the container.
        root: its folder; empty: the container's root.
    """
    verifier = harbor.verification
    tests = {} if verifier.has_tests else {f"/{TESTS}/{path}": body for path, body in verifier.tests.files.items()}
    runs = {f"/{TEST_SCRIPT}", *(f"/{TESTS}/{path}" for path in verifier.tests.executable)}
    return replace(
        project,
        command=(f"/{TEST_SCRIPT}",),
        laid={**project.laid, **tests},
        executable=project.executable | runs,
        deleted=(*project.deleted, *_REWARDS),
        folders=LOG_FOLDERS,
        collect=LOGS,
        env=verifier.env(),
        workdir=root,
        user=verifier.user,
        cpus=verifier.world.cpus or 0.0,
    )


def _plain(env: Mapping[str, str]) -> Mapping[str, str]:
    """The variables that need nothing of the host."""
    return {name: value for name, value in env.items() if "${" not in value}
