"""What a log holds, in the ledger's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from groundwire.core._candidates import Candidate
from groundwire.core._signals import Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import Task


@dataclass(frozen=True)
class LoggedTrial:
    """One trial.

    Args:
        number: counted from 1.
        judged: what was judged in it, in order, and what the log says of it.
        answers: what the model wrote, in order; empty where the log does not hold it.
        given: the reflections that its prompt held.
        reflections: what was written about it after it failed.
    """

    number: int
    judged: tuple[tuple[Candidate, Observation], ...]
    answers: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    reflections: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What its last signal says that may steer."""
        said = [o.verdict for _, o in self.judged if o.origin is not Origin.HIDDEN_TESTS]
        return said[-1] if said else Verdict.NONE


@dataclass(frozen=True)
class LoggedEpisode:
    """One task and its trials, in order."""

    task: Task
    trials: tuple[LoggedTrial, ...]

    def first(self, trials: int) -> LoggedEpisode:
        """Without the trials after that one."""
        return replace(self, trials=tuple(trial for trial in self.trials if trial.number <= trials))


@dataclass(frozen=True)
class LoggedRun:
    """One run that somebody logged.

    Args:
        name: for people, and for the choice among the runs of a folder (`reflexion_alfworld/reflexion`).
        log: what kind of log it is.
        files: name and sha256 of each file.
        read: reads its episodes anew.
        model: the model, where its name is in the log's.
        control: the name of the run that was made without reflections on the same tasks; empty where there is none.
        allowed_trials: tries that its episodes might have, where the files tell; 0: they don't.
    """

    name: str
    log: str
    files: tuple[tuple[str, str], ...]
    read: Callable[[], Iterable[LoggedEpisode]]
    model: str = ""
    control: str = ""
    allowed_trials: int = 0


def seen(
    verdict: Verdict,
    place: str,
    *,
    origin: Origin = Origin.ENVIRONMENT,
    oracle: bool = False,
    evidence: Evidence | None = None,
    reason: NoVerdict | None = None,
) -> Observation:
    """What a log says, marked as taken from there.

    Args:
        verdict: as logged.
        place: file and row.
        origin: what had said so when it was logged.
        oracle: True where that used the answer key.
        evidence: what else is logged.
        reason: why there is no verdict.
    """
    return Observation(
        verdict=verdict,
        origin=origin,
        oracle=oracle,
        reason=reason,
        evidence=evidence or Evidence(detail=f"logged as {'solved' if verdict is Verdict.PASS else 'not solved'}"),
        taken_from=place,
    )
