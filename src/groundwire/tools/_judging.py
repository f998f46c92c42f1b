"""Judges one candidate with one runner, in one sandbox run."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Protocol

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import GroundwireError
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox, SandboxInfo
from groundwire.core._signals import (
    CaseOutcome,
    CaseResult,
    Evidence,
    Isolation,
    NoVerdict,
    Observation,
    Origin,
    Verdict,
)
from groundwire.core._tasks import Task
from groundwire.tools._baselines import Baseline, Baselines, Pace
from groundwire.tools._endings import cut_stream, harmless, shorten
from groundwire.tools._reports import unique
from groundwire.tools._running import NotRunnable, Reading, Runner, Start
from groundwire.tools._verdicts import Decision, Situation

MESSAGES_CHARS = 64 * 1024
"""Characters of all messages of one observation together; what is beyond keeps its first words."""
FEW_CHARS = 120
CASE_SHARE = 0.5
"""The part of a run's wall limit that any one case may take."""


class Execute(Protocol):
    """Runs what was prepared."""

    async def __call__(self, start: Start, candidate: Candidate, limits: Limits, key: str) -> ExecResult:
        """See `Sandbox.run`."""
        ...


@dataclass(frozen=True)
class Judgement:
    """An observation.

    Args:
        out_of_time: nothing but time speaks against the candidate.
        unfit: the tests can't be run apart from it; nothing was observed.
    """

    observation: Observation
    out_of_time: bool = False
    unfit: bool = False


class Judge:
    """Prepares, runs and reads.

    Args:
        runner: the kind of runner.
        baselines: what is known of base trees; learns from every base tree that is judged.
    """

    def __init__(self, runner: Runner, baselines: Baselines) -> None:
        self._runner = runner
        self._baselines = baselines

    @property
    def identity(self) -> str:
        """See `groundwire.core._contexts.RepeatableTool`."""
        return self._runner.identity

    def command_for(self, task: Task) -> tuple[str, ...]:
        """See `groundwire.core._contexts.RepeatableTool`."""
        start = self.start(task)
        return start.shown if isinstance(start, Start) else start.command

    def check(self, candidate: Candidate, task: Task) -> Observation | None:
        """An observation where the candidate is not to be run at all."""
        if candidate.base_digest != task.tree.digest:
            return self.nothing(NoVerdict.USAGE, "The candidate was made against another base tree than the task's.")
        return self._runner.tampering(candidate, task)

    def start(self, task: Task, *, coverage_of: Tree | None = None, together: bool = False) -> Start | Observation:
        """How the task's candidates are run; an observation where they can't be. Arguments: see `Runner.start`."""
        try:
            return self._runner.start(task, coverage_of=coverage_of, together=together)
        except NotRunnable as error:
            return self.nothing(error.reason, error.detail)

    def baseline(self, task: Task, start: Start) -> Baseline | None:
        """What is known of the task's base tree."""
        return self._baselines.get(task.tree.digest, start.shown)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """One candidate in a sandbox run of its own, under the task's limits."""
        if found := self.check(candidate, task):
            return found
        tree = candidate.applied_to(task.tree) if context.want_coverage else None
        start = self.start(task, coverage_of=tree)
        if isinstance(start, Observation):
            return start
        try:
            sandbox = await context.sandbox()
        except (GroundwireError, OSError) as error:
            return self.nothing(NoVerdict.SANDBOX, _words(error), start)
        execute = cold(sandbox, task.tree)
        judgement = await self.run(start, candidate, task, Pace(task.limits), execute, sandbox.info)
        if judgement.unfit:
            start = self.start(task, together=True)
            assert isinstance(start, Start), "what could be started apart can be started together"
            judgement = await self.run(start, candidate, task, Pace(task.limits), execute, sandbox.info)
        return judgement.observation

    async def run(
        self, start: Start, candidate: Candidate, task: Task, pace: Pace, execute: Execute, info: SandboxInfo
    ) -> Judgement:
        """Runs what was prepared; trouble with the sandbox becomes an observation without a verdict."""
        key = secrets.token_hex(32)
        info = info.under(pace.limits)
        start = replace(start, env={**start.env, **_clock(pace)})
        try:
            result = await execute(start, candidate, pace.limits, key)
        except (GroundwireError, OSError) as error:
            return Judgement(self.nothing(NoVerdict.SANDBOX, _words(error), start, info))
        known = self.baseline(task, start)
        situation = Situation(
            end=result,
            expected=known.cases if known else None,
            base_touches=known.touches if known and known.healthy else None,
            changed=frozenset(candidate.changes),
            trusted_file=lambda path: _is_trusted(path, candidate, task),
        )
        reading = self._runner.read(result, bytes.fromhex(key), situation)
        if candidate.is_base:
            self._learn(task, start, result, reading)
        observation = self._observe(start, result, reading, info)
        return Judgement(observation, reading.decision.out_of_time, unfit=bool(reading.unfit))

    def nothing(
        self, reason: NoVerdict, detail: str, start: Start | None = None, info: SandboxInfo | None = None
    ) -> Observation:
        """An observation without a verdict about something that did not run."""
        return Observation(
            verdict=Verdict.NONE,
            reason=reason,
            origin=self._runner.origin,
            command=start.shown if start else (),
            sandbox=info,
            evidence=Evidence(detail=harmless(detail)),
        )

    def _learn(self, task: Task, start: Start, result: ExecResult, reading: Reading) -> None:
        if not reading.selected:
            return
        ended = {c.id: c.result for c in reading.decision.cases}
        healthy = not reading.unreliable and not reading.decision.partial
        self._baselines.put(
            task.tree.digest,
            start.shown,
            Baseline(
                cases={name: ended.get(name, CaseResult.FAILED) for name in reading.selected},
                duration_s=result.duration_s,
                cases_s=sum(c.duration_s for c in reading.decision.cases),
                slowest_s=max((c.duration_s for c in reading.decision.cases if healthy or c.result.ok), default=0.0),
                healthy=healthy,
                touches=reading.touched,
            ),
        )

    def _observe(self, start: Start, result: ExecResult, reading: Reading, info: SandboxInfo) -> Observation:
        decision = reading.decision
        stdout, stdout_cut = cut_stream(result.stdout, result.stdout_cut)
        stderr, stderr_cut = cut_stream(result.stderr, result.stderr_cut)
        return Observation(
            verdict=decision.verdict,
            reason=decision.reason,
            origin=Origin.TOOL_ERROR if decision.tampering else self._runner.origin,
            command=start.shown,
            exit_code=result.exit_code,
            duration_s=result.duration_s,
            sandbox=info,
            evidence=Evidence(
                cases=_bounded(decision),
                collected=decision.collected,
                deselected=decision.deselected,
                stdout=stdout,
                stderr=stderr,
                stdout_cut=stdout_cut,
                stderr_cut=stderr_cut,
                detail=shorten(decision.detail, 600),
            ),
            partial=decision.partial,
            isolation=Isolation.PROCESS if start.apart else Isolation.IN_PROCESS,
            coverage=reading.coverage,
        )


