"""Reads a test command: which runner it names, with which arguments, under which interpreter flags."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Literal

RunnerName = Literal["pytest", "unittest", "doctest", "command"]
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_LAUNCHERS = frozenset({"uv", "poetry", "pdm", "pipenv", "rye", "hatch"})
_FLAGS_WITH_VALUE = frozenset({"-W", "-X"})
_MODULES: Mapping[str, RunnerName] = {
    "pytest": "pytest",
    "py.test": "pytest",
    "unittest": "unittest",
    "doctest": "doctest",
}


@dataclass(frozen=True)
class Invocation:
    """A command line, understood.

    Args:
        runner: what runs; `command` is any program.
        arguments: the runner's arguments.
        words: the whole command line without the variables.
        flags: flags of the Python interpreter (`-W error`), where it was named.
        env: variables that were set in front of the command (`PYTHONPATH=src pytest`).
        here: True if the current folder is on the import path, as with `python -m`.
    """

    runner: RunnerName
    arguments: tuple[str, ...]
    words: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    here: bool = False


def read_command(command: Sequence[str]) -> Invocation:
    """Reads a command that was split already.

    `VARIABLE=value` in front and `env` are understood; `uv run`, `poetry run` and their like are taken off, since the
    sandbox runs the project's own interpreter anyway.
    """
    words = list(command)
    if words and words[0] == "env":
        words = words[1:]
    env: dict[str, str] = {}
    while words and (assignment := _ASSIGNMENT.fullmatch(words[0])):
        env[assignment[1]] = assignment[2]
        words = words[1:]
    launched = len(words) > 2 and words[0] in _LAUNCHERS and words[1] == "run" and not words[2].startswith("-")
    found = _of_words(words[2:] if launched else words)
    if found is None:
        return Invocation("command", tuple(words), words=tuple(words), env=env)
    return replace(found, words=tuple(words), env=env)


def _of_words(words: list[str]) -> Invocation | None:
    if not words:
        return None
    program = PurePosixPath(words[0]).name
    if program in ("pytest", "py.test"):
        return Invocation("pytest", tuple(words[1:]))
    if not _PYTHON.fullmatch(program):
        return None
    flags: list[str] = []
    rest = words[1:]
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c", "-", "--"):
        size = 2 if rest[0] in _FLAGS_WITH_VALUE else 1
        flags += rest[:size]
        rest = rest[size:]
    if len(rest) < 2 or rest[0] != "-m" or rest[1] not in _MODULES:
        return None
    return Invocation(_MODULES[rest[1]], tuple(rest[2:]), flags=tuple(flags), here=True)
