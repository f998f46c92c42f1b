"""What the runtime hands to actors, critics and tools: types of core only, so that none of them needs a database."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence, Set
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._experience import NO_EXPERIENCE, Experience
from groundwire.core._frozen import quickly_made
from groundwire.core._ids import SeedRule
from groundwire.core._models import Backend, Completion, Request
from groundwire.core._programs import ProgramRequest, ProgramResult
from groundwire.core._sandboxes import Sandbox
from groundwire.core._signals import Observation, Signal
from groundwire.core._tasks import Task

Coverage = Mapping[str, Mapping[str, tuple[int, ...]]]
"""Case id → path → 1-based lines that ran. Minted by a tool."""

EditCounts = Mapping[str, tuple[int, int]]
"""Edit name → (candidates that used it, candidates of these that passed)."""


@quickly_made
@dataclass(frozen=True)
class EditStatistics:
    """Which edits paid before, in three circles. It never holds a patch.

    Args:
        alike: in episodes whose baseline failed with the same signature (`groundwire.core._signatures`).
        family: in tasks of the same family.
        overall: in everything that memory holds.
    """

    alike: EditCounts = field(default_factory=dict[str, tuple[int, int]])
    family: EditCounts = field(default_factory=dict[str, tuple[int, int]])
    overall: EditCounts = field(default_factory=dict[str, tuple[int, int]])


class ModelCaller(Protocol):
    """Calls a model so that the ledger knows of it first and the budget is kept."""

    async def __call__(self, backend: Backend, request: Request) -> Completion:
        """Reserves the price, writes the intent, completes, writes the answer.

        Raises:
            BudgetExceeded: the call could cost more than is left; nothing was sent.
            ModelError: as `Backend.complete`.
        """
        ...


class ProgramRunner(Protocol):
    """Lets an actor run a program so that the ledger knows of it first, and of how it ended whatever happens."""

    async def __call__(
        self, request: ProgramRequest, run: Callable[[float], Awaitable[ProgramResult]]
    ) -> ProgramResult:
        """Writes the intent, runs, writes what came of it; a run that an earlier process had finished is not repeated.

        Args:
            request: what is to be run.
            run: runs it, given the wall seconds that it may take: those asked for, or fewer where the budget is short.

        Raises:
            BudgetExceeded: no time is left; nothing was run.
            SandboxError: from `run`.
        """
        ...


class SandboxOpener(Protocol):
    """Opens, at first use, where an actor's programs run; the runtime closes it."""

    async def __call__(self, *, isolated: bool) -> Sandbox:
        """The run's sandbox, or, where `isolated` is false, plain processes of the user's own.

        Raises:
            SandboxUnavailable: it can't be had here, or the run's sandbox isolates nothing and isolation is asked for.
        """
        ...


async def run_unrecorded(request: ProgramRequest, run: Callable[[float], Awaitable[ProgramResult]]) -> ProgramResult:
    """A `ProgramRunner` without a ledger, for an actor that is used by itself."""
    return await run(request.timeout_s)


@quickly_made
@dataclass(frozen=True)
class Judged:
    """A candidate and the signal about it."""

    candidate: Candidate
    signal: Signal


@quickly_made
@dataclass(frozen=True)
class Reflection:
    """A critic's text about one failure, verbatim.

    Args:
        text: the reflection.
        by: the model or rule that wrote it.
        raw: what a person said, verbatim, where the text was distilled from that.
    """

    text: str
    by: str = ""
    raw: str = ""


@quickly_made
@dataclass(frozen=True)
class Lesson:
    """A reflection that was recalled.

    Args:
        id: the reflection's id.
        text: verbatim.
        task_id: the task it was learned on.
        family: that task's family.
        signal_id: the signal that caused it.
        created_at: ISO 8601, UTC.
        raw: what a person said, verbatim, where the text was distilled from that; else empty.
        why: what brought it back: `signature+task`, `task`, `signature+family` or `family`, then its ranks.
    """

    id: str
    text: str
    task_id: str
    family: str = ""
    signal_id: str = ""
    created_at: str = ""
    raw: str = ""
    why: str = ""


