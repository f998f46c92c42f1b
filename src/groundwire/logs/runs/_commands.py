"""InterCode's logs as runs: an episode is one trial, each turn a step in its environment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from groundwire.core._candidates import Candidate
from groundwire.core._environments import attempt, scene_as_text
from groundwire.core._scenes import ACTION_CHARS, Scene, Status, tidied
from groundwire.core._signals import Evidence, NoVerdict, Observation, Verdict
from groundwire.core._tasks import Task
from groundwire.logs._intercode import InterCodeEpisode, read_intercode
from groundwire.logs.runs._environments import world_task
from groundwire.logs.runs._logged import LoggedEpisode, LoggedTrial, seen

SOLVED = 1.0
"""The reward of a right answer."""


def episodes_of(file: Path, *, family: str) -> Iterator[LoggedEpisode]:
    """The episodes of a run.

    Raises:
        RecordingError: the file is no such log.
    """
    for row in read_intercode(file):
        task = world_task(f"{family}/{row.task_id}", family, row.query)
        place = f"{file.name}, task {row.task_id}"
        trial = LoggedTrial(1, tuple(_turns(task, row, place)), answers=tuple(row.turns.actions))
        yield LoggedEpisode(task, (trial,))


def _turns(task: Task, row: InterCodeEpisode, place: str) -> Iterator[tuple[Candidate, Observation]]:
    actions = [action[:ACTION_CHARS] for action in row.turns.actions]
    for count, (shown, reward) in enumerate(zip(row.turns.observations, row.turns.rewards, strict=True), start=1):
        won, is_last = reward == SOLVED, count == len(actions)
        status = Status.WON if won else Status.LOST if is_last else Status.RUNNING
        scene = tidied(Scene(shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False), status))
        evidence = Evidence(stdout=scene_as_text(scene), detail=f"reward {reward:g}")
        verdict = Verdict.PASS if won else Verdict.FAIL if is_last else Verdict.NONE
        reason = NoVerdict.GO_ON if verdict is Verdict.NONE else None
        yield (
            attempt(task, 1, actions[:count]),
            seen(verdict, place, oracle=True, evidence=evidence, reason=reason),
        )
        if won:
            return
