"""Calls that are like those of the visible tests: what a patch does on them shows more than the tests alone."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.tasks import Task
from groundwire.tools.called import Call, read_calls
from groundwire.tools.mutations import mutated

__all__ = ["Probe", "probes_of"]

MOST_PROBES = 100
MAX_CHARS = 600
TURNS = 6
"""Attempts for each probe that is wanted: some make what was made before."""
STEPS = (1, 1, 1, 2, 2, 3)
"""Changes to one call, one of these numbers by chance."""


@dataclass(frozen=True)
class Probe:
    """A call that no test makes.

    Args:
        path: the test file that it was taken from.
        imports: that file's import statements, which give its names a meaning.
        call: an expression.
        wanted: names of the types of result that the tests ask of this function; empty where they don't tell.
    """

    path: str
    imports: tuple[str, ...]
    call: str
    wanted: frozenset[str] = frozenset()


def probes_of(task: Task, most: int = MOST_PROBES) -> tuple[Probe, ...]:
    """The probes of a task, always the same for the same task: calls of its tests with arguments changed a little.

    Args:
        task: its visible tests are read, never run.
        most: how many at most.
    """
    read = read_calls(task)
    wanted = {name: frozenset(kinds) for name, kinds in read.wanted.items()}
    found: dict[str, Probe] = {}
    known = {_text(call, {}) for call in read.calls}
    for call, text in _variations(read.calls, most):
        if len(found) >= most:
            break
        if text not in known and 0 < len(text) <= MAX_CHARS:
            found.setdefault(text, Probe(call.path, call.imports, text, wanted.get(call.function, frozenset())))
    return tuple(found.values())


def _variations(calls: Sequence[Call], most: int) -> Iterator[tuple[Call, str]]:
    source = random.Random(0)
    donors = [value for call in calls for value in call.arguments().values()]
    for turn in range(TURNS * most if calls else 0):
        call = calls[turn % len(calls)]
        arguments = call.arguments()
        for _ in range(source.choice(STEPS)):
            place = source.choice(list(arguments))
            arguments[place] = mutated(arguments[place], donors, source)
        yield call, _text(call, arguments)


def _text(call: Call, changed: dict[int | str, Any]) -> str:
    try:
        return call.text(changed)
    except (ValueError, RecursionError, MemoryError):
        return ""