def cold(sandbox: Sandbox, tree: Tree) -> Execute:
    """Runs each candidate in a fresh sandbox run."""

    async def execute(start: Start, candidate: Candidate, limits: Limits, key: str) -> ExecResult:
        return await sandbox.run(
            start.command,
            candidate.applied_to(tree),
            limits,
            env=start.env,
            support=start.support,
            collect=start.collect,
            stdin=f"{key}\n".encode() if start.sealed else b"",
        )

    return execute


def _clock(pace: Pace) -> dict[str, str]:
    clock = {"GROUNDWIRE_CASE_S": f"{pace.limits.wall_s * CASE_SHARE:g}"}
    return {**clock, "GROUNDWIRE_CASE_CPU_S": f"{pace.case_cpu_s:g}"} if pace.case_cpu_s else clock


def _words(error: Exception) -> str:
    if isinstance(error, GroundwireError):
        return f"The sandbox failed: {error.what} {error.do}".strip()
    return f"The sandbox failed: {error}"


def _is_trusted(path: str, candidate: Candidate, task: Task) -> bool:
    """A file outside of the project (an installed plugin), or one that the candidate may not edit."""
    if path.startswith("/"):
        return True
    return path in task.tree.files and path not in candidate.changes and not task.may_edit(path)


def _bounded(decision: Decision) -> tuple[CaseOutcome, ...]:
    """The cases with equal ids told apart, and their messages bounded all together."""
    left = MESSAGES_CHARS
    cases: list[CaseOutcome] = []
    for name, case in zip(unique(c.id for c in decision.cases), decision.cases, strict=True):
        message = case.message if len(case.message) <= left else case.message[:FEW_CHARS]
        left = max(0, left - len(message))
        cases.append(case.model_copy(update={"id": name, "message": message}))
    return tuple(cases)
