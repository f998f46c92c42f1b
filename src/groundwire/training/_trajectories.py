"""Whole episodes: their trials, what was asked, tried and observed, and why one may not be exported as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field
from pydantic.json_schema import SkipJsonSchema

from groundwire.core._models import ToolCall
from groundwire.core._records import StopReason
from groundwire.core._signals import Isolation, NoVerdict, Origin, Verdict

# Texts and who wrote them: a person, a program or a model.


class Author(StrEnum):
    """Who wrote a text."""

    HUMAN = "human"
    """A person: the task, the project's files, our prompt around them."""
    ENV = "env"
    """A program or a world: test output, scenes, tool results, rules."""
    MODEL = "model"
    """A model; also what a model may have had a part in."""


class Frozen(BaseModel):
    """What all parts of a trajectory are."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings", defer_build=True)


class ModelRevision(Frozen):
    """Which model wrote something."""

    name: str
    """As the user named it."""
    revision: str
    """`model_revision` of the run's config; else the id that the provider reported."""


class Span(Frozen):
    """A part of a message by one author. Spans follow each other without a gap, so they cover the whole message."""

    start: int
    """Of its first character."""
    end: int
    """Behind its last character."""
    author: Author
    what: str = ""
    """The tag it stands in (`task`, `evidence`, `reflection`), or `prompt`."""


class Message(Frozen):
    """One message as it was sent."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    spans: tuple[Span, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    answers: str = ""
    """The id of the tool call whose result this is."""


# What was tried, and what was observed about it.

EXECUTED = frozenset(
    {
        Origin.HIDDEN_TESTS,
        Origin.TESTS,
        Origin.EXECUTION,
        Origin.ENVIRONMENT,
        Origin.TOOL_ERROR,
        Origin.VERIFIER,
    }
)
"""Origins that a reward may rest on: something ran. Tests that a model wrote, opinions and rules are none of them."""


class Seal(StrEnum):
    """What became of a signal's seal."""

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    """The run's key is not here."""
    BROKEN = "broken"
    """The signal is not what was minted; nothing may rest on it."""


class Seen(Frozen):
    """A signal: what was observed about one candidate. Tool results and scenes are its texts, and data."""

    id: str
    at: int
    trial: int
    issuer: str
    origin: Origin
    verdict: Verdict
    reason: NoVerdict | None = None
    candidate: str
    seal: Seal
    oracle: bool = False
    partial: bool = False
    isolation: Isolation = Isolation.IN_PROCESS
    """How far the assertions were from the code they judge; `in_process` and `process` are not unforgeable."""
    passed: int = 0
    failed: tuple[tuple[str, str], ...] = ()
    """Name and message of each case that counts against the candidate."""
    detail: str = ""
    stdout: str = ""
    """What the program or the world said; empty where cases were flaky."""
    stderr: str = ""
    exit_code: int | None = None
    taken_from: str = ""
    """The recorded signal that this one repeats."""
    created_at: str = ""

    @property
    def executed(self) -> bool:
        """True where a reward may rest on it."""
        return self.origin in EXECUTED and self.seal is not Seal.BROKEN

    @property
    def hidden(self) -> bool:
        """True where hidden tests gave it."""
        return self.origin is Origin.HIDDEN_TESTS


class Change(Frozen):
    """What a candidate does to one file."""

    path: str
    content: str | None
    """The whole new text; None where the file is deleted or is no UTF-8 text."""
    deleted: bool = False


class Attempt(Frozen):
    """A candidate in a trial, with all that was observed about it there, and what hidden tests said of it in another
    trial of the episode. In a world each step makes one."""

    digest: str
    at: int
    trial: int
    base: bool = False
    """The task's own tree: nobody proposed it."""
    actor: str = ""
    edits: tuple[str, ...] = ()
    note: str = ""
    changes: tuple[Change, ...] = ()
    turn: str = ""
    """`Turn.id` of the answer that it was made of; empty where no model made it, or where that can't be told."""
    twins: tuple[str, ...] = ()
    """Ids of further answers that say the same."""
    signals: tuple[Seen, ...] = ()
    reward: float | None = None
    """1.0 or 0.0 by executed checks alone, where they gave a verdict; hidden tests have the last word."""
    rewarded_by: tuple[str, ...] = ()
    """Ids of the signals that the reward rests on."""

    @property
    def failed(self) -> bool:
        """True where an executed check failed it."""
        return any(signal.executed and signal.verdict is Verdict.FAIL for signal in self.signals)


class Remark(Frozen):
    """A reflection: what a critic said of one failure."""

    id: str
    at: int
    trial: int
    signal: str
    candidate: str
    text: str
    raw: str = ""
    by: str = ""
    author: Author


# Turns: what a model was asked, and what it answered.


