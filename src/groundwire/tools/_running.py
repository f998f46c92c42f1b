"""What a runner is to the judge: how one is started, and how its traces are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Coverage
from groundwire.core._sandboxes import ExecResult, HeadStart
from groundwire.core._signals import CaseOutcome, Crossings, Isolation, NoVerdict, Observation, Origin
from groundwire.core._tasks import Task
from groundwire.tools._reports import CaseControl
from groundwire.tools._verdicts import Decision, Situation


class NotRunnable(Exception):
    """The task's command can't be run by this tool.

    Args:
        detail: what is wrong and what to do, in one line.
    """

    def __init__(self, detail: str, reason: NoVerdict = NoVerdict.USAGE) -> None:
        super().__init__(detail)
        self.detail = detail
        self.reason = reason


@dataclass(frozen=True)
class Separation:
    """How far a tool keeps the assertions from the candidate, where runner, sandbox and tests allow it.

    Args:
        at_once: in every run; else a candidate is judged in one process, and a PASS is confirmed in two boxes.
        at_most: how far.
        required: what was not judged in two boxes is no PASS.
    """

    at_once: bool = False
    at_most: Isolation = Isolation.TWO_BOXES
    required: bool = False


CONFIRMED = Separation()
"""A PASS is confirmed in two boxes."""
AT_ONCE = Separation(at_once=True)
"""Every candidate is judged in two boxes at once."""


@dataclass(frozen=True)
class Partner:
    """What runs in the candidate's own box, and answers.

    Args:
        command: program and arguments.
        env: variables.
        support: files of ours.
        preload: modules that a fork server imports.
    """

    command: tuple[str, ...]
    env: Mapping[str, str]
    support: Mapping[str, bytes]
    preload: tuple[str, ...] = ()


@dataclass(frozen=True)
class Launch:
    """How one candidate's run is started.

    Args:
        shown: the command as the user gave it.
        command: program and arguments for `Sandbox.run`.
        warm: arguments for `WarmSandbox.run`; None where a fork server can't do it.
        quick: the same, without what the task's tests don't ask for; None where that is nothing.
        preload: modules that the fork server imports.
        flags: of the fork server's interpreter.
        head_start: lets candidates' runs begin as one in a fork server; None: they don't.
        begins_alike: True if they begin as one whatever the tree is, so that one server does for many tasks.
        can_narrow: True if a quick run can leave out whatever did not fail on the base tree.
        env: variables.
        support: files of ours.
        collect: names of the files that come back.
        sealed: True if the runner expects a nonce on standard input.
        isolation: where the assertions run.
        controlled: cases are turned round (`groundwire.tools._controls`), so that nothing is learned of a healthy run.
        tree: what is laid out beside the assertions, where the candidate lies in another box.
        partner: what runs in that box; None: there is none.
    """

    shown: tuple[str, ...]
    command: tuple[str, ...]
    warm: tuple[str, ...] | None = None
    quick: tuple[str, ...] | None = None
    preload: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    head_start: HeadStart | None = None
    begins_alike: bool = False
    can_narrow: bool = False
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    support: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    collect: Sequence[str] = ()
    sealed: bool = False
    isolation: Isolation = Isolation.IN_PROCESS
    controlled: bool = False
    tree: Tree | None = None
    partner: Partner | None = None


@dataclass(frozen=True)
class Reading:
    """What a run's traces say.

    Args:
        decision: the verdict.
        coverage: lines per case, where they were asked for.
        selected: the cases that were to run; None where it never came to that.
        unreliable: True if the run says nothing about how a healthy one would go: it was cut short.
        unfit: why the tests can't be run apart from the candidate; empty if they can.
        touched: files that the run changed, of those that a candidate may not change.
        controls: by case, what came of its control; empty where the run had none.
        crossings: what came from the candidate's box; None where that is nothing but plain values.
    """

    decision: Decision
    coverage: Coverage | None = None
    selected: tuple[str, ...] | None = None
    unreliable: bool = False
    unfit: str = ""
    touched: frozenset[str] = frozenset()
    controls: Mapping[str, CaseControl] = field(default_factory=dict[str, CaseControl])
    crossings: Crossings | None = None


@dataclass(frozen=True)
class Judgement:
    """An observation.

    Args:
        out_of_time: nothing but time speaks against the candidate.
        unfit: the tests can't be run apart from it.
        cases: how they ended, with messages as they came.
        controls: by case, what came of its control, in a run that has them.
    """

    observation: Observation
    out_of_time: bool = False
    unfit: bool = False
    cases: tuple[CaseOutcome, ...] = ()
    controls: Mapping[str, CaseControl] = field(default_factory=dict[str, CaseControl])


class Runner(Protocol):
    """One kind of test runner."""

    @property
    def origin(self) -> Origin:
        """Where its signals come from."""
        ...

    @property
    def identity(self) -> str:
        """The runner and all of its options (`groundwire.core._contexts.RepeatableTool`)."""
        ...

    def tampering(self, candidate: Candidate, task: Task) -> Observation | None:
        """A FAIL if the candidate reaches for what judges it."""
        ...

    def why_not(self, isolation: Isolation, task: Task) -> str:
        """Why the assertions can't be kept that far from what they judge; empty if, by the task's text, they can."""
        ...

    def start(
        self,
        task: Task,
        *,
        coverage_of: Tree | None,
        isolation: Isolation = Isolation.IN_PROCESS,
        first: Sequence[str] = (),
    ) -> Launch:
        """How to run the task's candidates.

        Args:
            task: the task.
            coverage_of: the tree, with the candidate applied, whose lines are to be seen; None: no coverage.
            isolation: where the assertions run; one that `why_not` has nothing against.
            first: cases that run before all others, where the runner can have that.

        Raises:
            NotRunnable: the command is not for this tool.
        """
        ...

    def read(self, result: ExecResult, key: bytes, situation: Situation) -> Reading:
        """Reads what a run left behind."""
        ...
