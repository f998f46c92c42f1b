"""Judges many candidates: side by side, in a fork server where there is one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext, in_their_order
from groundwire.core._errors import GroundwireError, SandboxCrashed, SandboxError
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox, WarmSandbox
from groundwire.core._signals import Observation, Verdict
from groundwire.core._tasks import Task
from groundwire.core._traits import ToolTraits
from groundwire.tools._baselines import Baseline, Baselines, JudgingMode, Outcome, Pace, outcome_of
from groundwire.tools._executing import Execute, cold, in_shared_server
from groundwire.tools._guard import why_from_scratch
from groundwire.tools._judging import Judge
from groundwire.tools._running import CONFIRMED, Judgement, Launch, Runner, Separation

# Runs things side by side, and gives each result as soon as it is there.

Item = TypeVar("Item")
Result = TypeVar("Result")


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


async def side_by_side(
    work: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    *,
    width: int,
    waits: Callable[[Result], float] = lambda _result: 0.0,
) -> AsyncGenerator[tuple[int, Result], None]:
    """Yields each item's number and `work(item)` as soon as it is there, with at most `width` of them under way.

    When the reader stops, or one fails, what is under way is cancelled and waited for.

    Args:
        work: what to do with one item.
        items: read only as fast as there is room.
        width: at least 1.
        waits: seconds for which a result waits for items before its own that are under way; nothing new is begun
            meanwhile.
    """
    waiting = enumerate(items)
    room = asyncio.Semaphore(width)
    running: dict[asyncio.Task[Result], int] = {}
    held: dict[int, tuple[Result, float]] = {}
    clock = asyncio.get_running_loop().time

    async def one(item: Item) -> Result:
        async with room:
            return await work(item)

    try:
        while True:
            was_held = bool(held)
            if not was_held:
                # twice the width, so that nobody is idle while the reader is busy
                for number, item in islice(waiting, 2 * width - len(running)):
                    running[asyncio.create_task(one(item))] = number
            first = min(running.values(), default=None)
            for number in sorted(held):
                if first is None or number < first or held[number][1] <= clock():
                    yield number, held.pop(number)[0]
            if not running:
                if was_held:
                    continue  # nothing new was begun meanwhile
                return
            left_s = min((until for _, until in held.values()), default=None)
            timeout = None if left_s is None else max(0.0, left_s - clock())
            done, _ = await asyncio.wait(running, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            for task in sorted(done, key=running.__getitem__):
                number, result = running.pop(task), task.result()
                if (seconds := waits(result)) > 0:
                    held[number] = (result, clock() + seconds)
                else:
                    yield number, result
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


# Runs many candidates in a fork server, with a fresh one in its place when it dies.


class WarmRuns:
    """A fork server on one base tree. An `Execute` of `groundwire.tools._judging`.

    Args:
        sandbox: where the server runs.
        tree: the base tree.
        start: any run on that tree; support files and preloaded modules are the same for all.
    """

    def __init__(self, sandbox: Sandbox, tree: Tree, start: Launch) -> None:
        self._sandbox = sandbox
        self._tree = tree
        self._start = start
        self._server: WarmSandbox | None = None
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Starts the server.

        Raises:
            SandboxUnavailable: this kind of sandbox has none.
            SandboxCrashed: it did not start.
        """
        start = self._start
        self._server = await self._sandbox.warm(
            self._tree, preload=start.preload, support=start.support, flags=start.flags
        )

    async def __call__(self, start: Launch, candidate: Candidate, limits: Limits, key: str) -> ExecResult:
        """One candidate; tried once more in a fresh server where the server died.

        Raises:
            SandboxCrashed: that one died too.
        """
        used = self._server
        if used is None:
            used = await self._replace(None)
        try:
            return await self._run(used, start, candidate, limits, key)
        except SandboxCrashed:
            return await self._run(await self._replace(used), start, candidate, limits, key)

    async def _run(
        self, server: WarmSandbox, start: Launch, candidate: Candidate, limits: Limits, key: str
    ) -> ExecResult:
        return await server.run(
            start.quick or start.warm or (),
            candidate.changes,
            limits,
            modes=candidate.modes,
            env={**start.env, "GROUNDWIRE_QUICK": "1"} if start.quick else start.env,
            collect=start.collect,
            stdin=f"{key}\n".encode() if start.sealed else b"",
            head_start=start.head_start,
        )

    async def _replace(self, dead: WarmSandbox | None) -> WarmSandbox:
        """A fresh server in the place of a dead one; those who waited meanwhile share it."""
        async with self._turn:
            if self._server is None or self._server is dead:
                self._server = None
                if dead is not None:
                    await _close(dead)
                await self.open()
            assert self._server is not None
            return self._server

    async def aclose(self) -> None:
        """Ends the server."""
        server, self._server = self._server, None
        if server is not None:
            await _close(server)