class Turn(Frozen):
    """One sample of one model call."""

    id: str
    """The call's intent and the sample's number: `0193…#0`."""
    at: int
    """Place of the answer among the episode's records; orders turns, signals and remarks."""
    trial: int
    purpose: str
    """As the ledger keeps it: `propose`, `correct`, `reflect`, …, perhaps with a stage after a point."""
    part: Literal["actor", "critic", "tool"]
    prompt: tuple[Message, ...]
    prompt_digest: str
    """sha256 of the messages."""
    template_digest: str = ""
    """sha256 of the versioned prompt file; empty for prompts of somebody's own."""
    reasoning: str = ""
    """What was thought first, with its marks; `reasoning + answer` is the text, letter for letter."""
    answer: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    model: ModelRevision
    error: str = ""
    """Why there is no answer."""
    reused: bool = False
    """The answer was taken from an earlier call."""
    finish_reason: str = ""
    temperature: float = 0.0
    samples: int = 1
    """Samples of this call."""
    prompt_tokens: Annotated[SkipJsonSchema[int], Field(exclude=True)] = 0
    """Of this call's one prompt; in no row."""
    completion_tokens: int = 0
    """Of all samples of this call together."""
    logprobs: tuple[float, ...] | None = None
    """Of each token, in nats."""
    top_logprobs: tuple[tuple[float, ...], ...] | None = None
    """Of each token, those of the likeliest ones there, highest first, as they are stored."""
    entropies: tuple[float, ...] | None = None
    """Of each token, in nats (`training.turns`); None where no top log probabilities are stored."""
    loss: bool = False
    """Loss mask: True where a model may learn to write this: an actor's answer."""
    visible: bool = True
    """Visibility mask: False where the actor neither wrote this nor was shown it later."""
    privileged: bool = False
    """Whoever wrote it had been shown what the answer key says."""

    @property
    def text(self) -> str:
        """The whole text, as the model wrote it."""
        return self.reasoning + self.answer

    @computed_field
    @property
    def entropy(self) -> float | None:
        """Mean entropy of its tokens, in nats: H_t of EMPG (arXiv 2509.09265)."""
        return sum(self.entropies) / len(self.entropies) if self.entropies else None


# Whole episodes: their trials, and why one may not be exported as it stands.


class Flaw(StrEnum):
    """Why a trajectory may not be exported as it stands."""

    NO_VERDICT = "no_verdict"
    """No executed check gave a verdict on anything that was tried."""
    MIXED_REVISIONS = "mixed_revisions"
    """More than one model, or revision of one, wrote the candidates."""
    TRUNCATED = "truncated"
    """Records are missing: the episode has no end, or one record names another that is not there."""
    UNVERIFIED = "unverified"
    """The run's key is not here, so no seal could be checked."""
    BROKEN_SEAL = "broken_seal"
    """A signal is not what was minted, or the body of a candidate is not the one that was judged."""


class Problem(Frozen):
    """One flaw, and where."""

    flaw: Flaw
    detail: str = ""


class Trial(Frozen):
    """One attempt at the task and its judging."""

    number: int
    """0: the baseline."""
    turns: tuple[Turn, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    remarks: tuple[Remark, ...] = ()
    trigger: str = ""
    """The signal whose admission to `refine` opened this trial; empty where none did."""
    lessons: tuple[str, ...] = ()
    escalation: int = 0
    verdict: Verdict = Verdict.NONE
    """What steered; hidden tests have no part in it."""

    @computed_field
    @property
    def reward(self) -> float | None:
        """Of its last attempt that has one."""
        return next((a.reward for a in reversed(self.attempts) if a.reward is not None), None)


class Trajectory(Frozen):
    """One episode."""

    run: str
    graph: str = ""
    version: str = ""
    """groundwire's."""
    episode: str
    task: str
    """The task's id."""
    family: str = ""
    prompt: str = ""
    """What the task asks for, in words."""
    command: tuple[str, ...] = ()
    """What judges, as the task names it."""
    base_digest: str = ""
    seed: int = 0
    created_at: str = ""
    group: str
    """Of the task and the actor's first prompt: episodes of one group answered the same question."""
    trials: tuple[Trial, ...] = ()
    verdict: Verdict = Verdict.NONE
    stop_reason: StopReason | None = None
    """None: the episode has no end."""
    best: str = ""
    """Digest of the best verified candidate."""
    grounded: bool = True
    trust: tuple[str, ...] = ()
    """Opinions that the graph trusted."""
    control: str = ""
    """What kind of control arm the run is; empty where it is none."""
    imported: str = ""
    """The published log that it was read from, where nothing of it was run here; else empty."""
    problems: tuple[Problem, ...] = ()

    @property
    def turns(self) -> Iterator[Turn]:
        """All turns, in order."""
        return (turn for trial in self.trials for turn in trial.turns)

    @property
    def attempts(self) -> Iterator[Attempt]:
        """All that was proposed, in order; the baseline is not."""
        return (attempt for trial in self.trials for attempt in trial.attempts if not attempt.base)

    @property
    def signals(self) -> Iterator[Seen]:
        """All signals about candidates, in order."""
        return (signal for trial in self.trials for attempt in trial.attempts for signal in attempt.signals)

    @property
    def remarks(self) -> Iterator[Remark]:
        """All reflections, in order."""
        return (remark for trial in self.trials for remark in trial.remarks)

    @property
    def flaws(self) -> frozenset[Flaw]:
        """Why it may not be exported as it stands."""
        return frozenset(problem.flaw for problem in self.problems)

    @computed_field
    @property
    def reward(self) -> float | None:
        """By executed checks alone: of the last trial that has one."""
        return next((t.reward for t in reversed(self.trials) if t.number and t.reward is not None), None)

    @computed_field
    @property
    def first_error(self) -> int | None:
        """Index among `attempts` of the first that an executed check failed."""
        return next((index for index, attempt in enumerate(self.attempts) if attempt.failed), None)

    @computed_field
    @property
    def oracle(self) -> bool:
        """True if a signal used the answer key: not comparable with what had none."""
        return any(signal.oracle for signal in self.signals)

    @computed_field
    @property
    def models(self) -> tuple[ModelRevision, ...]:
        """The models whose answers may be learned, in the order in which they came in."""
        return tuple(dict.fromkeys(turn.model for turn in self.turns if turn.part == "actor" and not turn.error))

    def trial(self, number: int) -> Trial | None:
        """The trial of that number."""
        return next((trial for trial in self.trials if trial.number == number), None)

    def turn(self, turn_id: str) -> Turn | None:
        """The turn of that id."""
        return next((turn for turn in self.turns if turn.id == turn_id), None) if turn_id else None
