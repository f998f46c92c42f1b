"""One run of a program in a sandbox: what it is given, and what it did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files

from groundwire.agents.program_changes import (
    MAX_CHANGED_BYTES,
    MAX_CHANGED_FILES,
    Changes,
    ProgramReport,
    read_report,
    sort_changes,
)
from groundwire.agents.program_guest import JOB, PROMPT, REPORT, TASK
from groundwire.agents.proposals import MAX_FILE_BYTES, candidate_of
from groundwire.agents.text import plain, printable
from groundwire.limits import ExecResult, Limits
from groundwire.programs import ProgramRequest, ProgramResult
from groundwire.sandboxes import Sandbox
from groundwire.tasks import Task
from groundwire.trees import IGNORED_FOLDERS, IGNORED_SUFFIXES, Candidate, Tree

__all__ = ["ProgramRun"]

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
    return files("groundwire.agents").joinpath("program_guest.py").read_bytes()
