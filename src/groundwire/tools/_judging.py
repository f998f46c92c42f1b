"""Judges one candidate with one runner, in one sandbox run, or in two boxes at once."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._errors import GroundwireError
from groundwire.core._sandboxes import ExecResult, Limits, PairingSandbox, Sandbox, SandboxInfo
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
from groundwire.tools._baselines import Baseline, Baselines, JudgingMode, Pace, outcome_of
from groundwire.tools._boxes import shares_files
from groundwire.tools._controls import Confirming, Run
from groundwire.tools._executing import Execute, cold
from groundwire.tools._preload import place_of
from groundwire.tools._reports import unique
from groundwire.tools._running import CONFIRMED, Judgement, Launch, NotRunnable, Reading, Runner, Separation
from groundwire.tools._shadowing import shadowed_names
from groundwire.tools._summaries import cut_stream, harmless, shorten
from groundwire.tools._verdicts import Decision, Situation

MESSAGES_CHARS = 64 * 1024
"""Characters of all messages of one observation together; what is beyond keeps its first words."""
FEW_CHARS = 120
PASSES_KNOWN = 64
CROSSING_FACTOR = 3.0
"""Wall time, by the task's limit, of a second look at what only ran out of time with the assertions apart."""
CASE_SHARE = 0.5
"""The part of a run's wall limit that any one case may take."""
BASELINE_SHARE = 0.25
"""The part of the time that an episode has left which its base tree's run may take; but for the shortest budgets."""
LEAST_BASELINE_S = 5.0


