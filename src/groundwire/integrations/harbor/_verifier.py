"""Judges by a Harbor task's own verifier: in a container of its image, or in bubblewrap where it needs no image."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import SandboxError, SandboxUnavailable, TaskError, UserError
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox, SandboxInfo
from groundwire.core._signals import Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import HARBOR_VERIFIER, Task
from groundwire.core._traits import ToolTraits
from groundwire.integrations.harbor._rewards import REWARD_JSON, REWARD_TEXT, RewardRuling, ruling_on
from groundwire.integrations.harbor._task import SOLUTION, TEST_SCRIPT, HarborTask
from groundwire.sandbox._task_containers import ContainerCommand, TaskContainers
from groundwire.tools._check import observed
from groundwire.tools._summaries import cut_stream, harmless, how_it_ended

LOGS = "/logs/verifier"
LOG_FOLDERS = ("/logs", LOGS, "/logs/agent", "/logs/artifacts")
SANDBOXES = ("docker", "bubblewrap")
BOX_OUT = "/box/out"
BOX_WORK = "/box/work"
CTRF_NAMES = ("ctrf.json", "ctrf-report.json")
_PREPARED = (
    'mkdir -p "$GROUNDWIRE_OUT/logs/verifier" "$GROUNDWIRE_OUT/logs/agent" "$GROUNDWIRE_OUT/logs/artifacts"'
    ' && cp -r "$GROUNDWIRE_SUPPORT/tests" "$GROUNDWIRE_OUT/tests" && chmod -R u+rwx "$GROUNDWIRE_OUT/tests"'
    ' && cd "$PLACE" && exec /tests/test.sh'
)
"""Nothing of a task is in it: its script is found by the path that Harbor lays it under."""


class _Judged(NamedTuple):
    end: ExecResult
    info: SandboxInfo


class HarborVerifier:
    """Judges by the verifier of a Harbor task (`groundwire.integrations.harbor.HarborTask`).

    The candidate's changes are laid into the project's folder of a fresh environment, the task's tests into `/tests`,
    and `/tests/test.sh` is run there within the time that `task.toml` gives it. What it writes into `/logs/verifier` is
    the reward, which becomes the verdict: see `docs/integrations/harbor.md`. The code of the candidate runs beside
    the verifier, as in Harbor, so a PASS is never unforgeable.

    Args:
        oracle: it steers, in the place of visible tests, and every signal says so: the actor is told the reward and
            which tests of its report failed. Else it judges once, at the end.
        task: whose verifier it is then, since a tool that steers is not shown what is hidden.
        sandbox: `docker` or `bubblewrap`; None: Docker where the image can be had, else bubblewrap where the task needs
            no image.
        image: an image that is here, in the place of the task's own.
        python: the interpreter in bubblewrap; None: this one.
        network: lets the image's build and the verifier use the network, as they may in Harbor.

    Raises:
        SandboxUnavailable: another sandbox is named, where a task's absolute paths can't be had.
    """

    def __init__(
        self,
        *,
        oracle: bool = False,
        task: Task | None = None,
        sandbox: str | None = None,
        image: str = "",
        python: Path | None = None,
        network: bool = False,
    ) -> None:
        if sandbox is not None and sandbox not in SANDBOXES:
            raise SandboxUnavailable(
                f"A task of Harbor's has its files at fixed places, which the sandbox {sandbox} can't give it.",
                do="Name docker or bubblewrap, or leave --sandbox out.",
            )
        self.traits = ToolTraits(judges_hidden=not oracle, repeatable=oracle)
        self._oracle = oracle
        self._hidden = task.hidden if task else None
        self._sandbox = sandbox
        self._image = image
        self._python = python
        self._network = network

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        hidden = self._hidden or task.hidden
        if hidden is None or hidden.command != HARBOR_VERIFIER or candidate.base_digest != task.tree.digest:
            return self._none(NoVerdict.USAGE, "The task is none of Harbor's, or the candidate was made for another.")
        try:
            harbor = HarborTask(task.id, task.prompt, hidden.tree).with_project(task.tree)
            if why := harbor.why_not():
                return self._none(NoVerdict.USAGE, f"The task can't be judged here: {why}.")
            limits = _within(task.limits, context, network=self._network)
            judged = await self._run(harbor, candidate, task.tree, limits)
        except SandboxError as error:
            return self._none(NoVerdict.SANDBOX, str(error))
        except UserError as error:  # what the task's own files say can't be done: a variable's name, a path
            return self._none(NoVerdict.USAGE, str(error))
        ruling = ruling_on(judged.end, fetches="" if self._network else harbor.fetches)
        return self._observed(ruling, judged)

    async def check(self, task: Task) -> None:
        """Looks whether the environment that it judges in can be had here; builds the image if need be.

        Raises:
            SandboxError, TaskError: it can't; says what is missing.
        """
        harbor = HarborTask.of(task)
        if self._sandbox != "bubblewrap":
            try:
                async with aclosing(await TaskContainers.open(harbor.image(name=self._image, network=self._network))):
                    return
            except SandboxUnavailable:
                if self._sandbox == "docker" or self._image or harbor.why_not_in_a_sandbox():
                    raise
        elif why := harbor.why_not_in_a_sandbox():
            raise SandboxUnavailable(f"Bubblewrap can't stand in for the image: {why}.", do="Use Docker.")
        async with aclosing(await self._bubblewrap(harbor)):
            return

    async def _bubblewrap(self, harbor: HarborTask) -> Sandbox:
        """The sandbox, with the folders at the places where the task's author had them."""
        from groundwire.sandbox._bubblewrap import Bubblewrap  # where Docker serves it is not needed

        links = {"/tests": f"{BOX_OUT}/tests", "/logs": f"{BOX_OUT}/logs", harbor.workdir: BOX_WORK}
        return await Bubblewrap.open(self._python or Path(sys.executable), links=links)

    async def _run(self, harbor: HarborTask, candidate: Candidate, tree: Tree, limits: Limits) -> _Judged:
        needs_image = "it was told to" if self._image else harbor.why_not_in_a_sandbox()
        if self._sandbox == "bubblewrap":
            if needs_image:
                raise SandboxUnavailable(f"Bubblewrap can't stand in for the image: {needs_image}.", do="Use Docker.")
            return await self._in_bubblewrap(harbor, candidate, tree, limits)
        try:
            return await self._in_docker(harbor, candidate, tree, limits)
        except SandboxUnavailable as error:
            if self._sandbox == "docker" or needs_image:
                raise
            try:
                return await self._in_bubblewrap(harbor, candidate, tree, limits)
            except SandboxUnavailable as second:
                raise SandboxUnavailable(f"{error.what} Nor does bubblewrap: {second.what}", do=error.do) from second

    async def _in_docker(self, harbor: HarborTask, candidate: Candidate, tree: Tree, limits: Limits) -> _Judged:
        source = harbor.image(name=self._image, network=self._network)
        async with aclosing(await TaskContainers.open(source)) as containers:
            root = harbor.workdir or containers.workdir.rstrip("/")
            tests = _tests_of(harbor)
            changed = {f"{root}/{path}": body for path, body in candidate.changes.items() if body is not None}
            removed = [f"{root}/{path}" for path, body in candidate.changes.items() if body is None]
            user = harbor.config.verifier.user
            job = ContainerCommand(
                command=(f"/{TEST_SCRIPT}",),
                laid={**changed, **{f"/{path}": body for path, body in tests.items()}},
                executable=frozenset(
                    {f"/{TEST_SCRIPT}", *(f"{root}/{path}" for path in candidate.applied_to(tree).executable)}
                    | {f"/{path}" for path in harbor.files.executable}
                ),
                deleted=tuple(removed),
                folders=LOG_FOLDERS,
                collect=LOGS,
                env=harbor.env(),
                workdir=root,
                user="" if user is None else str(user),
                cpus=harbor.config.environment.cpus or 0.0,
            )
            return _Judged(await containers.run(job, limits), containers.info.under(limits))

    async def _in_bubblewrap(self, harbor: HarborTask, candidate: Candidate, tree: Tree, limits: Limits) -> _Judged:
        recipe = harbor.recipe
        env = {**(recipe.env if recipe else {}), **harbor.env()}
        async with aclosing(await self._bubblewrap(harbor)) as sandbox:
            end = await sandbox.run(
                ("sh", "-c", _PREPARED),
                candidate.applied_to(tree),
                limits,
                env={**{name: value for name, value in env.items() if name != "PATH"}, "PLACE": harbor.workdir},
                support=_tests_of(harbor),
                collect=[f"logs/verifier/{name}" for name in (REWARD_JSON, REWARD_TEXT, *CTRF_NAMES)],
            )
            files = {name.removeprefix("logs/verifier/"): body for name, body in end.files.items()}
            return _Judged(replace(end, files=files), sandbox.info.under(limits))

    def _observed(self, ruling: RewardRuling, judged: _Judged) -> Observation:
        end = judged.end
        stdout, stdout_cut = cut_stream(end.stdout)
        stderr, stderr_cut = cut_stream(end.stderr)
        cases = ruling.cases
        if self._oracle:
            # which tests failed, and not what they say: they were not written to be shown
            cases = tuple(case.model_copy(update={"message": ""}) for case in cases)
            stdout, stderr, stdout_cut, stderr_cut = "", "", len(end.stdout), len(end.stderr)
        return Observation(
            verdict=ruling.verdict,
            origin=self._origin,
            reason=ruling.reason,
            command=(f"/{TEST_SCRIPT}",),
            exit_code=end.exit_code,
            duration_s=end.duration_s,
            sandbox=judged.info,
            evidence=Evidence(
                cases=cases,
                collected=len(cases),
                stdout=stdout,
                stderr=stderr,
                stdout_cut=stdout_cut + end.stdout_cut,
                stderr_cut=stderr_cut + end.stderr_cut,
                detail=ruling.detail,
            ),
            oracle=self._oracle,
        )

    @property
    def _origin(self) -> Origin:
        return Origin.VERIFIER if self._oracle else Origin.HIDDEN_TESTS

    def _none(self, reason: NoVerdict, detail: str) -> Observation:
        evidence = Evidence(detail=harmless(detail))
        return Observation(
            verdict=Verdict.NONE, reason=reason, origin=self._origin, evidence=evidence, oracle=self._oracle
        )


