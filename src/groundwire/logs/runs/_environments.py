"""Reflexion's logs on ALFWorld and WebShop as a run: outcomes and reflections; what was done is not in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from groundwire.core._candidates import Tree
from groundwire.core._environments import ACTIONS, START, attempt
from groundwire.core._errors import RecordingError
from groundwire.core._signals import Verdict, canonical
from groundwire.core._tasks import Task
from groundwire.logs._environments import EnvironmentTrial, read_environments
from groundwire.logs.runs._logged import LoggedEpisode, LoggedTrial, seen

NOT_LOGGED = "(what was done is not in the log)"


def episodes_of(files: Sequence[Path], *, family: str, reflects: bool) -> Iterator[LoggedEpisode]:
    """The episodes of a run.

    Args:
        files: one a trial, in order.
        family: the tasks' family.
        reflects: whether the agents were given their reflections; runs without hold such texts too.

    Raises:
        RecordingError: a file is no such log, or holds other environments than the one before.
    """
    rows = [{row.name: row for row in read_environments(file)} for file in files]
    for file, these in zip(files[1:], rows[1:], strict=True):
        if these.keys() != rows[0].keys():
            raise RecordingError(f"{file} holds other environments than {files[0].name}.", do="Name one run's files.")
    for name in rows[0]:
        mine = [these[name] for these in rows]
        task = world_task(f"{family}/{name}", family, "Reach the goal of this environment.")
        yield LoggedEpisode(task, tuple(_trials(task, mine, [file.name for file in files], reflects)))


def world_task(id: str, family: str, prompt: str) -> Task:
    """The task of winning in a world that is not here."""
    shown: dict[str, object] = {"seed": 0, "scene": prompt, "actions": []}
    tree = Tree({START: canonical(shown).encode(), ACTIONS: b""})
    return Task(id=id, prompt=prompt, tree=tree, family=family, editable=(ACTIONS,))


def _trials(
    task: Task, rows: Sequence[EnvironmentTrial], places: Sequence[str], reflects: bool
) -> Iterator[LoggedTrial]:
    given: tuple[str, ...] = ()
    for number, (row, place) in enumerate(zip(rows, places, strict=True), start=1):
        verdict = Verdict.PASS if row.solved else Verdict.FAIL
        written = row.reflections[len(given) :] if reflects and not row.solved else ()
        yield LoggedTrial(
            number,
            ((attempt(task, number, (NOT_LOGGED,)), seen(verdict, f"{place}, {row.name}")),),
            given=given,
            reflections=tuple(written),
        )
        if row.solved:
            return
        given = tuple(row.reflections) if reflects else ()