@quickly_made
@dataclass(frozen=True)
class ActorContext:
    """What an actor works from.

    Args:
        task: the task, without anything hidden.
        tree: the tree to edit next: the base with the best verified candidate applied.
        best: the best verified candidate so far, with its signal; None before anything was judged.
        baseline: what the first tool said of the task's own tree, before any proposal; None where nobody asked it.
        failing: what the gate admitted: the current candidate and its sealed FAIL; None on a first try.
        judged: everything the last trial judged, in order; or all trials, where the actor needs that.
        trial: the trial this proposal is for, counted from 1 (0 is the baseline).
        coverage: which lines of the base tree each case ran; None where no tool gave it.
        lessons: what memory recalled, newest first.
        reflection: the critic's text on `failing`, if any.
        tried: digests of all candidates judged in this episode.
        edit_statistics: which edits paid before.
        experience: what actions led to in this world before this trial, where the actor needs that; the same at each
            step of a trial.
        escalation: 0 at first; 1, 2, … each time the loop was found stuck.
        seed: the episode's; a choice takes its own from it (`groundwire.core._ids.seed_in`).
        seed_rule: how choices get theirs.
        call: calls a model through ledger and budget.
        program: runs a program through ledger and budget.
        sandbox: opens where programs run; None where the actor is used outside a graph.
    """

    task: Task
    tree: Tree
    call: ModelCaller
    best: Judged | None = None
    baseline: Judged | None = None
    failing: Judged | None = None
    judged: Sequence[Judged] = ()
    trial: int = 1
    coverage: Coverage | None = None
    lessons: Sequence[Lesson] = ()
    reflection: Reflection | None = None
    tried: Set[str] = frozenset()
    edit_statistics: EditStatistics = EditStatistics()
    experience: Experience = NO_EXPERIENCE
    escalation: int = 0
    seed: int = 0
    seed_rule: SeedRule = SeedRule.HASHED
    program: ProgramRunner = run_unrecorded
    sandbox: SandboxOpener | None = None


@quickly_made
@dataclass(frozen=True)
class CriticContext:
    """What a critic works from: one failing signal, already admitted by the gate."""

    task: Task
    failing: Judged
    tree: Tree
    """The failing candidate applied to the base."""
    call: ModelCaller
    lessons: Sequence[Lesson] = ()
    trial: int = 1
    judged: Sequence[Judged] = ()
    """Everything that was judged in this episode, hidden tests left out, in order."""
    seed: int = 0
    """The episode's; a choice takes its own from it (`groundwire.core._ids.seed_in`)."""
    seed_rule: SeedRule = SeedRule.HASHED
    """How choices get theirs."""