class Judge:
    """Prepares, runs and reads.

    Args:
        runner: the kind of runner.
        baselines: what is known of base trees; learns from every base tree that is judged.
        separation: how far the assertions are to be kept from the candidate.
    """

    def __init__(self, runner: Runner, baselines: Baselines, separation: Separation = CONFIRMED) -> None:
        self._runner = runner
        self._baselines = baselines
        self._wanted = separation
        self._fits: dict[tuple[str, tuple[str, ...], str, Isolation], bool] = {}
        """Whether the base tree does as well so far apart as in one process: by tree, command, sandbox and distance."""
        self._confirming = Confirming()
        self._passed: OrderedDict[tuple[str, str, tuple[str, ...]], Observation] = OrderedDict()
        """The newest PASS of the last candidates, each with its base tree and command."""

    @property
    def identity(self) -> str:
        """See `groundwire.core._contexts.RepeatableTool`. How far apart is part of it: a verdict is worth that much."""
        wanted = self._wanted
        when = "required" if wanted.required else "at once" if wanted.at_once else "for a pass"
        return f"{self._runner.identity}, {wanted.at_most} {when}"

    @property
    def in_batches(self) -> bool:
        """True if many candidates may be judged in one process each, in a fork server, until one passes."""
        return not self._wanted.at_once

    def command_for(self, task: Task) -> tuple[str, ...]:
        """See `groundwire.core._contexts.RepeatableTool`."""
        start = self.start(task)
        return start.shown if isinstance(start, Launch) else start.command

    def check(self, candidate: Candidate, task: Task) -> Observation | None:
        """An observation where the candidate is not to be run at all."""
        if candidate.base_digest != task.tree.digest:
            return self.nothing(NoVerdict.USAGE, "The candidate was made against another base tree than the task's.")
        return self._runner.tampering(candidate, task)

    def start(
        self,
        task: Task,
        *,
        coverage_of: Tree | None = None,
        isolation: Isolation = Isolation.IN_PROCESS,
        first: Sequence[str] = (),
    ) -> Launch | Observation:
        """How the task's candidates are run; an observation where they can't be. Arguments: see `Runner.start`."""
        try:
            return self._runner.start(task, coverage_of=coverage_of, isolation=isolation, first=first)
        except NotRunnable as error:
            return self.nothing(error.reason, error.detail)

    def way(self, task: Task, start: Launch) -> tuple[JudgingMode, str] | None:
        """See `Baselines.way`."""
        return self._baselines.way(task.tree.digest, start.shown)

    def put_way(self, task: Task, start: Launch, way: JudgingMode, why: str) -> None:
        """See `Baselines.put_way`."""
        self._baselines.put_way(task.tree.digest, start.shown, way, why)

    def baseline(self, task: Task, start: Launch) -> Baseline | None:
        """What is known of the task's base tree."""
        return self._baselines.get(task.tree.digest, start.shown)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """One candidate in sandbox runs of its own, under the task's limits.

        In one process first, and a PASS once more in two boxes; or at once as far apart as runner and tests allow.
        What has passed before is looked at where it was confirmed, and there alone. Where that is the last look, by
        controls too; they are all that is run where no further look is asked for.
        """
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
        if self._wanted.at_once and tree is None:
            separation = await self._separated(
                self._furthest(task, sandbox), candidate, task, sandbox, controls=context.confirming
            )
            if separation is not None:
                return separation
        before = self._passed.get((candidate.digest, task.tree.digest, start.shown))
        if tree is None and (context.again or (context.confirming and before)):
            return await self.confirm(
                None if context.again else before, candidate, task, sandbox, controls=context.confirming
            )
        pace = Pace(_within(task.limits, candidate, context))
        known = self.baseline(task, start) if candidate.is_base else None
        if known and known.timed and not known.healthy:
            pace = replace(known.pace(pace.limits), stops=False)  # what hangs was given its time before
        seen = (await self.run(start, candidate, task, pace, cold(sandbox, task), sandbox.info)).observation
        if seen.reason is NoVerdict.LIMIT_HIT and pace.limits.wall_s < task.limits.wall_s:
            said = f"{seen.evidence.detail} That is a quarter of the time that there was: raise --max-seconds."
            return seen.model_copy(update={"evidence": seen.evidence.model_copy(update={"detail": said})})
        return await self.confirm(seen, candidate, task, sandbox, controls=context.confirming)

    async def confirm(
        self, seen: Observation | None, candidate: Candidate, task: Task, sandbox: Sandbox, *, controls: bool = False
    ) -> Observation:
        """What is to be said of a candidate that was judged in one process: a PASS is looked at again in two boxes.

        Args:
            seen: what was seen of it; None: it has passed before, and is to be looked at again.
            candidate: the candidate.
            task: the task.
            sandbox: where it is looked at again.
            controls: whether its cases are turned round too, where the runner can do that.
        """
        if seen is not None and seen.verdict is not Verdict.PASS:
            return seen
        known = self._passed.get((candidate.digest, task.tree.digest, self.command_for(task)))
        fits = known is None or known.isolation is not Isolation.IN_PROCESS  # else that was tried before
        if fits and self._furthest(task, sandbox) is Isolation.TWO_BOXES:
            separation = await self._separated(
                Isolation.TWO_BOXES, candidate, task, sandbox, in_time=True, controls=controls, seen=seen
            )
            if separation is not None:
                return self._remembered(separation, candidate, task)
        if self._wanted.required:
            why = self.why_not_two_boxes(task) or "the sandbox, or the base tree's own run, does not allow it"
            return self.nothing(NoVerdict.UNFIT, f"It can't be judged in two boxes, which is required: {why}.")
        if shadowed := shadowed_names(candidate, task):
            return self.nothing(
                NoVerdict.SHADOWS,
                f"shadows_{shadowed[0]}: it passed in one process, with a file of its own in the place of the module "
                f"{shadowed[0]}, which others import there.",
            )
        start = self.start(task)
        assert isinstance(start, Launch), "what passed could be started"
        look = self._looking(task, sandbox, task.limits)
        if controls:
            seen = await self._controlled(start, candidate, task, look, seen)
        elif seen is None:
            seen = (await look(start, candidate)).observation
        return self._remembered(seen, candidate, task)

    def _looking(self, task: Task, sandbox: Sandbox, limits: Limits) -> Run:
        """What runs one candidate in a sandbox run of its own, or in two at once."""

        async def look(start: Launch, at: Candidate) -> Judgement:
            return await self.run(start, at, task, Pace(limits), cold(sandbox, task), sandbox.info)

        return look

    def _remembered(self, seen: Observation, candidate: Candidate, task: Task) -> Observation:
        if seen.verdict is Verdict.PASS:
            evidence = seen.evidence.model_copy(update={"again": 0})
            known = seen.model_copy(update={"evidence": evidence})
            self._passed[candidate.digest, task.tree.digest, seen.command] = known
            while len(self._passed) > PASSES_KNOWN:
                self._passed.popitem(last=False)
        return seen

    async def _controlled(
        self, start: Launch, candidate: Candidate, task: Task, run: Run, seen: Observation | None
    ) -> Observation:
        """A PASS with what controls make of it; without any where the runner has none, or the base tree is judged."""
        if candidate.is_base or not start.sealed:
            return seen or (await run(start, candidate)).observation
        known = self.baseline(task, start)
        before = known.cases if known else None
        return await self._confirming.judge(start, candidate, task, run, seen=seen, before=before)

    def why_not_two_boxes(self, task: Task) -> str:
        """Why this task's tests can't be judged in two boxes, by their text and their runner; empty if they can."""
        return self._runner.why_not(Isolation.TWO_BOXES, task)

    def _furthest(self, task: Task, sandbox: Sandbox) -> Isolation:
        """How far the assertions are kept from the candidate, by what is known before it runs."""
        wanted = self._wanted
        ways: list[Isolation] = []
        if wanted.at_most is Isolation.TWO_BOXES and isinstance(sandbox, PairingSandbox):
            ways.append(Isolation.TWO_BOXES)
        if wanted.at_once and wanted.at_most is not Isolation.IN_PROCESS and not wanted.required:
            ways.append(Isolation.PROCESS)
        return next((way for way in ways if not self._runner.why_not(way, task)), Isolation.IN_PROCESS)

    async def _separated(
        self,
        way: Isolation,
        candidate: Candidate,
        task: Task,
        sandbox: Sandbox,
        *,
        in_time: bool = False,
        controls: bool = False,
        seen: Observation | None = None,
    ) -> Observation | None:
        """One candidate with the assertions apart; None where these tests can't be judged so, whoever is judged.

        Args:
            way: how far.
            candidate: the candidate.
            task: the task.
            sandbox: where.
            in_time: it is known to end in time in one process.
            controls: whether what passes is confirmed by controls.
            seen: its PASS of before; where that was given as far apart, it is not looked at again.
        """
        if way is Isolation.IN_PROCESS:
            return None
        start = self.start(task, isolation=way)
        assert isinstance(start, Launch), "what could be started in one process can be started apart"

        look = self._looking(task, sandbox, task.limits)
        if seen is not None and seen.isolation is way:
            return await self._controlled(start, candidate, task, look, seen) if controls else seen
        found = await look(start, candidate)
        if found.out_of_time:
            # each call crosses from one process to another, which is our doing and not the candidate's
            more = task.limits.model_copy(update={"wall_s": CROSSING_FACTOR * task.limits.wall_s})
            look = self._looking(task, sandbox, more)
            found = await look(start, candidate)
            if found.out_of_time and in_time:
                detail = "It passed in one process, and from another box its tests did not end in time."
                return self.nothing(NoVerdict.UNFIT, f"{detail} Do they call it very often?", start)
        observation = found.observation
        if observation.verdict is Verdict.PASS:
            if controls:
                observation = await self._controlled(start, candidate, task, look, observation)
            return observation if seen is None else _with_output_of(seen, observation)
        if not found.unfit and not in_time:
            if way is not Isolation.TWO_BOXES or not _rests_on_more_than_values(observation, task):
                return observation
            plain = self.start(task)
            if self.baseline(task, start) is None and isinstance(plain, Launch):
                base_tree = Candidate(task.tree.digest, {})
                await self.run(plain, base_tree, task, Pace(task.limits), cold(sandbox, task), sandbox.info)
        key = task.tree.digest, start.shown, sandbox.info.kind, start.isolation
        if key not in self._fits:
            base = found if candidate.is_base else await look(start, Candidate(task.tree.digest, {}))
            self._fits[key] = not base.unfit and not self._lost(base, task, start)
        return observation if self._fits[key] else None

    def _lost(self, base: Judgement, task: Task, start: Launch) -> list[str]:
        """The cases of the base tree that pass in one process and fail in two boxes, or are not found there."""
        known = self.baseline(task, start)
        before: Mapping[str, CaseResult] = known.cases if known else {}
        ended = {case.id: case.result for case in base.cases}
        if not ended or not base.observation.partial:
            ended = dict.fromkeys(before, CaseResult.ERROR) | ended
        return [name for name, result in ended.items() if not result.ok and before.get(name) is CaseResult.PASSED]

    async def run(
        self,
        start: Launch,
        candidate: Candidate,
        task: Task,
        pace: Pace,
        execute: Execute,
        info: SandboxInfo,
        *,
        learns: bool = True,
    ) -> Judgement:
        """Runs what was prepared; trouble with the sandbox becomes an observation without a verdict.

        Args:
            start: how.
            candidate: what.
            task: the task.
            pace: within which limits.
            execute: runs it.
            info: where.
            learns: what is seen of the base tree is what it is from now on compared with.
        """
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
            place_of=lambda name: place_of(name, task),
            trusted_file=lambda path: _is_trusted(path, candidate, task),
        )
        reading = self._runner.read(result, bytes.fromhex(key), situation)
        plain = start.isolation is Isolation.IN_PROCESS or known is None
        if candidate.is_base and learns and plain and not start.controlled:
            self._learn(task, start, result, reading)
        observation = self._observe(start, result, reading, info)
        decision = reading.decision
        return Judgement(observation, decision.out_of_time, bool(reading.unfit), decision.cases, reading.controls)

    def nothing(
        self, reason: NoVerdict, detail: str, start: Launch | None = None, info: SandboxInfo | None = None
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

    def _learn(self, task: Task, start: Launch, result: ExecResult, reading: Reading) -> None:
        if not reading.selected:
            return
        decision = reading.decision
        ended = {c.id: c.result for c in decision.cases}
        timed = not reading.unreliable and not decision.partial
        healthy = timed and not decision.late
        hung_s = sum(c.duration_s for c in decision.cases if c.id in decision.late)
        self._baselines.put(
            task.tree.digest,
            start.shown,
            Baseline(
                cases={name: ended.get(name, CaseResult.FAILED) for name in reading.selected},
                duration_s=max(0.0, result.duration_s - hung_s),
                cases_s=sum(c.duration_s for c in decision.cases) - hung_s,
                slowest_s=max((c.duration_s for c in decision.cases if healthy or c.result.ok), default=0.0),
                healthy=healthy,
                timed=timed,
                touches=reading.touched,
                outcome=outcome_of(decision.cases),
                late=frozenset(decision.late),
            ),
        )

    def _observe(self, start: Launch, result: ExecResult, reading: Reading, info: SandboxInfo) -> Observation:
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
                late=decision.late,
                collected=decision.collected,
                deselected=decision.deselected,
                stdout=stdout,
                stderr=stderr,
                stdout_cut=stdout_cut,
                stderr_cut=stderr_cut,
                detail=shorten(decision.detail, 600),
                crossings=reading.crossings,
            ),
            partial=decision.partial,
            isolation=start.isolation,
            coverage=reading.coverage,
        )