class HarborChange:
    """What steers where the verifier does not: whether anything was changed; and first whether it can be judged at all.

    Before anything is proposed it looks whether the verifier's environment can be had here, so that nothing is spent on
    a task that gets no verdict, and what is missing is said in full.

    Args:
        verifier: that is to judge at the end.
        task: whose.
    """

    def __init__(self, verifier: HarborVerifier, task: Task) -> None:
        self._verifier = verifier
        self._task = task

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        if candidate.is_base:
            try:
                await self._verifier.check(self._task)
            except (SandboxError, TaskError) as error:
                detail = Evidence(detail=harmless(f"{error.what} {error.do}"))
                return Observation(
                    verdict=Verdict.NONE, reason=NoVerdict.SANDBOX, origin=Origin.VERIFIER, evidence=detail
                )
        said = "nothing is changed yet" if candidate.is_base else ""
        return observed("changed", not said, said, oracle=False, holds="something is changed")


def _within(limits: Limits, context: ToolContext, *, network: bool) -> Limits:
    """The task's limits, within what the episode has left."""
    left = context.seconds_left()
    wall_s = limits.wall_s if left is None else max(0.1, min(limits.wall_s, left))
    return limits.model_copy(update={"wall_s": wall_s, "network": network})


def _tests_of(harbor: HarborTask) -> Mapping[str, bytes]:
    return {path: body for path, body in harbor.files.files.items() if path.startswith("tests/")}


