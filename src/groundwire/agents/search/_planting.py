"""Bugs planted in a project that works: its own code with one thing changed, by the operators of the search.

What undoes each is known, and right by construction: the project's tests pass without the bug. So bugs that the tests
notice are examples of repair, with as much failing evidence as one wants.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from groundwire.agents.patching._edit_blocks import SearchReplace
from groundwire.agents.search._blame import Blame
from groundwire.agents.search._candidates import Stream
from groundwire.agents.search._examples import Examples
from groundwire.agents.search._mutants import OPERATORS
from groundwire.agents.search._source import RankedEdit, apply, note
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._tasks import Task

MAX_FILE_BYTES = 200_000
LOOKED_AT = 1500
"""Edits of one file."""
CONTEXT_LINES = 2


@dataclass(frozen=True)
class PlantedBug:
    """A bug in one file.

    Args:
        path: the file.
        operator: what changed it.
        line: where, from 1.
        candidate: the project with the bug.
        note: what was changed, in a line.
    """

    path: str
    operator: str
    line: int
    candidate: Candidate
    note: str


def plant_bugs(task: Task, n: int, seed: int = 0) -> list[PlantedBug]:
    """Up to `n` bugs, spread over files, lines and kinds; the same for the same project and seed.

    Those that mean the same as the project, or as each other, as far as that can be seen, are left out. Whether a test
    notices one is not known yet.

    Args:
        task: the project; what a candidate may change gets bugs.
        n: how many.
        seed: chooses.
    """
    chance = random.Random(seed)
    by_file = {path: _bugs_in(task, path, seed) for path in sorted(task.tree.files) if _can_hold(path, task)}
    places: list[list[PlantedBug]] = []
    for bugs in by_file.values():
        by_line: dict[int, list[PlantedBug]] = {}
        for bug in bugs:
            by_line.setdefault(bug.line, []).append(bug)
        for at_line in by_line.values():
            chance.shuffle(at_line)
            places.append(at_line)
    chance.shuffle(places)
    chosen: list[PlantedBug] = []
    while len(chosen) < n and places:
        for at_line in [*places]:
            chosen.append(at_line.pop())
            if not at_line:
                places.remove(at_line)
            if len(chosen) == n:
                break
    return chosen


def _can_hold(path: str, task: Task) -> bool:
    return path.endswith(".py") and task.may_edit(path) and 0 < len(task.tree.files[path]) <= MAX_FILE_BYTES


def _bugs_in(task: Task, path: str, seed: int) -> Iterator[PlantedBug]:
    data = task.tree.files[path]
    lines = dict.fromkeys(range(1, data.count(b"\n") + 2), 1.0)
    alone = Tree({path: data})
    stream = Stream(alone, Blame({path: lines}, 0.0, (path,)), Examples(), {}, seed)
    seen: set[str] = set()
    for index in range(LOOKED_AT):
        edit = stream.at(index)
        if edit is None or edit.score <= 0:
            return
        key = stream.key((edit,)) if edit.name in OPERATORS else None
        if key is not None and key not in seen:
            seen.add(key)
            yield _bug(task, stream, edit)


def _bug(task: Task, stream: Stream, edit: RankedEdit) -> PlantedBug:
    parsed = stream.parsed(edit.path)
    assert parsed is not None, "an edit is of a file that was parsed"
    content = apply(parsed.source.data, edit.proposal.splices)
    said = note(parsed.source, (edit,))
    candidate = Candidate(task.tree.digest, {edit.path: content}, (edit.name,), said)
    return PlantedBug(edit.path, edit.name, edit.line, candidate, said)


def edit_between(path: str, now: str, wanted: str) -> SearchReplace:
    """The edit that makes one text of another, with as many lines around it as it takes to be found once.

    Args:
        path: the file.
        now: its text.
        wanted: the text that it is to have; another one.
    """
    old, new = now.splitlines(keepends=True), wanted.splitlines(keepends=True)
    head = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    most = min(len(old), len(new)) - head
    tail = next((n for n in range(most) if old[-1 - n] != new[-1 - n]), most)
    around = CONTEXT_LINES
    while True:
        first, last = max(0, head - around), max(0, tail - around)
        search, replace = "".join(old[first : len(old) - last]), "".join(new[first : len(new) - last])
        if now.count(search) == 1 or (not first and not last):
            return SearchReplace(path, search, replace)
        around *= 2
