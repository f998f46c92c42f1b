"""The command tool: any program, judged by its exit status, its output, or the JUnit XML report that it writes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from groundwire.errors import CandidateError, ConfigError
from groundwire.limits import ExecResult
from groundwire.signals import CaseOutcome, CaseResult, NoVerdict, Observation, Origin, Verdict, canonical
from groundwire.tasks import Task
from groundwire.tools.commands import Invocation, read_command
from groundwire.tools.delivery import ENVIRONMENT, arguments_of, support_files
from groundwire.tools.endings import ended_by, how_it_ended, killed_from_outside
from groundwire.tools.guard import tampering
from groundwire.tools.judged import JudgedTool
from groundwire.tools.junit import read_junit
from groundwire.tools.reports import MESSAGE_CHARS, ReportProblem
from groundwire.tools.running import NotRunnable, Reading, Start
from groundwire.tools.texts import cut_stream
from groundwire.tools.verdicts import Decision, Situation, decide, no_verdict, without_report
from groundwire.trees import Candidate, Tree, check_path

__all__ = ["Command"]

COLLECTED = "report.xml"
CASE = "command"
SHOWN_CHARS = 200


class Command(JudgedTool):
    """Judges by any command, run in the work folder.

    Exit status 0 passes, others fail; so do a signal that the command raised against itself and a limit that it hit.
    Not found (127) and not executable (126) are no verdict. With `report`, the cases of the JUnit XML file decide,
    under the rules for pytest's report, and the exit status must not contradict them.

    Args:
        command: a command that goes before the task's, split; never given to a shell.
        expect: what standard output must be besides; text is compared as UTF-8.
        exact: False: white space at the end of lines and around the whole is ignored.
        report: path, below the work folder, of the JUnit XML file that the command writes.

    Raises:
        ConfigError: `report` is not a plain relative path.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        expect: str | bytes | None = None,
        report: str | None = None,
        *,
        exact: bool = False,
    ) -> None:
        wanted = expect.encode() if isinstance(expect, str) else expect
        runner = _CommandRunner(tuple(command) if command else None, wanted, exact, _checked(report))
        super().__init__(runner)


def _checked(report: str | None) -> str | None:
    if report is None:
        return None
    try:
        return check_path(str(PurePosixPath(report)))
    except CandidateError as error:
        raise ConfigError(
            f"The report {report!r} can't be read back: {error.what}",
            do="Let the command write it below the project's root, and name it from there.",
        ) from error


@dataclass(frozen=True)
class _CommandRunner:
    """See `groundwire.tools.running.Runner`."""

    command: tuple[str, ...] | None
    expect: bytes | None
    exact: bool
    report: str | None

    @property
    def origin(self) -> Origin:
        return Origin.EXECUTION if self.report is None else Origin.TESTS

    @property
    def identity(self) -> str:
        expected = None if self.expect is None else hashlib.sha256(self.expect).hexdigest()
        return canonical(["command", expected, self.exact, self.report])

    def tampering(self, candidate: Candidate, task: Task) -> Observation | None:
        return tampering(candidate, task)

    def start(self, task: Task, *, coverage_of: Tree | None, together: bool = False) -> Start:
        shown = self.command or task.command
        invocation = read_command(shown)
        words = invocation.words
        if invocation.runner == "pytest" and not invocation.here:
            words = ("python", "-m", "pytest", *invocation.arguments)  # the console script may not be on the path
        if not words:
            raise NotRunnable("There is no command; give one to the tool or to the task.")
        env = {**ENVIRONMENT, **invocation.env}
        if self.report is None:
            return Start(shown=shown, command=words, env=env)
        wrapped = arguments_of("copy_main", Invocation("command", (self.report, *words)), task.tree)
        return Start(
            shown=shown,
            command=("python", *wrapped),
            env=env,
            support=support_files({}),
            collect=(COLLECTED,),
        )

    def read(self, result: ExecResult, key: bytes, situation: Situation) -> Reading:
        if self.report is None:
            return Reading(self._by_status(result))
        body = result.files.get(COLLECTED)
        if body is None:
            return Reading(without_report(situation), unreliable=True)
        try:
            report = read_junit(body, result.exit_code)
        except ReportProblem as problem:
            return Reading(no_verdict(problem.reason, problem.detail), unreliable=True)
        return Reading(decide(report, situation), selected=report.selected, unreliable=bool(ended_by(result)))

    def _by_status(self, end: ExecResult) -> Decision:
        if end.exit_code in (126, 127):
            what = "was not found" if end.exit_code == 127 else "can't be executed"
            return no_verdict(NoVerdict.RUNNER_MISSING, f"The command {what} in the sandbox; check its name.")
        if killed_from_outside(end):
            return no_verdict(
                NoVerdict.RUNNER_CRASHED, f"The command {how_it_ended(end)}: something outside killed it."
            )
        limit = ended_by(end)
        if limit or end.exit_code != 0:
            message = (
                f"The command {how_it_ended(end)}.\n{cut_stream(end.stderr or end.stdout, limit=MESSAGE_CHARS)[0]}"
            )
            return _decision(False, how_it_ended(end), message, out_of_time=limit in ("wall_s", "cpu_s"))
        if self.expect is None:
            return _decision(True, how_it_ended(end))
        return self._by_output(end, self.expect)

    def _by_output(self, end: ExecResult, expect: bytes) -> Decision:
        if end.stdout_cut:
            size = len(end.stdout) + end.stdout_cut
            if size > 2 * len(expect):
                return _decision(False, "wrong output", f"{size} bytes of output, {len(expect)} were expected.")
            return no_verdict(NoVerdict.LIMIT_HIT, "The output was cut short by the limit output_bytes: raise it.")
        if (end.stdout == expect) if self.exact else (_trimmed(end.stdout) == _trimmed(expect)):
            return _decision(True, "output as expected")
        return _decision(False, "wrong output", _difference(expect, end.stdout))


def _decision(passed: bool, detail: str, message: str = "", *, out_of_time: bool = False) -> Decision:
    result = CaseResult.PASSED if passed else CaseResult.FAILED
    return Decision(
        Verdict.PASS if passed else Verdict.FAIL,
        f"The command {detail}." if detail.startswith(("ended", "was")) else f"The command gave {detail}.",
        cases=(CaseOutcome(id=CASE, result=result, message=message),),
        collected=1,
        out_of_time=out_of_time,
    )


def _trimmed(data: bytes) -> list[bytes]:
    return [line.rstrip() for line in data.strip().splitlines()]


def _difference(expect: bytes, found: bytes) -> str:
    wanted, got = _trimmed(expect), _trimmed(found)
    for number, (a, b) in enumerate(zip(wanted, got, strict=False), start=1):
        if a != b:
            return f"line {number}: expected {_shown(a)}, got {_shown(b)}"
    if len(wanted) != len(got):
        return f"expected {len(wanted)} lines, got {len(got)}"
    return f"expected {_shown(expect)}, got {_shown(found)} (white space differs)"


def _shown(data: bytes) -> str:
    text = repr(data.decode("utf-8", "backslashreplace"))
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(data)} bytes)"
