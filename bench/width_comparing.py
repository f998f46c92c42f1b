"""Runs the arms on a recording, each beside width with the check at the same tokens."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from width_arms import CHECKED, Arm, Sizes
from width_figures import Matched, draw, report
from width_running import Outcome, Runner, as_data

from groundwire.core import Backend, ConfigError, Recording, RecordingMissing, Task
from groundwire.models import ReplayBackend

__all__ = ["Found", "compare"]


@dataclass(frozen=True)
class Found:
    """What all arms came to.

    Args:
        about: how it was recorded, and how many tasks are in it.
        outcomes: by arm, in the order of the tasks.
        matched: by arm, width with the check at the tokens of that arm.
    """

    about: str
    outcomes: Mapping[str, Sequence[Outcome]]
    matched: Mapping[str, Sequence[Outcome]]

    def report(self) -> str:
        """All tables."""
        return report(self.outcomes, [Matched(arm, mine) for arm, mine in self.matched.items()], self.about)

    def lines(self) -> Iterator[Mapping[str, Any]]:
        """An outcome each; `matched` names the arm whose tokens it was held to."""
        for mine in self.outcomes.values():
            yield from as_data(mine)
        for arm, mine in self.matched.items():
            yield from ({**line, "matched": arm} for line in as_data(mine))

    def draw(self, path: Path) -> None:
        """The figure."""
        draw(self.outcomes, path, self.about)


async def compare(
    recording: Recording, tasks: Sequence[Task], arms: Sequence[Arm], sizes: Sizes, *, seed: int = 0
) -> Found:
    """Runs all arms on the tasks that are recorded whole.

    Args:
        recording: of the same tasks, arms, sizes and seed.
        tasks: with hidden tests.
        arms: which are compared.
        sizes: of all arms.
        seed: of every episode.

    Raises:
        RecordingMissing: no task is recorded whole.
    """
    runner = Runner(sizes, seed=seed)
    outcomes: dict[str, list[Outcome]] = {}
    matched: dict[str, list[Outcome]] = {}

    def player(task: Task) -> ReplayBackend:
        return ReplayBackend(recording, task=task.id if recording.tasks else None)

    missing: RecordingMissing | None = None
    try:
        able = [arm for arm in arms if not await _lacks_probabilities(runner, arm, tasks[0], player(tasks[0]))]
        for number, task in enumerate(tasks, 1):
            try:
                mine = [await runner.run(arm, task, player(task)) for arm in able]
                others = [o for o in mine if o.arm != CHECKED]
                at_equal = [(o.arm, await runner.matched(o, task, partial(player, task))) for o in others]
            except RecordingMissing as error:
                missing = error
                continue
            for outcome in mine:
                outcomes.setdefault(outcome.arm, []).append(outcome)
            for arm, outcome in at_equal:
                matched.setdefault(arm, []).append(outcome)
            print(f"\r{number}/{len(tasks)}", end="", file=sys.stderr, flush=True)
    finally:
        await runner.aclose()
        print(file=sys.stderr)
    if missing is not None and not outcomes:
        raise missing
    n = len(next(iter(outcomes.values())))
    return Found(f"{recording.source}; model {recording.model}; {n} of {len(tasks)} tasks", outcomes, matched)


async def _lacks_probabilities(runner: Runner, arm: Arm, task: Task, model: Backend) -> bool:
    """True of an arm that needs those of tokens, where none are recorded."""
    if not arm.needs_probabilities:
        return False
    try:
        await runner.run(arm, task, model)
    except (RecordingMissing, ConfigError) as error:
        print(f"left out: {arm.name}: {error.what}", file=sys.stderr)
        return True
    return False
