"""Judges by a Harbor task's own verifier: in a container of its image, or in bubblewrap where it needs no image."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import SandboxError, TaskError, UserError
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task
from groundwire.core._traits import ToolTraits
from groundwire.integrations.harbor._environments import HarborEnvironments, JudgedIn
from groundwire.integrations.harbor._rewards import RewardRuling, is_reward, ruling_on
from groundwire.integrations.harbor._task import TEST_SCRIPT, HarborTask, is_harbor_task
from groundwire.tools._check import observed
from groundwire.tools._summaries import cut_stream, harmless


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
        self.traits = ToolTraits(judges_hidden=not oracle, repeatable=oracle)
        self._oracle = oracle
        self._hidden = task.hidden if task else None
        self._environments = HarborEnvironments(sandbox, image, python, network)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        whole = replace(task, hidden=self._hidden or task.hidden)
        if not is_harbor_task(whole) or candidate.base_digest != task.tree.digest:
            return self._none(NoVerdict.USAGE, "The task is none of Harbor's, or the candidate was made for another.")
        network = self._environments.network
        try:
            harbor = HarborTask.of(whole).with_project(task.tree)
            if why := harbor.why_not():
                return self._none(NoVerdict.USAGE, f"The task can't be judged here: {why}.")
            limits = _within(task.limits, context, network=network)
            judged = await self._environments.judge(harbor, task.tree, candidate.applied_to(task.tree), limits)
        except SandboxError as error:
            return self._none(NoVerdict.SANDBOX, str(error))
        except UserError as error:  # what the task's own files say can't be done: a variable's name, a path
            return self._none(NoVerdict.USAGE, str(error))
        ruling = ruling_on(judged.end, fetches="" if network else harbor.fetches)
        return self._observed(ruling, judged)

    async def check(self, task: Task) -> None:
        """Looks whether the environment that it judges in can be had here; builds the image if need be.

        Raises:
            SandboxError, TaskError: it can't; says what is missing.
        """
        await self._environments.check(HarborTask.of(task))

    def _observed(self, ruling: RewardRuling, judged: JudgedIn) -> Observation:
        end = judged.end
        stdout, stdout_cut = cut_stream(end.stdout)
        stderr, stderr_cut = cut_stream(end.stderr)
        cases = ruling.cases
        if self._oracle:
            # which tests failed, and not what they say: they were not written to be shown
            cases = tuple(c if is_reward(c) else c.model_copy(update={"message": ""}) for c in cases)
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


async def oracle_candidate(
    harbor: HarborTask, *, project: Tree | None = None, image: str = "", network: bool = False
) -> Candidate:
    """What a task's own `solution/solve.sh` makes of its project, as Harbor's oracle agent runs it: in Docker.

    Only what it leaves in the project's folder is part of it.

    Args:
        harbor: the task, or one of its steps, read from its folder.
        project: as it stood before, where steps went before.
        image: as for `HarborVerifier`.
        network: as for `HarborVerifier`.

    Raises:
        TaskError: it has no solution, or that failed.
        SandboxError: Docker or the image can't be had.
    """
    before = harbor.project if project is None else project
    after = await HarborEnvironments("docker", image, None, network).solved(harbor, before)
    changes: dict[str, bytes | None] = {
        path: body
        for path, body in after.files.items()
        if before.files.get(path) != body or (path in before.executable) != (path in after.executable)
    }
    modes = {
        path: path in after.executable for path in changes if (path in before.executable) != (path in after.executable)
    }
    changes |= dict.fromkeys(before.files.keys() - after.files.keys())
    return Candidate(before.digest, changes, note="the task's own solution", modes=modes)