@dataclass(frozen=True)
class WrittenCases:
    """Test cases that a model wrote, and what became of those that can't judge.

    Args:
        cases: Python functions without parameters, each with all it imports; none calls for anything else.
        dropped: (source, why) of what was left out.
        by: the model.
        validated: True if the cases were run on a reference solution; those that failed there were dropped.
    """

    cases: tuple[str, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    by: str = ""
    validated: bool = False


@dataclass(frozen=True)
class WriterContext:
    """What a writer of test cases works from: the task without anything hidden, and no candidate.

    Args:
        task: the task.
        call: calls a model through ledger and budget.
        seed: the episode's; a choice takes its own from it (`groundwire.core._ids.seed_in`).
        seed_rule: how choices get theirs.
    """

    task: Task
    call: ModelCaller
    seed: int = 0
    seed_rule: SeedRule = SeedRule.HASHED


class CaseWriter(Protocol):
    """Writes test cases; as a rule a model does."""

    async def write(self, context: WriterContext, n: int) -> WrittenCases:
        """Up to `n` cases that can be parsed and check something.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
        """
        ...


@quickly_made
@dataclass(frozen=True)
class ToolContext:
    """What a tool works with.

    Args:
        sandbox: opens, at first use, the sandbox where code runs; the runtime closes it.
        call: calls a model; any use of it turns the observation's origin into `other_model`.
        trial: the trial, counted from 0 (the baseline).
        want_coverage: True where an actor wants to know which lines each case runs.
        report: called with one line for people while the tool works.
        written: the test cases that a model wrote for this episode; only for a `WritingTool`.
        seed: the episode's; a choice takes its own from it (`groundwire.core._ids.seed_in`).
        seed_rule: how choices get theirs.
        past: everything that was judged in this episode, hidden tests left out, in order.
        seconds_left: wall seconds that the episode has left; None: nothing limits them.
        again: True where the candidate has passed before, and is to be looked at once more.
        confirming: True where this judging is the last one before something rests on a PASS, so that it is worth to
            find out whether the tests could have failed.
    """

    sandbox: Callable[[], Awaitable[Sandbox]]
    call: ModelCaller
    trial: int = 0
    want_coverage: bool = False
    report: Callable[[str], None] = lambda _line: None
    written: WrittenCases | None = None
    seed: int = 0
    seed_rule: SeedRule = SeedRule.HASHED
    past: Callable[[], Sequence[Judged]] = tuple
    seconds_left: Callable[[], float | None] = lambda: None
    again: bool = False
    confirming: bool = False


class Actor(Protocol):
    """Proposes candidates. What it needs and how it is treated, it declares in an attribute `traits: ActorTraits`
    (`groundwire.core._traits`)."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """Up to `n` candidates, best first, each against the task's base tree (`context.task.tree`).

        An empty answer means that nothing is left to propose; one of what was judged before, that it is stuck.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            CandidateError: what it made may not be judged; the episode ends, and this is why.
        """
        ...


class Critic(Protocol):
    """Turns a failing signal into a reflection. May be a rule and need no model; may have `traits: CriticTraits`."""

    async def reflect(self, context: CriticContext) -> Reflection:
        """One reflection on `context.failing`.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
        """
        ...


class Tool(Protocol):
    """Touches the world and says what it saw. Only the runtime mints a signal from that.

    How it is treated, it declares in an attribute `traits: ToolTraits` (`groundwire.core._traits`).
    """

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """Judges one candidate, applied to `task.tree`.

        Trouble with the infrastructure is an observation without a verdict, not an exception.
        """
        ...


@runtime_checkable
class ActingTool(Tool, Protocol):
    """A tool whose judging may do what can't be undone: the ledger holds the intent before it acts."""

    def can_be_undone(self, candidate: Candidate) -> bool:
        """False where judging this candidate again, after a crash, might do its work twice."""
        ...


@runtime_checkable
class SkepticalTool(Tool, Protocol):
    """A tool that can find reasons to doubt what passes; they order candidates and never give a verdict."""

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """Why a candidate that has passed may be wrong all the same, in one line; empty where no reason is found."""
        ...


@runtime_checkable
class TwoBoxTool(Tool, Protocol):
    """A tool that can judge with the assertions in another box than the candidate."""

    def why_not_two_boxes(self, task: Task) -> str:
        """Why this task's tests can't be judged so, by what is known before any candidate; empty if they can."""
        ...


@runtime_checkable
class RepeatableTool(Tool, Protocol):
    """A tool whose verdict rests on the candidate, the task, the sandbox and these two alone.

    A recorded verdict of one may stand for judging again, where a policy allows it (`graphs.replay.reuse`).
    """

    @property
    def identity(self) -> str:
        """The tool and all of its options; another text where a verdict may be another one."""
        ...

    def command_for(self, task: Task) -> tuple[str, ...]:
        """What it runs to judge the task's candidates, as its signals show it."""
        ...


@runtime_checkable
class BatchTool(Tool, Protocol):
    """A tool that is faster at many candidates than at one after the other."""

    def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """Judges candidates, yielding an observation for each in their order, as soon as it is there.

        The reader may close the generator at any time (after the first PASS, say); what was started is then ended.
        """
        ...


@runtime_checkable
class EagerTool(BatchTool, Protocol):
    """A tool that lets no slow candidate hold back what is known of the others."""

    def judge_each(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[tuple[int, Observation], None]:
        """Judges candidates, yielding each one's number in `candidates` and its observation, as soon as it is there.

        The reader may close the generator at any time, as with `judge_many`.
        """
        ...


async def in_their_order(
    observations: AsyncGenerator[tuple[int, Observation], None],
) -> AsyncGenerator[Observation, None]:
    """What `EagerTool.judge_each` gives, in the candidates' order, as `BatchTool.judge_many` has to."""
    early: dict[int, Observation] = {}
    following = 0
    async with aclosing(observations):
        async for number, observation in observations:
            early[number] = observation
            while following in early:
                yield early.pop(following)
                following += 1


@runtime_checkable
class WritingTool(Tool, Protocol):
    """A tool that judges by tests which a model writes first, once an episode. Its signals are `model_tests`."""

    async def write(self, task: Task, context: ToolContext) -> WrittenCases:
        """The cases that `context.written` will hold at each judging.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
        """
        ...