async def _close(server: WarmSandbox) -> None:
    # a server that is dead already can't be ended any better
    with suppress(SandboxError, OSError):
        await server.aclose()


# Judges many candidates: side by side, in a fork server where there is one.

FEW = 4
"""From this many candidates on, a fork server and limits taken from the base tree are worth it."""
MANY = 16
"""From this many on, a run of a base tree that is not known is worth it."""
CANDIDATES_PER_LOOK = 33
FEW_DIFFERING = 3
"""Cases of the base tree that may be flaky where they end otherwise in a fork server: it is run once more."""
LEAST_WAIT_S = 1.0
"""Seconds for which a PASS waits at least for candidates before it that are under way."""


@dataclass
class _Search:
    """Many candidates of one call.

    A candidate that only time speaks against, under limits that were ours and not the task's, is looked at again with
    five times as much: a right answer may take longer than the broken base. That comes last, once every other candidate
    has its verdict, and only once for some thirty candidates of a call (and at least once), since mutants often run
    for ever; for the others the FAIL stands, and its message names the limit.

    Args:
        judge: judges one.
        task: the task.
        start: how candidates are run.
        sandbox: where.
        execute: runs one.
        note: said of each observation, where the way that this goes is out of the ordinary.
        in_order: how they are run with the cases in their own order, where `start` has what failed first.
        controls: what passes is confirmed by controls too.
        whole: `start` leaves out all cases that did not fail on the base tree; this finds, once it is needed, how to
            judge by all of them what has mended any.
    """

    judge: Judge
    task: Task
    start: Launch
    sandbox: Sandbox
    execute: Execute
    note: str = ""
    in_order: Launch | None = None
    controls: bool = False
    whole: Callable[[], Awaitable[_Search]] | None = None

    @property
    def pace(self) -> Pace:
        """What the base tree's own run says of the time that candidates need."""
        baseline = self.judge.baseline(self.task, self.start)
        return baseline.pace(self.task.limits) if baseline else Pace(self.task.limits)

    async def first(self, candidate: Candidate) -> Judgement:
        """The first look."""
        if refused := self.judge.check(candidate, self.task):
            return Judgement(refused)
        found = await self._look(candidate, self.pace)
        if self.whole is not None:
            return self._narrow(found) if self._is_enough(found) else await (await self.whole()).first(candidate)
        if self.in_order and self._mends_all(found.observation):
            # what it seems to break may come of the order alone
            return await replace(self, start=self.in_order, in_order=None)._look(candidate, self.pace)
        return found

    def _mends_all(self, seen: Observation) -> bool:
        """True for a FAIL with which all passes that failed on the base tree."""
        baseline = self.judge.baseline(self.task, self.start)
        failing = baseline.failing if baseline else ()
        return seen.verdict is Verdict.FAIL and bool(failing) and seen.evidence.passed() >= set(failing)

    def _is_enough(self, found: Judgement) -> bool:
        """True where the cases that failed on the base tree say all that is to be known."""
        baseline = self.judge.baseline(self.task, self.start)
        seen = found.observation
        if seen.verdict is not Verdict.FAIL or not baseline or not {c.id for c in found.cases} <= set(baseline.failing):
            return False
        return not seen.evidence.passed()

    def _narrow(self, found: Judgement) -> Judgement:
        """Says that the other cases did not run."""
        seen, baseline = found.observation, self.judge.baseline(self.task, self.start)
        detail = f"{seen.evidence.detail}; of those that failed before, no others ran"
        collected = len(baseline.cases) if baseline else seen.evidence.collected
        evidence = seen.evidence.model_copy(update={"detail": detail, "collected": collected})
        return replace(found, observation=seen.model_copy(update={"evidence": evidence, "partial": True}))

    async def again(self, candidate: Candidate) -> Judgement:
        """One with more time."""
        if self.whole is not None:
            return await (await self.whole()).again(candidate)
        return await self._look(candidate, self.pace.wider(self.task.limits))

    async def base(self) -> Outcome:
        """What the base tree comes to, run to its end, to be compared with what it came to by itself."""
        pace = replace(self.pace, stops=False)
        base = Candidate(self.task.tree.digest, {})
        info = self.sandbox.info
        judgement = await self.judge.run(self.start, base, self.task, pace, self.execute, info, learns=False)
        return outcome_of(judgement.cases)

    def deserves_another(self, judgement: Judgement) -> bool:
        """True where only limits of ours speak against it."""
        return judgement.out_of_time and self.pace.limits != self.task.limits

    async def _look(self, candidate: Candidate, pace: Pace) -> Judgement:
        start, note = self.start, self.note
        why = why_from_scratch(candidate, self.task, start.quick or start.warm or ()) if start.head_start else ""
        if why:
            start, note = replace(start, head_start=None), f"judged from scratch: {why}"
        found = await self.judge.run(start, candidate, self.task, pace, self.execute, self.sandbox.info)
        observation = await self.judge.confirm(
            found.observation, candidate, self.task, self.sandbox, controls=self.controls
        )
        if note:
            evidence = observation.evidence.model_copy(update={"note": note})
            observation = observation.model_copy(update={"evidence": evidence})
        return replace(found, observation=observation)


