"""Two runs task by task, and two episodes trial by trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from groundwire.core._signals import Verdict
from groundwire.viewer._episode import EpisodeView
from groundwire.viewer._trials import TrialView

Outcome = tuple[str, int, str, str]
"""(task, seed, episode, verdict)."""


@dataclass(frozen=True)
class TaskPair:
    """A task with one seed in two runs.

    Args:
        task: its id.
        seed: the seed.
        first: (episode, verdict) in the first run; empty where it is not in it.
        second: the same of the second.
    """

    task: str
    seed: int
    first: tuple[str, str]
    second: tuple[str, str]


@dataclass(frozen=True)
class RunComparison:
    """Two runs.

    Args:
        fixed: passed in the second run alone.
        broken: passed in the first alone.
        both: passed in both.
        neither: passed in none.
        unmatched: in one of them only.
    """

    fixed: Sequence[TaskPair]
    broken: Sequence[TaskPair]
    both: Sequence[TaskPair]
    neither: Sequence[TaskPair]
    unmatched: Sequence[TaskPair]

    @property
    def sets(self) -> Mapping[str, tuple[str, Sequence[TaskPair]]]:
        """The sets, each with what it means."""
        return {
            "fixed": ("passed in B alone", self.fixed),
            "broken": ("passed in A alone", self.broken),
            "both": ("passed in both", self.both),
            "neither": ("passed in neither", self.neither),
            "unmatched": ("in one of the two runs only", self.unmatched),
        }


def compare_runs(first: Sequence[Outcome], second: Sequence[Outcome]) -> RunComparison:
    """Task by task and seed by seed; of a task that a run has twice the last one counts."""
    in_first, in_second = _by_task(first), _by_task(second)
    sets: dict[str, list[TaskPair]] = {name: [] for name in ("fixed", "broken", "both", "neither", "unmatched")}
    for key in dict.fromkeys([*in_first, *in_second]):
        before, after = in_first.get(key, ("", "")), in_second.get(key, ("", ""))
        passed = before[1] == Verdict.PASS, after[1] == Verdict.PASS
        if not before[0] or not after[0]:
            name = "unmatched"
        else:
            name = {(False, True): "fixed", (True, False): "broken", (True, True): "both"}.get(passed, "neither")
        sets[name].append(TaskPair(*key, before, after))
    return RunComparison(**sets)


def _by_task(outcomes: Sequence[Outcome]) -> Mapping[tuple[str, int], tuple[str, str]]:
    return {(task, seed): (episode, verdict) for task, seed, episode, verdict in outcomes}


def compare_episodes(first: EpisodeView, second: EpisodeView) -> Sequence[tuple[TrialView | None, TrialView | None]]:
    """Their trials side by side, by number."""
    by_number = [{trial.number: trial for trial in view.trials} for view in (first, second)]
    most = max((n for numbers in by_number for n in numbers), default=-1)
    pairs = zip_longest(*([numbers.get(n) for n in range(most + 1)] for numbers in by_number))
    return [(left, right) for left, right in pairs if left or right]
