"""What a model's samples came to, task by task: how many are right, and how many differ."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from groundwire.training._answers import ModelAnswer, answers_of
from groundwire.training._schema import Rejected
from groundwire.training._trajectories import Attempt, Trajectory

OPINION = "judge_own."
"""What the purpose of a call begins with in which a model says whether its own sample is right."""


def solution_key(attempt: Attempt) -> str:
    """Equal for candidates that are the same program, whatever their layout and comments."""
    said: list[str] = []
    for change in attempt.changes:
        text = change.content or ""
        if change.path.endswith(".py"):
            try:
                text = ast.unparse(ast.parse(text))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                text = " ".join(text.split())
        said.append(f"{change.path}\n{text}")
    whole = "\n".join(sorted(said)) or attempt.digest
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:24]


@dataclass
class TaskSamples:
    """One task's samples.

    Args:
        task: its id.
        samples: that were drawn.
        right: of these, those that executed checks passed.
        unjudged: those that gave no verdict: no answer was in them, or the checks could not say.
        programs: by solution, how many of the samples are it.
        right_programs: of these, the right ones.
    """

    task: str
    samples: int = 0
    right: int = 0
    unjudged: int = 0
    programs: dict[str, int] = field(default_factory=dict[str, int])
    right_programs: set[str] = field(default_factory=set[str])

    @property
    def share(self) -> float:
        """Of all samples, those that are right; what gave no verdict is not."""
        return self.right / self.samples if self.samples else 0.0


@dataclass(frozen=True)
class CountedSample:
    """One judged answer of a model.

    Args:
        answer: what was asked, answered and observed.
        key: see `solution_key`.
        approved: the model itself said that it is right; None where it was not asked.
    """

    answer: ModelAnswer
    key: str
    approved: bool | None

    @property
    def right(self) -> bool:
        """By executed checks alone."""
        return self.answer.reward == 1.0

    @property
    def task(self) -> str:
        """Its task's id."""
        return self.answer.trajectory.task


def samples_of(trajectories: Iterable[Trajectory]) -> tuple[Sequence[CountedSample], Mapping[str, TaskSamples]]:
    """The judged answers of episodes, and what each task's came to.

    A task whose episode has no answer at all, since the model could not be asked, is in neither.
    """
    found: list[CountedSample] = []
    tasks: dict[str, TaskSamples] = {}
    for trajectory in trajectories:
        told = list(answers_of(trajectory))
        if not any(turn.loss for turn in trajectory.turns):
            continue
        of_task = tasks.setdefault(trajectory.task, TaskSamples(trajectory.task))
        opinions = _opinions(trajectory)
        keys: dict[str, str] = {}
        for one in told:
            if isinstance(one, Rejected):
                # what a rejection is of is told by its reason: a candidate without an answer is no sample
                if one.reason != "no_model_text":
                    of_task.samples += 1
                    of_task.unjudged += 1
                continue
            key = keys.setdefault(one.attempt.digest, solution_key(one.attempt))
            of_task.samples += 1
            of_task.programs[key] = of_task.programs.get(key, 0) + 1
            if one.reward == 1.0:
                of_task.right += 1
                of_task.right_programs.add(key)
            found.append(CountedSample(one, key, opinions.get(one.attempt.digest)))
    return found, tasks


def _opinions(trajectory: Trajectory) -> Mapping[str, bool]:
    """By candidate, whether the model said that it is right."""
    return {
        turn.purpose.removeprefix(OPINION): turn.answer.strip().casefold().startswith("yes")
        for turn in trajectory.turns
        if turn.purpose.startswith(OPINION) and not turn.error
    }


def diversity(tasks: Iterable[TaskSamples]) -> float | None:
    """Share of judged samples that are different programs, mean over the tasks that have two or more; None where none
    has."""
    shares = [len(task.programs) / sum(task.programs.values()) for task in tasks if sum(task.programs.values()) > 1]
    return sum(shares) / len(shares) if shares else None
