"""Runs one of our reporting runners (pytest, unittest, doctest) with the project's Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from groundwire.limits import ExecResult
from groundwire.signals import NoVerdict, Observation, Origin
from groundwire.tasks import Task
from groundwire.tools.apartness import modules_kept_apart
from groundwire.tools.commands import Invocation, RunnerName, read_command
from groundwire.tools.delivery import ENVIRONMENT, LINES, REPORT, STACK, arguments_of, support_files
from groundwire.tools.endings import ended_by, how_it_ended
from groundwire.tools.guard import digests, tampering
from groundwire.tools.plugins import declared_names
from groundwire.tools.preload import imports_from_outside
from groundwire.tools.reports import ReportProblem, RunReport, read_coverage, read_report
from groundwire.tools.running import NotRunnable, Reading, Start
from groundwire.tools.tamper import tampering_with_report
from groundwire.tools.texts import harmless
from groundwire.tools.verdicts import Situation, decide, no_verdict, tampered, without_report
from groundwire.trees import Candidate, Tree

__all__ = ["PythonRunner"]

STACK_LINES = 8
Guard = Callable[[Candidate, Task, Invocation], Observation | None]
More = Callable[[Task, Invocation], tuple[str, ...]]


def nothing_more(_task: Task, _invocation: Invocation) -> tuple[str, ...]:
    """No further arguments."""
    return ()


@dataclass(frozen=True)
class PythonRunner:
    """A runner that reports through our own lines. See `groundwire.tools.running.Runner`.

    Args:
        name: which runner.
        default: the command where neither the tool nor the task has one.
        command: a command that goes before the task's.
        preload: modules that a fork server imports once.
        in_search: arguments that go after the user's where many candidates are judged in a fork server.
        cure: what to do where the runner is missing.
        more: arguments that go before the user's.
        guard: finds further ways in which a candidate reaches for the yardstick.
        apart: keep the assertions in a process of their own, where the tests allow that.
    """

    name: RunnerName
    default: tuple[str, ...]
    command: tuple[str, ...] | None = None
    preload: tuple[str, ...] = ()
    in_search: More = nothing_more
    cure: str = ""
    more: More = nothing_more
    guard: Guard = lambda _candidate, _task, _invocation: None
    origin: Origin = Origin.TESTS
    apart: bool = False

    @property
    def identity(self) -> str:
        """See `Runner`."""
        return f"{self.name} apart" if self.apart else self.name

    def tampering(self, candidate: Candidate, task: Task) -> Observation | None:
        """See `Runner`."""
        return tampering(candidate, task) or self.guard(candidate, task, read_command(self._command(task)))

    def start(self, task: Task, *, coverage_of: Tree | None, together: bool = False) -> Start:
        """See `Runner`."""
        shown = self._command(task)
        invocation = read_command(shown)
        if invocation.runner != self.name:
            raise NotRunnable(f"{' '.join(shown)!r} is not a {self.name} command; use tool_for(command).")
        everywhere = (*self.more(task, invocation), *invocation.arguments)
        in_search = replace(invocation, arguments=(*everywhere, *self.in_search(task, invocation)))
        invocation = replace(invocation, arguments=everywhere)
        module = f"{self.name}_main"
        keep_apart = self.apart and not together and coverage_of is None
        modules = modules_kept_apart(task) if keep_apart else ()
        settings = {
            "apart": list(modules),
            "lines": None if coverage_of is None else [p for p in sorted(coverage_of.files) if _counts(p, task)],
            "yardstick": digests(task),
            "declared": sorted(declared_names(task.tree)) if self.name == "pytest" else [],
        }
        return Start(
            shown=shown,
            command=("python", *invocation.flags, *arguments_of(module, invocation, task.tree)),
            warm=None if invocation.flags or coverage_of is not None else arguments_of(module, in_search, task.tree),
            preload=(*self.preload, *imports_from_outside(task.tree)),
            env={**ENVIRONMENT, **invocation.env},
            support=support_files(settings),
            collect=(REPORT, STACK) if coverage_of is None else (REPORT, STACK, LINES),
            sealed=True,
            apart=bool(modules),
        )

    def read(self, result: ExecResult, key: bytes, situation: Situation) -> Reading:
        """See `Runner`."""
        body = result.files.get(REPORT)
        situation = replace(situation, cure=self.cure)
        if body is None:
            return Reading(without_report(situation), unreliable=True)
        try:
            report = read_report(body, key)
        except ReportProblem as problem:
            attempts = tampering_with_report(situation) if problem.forged else ()
            found = tampered(attempts) if attempts else no_verdict(problem.reason, problem.detail)
            return Reading(found, unreliable=True)
        if report.unfit:
            return Reading(no_verdict(NoVerdict.RUNNER_CRASHED, report.unfit), unreliable=True, unfit=report.unfit)
        report = _with_stack(report, result)
        lines = result.files.get(LINES)
        return Reading(
            decide(report, situation),
            coverage=read_coverage(lines, report.selected or ()) if lines is not None else None,
            selected=report.selected,
            unreliable=bool(report.broken or report.late or report.unfinished or ended_by(result)),
            touched=frozenset({*report.touched, *report.left_touched}),
        )

    def _command(self, task: Task) -> tuple[str, ...]:
        return self.command or task.command or self.default


def _counts(path: str, task: Task) -> bool:
    return path.endswith(".py") and task.may_edit(path)


def _with_stack(report: RunReport, result: ExecResult) -> RunReport:
    """Says where the case hung, if the run was ended while it ran."""
    stack = result.files.get(STACK)
    if report.unfinished is None or report.status is not None or not stack:
        return report
    last = stack.decode("utf-8", "replace").rpartition("most recent call first")[2]
    frames = [line.strip() for line in last.splitlines() if _is_of_project(line)][:STACK_LINES]
    why = f"the process {how_it_ended(result)} while the case ran"
    where = "; it hung in (innermost first)\n" + harmless("\n".join(frames)) if frames else ""
    return replace(report, broke_off=why + where)


def _is_of_project(line: str) -> bool:
    return line.lstrip().startswith("File ") and not any(
        part in line for part in ("/site-packages/", "/lib/python3", "/_gw_", '"<', "/_pytest/", "/pluggy/")
    )
