"""What a program changed, read from a report that the program itself could have forged: only what is allowed counts."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from groundwire.agents.proposals import MAX_FILE_BYTES
from groundwire.agents.text import plain
from groundwire.errors import CandidateError
from groundwire.tasks import Task
from groundwire.trees import Tree, check_path

__all__ = [
    "MAX_CHANGED_BYTES",
    "MAX_CHANGED_FILES",
    "Changes",
    "ProgramReport",
    "Refusal",
    "read_report",
    "sort_changes",
]

MAX_CHANGED_BYTES = 8 * 1024 * 1024
MAX_CHANGED_FILES = 1000
MAX_REFUSED = 100
PATH_CHARS = 300
REASON_CHARS = 80

Encoded = Annotated[bytes, BeforeValidator(partial(base64.b64decode, validate=True))]


class Refusal(StrEnum):
    """Why something that a program changed is no part of its candidate."""

    TESTS = "tests"
    """A visible test: it is put back, and this says that it was touched."""
    READ_ONLY = "read_only"
    """Neither a test nor editable: configuration, or a file outside the task's globs."""
    LINK_OUTSIDE = "link_outside"
    """A link that leads out of the work folder."""
    NOT_A_FILE = "not_a_file"
    """A pipe, a device, a socket, or a link to a folder."""
    BAD_NAME = "bad_name"
    TOO_LARGE = "too_large"
    TOO_MUCH = "too_much"
    """Beyond the files or bytes that one candidate may change."""
    UNREADABLE = "unreadable"


class ProgramReport(BaseModel):
    """What `program_guest` reports."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    exit_code: int | None
    signal: int | None
    timed_out: bool
    error: str
    duration_s: float
    changes: list[tuple[str, Encoded | None]]
    """(path, new content, in base64 on its way, or None where it was deleted)."""
    modes: list[tuple[str, bool]]
    """(path, whether it is executable now) of files where that is not as it was."""
    problems: list[tuple[str, str]]
    """(reason, path)."""


@dataclass(frozen=True)
class Changes:
    """What a program changed.

    Args:
        allowed: path → new content, or None where it was deleted.
        modes: path → whether it is executable now, where that is not as it was.
        refused: the rest, each as `reason: path`.
        tests: visible tests it changed, which were put back.
    """

    allowed: dict[str, bytes | None]
    modes: dict[str, bool]
    refused: tuple[str, ...]
    tests: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """How many files it changed, in what they hold or in their mode."""
        return len(self.allowed.keys() | self.modes.keys())


def read_report(body: bytes) -> ProgramReport | None:
    """The report; None if it is not one."""
    try:
        return ProgramReport.model_validate_json(body)
    except ValidationError:
        return None


def sort_changes(report: ProgramReport, start: Tree, task: Task) -> Changes:
    """Takes what the task allows to change; says what else was changed.

    Args:
        report: what the program did to `start`.
        start: the tree it was given.
        task: says what may be edited.
    """
    allowed: dict[str, bytes | None] = {}
    refused: list[tuple[str, str]] = [(reason, path) for reason, path in report.problems]
    room = MAX_CHANGED_BYTES
    for path, content in report.changes:
        room -= len(content or b"")
        reason = _refusal(path, content, task)
        if reason is None and (room < 0 or len(allowed) >= MAX_CHANGED_FILES):
            reason = Refusal.TOO_MUCH
        if reason is None:
            allowed[path] = content
        else:
            refused.append((reason, path))
    for path in _below_a_file(allowed, start):
        del allowed[path]
        refused.append((Refusal.BAD_NAME, path))
    modes = _modes(report, start.with_changes(allowed), task, refused)
    tests = tuple(dict.fromkeys(plain(path, PATH_CHARS) for reason, path in refused if reason == Refusal.TESTS))
    told = dict.fromkeys(f"{plain(reason, REASON_CHARS)}: {plain(path, PATH_CHARS)}" for reason, path in refused)
    return Changes(allowed, modes, tuple(told)[:MAX_REFUSED], tests[:MAX_REFUSED])


def _modes(report: ProgramReport, after: Tree, task: Task, refused: list[tuple[str, str]]) -> dict[str, bool]:
    """The modes that count: of files that are there and may be edited."""
    modes: dict[str, bool] = {}
    for path, executable in report.modes:
        reason = _refusal(path, None, task)
        if reason is None and len(modes) >= MAX_CHANGED_FILES:
            reason = Refusal.TOO_MUCH
        if reason is not None:
            refused.append((reason, path))
        elif path in after.files:
            modes[path] = executable
    return modes


def _refusal(path: str, content: bytes | None, task: Task) -> Refusal | None:
    try:
        check_path(path)
    except CandidateError:
        return Refusal.BAD_NAME
    if task.is_test(path):
        return Refusal.TESTS
    if not task.may_edit(path):
        return Refusal.READ_ONLY
    return Refusal.TOO_LARGE if len(content or b"") > MAX_FILE_BYTES else None


def _below_a_file(allowed: Mapping[str, bytes | None], start: Tree) -> list[str]:
    """New paths that no real folder could hold, since a part of the path is a file."""
    files = start.with_changes(allowed).files
    new = [path for path, content in allowed.items() if content is not None]
    return [path for path in new if any(str(parent) in files for parent in PurePosixPath(path).parents)]
