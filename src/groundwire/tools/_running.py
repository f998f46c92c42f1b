"""What a runner is to the judge: how one is started, and how its traces are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import Coverage
from groundwire.core._sandboxes import ExecResult
from groundwire.core._signals import NoVerdict, Observation, Origin
from groundwire.core._tasks import Task
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
class Start:
    """How one candidate's run is started.

    Args:
        shown: the command as the user gave it.
        command: program and arguments for `Sandbox.run`.
        warm: arguments for `WarmSandbox.run`; None where a fork server can't do it.
        preload: modules that the fork server imports.
        env: variables.
        support: files of ours.
        collect: names of the files that come back.
        sealed: True if the runner expects a nonce, on standard input or as `GROUNDWIRE_KEY`.
        apart: the assertions run in another process than the candidate.
    """

    shown: tuple[str, ...]
    command: tuple[str, ...]
    warm: tuple[str, ...] | None = None
    preload: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    support: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    collect: Sequence[str] = ()
    sealed: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Reading:
    """What a run's traces say.

    Args:
        decision: the verdict.
        coverage: lines per case, where they were asked for.
        selected: the cases that were to run; None where it never came to that.
        unreliable: True if the run says nothing about how a healthy one would go: it was cut short, or cases were.
        unfit: why the tests can't be run apart from the candidate; empty if they can.
        touched: files that the run changed, of those that a candidate may not change.
    """

    decision: Decision
    coverage: Coverage | None = None
    selected: tuple[str, ...] | None = None
    unreliable: bool = False
    unfit: str = ""
    touched: frozenset[str] = frozenset()


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
        """A FAIL if the candidate reaches for the yardstick."""
        ...

    def start(self, task: Task, *, coverage_of: Tree | None, together: bool = False) -> Start:
        """How to run the task's candidates.

        Args:
            task: the task.
            coverage_of: the tree, with the candidate applied, whose lines are to be seen; None: no coverage.
            together: in one process, also where the runner would keep the assertions apart.

        Raises:
            NotRunnable: the command is not for this tool.
        """
        ...

    def read(self, result: ExecResult, key: bytes, situation: Situation) -> Reading:
        """Reads what a run left behind."""
        ...
