"""Every error groundwire raises, in one tree.

    GroundwireError
    ├── UserError               what was asked for can't be done as asked          exit 2
    │   ├── ConfigError             a setting, flag or argument is wrong
    │   ├── TaskError               the task or project can't be read
    │   ├── CandidateError          a candidate is malformed or touches what it may not
    │   │   └── Contradiction           an actor's word, in a candidate's place: a test contradicts the task
    │   ├── ToolError               a tool did not give what a tool has to give
    │   ├── RecordingError          a recording or a published log can't be read
    │   └── GraphError              the graph can't be compiled
    │       └── UngroundedLoopError     a loop no outside signal gates
    │           └── UngroundedPartError     a part that revises its own text without one, inside a single step
    ├── GroundingError          the runtime refused a step no signal had opened     exit 1
    │   ├── SealError               a signal is not what was minted
    │   │   └── KeyMissing              the run's key is not here, so nothing can be said of its seals
    │   └── HiddenLeak              text of the hidden tests was about to leave for a model or for memory
    ├── SandboxError            the sandbox failed, not the code in it              exit 3
    │   ├── SandboxUnavailable      this isolation or limit can't be had here
    │   └── SandboxCrashed          it died or stopped answering; may be retried
    ├── BudgetExceeded          a budget was used up                                exit 4
    ├── ModelError              a model call failed                                 exit 5
    │   ├── ModelRetryable          overloaded, rate limited, connection cut
    │   ├── ModelRejected           bad request, auth, policy, context too long
    │   │   ├── RecordingMissing        a replay holds no answer to this request
    │   │   └── RecordingExhausted      a replay has played all it holds
    │   └── ModelReplyInvalid       it answered, but not in the form that was asked
    ├── TrainingError           a training failed                                   exit 9
    ├── PartError               a part of the graph raised an error of its own      exit 7
    └── StorageError            the ledger or memory failed                         exit 6
        ├── StorageBusy             locked for longer than we wait; may be retried
        ├── LeaseLost               the task is another worker's by now
        └── RecordNotFound          no record under that id

The audit is a distribution of its own, with errors of its own: `groundwire_audit.AuditError`, exit 2 or 3.

Each error says what was being done, what happened, and what to do. Only the classes that say so may be retried, and
only by the one owner of retries of that boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class GroundwireError(Exception):
    """The base class of every error that groundwire raises.

    Args:
        what: what happened, in one sentence.
        do: what the reader can do about it; empty where nothing can be done.
    """

    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, what: str, *, do: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.do = do

    def __str__(self) -> str:
        return f"{self.what}\n  {self.do}" if self.do else self.what


class UserError(GroundwireError):
    """What was asked for can't be done as asked."""

    exit_code = 2


class ConfigError(UserError):
    """A setting, flag or argument is wrong."""


class TaskError(UserError):
    """The task or project can't be read."""


class CandidateError(UserError):
    """A candidate is malformed, or touches what it may not touch."""


class Contradiction(CandidateError):
    """An actor's word, raised in the place of candidates: a test contradicts the task, so that no candidate is right.

    It ends the episode (`StopReason.CONTRADICTION`) where the case failed on what the actor works against, and gives no
    verdict. Where no such case failed it is bad input, and that is said.

    Args:
        case: the case's id, as the failing evidence names it.
        reason: what the task says, and what the test asks for instead.
    """

    def __init__(self, case: str, reason: str) -> None:
        self.case = case
        self.reason = reason
        super().__init__(
            f"{case} contradicts the task: {reason}", do="Read the test and the task: one of them has to be changed."
        )


class ToolError(UserError):
    """A tool did not give one observation for each candidate."""


class RecordingError(UserError):
    """A recording, or a published log, can't be read: damaged, cut short, or of a form that is not known."""


class GraphError(UserError):
    """The graph can't be compiled."""


class UngroundedLoopError(GraphError):
    """A loop can repeat without any outside check.

    Args:
        cycle: node names in order, the first repeated at the end.
        do: the line of code that would ground it.
        beside: where the cycle itself holds no model: the way from it to a node that may, and runs in each round.
    """

    def __init__(self, cycle: tuple[str, ...], *, do: str, beside: tuple[str, ...] = ()) -> None:
        self.cycle = cycle
        self.beside = beside
        each_round = f" Each round also runs {' → '.join(beside)}." if beside else ""
        super().__init__(f"{' → '.join(cycle)} can repeat without any outside check.{each_round}", do=do)


