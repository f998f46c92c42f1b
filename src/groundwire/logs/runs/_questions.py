"""Reflexion's logs on HotpotQA as a run: every question in every trial, with its searches and answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from groundwire.core._candidates import Candidate
from groundwire.core._environments import attempt, scene_as_text
from groundwire.core._scene import Scene, Status, tidied
from groundwire.core._signals import Evidence, NoVerdict, Observation, Verdict
from groundwire.core._tasks import Task
from groundwire.logs._hotpotqa import Answered, Outcome, read_hotpotqa
from groundwire.logs.runs._environments import NOT_LOGGED, world_task
from groundwire.logs.runs._logged import LoggedEpisode, LoggedTrial, seen

_STEP = re.compile(r"^(Thought|Action|Observation)(?: \d+)?: ?", re.MULTILINE)
ACTION_CHARS = 500
ID_CHARS = 12


def episodes_of(file: Path, *, family: str) -> Iterator[LoggedEpisode]:
    """The episodes of a run, in the order in which their questions first stand in the log.

    Raises:
        RecordingError: the file is no such log.
    """
    trials: dict[str, dict[int, Answered]] = {}
    for row in read_hotpotqa(file):
        if isinstance(row, Answered):
            # an answer that is there twice, as wrong and as never given, counts once
            trials.setdefault(row.question, {}).setdefault(row.trial, row)
    for question, rows in trials.items():
        asked = world_task(family, family, question)
        # no number: each log has its questions in an order of its own, and a task has one id in all of them
        task = replace(asked, id=f"{family}/{asked.tree.digest[:ID_CHARS]}")
        yield LoggedEpisode(task, tuple(_trials(task, rows, file.name)))


def _trials(task: Task, rows: dict[int, Answered], place: str) -> Iterator[LoggedTrial]:
    for number in sorted(rows):
        row = rows[number]
        following = rows.get(number + 1)
        told = following.reflections if following else ()
        written = tuple(text for text in told if text not in row.reflections)
        steps = list(_steps(row.text))
        solved = row.outcome is Outcome.CORRECT
        yield LoggedTrial(
            number,
            tuple(_judged(task, number, steps, solved, f"{place}, trial {number}", str(row.outcome))),
            answers=tuple(said for said, _, _ in steps),
            given=row.reflections,
            reflections=() if solved else written,
        )
        if solved:
            return


def _steps(text: str) -> Iterator[tuple[str, str, str]]:
    """What the model wrote, the action in it, and what it was shown then."""
    # an earlier attempt may stand above the reflections, and the gold answer below the last step
    own = text[text.rfind("\nReflections:") + 1 : text.rfind("Correct answer:")]
    parts = _STEP.split(own)
    thought, action = "", ""
    for kind, content in zip(parts[1::2], parts[2::2], strict=True):
        content = content.strip()
        if kind == "Thought":
            thought = content
        elif kind == "Action":
            if action:
                yield _said(thought, action), action, ""
                thought = ""
            action = content[:ACTION_CHARS]
        elif action:
            yield _said(thought, action), action, content
            thought, action = "", ""
    if action:
        yield _said(thought, action), action, ""


def _said(thought: str, action: str) -> str:
    return f"Thought: {thought}\nAction: {action}" if thought else f"Action: {action}"


def _judged(
    task: Task, trial: int, steps: list[tuple[str, str, str]], solved: bool, place: str, outcome: str
) -> Iterator[tuple[Candidate, Observation]]:
    actions = [action for _, action, _ in steps] or [NOT_LOGGED]
    shown = [text for _, _, text in steps] or [""]
    for count in range(1, len(actions) + 1):
        candidate = attempt(task, trial, actions[:count])
        is_last = count == len(actions)
        status = Status.RUNNING if not is_last else Status.WON if solved else Status.LOST
        scene = tidied(Scene(shown[count - 1], status))
        evidence = Evidence(stdout=scene_as_text(scene), detail=f"logged as {outcome}" if is_last else "")
        verdict = Verdict.NONE if not is_last else Verdict.PASS if solved else Verdict.FAIL
        reason = None if is_last else NoVerdict.GO_ON
        yield candidate, seen(verdict, place, oracle=True, evidence=evidence, reason=reason)
