"""What the runtime hands to actors, critics and tools: root types only, so that none of them needs a database."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from groundwire.completions import Backend, Completion, Request
from groundwire.sandboxes import Sandbox
from groundwire.signals import Observation, Signal
from groundwire.tasks import Task
from groundwire.trees import Candidate, Tree

__all__ = [
    "Actor",
    "ActorContext",
    "BatchTool",
    "Coverage",
    "Critic",
    "CriticContext",
    "EditCounts",
    "EditStatistics",
    "Judged",
    "Lesson",
    "ModelCaller",
    "Needs",
    "Reflection",
    "Tool",
    "ToolContext",
]

Coverage = Mapping[str, Mapping[str, tuple[int, ...]]]
"""Case id → path → 1-based lines that ran. Minted by a tool."""

EditCounts = Mapping[str, tuple[int, int]]
"""Edit name → (candidates that used it, candidates of these that passed)."""


@dataclass(frozen=True)
class EditStatistics:
    """Which edits paid before, in three circles. It never holds a patch.

    Args:
        alike: in episodes whose baseline failed with the same signature (`groundwire.signatures`).
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


@dataclass(frozen=True)
class Judged:
    """A candidate and the signal about it."""

    candidate: Candidate
    signal: Signal


@dataclass(frozen=True)
class Reflection:
    """A critic's text about one failure, verbatim.

    Args:
        text: the reflection.
        by: the model or rule that wrote it.
    """

    text: str
    by: str = ""


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
    """

    id: str
    text: str
    task_id: str
    family: str = ""
    signal_id: str = ""
    created_at: str = ""


@dataclass(frozen=True)
class ActorContext:
    """What an actor works from.

    Args:
        task: the task, without anything hidden.
        tree: the tree to edit next: the base with the best verified candidate applied.
        best: the best verified candidate so far, with its signal; None before anything was judged.
        failing: what the gate admitted: the current candidate and its sealed FAIL; None on a first try.
        judged: everything the last trial judged, in order.
        trial: the trial this proposal is for, counted from 1 (0 is the baseline).
        coverage: which lines of the base tree each case ran; None where no tool gave it.
        lessons: what memory recalled, newest first.
        reflection: the critic's text on `failing`, if any.
        tried: digests of all candidates judged in this episode.
        edit_statistics: which edits paid before.
        escalation: 0 at first; 1, 2, … each time the loop was found stuck.
        seed: for reproducible choices.
        call: calls a model through ledger and budget.
    """

    task: Task
    tree: Tree
    call: ModelCaller
    best: Judged | None = None
    failing: Judged | None = None
    judged: Sequence[Judged] = ()
    trial: int = 1
    coverage: Coverage | None = None
    lessons: Sequence[Lesson] = ()
    reflection: Reflection | None = None
    tried: frozenset[str] = frozenset()
    edit_statistics: EditStatistics = EditStatistics()
    escalation: int = 0
    seed: int = 0


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


@dataclass(frozen=True)
class ToolContext:
    """What a tool works with.

    Args:
        sandbox: opens, at first use, the sandbox where code runs; the runtime closes it.
        call: calls a model; any use of it turns the observation's origin into `other_model`.
        trial: the trial, counted from 0 (the baseline).
        want_coverage: True where an actor wants to know which lines each case runs.
        report: called with one line for people while the tool works.
    """

    sandbox: Callable[[], Awaitable[Sandbox]]
    call: ModelCaller
    trial: int = 0
    want_coverage: bool = False
    report: Callable[[str], None] = lambda _line: None


@dataclass(frozen=True)
class Needs:
    """What an actor wants the runtime to find out for it; an actor says so in an attribute `needs`.

    Args:
        coverage: per-case line coverage of the base tree.
        edit_statistics: which edits paid before.
    """

    coverage: bool = False
    edit_statistics: bool = False


class Actor(Protocol):
    """Proposes candidates. It may have an attribute `needs: Needs`."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """Up to `n` candidates, best first, each against the task's base tree (`context.task.tree`).

        An empty answer means: nothing new to propose.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
        """
        ...


class Critic(Protocol):
    """Turns a failing signal into a reflection. May be a rule and need no model."""

    async def reflect(self, context: CriticContext) -> Reflection:
        """One reflection on `context.failing`.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
        """
        ...


class Tool(Protocol):
    """Touches the world and says what it saw. Only the runtime mints a signal from that.

    A tool that judges hidden tests has an attribute `judges_hidden = True`; no other is given them.
    """

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """Judges one candidate, applied to `task.tree`.

        Trouble with the infrastructure is an observation without a verdict, not an exception.
        """
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
