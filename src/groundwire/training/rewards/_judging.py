"""Judges what policies wrote, many programs of many tasks at once, and says what each earns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Tool, ToolContext
from groundwire.core._errors import ConfigError, GroundwireError
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._sandboxes import Sandbox
from groundwire.core._signals import Isolation, NoVerdict, Observation, Origin, Signal, Verdict
from groundwire.core._tasks import Task
from groundwire.sandbox._choosing import open_sandbox
from groundwire.sandbox._fork_servers import ForkServers, with_fork_servers
from groundwire.tools._batches import processors
from groundwire.tools._guard import tampering_with_hidden
from groundwire.tools._hidden_tests import judge_overlaid, tool_for
from groundwire.tools._running import CONFIRMED, Separation
from groundwire.training.rewards._completions import ReadCompletion, read_completion
from groundwire.training.rewards._ledger import RewardLedger, WrittenCompletion

TESTS, HIDDEN = "tests", "hidden_tests"
"""Issuers of the signals."""
CASE_S = 2.0
_SAYS_NOTHING = (NoVerdict.NOTHING_COLLECTED, NoVerdict.ALL_SKIPPED, NoVerdict.ALL_DESELECTED)


@dataclass(frozen=True)
class RewardRules:
    """What earns a reward.

    Args:
        hidden: the task's hidden tests decide, where it has any; nothing of them is told to anybody.
        partial: the share of the cases that passed, and not only all or nothing.
        require_two_boxes: a PASS that was not given in two boxes is no verdict.
        case_s: processor seconds that any one case may take.
    """

    hidden: bool = True
    partial: bool = False
    require_two_boxes: bool = False
    case_s: float = CASE_S

    def __post_init__(self) -> None:
        """Refuses what can't be.

        Raises:
            ConfigError: no time at all.
        """
        if not self.case_s > 0:
            raise ConfigError(f"A case can't take {self.case_s:g} s.", do="Give more than 0 for case_s.")


@dataclass(frozen=True)
class ScoredCompletion:
    """What one completion earned.

    Args:
        reward: 0 to 1; None: no verdict, so that it is to be left out and not counted as wrong.
        verdict: of all that was judged.
        reason: why there is no verdict.
        detail: one line for people; of hidden tests nothing but that they decided.
        problem: why no program could be read; the task's own tree was judged in its place.
        candidate: digest of what was judged.
        isolation: how far the assertions were from it.
        signals: ids of the sealed signals, where there is a ledger.
    """

    reward: float | None
    verdict: Verdict
    reason: NoVerdict | None = None
    detail: str = ""
    problem: str = ""
    candidate: str = ""
    isolation: Isolation = Isolation.IN_PROCESS
    signals: tuple[str, ...] = ()


@dataclass(frozen=True)
class PolicySample:
    """What a policy wrote about a task.

    Args:
        task_id: the task.
        text: the completion; None: there is none.
        prompt: what it answers, for the ledger.
        begun: what the answer was begun with.
    """

    task_id: str
    text: str | None
    prompt: str = ""
    begun: str = ""


@dataclass(frozen=True)
class _Judged:
    """All that was observed of one candidate, by who observed it."""

    seen: Mapping[str, Observation] = field(default_factory=dict[str, Observation])


class RewardJudge:
    """Judges completions by the tests of their tasks. Belongs to the event loop in which it first judges.

    Args:
        tasks: what can be asked about, by id.
        rules: what earns a reward.
        sandbox: a kind (`bubblewrap`, …), an open sandbox that stays its owner's, or None: the strongest there is.
        width: programs that run at once; None: as many as there are processors.
        ledger: where all that is judged is written; None: nowhere.
    """

    def __init__(
        self,
        tasks: Mapping[str, Task],
        *,
        rules: RewardRules,
        sandbox: str | Sandbox | None = None,
        width: int | None = None,
        ledger: RewardLedger | None = None,
    ) -> None:
        if not tasks:
            raise ConfigError("A reward needs tasks, and there are none.", do="Give the tasks that prompts are of.")
        self._tasks = {name: task.within_case_s(rules.case_s) for name, task in tasks.items()}
        self._rules = rules
        self._choice = sandbox
        self._sandboxes: dict[Path | None, Sandbox] = {}
        self._opening = asyncio.Lock()
        self._width = width or processors() + 1
        self._room: asyncio.Semaphore | None = None
        self._ledger = ledger
        self._tools: dict[tuple[tuple[str, ...], bool], Tool] = {}

    def task(self, task_id: object) -> Task:
        """The task of that id.

        Raises:
            ConfigError: there is none.
        """
        found = self._tasks.get(task_id) if isinstance(task_id, str) else None
        if found is None:
            shown = ", ".join(list(self._tasks)[:3])
            more = ", …" if len(self._tasks) > 3 else ""
            raise ConfigError(
                f"The reward knows no task {str(task_id)[:80]!r}.",
                do=f"Give it with the others, or correct the column: {len(self._tasks)} are known ({shown}{more}).",
            )
        return found

    async def score(self, samples: Sequence[PolicySample]) -> list[ScoredCompletion]:
        """What each completion earns, in their order. Equal programs of one task are judged once.

        Raises:
            ConfigError: a task is not known; nothing is judged then.
            SandboxUnavailable: no sandbox can be had here. One that breaks later is no verdict.
            StorageError: the ledger can't be written.
        """
        tasks = [self.task(sample.task_id) for sample in samples]
        read = [
            None if sample.text is None else read_completion(sample.text, task, begun=sample.begun)
            for sample, task in zip(samples, tasks, strict=True)
        ]
        groups: dict[str, list[int]] = {}
        for number, sample in enumerate(samples):
            if read[number] is not None:
                groups.setdefault(sample.task_id, []).append(number)
        for name in groups:
            await self._sandbox(self._tasks[name])  # where there is none at all, somebody has to know
        found: dict[int, ScoredCompletion] = {}
        async with asyncio.TaskGroup() as all_groups:
            for name, numbers in groups.items():
                kept = {n: one for n in numbers if (one := read[n]) is not None}
                all_groups.create_task(self._group(self._tasks[name], {n: samples[n] for n in kept}, kept, found))
        nothing = ScoredCompletion(None, Verdict.NONE, NoVerdict.USAGE, "The completion is no text.")
        return [found.get(number, nothing) for number in range(len(samples))]

    async def _group(
        self,
        task: Task,
        samples: Mapping[int, PolicySample],
        read: Mapping[int, ReadCompletion],
        found: dict[int, ScoredCompletion],
    ) -> None:
        """All completions of one task."""
        different = {one.candidate.digest: one.candidate for one in read.values()}
        episode = None
        if self._ledger is not None:
            written = [
                WrittenCompletion(samples[n].prompt, samples[n].text or "", one.candidate) for n, one in read.items()
            ]
            episode = await self._ledger.begin(task, written)
        async with asyncio.TaskGroup() as together:
            looks = {
                digest: together.create_task(self._look(candidate, task)) for digest, candidate in different.items()
            }
        judged = {digest: look.result() for digest, look in looks.items()}
        signals: Mapping[str, Sequence[Signal]] = {}
        if self._ledger is not None and episode is not None:
            signals = await self._ledger.end(episode, {digest: one.seen for digest, one in judged.items()})
        for number, one in read.items():
            digest = one.candidate.digest
            scored = score_of(judged[digest].seen, self._rules)
            ids = tuple(signal.id for signal in signals.get(digest, ()))
            found[number] = replace(scored, problem=one.problem, candidate=digest, signals=ids)

    async def _look(self, candidate: Candidate, task: Task) -> _Judged:
        if self._room is None:
            self._room = asyncio.Semaphore(self._width)
        async with self._room:
            seen: dict[str, Observation] = {}
            context = ToolContext(sandbox=lambda: self._sandbox(task), call=_no_model)
            hidden = task.hidden if self._rules.hidden else None
            first = await self._judge(candidate, task.public(), context, decides=hidden is None)
            seen[TESTS] = first
            goes_on = first.verdict is Verdict.PASS or first.reason in _SAYS_NOTHING or self._rules.partial
            if hidden is not None and (goes_on or first.verdict is Verdict.NONE):
                seen[HIDDEN] = await self._judge_hidden(candidate, task, context)
            return _Judged(seen)

    async def _judge(self, candidate: Candidate, task: Task, context: ToolContext, *, decides: bool) -> Observation:
        """By the visible tests. Where hidden ones decide, a look in one process is enough for these."""
        tool = self._tool(task.command, decides=decides)
        seen = await tool.judge(candidate, task, context)
        if decides and _wants_controls(seen):
            seen = await tool.judge(candidate, task, replace(context, confirming=True))
        return seen

    async def _judge_hidden(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        assert task.hidden is not None
        if refused := tampering_with_hidden(candidate, task):
            return refused
        command, files = task.hidden.command, task.hidden.tree
        tool = self._tool(command, decides=True)
        seen = await judge_overlaid(tool, command, files, candidate, task, context)
        if _wants_controls(seen):
            seen = await judge_overlaid(tool, command, files, candidate, task, context, confirming=True)
        return seen

    def _tool(self, command: tuple[str, ...], *, decides: bool) -> Tool:
        if (command, decides) not in self._tools:
            required = self._rules.require_two_boxes
            separation = Separation(required=required) if required else CONFIRMED
            separation = separation if decides else Separation(at_most=Isolation.IN_PROCESS)
            self._tools[command, decides] = tool_for(command, separation=separation)
        return self._tools[command, decides]

    async def _sandbox(self, task: Task) -> Sandbox:
        """The sandbox for a task, opened at first use.

        Raises:
            SandboxUnavailable: it can't be had here.
        """
        given = self._choice
        async with self._opening:
            if given is not None and not isinstance(given, str):
                return self._sandboxes.setdefault(None, with_fork_servers(given, owned=False))
            if task.python not in self._sandboxes:
                self._sandboxes[task.python] = with_fork_servers(await open_sandbox(given, python=task.python))
            return self._sandboxes[task.python]

    async def aclose(self) -> None:
        """Ends what it started, and writes the run's end."""
        try:
            if self._ledger is not None:
                await self._ledger.aclose()
        finally:
            while self._sandboxes:
                _, sandbox = self._sandboxes.popitem()
                if isinstance(sandbox, ForkServers) or sandbox is not self._choice:
                    await sandbox.aclose()