async def judge_each(
    judge: Judge, candidates: Sequence[Candidate], task: Task, context: ToolContext
) -> AsyncGenerator[tuple[int, Observation], None]:
    """Each candidate's number and observation, as soon as it is there. See `contexts.EagerTool.judge_each`."""

    async def alone(candidate: Candidate) -> Judgement:
        return Judgement(await judge.judge(candidate, task, context))

    async with AsyncExitStack() as stack:
        search = await _search(judge, candidates, task, context, stack)
        search = replace(search, controls=context.confirming) if search else None
        looks = 1 + len(candidates) // CANDIDATES_PER_LOOK if search else 0
        late: dict[int, Candidate] = {}
        work = search.first if search else alone
        results = side_by_side(work, candidates, width=processors(), waits=_waits)
        async for number, judgement in await stack.enter_async_context(aclosing(results)):
            if search and looks and search.deserves_another(judgement):
                looks -= 1
                late[number] = candidates[number]
            else:
                yield number, judgement.observation
        if search and late:
            numbers = list(late)
            again = side_by_side(search.again, late.values(), width=processors(), waits=_waits)
            async for place, judgement in await stack.enter_async_context(aclosing(again)):
                yield numbers[place], judgement.observation


def _waits(judgement: Judgement) -> float:
    """A PASS lets one come first that the actor thought the likelier, unless that takes far longer."""
    observation = judgement.observation
    return max(LEAST_WAIT_S, observation.duration_s) if observation.verdict is Verdict.PASS else 0.0


async def _search(
    judge: Judge, candidates: Sequence[Candidate], task: Task, context: ToolContext, stack: AsyncExitStack
) -> _Search | None:
    """How many candidates are judged together; None where each is judged by itself."""
    start = judge.start(task)
    if len(candidates) < FEW or not judge.in_batches or context.want_coverage or not isinstance(start, Launch):
        return None
    try:
        sandbox = await context.sandbox()
    except (GroundwireError, OSError):
        return None  # each candidate says so itself
    if in_shared_server(sandbox, start, task):
        return _Search(judge, task, start, sandbox, cold(sandbox, task))
    baseline = judge.baseline(task, start)
    if baseline is None and context.trial > 0 and len(candidates) >= MANY:
        # it was judged by an earlier process; one more run of it saves far more of theirs
        await judge.judge(Candidate(task.tree.digest, {}), task, context)
        baseline = judge.baseline(task, start)
    first = judge.start(task, first=baseline.failing) if baseline else start
    assert isinstance(first, Launch), "it could be started before"
    warm = await _warm(task, first, sandbox)
    if warm is None:
        return _Search(judge, task, start, sandbox, cold(sandbox, task))
    stack.push_async_callback(lambda: asyncio.shield(warm.aclose()))
    # nothing is left out, and nothing reordered, where it can't be seen what comes of that on the base tree
    plain = _Search(judge, task, replace(start, quick=None, head_start=None), sandbox, warm)
    if baseline is None:
        return plain
    is_wide = len(candidates) >= MANY and first.can_narrow
    in_order = plain.start if baseline.failing else None
    if in_order and is_wide:
        in_order = replace(in_order, env={**in_order.env, "GROUNDWIRE_ENDS_AT_BREAK": "1"})
    ways = {
        JudgingMode.HEAD_START: _Search(judge, task, first, sandbox, warm, in_order=in_order),
        JudgingMode.QUICK: _Search(judge, task, replace(first, head_start=None), sandbox, warm, in_order=in_order),
        JudgingMode.PLAIN: plain,
    }

    async def whole() -> _Search:
        known = judge.way(task, start)
        way, why = known or await _fastest(ways, baseline)
        if known is None:
            judge.put_way(task, start, way, why)
            if why:
                context.report(why)
        found = ways.get(way) or _Search(judge, task, start, sandbox, cold(sandbox, task), note=why)
        return replace(found, controls=context.confirming)

    if is_wide:
        env = {**first.env, "GROUNDWIRE_NARROW": "1"}
        narrow = _Search(judge, task, replace(first, env=env), sandbox, warm)
        if not await _difference(narrow, baseline, baseline.failing):
            chosen = _Once(whole)
            stack.push_async_callback(chosen.aclose)
            return replace(narrow, whole=chosen)
    return await whole()