async def oracle_candidate(harbor: HarborTask, *, image: str = "", network: bool = False) -> Candidate:
    """What a task's own `solution/solve.sh` makes of its project, as Harbor's oracle agent runs it: in Docker.

    Only what it leaves in the project's folder is part of it.

    Args:
        harbor: the task, read from its folder.
        image: as for `HarborVerifier`.
        network: as for `HarborVerifier`.

    Raises:
        TaskError: it has no solution, or that failed.
        SandboxError: Docker or the image can't be had.
    """
    script = f"{SOLUTION}/solve.sh"
    if script not in harbor.solution.files:
        raise TaskError(f"{harbor.name} has no {script}.", do="Write one; it shows that the task can be solved.")
    limits = harbor.task().limits.model_copy(update={"network": network})
    async with aclosing(await TaskContainers.open(harbor.image(name=image, network=network))) as containers:
        root = harbor.workdir or containers.workdir.rstrip("/")
        laid = {f"/{path}": body for path, body in harbor.solution.files.items()}
        command = ContainerCommand(
            command=(f"/{script}",),
            laid=laid,
            executable=frozenset({f"/{script}", *(f"/{path}" for path in harbor.solution.executable)}),
            folders=LOG_FOLDERS,
            collect=root,
            env=harbor.env(),
            workdir=root,
        )
        end = await containers.run(command, limits)
    if end.exit_code != 0:
        said = cut_stream(end.stderr or end.stdout, limit=500)[0].strip()
        raise TaskError(f"{script} of {harbor.name} {how_it_ended(end)}: {said}", do="Correct it.")
    before = harbor.project
    changes: dict[str, bytes | None] = {p: body for p, body in end.files.items() if before.files.get(p) != body}
    changes |= dict.fromkeys(before.files.keys() - end.files.keys())
    return Candidate(before.digest, changes, note="the task's own solution")