def _with_output_of(seen: Observation, separation: Observation) -> Observation:
    """A confirmed PASS with what the look in one process saw beside it: all output, and the lines that ran."""
    if separation.verdict is not Verdict.PASS:
        return separation
    names = ("stdout", "stderr", "stdout_cut", "stderr_cut")
    told = {name: getattr(seen.evidence, name) for name in names}
    evidence = separation.evidence.model_copy(update={**told, "again": seen.evidence.again + 1})
    return separation.model_copy(update={"evidence": evidence, "coverage": seen.coverage})


def _rests_on_more_than_values(observation: Observation, task: Task) -> bool:
    """True for a FAIL that crossing may have had part in: objects of the candidate were asked, or files went over.

    Plain values come back as they are, so what fails by these alone has failed.
    """
    failed = observation.verdict is Verdict.FAIL and observation.origin is not Origin.TOOL_ERROR
    return failed and (observation.evidence.crossings is not None or shares_files(task))


def _within(limits: Limits, candidate: Candidate, context: ToolContext) -> Limits:
    """The limits of one judging; that of the base tree leaves most of the episode's time for what is proposed."""
    left = context.seconds_left() if candidate.is_base else None
    if left is None or left * BASELINE_SHARE >= limits.wall_s:
        return limits
    wall_s = min(limits.wall_s, max(LEAST_BASELINE_S, left * BASELINE_SHARE))
    return limits.model_copy(update={"wall_s": wall_s})


def _clock(pace: Pace) -> dict[str, str]:
    clock = {
        "GROUNDWIRE_CASE_S": f"{pace.limits.wall_s * CASE_SHARE:g}",
        "GROUNDWIRE_CASE_CPU_S": f"{pace.limits.case_s:g}",
    }
    return {**clock, "GROUNDWIRE_STOPS": "1"} if pace.stops else clock


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
