"""One run of a program in a sandbox, and what it changed: only what is allowed counts."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, partial
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from groundwire.agents.patching._edit_apply import MAX_FILE_BYTES, candidate_of
from groundwire.agents.programs.program_guest import JOB, PROMPT, REPORT, TASK
from groundwire.core._candidates import IGNORED_FOLDERS, IGNORED_SUFFIXES, Candidate, Tree, check_path
from groundwire.core._errors import CandidateError
from groundwire.core._programs import ProgramRequest, ProgramResult
from groundwire.core._prompt_text import plain, printable
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox
from groundwire.core._tasks import Task

# What a program changed, read from a report that the program itself could have forged: only what is allowed counts.

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


# One run of a program in a sandbox: what it is given, and what it did.

GUEST = "guest.py"
# the guest is not on a path that is known here, and nothing of the work folder may be imported in its place
BOOT = f"import os, runpy; runpy.run_path(os.environ['GROUNDWIRE_SUPPORT'] + '/{GUEST}', run_name='__main__')"
AFTERWARDS_S = 60.0
"""Wall seconds for what our guest does before and after the program."""
ERROR_CHARS = 500
SECRET_CHARS = 8
"""Values shorter than this are not taken out of what is kept: they would blank ordinary text."""
HANDED = ("{prompt}", "{prompt_file}")


@dataclass(frozen=True)
class ProgramRun:
    """Everything one run needs; call it with the wall seconds that it may take.

    Args:
        request: as the ledger keeps it.
        task: without anything hidden.
        tree: the files it edits.
        sandbox: where it runs.
        limits: ceilings; the wall time is given at the call.
        program: its name, for notes and statistics.
        handed: what is told beside the prompt, as JSON.
        values: what the placeholders stand for.
        env: variables that are passed on.
        secrets: values that are taken out of the output that is kept.
        git: True if the files are in a repository of one commit.
    """

    request: ProgramRequest
    task: Task
    tree: Tree
    sandbox: Sandbox
    limits: Limits
    program: str
    handed: str
    values: Mapping[str, str | int]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    git: bool = False

    async def __call__(self, timeout_s: float) -> ProgramResult:
        """Runs it.

        Raises:
            SandboxError: the sandbox failed.
        """
        limits = self.limits.model_copy(update={"wall_s": timeout_s + AFTERWARDS_S})
        ran = await self.sandbox.run(
            ["python", "-I", "-S", "-c", BOOT],
            self.tree,
            limits,
            env=self.env,
            support=self._support(timeout_s),
            collect=[REPORT],
        )
        report = read_report(ran.files.get(REPORT, b""))
        return self._unreported(ran) if report is None else self._reported(ran, report)

    def _support(self, timeout_s: float) -> Mapping[str, bytes]:
        command = self.request.command
        job = {
            "command": command,
            "timeout_s": timeout_s,
            "stdin": not any(name in part for part in command for name in HANDED),
            "git": self.git,
            "values": dict(self.values),
            "ignored_folders": sorted(IGNORED_FOLDERS),
            "ignored_suffixes": IGNORED_SUFFIXES,
            "max_bytes": MAX_CHANGED_BYTES,
            "max_files": MAX_CHANGED_FILES,
            "max_file_bytes": MAX_FILE_BYTES,
        }
        return {
            GUEST: _guest(),
            JOB: json.dumps(job).encode(),
            PROMPT: self.request.prompt.encode(),
            TASK: self.handed.encode(),
        }

    def _reported(self, ran: ExecResult, report: ProgramReport) -> ProgramResult:
        changes = sort_changes(report, self.tree, self.task)
        ended_by = "wall_s" if report.timed_out else f"signal {report.signal}" if report.signal else ""
        return replace(
            self._output(ran),
            candidate=self._candidate(changes, report, ended_by),
            refused=changes.refused,
            exit_code=report.exit_code,
            ended_by=ended_by,
            duration_s=max(0.0, min(report.duration_s, ran.duration_s)),
            error=plain(report.error, ERROR_CHARS),
        )

    def _unreported(self, ran: ExecResult) -> ProgramResult:
        """The program, or a limit it hit, ended our guest too: what it changed is not known."""
        ended_by = ran.limit_hit or (f"signal {ran.signal}" if ran.signal else "")
        return replace(
            self._output(ran),
            exit_code=ran.exit_code,
            ended_by=ended_by,
            duration_s=ran.duration_s,
            error=f"what it changed is lost: the run ended with {ended_by or f'exit status {ran.exit_code}'}",
        )

    def _candidate(self, changes: Changes, report: ProgramReport, ended_by: str) -> Candidate | None:
        count = changes.files
        note = [f"{self.program}: {count} file{'s' if count != 1 else ''} changed"]
        if ended_by or report.exit_code:
            note.append(f"ended by {ended_by}" if ended_by else f"exit status {report.exit_code}")
        if changes.tests:
            note.append(f"its changes to {', '.join(changes.tests[:3])} were refused: tests are read-only")
        made = candidate_of(
            self.task,
            self.tree,
            changes.allowed,
            edits=[f"command.{self.program}"],
            note="; ".join(note),
            modes=changes.modes,
        )
        unchanged = made.is_base or made.applied_to(self.task.tree).digest == self.tree.digest
        return None if unchanged else made

    def _output(self, ran: ExecResult) -> ProgramResult:
        return ProgramResult(
            stdout=self._shown(ran.stdout),
            stderr=self._shown(ran.stderr),
            stdout_cut=ran.stdout_cut,
            stderr_cut=ran.stderr_cut,
            sandbox=self.sandbox.info.kind,
        )

    def _shown(self, output: bytes) -> str:
        text = output.decode("utf-8", "replace")
        for name, value in self.secrets.items():
            if len(value) >= SECRET_CHARS:
                text = text.replace(value, f"[{name}]")
        return printable(text)


@cache
def _guest() -> bytes:
    return files("groundwire.agents.programs").joinpath("program_guest.py").read_bytes()