def score_of(seen: Mapping[str, Observation], rules: RewardRules) -> ScoredCompletion:
    """What all that was observed of one candidate comes to.

    Any FAIL is worth 0, or the share of the cases that passed; no verdict is worth nothing at all, and is not 0.
    Hidden tests decide where they gave a verdict.
    """
    visible, hidden = seen[TESTS], seen.get(HIDDEN)
    deciding = visible
    if hidden is not None and visible.verdict is not Verdict.FAIL:
        deciding = hidden
    said = f"The hidden tests decided: {deciding.verdict}." if deciding is hidden else deciding.evidence.detail
    reward: float | None = None
    if deciding.verdict is Verdict.PASS:
        reward = 1.0
    elif deciding.verdict is Verdict.FAIL:
        reward = _share(seen.values()) if rules.partial else 0.0
    return ScoredCompletion(reward, deciding.verdict, deciding.reason, said, isolation=deciding.isolation)


def _share(observations: Iterable[Observation]) -> float:
    """The part of the cases that passed; 0 for a candidate that reached for what judges it."""
    passed = total = 0
    for seen in observations:
        if seen.origin is Origin.TOOL_ERROR:
            return 0.0
        passed += len(seen.evidence.passed())
        total += max(seen.evidence.collected - seen.evidence.deselected, len(seen.evidence.cases))
    return passed / total if total else 0.0


def _wants_controls(seen: Observation) -> bool:
    """True for a PASS that may rest on the candidate's own word: it ran beside the assertions, or objects of it were
    compared by it. Where nothing but plain values crossed it can't."""
    apart = seen.isolation is Isolation.TWO_BOXES and seen.evidence.crossings is None
    return seen.verdict is Verdict.PASS and not apart


async def _no_model(backend: Backend, request: Request) -> Completion:
    raise GroundwireError(f"{backend.model} can't be asked ({request.purpose}) where a reward is found.")