class UngroundedPartError(UngroundedLoopError):
    """A part declares that it revises its own text without a signal: a control, never a method.

    Args:
        name: the node's name.
        part: what it is, in a word or two.
    """

    def __init__(self, name: str, part: str) -> None:
        self.part = part
        super().__init__(
            (name, name),
            do="Use a part that only signals steer; or, for a control that is reported as ungrounded,"
            "  FeedbackGraph(allow_ungrounded=True)",
        )
        self.what = f"{name} ({part}) goes back over a model's own answers, and nothing outside says that it should."
        self.args = (self.what,)


class GroundingError(GroundwireError):
    """The runtime refused a step that no signal had opened."""


class SealError(GroundingError):
    """A signal is not what was minted: its seal does not match its content."""


class KeyMissing(SealError):
    """The run's key is not here, so nothing can be said of its seals."""


class HiddenLeak(GroundingError):
    """Text of the hidden tests was about to leave for a model, for memory or for a log; it did not."""


class SandboxError(GroundwireError):
    """The sandbox failed; the code in it was not judged."""

    exit_code = 3


class SandboxUnavailable(SandboxError):
    """This isolation, or a limit that was required, can't be had on this machine."""


class SandboxCrashed(SandboxError):
    """The sandbox died or stopped answering; the same call may be tried again."""

    retryable = True


class BudgetExceeded(GroundwireError):
    """A budget was used up before the next step.

    Args:
        kind: `usd`, `tokens`, `calls`, `seconds`, `steps` or `trials`; `run`: one of all episodes together.
    """

    exit_code = 4

    def __init__(self, kind: str, what: str, *, do: str = "") -> None:
        self.kind = kind
        super().__init__(what, do=do)


@dataclass(frozen=True)
class Usage:
    """What a provider says that it counted.

    Args:
        prompt_tokens: of the prompt.
        completion_tokens: of all that was written, thinking included.
        usd: what that cost in US dollars; None where the price is unknown.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        both = None if self.usd is None or other.usd is None else self.usd + other.usd
        prompt, completion = self.prompt_tokens + other.prompt_tokens, self.completion_tokens + other.completion_tokens
        return Usage(prompt, completion, both)


class ModelError(GroundwireError):
    """A model call failed."""

    exit_code = 5
    used: Usage | None = None
    """What it is known to have used all the same; None where nobody said."""


class ModelRetryable(ModelError):
    """Overloaded, rate limited or cut off.

    Args:
        retry_after_s: what the provider asked us to wait, in seconds; None if it did not say.

    Attributes:
        silent: all the time of an attempt was waited for, and nothing came: waiting once more is no help.
        unreached: no connection was made, so that nothing was asked.
    """

    retryable = True
    silent: bool = False
    unreached: bool = False

    def __init__(self, what: str, *, do: str = "", retry_after_s: float | None = None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(what, do=do)


class ModelRejected(ModelError):
    """The provider refused the request: bad request, auth, policy, unknown model, context too long."""


class RecordingMissing(ModelRejected):
    """A replay holds no answer to this request; nobody else was asked."""


class RecordingExhausted(ModelRejected):
    """A replay has played all that it holds for this request; an actor that meets it has nothing more to propose."""


class ModelReplyInvalid(ModelError):
    """The model answered, but not in the form that was asked for."""


class TrainingError(GroundwireError):
    """A training failed, or was ended; what was sampled and judged is in the ledger, and the same command goes on."""

    exit_code = 9


class PartError(GroundwireError):
    """A part of the graph (an actor, critic, tool or node of its user) raised an error, which is this one's cause.

    It stands for that error in a result; where errors are raised, that error itself is.
    """

    exit_code = 7


class StorageError(GroundwireError):
    """The ledger or the memory failed."""

    exit_code = 6


class StorageBusy(StorageError):
    """The database stayed locked for longer than we wait."""

    retryable = True


class LeaseLost(StorageError):
    """The task was taken over by another worker, which goes on with it from the ledger; nothing was written."""


class RecordNotFound(StorageError):
    """No record under that id, or more than one."""

    exit_code = 2