class _Once:
    """What is found out when it is asked for first, for all who ask.

    Args:
        find: finds it.
    """

    def __init__(self, find: Callable[[], Awaitable[_Search]]) -> None:
        self._find = find
        self._finding: asyncio.Future[_Search] | None = None

    async def __call__(self) -> _Search:
        if self._finding is None:
            self._finding = asyncio.ensure_future(self._find())
        return await asyncio.shield(self._finding)

    async def aclose(self) -> None:
        """Nobody waits for it any more."""
        if self._finding is not None:
            self._finding.cancel()
            await asyncio.gather(self._finding, return_exceptions=True)


async def _fastest(ways: Mapping[JudgingMode, _Search], baseline: Baseline) -> tuple[JudgingMode, str]:
    """The fastest way in which the base tree ends as it did by itself, and what differs where that is none of these."""
    differs = ""
    for way, search in ways.items():
        differs = await _difference(search, baseline, baseline.outcome)
        if not differs:
            return way, ""
    return (
        JudgingMode.COLD,
        f"each candidate was judged from scratch: in a fork server the base tree ends otherwise ({differs})",
    )


async def _difference(search: _Search, baseline: Baseline, asked: Iterable[str]) -> str:
    """The first of the cases asked for, or of those that ran, that ends otherwise than by itself; "" where none does.

    One that has not always ended alike by itself says nothing, nor does one that ran out of time there, or that ends so
    and so here.
    """
    alone, asked = baseline.outcome, frozenset(asked)
    together = await search.base()
    differing = _differing(alone, together, asked) - baseline.unsteady - baseline.late
    if not baseline.timed:
        differing &= alone.keys()  # it was ended before it came to the others
    if 0 < len(differing) <= FEW_DIFFERING:
        again = await search.base()
        together = {**together, **{name: again[name] for name in again.keys() & differing}}
        differing = {name for name in differing if again.get(name, ()) != alone.get(name, ())}
    if not differing:
        return ""
    name = min(differing)
    before, after = (" at ".join(filter(None, ended.get(name, ("not run",)))) for ended in (alone, together))
    return f"{name}: {after}, by itself {before}"


def _differing(alone: Outcome, together: Outcome, asked: frozenset[str]) -> set[str]:
    return {name for name in asked | together.keys() if alone.get(name) != together.get(name)}


async def _warm(task: Task, start: Launch, sandbox: Sandbox) -> WarmRuns | None:
    """A fork server, where the runner and the sandbox can have one."""
    if start.warm is None:
        return None
    runs = WarmRuns(sandbox, task.tree, start)
    try:
        await runs.open()
    except (SandboxError, OSError):
        return None
    return runs


# What every tool that runs a command has in common: a judge does the work.


class JudgedTool:
    """A tool that judges each candidate by one kind of runner, in a sandbox of its own.

    Args:
        runner: the kind of runner.
        separation: how far the assertions are to be kept from the candidate.
    """

    traits = ToolTraits(repeatable=True)

    def __init__(self, runner: Runner, separation: Separation = CONFIRMED) -> None:
        self._judge = Judge(runner, Baselines(), separation)

    def why_not_two_boxes(self, task: Task) -> str:
        """Why this task's tests can't be judged in two boxes, by their text and their runner; empty if they can."""
        return self._judge.why_not_two_boxes(task)

    @property
    def identity(self) -> str:
        """See `groundwire.core._contexts.RepeatableTool`."""
        return self._judge.identity

    def command_for(self, task: Task) -> tuple[str, ...]:
        """See `groundwire.core._contexts.RepeatableTool`."""
        return self._judge.command_for(task)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        return await self._judge.judge(candidate, task, context)

    def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """See `groundwire.core._contexts.BatchTool`."""
        return in_their_order(judge_each(self._judge, candidates, task, context))

    def judge_each(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[tuple[int, Observation], None]:
        """See `groundwire.core._contexts.EagerTool`."""
        return judge_each(self._judge, candidates, task, context)
