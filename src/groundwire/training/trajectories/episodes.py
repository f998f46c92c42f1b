"""Whole episodes: their trials, and why one may not be exported as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from pydantic import computed_field

from groundwire.records import StopReason
from groundwire.signals import Verdict
from groundwire.training.trajectories.judged import Attempt, Remark, Seen
from groundwire.training.trajectories.texts import Frozen, ModelRevision
from groundwire.training.trajectories.turns import Turn

__all__ = ["Flaw", "Problem", "Trajectory", "Trial"]


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
