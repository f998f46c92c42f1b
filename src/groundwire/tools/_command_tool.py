"""The command tool: any program, judged by its exit status, its output, or the JUnit XML report that it writes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import NoReturn
from xml.parsers import expat

from groundwire.core._candidates import Candidate, Tree, check_path
from groundwire.core._errors import CandidateError, ConfigError
from groundwire.core._sandboxes import ExecResult
from groundwire.core._signals import (
    CaseOutcome,
    CaseResult,
    Isolation,
    NoVerdict,
    Observation,
    Origin,
    Verdict,
    canonical,
)
from groundwire.core._tasks import Task
from groundwire.tools._batches import JudgedTool
from groundwire.tools._commands import Invocation, read_command
from groundwire.tools._guard import tampering
from groundwire.tools._python_runner import ENVIRONMENT, arguments_of, support_files
from groundwire.tools._reports import MESSAGE_CHARS, ReportProblem, RunReport, unique
from groundwire.tools._running import CONFIRMED, Launch, NotRunnable, Reading, Separation
from groundwire.tools._summaries import cut_stream, ended_by, harmless, how_it_ended, killed_from_outside, shorten
from groundwire.tools._verdicts import Decision, Situation, decide, no_verdict, without_report

# Reads anyone's JUnit XML report, which may be hostile: no document type, so no entities; bounded in every way.

MAX_CASES = 100_000
MAX_DEPTH = 64
MAX_TEXT = 64 * 1024
MAX_NAME = 1024
_NOT_RUN = frozenset({"notrun", "disabled", "suppressed", "skipped"})
_RANK = (CaseResult.PASSED, CaseResult.XFAILED, CaseResult.SKIPPED, CaseResult.ERROR, CaseResult.FAILED)


def read_junit(body: bytes, status: int | None) -> RunReport:
    """Reads a report. Ids are `classname::name`; equal ones are told apart by `#2`, `#3`, …

    Args:
        body: the XML.
        status: the exit status of the command that wrote it.

    Raises:
        ReportProblem: not well-formed, not a JUnit report, with a document type, or beyond our bounds; or its own
            counts contradict its cases.
    """
    handler = _Handler()
    parser = expat.ParserCreate()
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, ValueError, LookupError) as error:
        _malformed(f"The JUnit report is not well-formed XML: {error}.")
    if not handler.is_junit:
        _malformed("The report is XML, but holds no <testsuite>.")
    _compare(handler)
    ids = tuple(unique(c.name for c in handler.cases))
    outcomes = tuple(c.outcome(i) for c, i in zip(handler.cases, ids, strict=True))
    return RunReport(selected=ids, cases=outcomes, status=status)


def _malformed(detail: str) -> NoReturn:
    raise ReportProblem(NoVerdict.REPORT_MALFORMED, harmless(detail))


def _refuse_doctype(*_ignored: object) -> None:
    _malformed("The JUnit report declares a document type; those are refused, since they can hold hostile entities.")


def _compare(handler: _Handler) -> None:
    """Where every case seems fine, the suites' own counts must say the same."""
    if any(not c.result.ok for c in handler.cases):
        return
    if handler.told_bad:
        _mismatch(f"The JUnit report counts {handler.told_bad} failures and errors, and shows none.")
    if handler.told_tests is not None and handler.told_tests != len(handler.cases):
        _mismatch(f"The JUnit report counts {handler.told_tests} tests, and shows {len(handler.cases)}.")


def _mismatch(detail: str) -> NoReturn:
    raise ReportProblem(NoVerdict.COUNT_MISMATCH, detail)


@dataclass
class _Case:
    name: str
    seconds: float
    result: CaseResult = CaseResult.PASSED
    message: str = ""

    def note(self, result: CaseResult, message: str) -> None:
        if _RANK.index(result) > _RANK.index(self.result):
            self.result, self.message = result, message

    def outcome(self, name: str) -> CaseOutcome:
        return CaseOutcome(
            id=name, result=self.result, message=shorten(self.message, MESSAGE_CHARS), duration_s=self.seconds
        )


@dataclass
class _Handler:
    is_junit: bool = False
    cases: list[_Case] = field(default_factory=list[_Case])
    told_tests: int | None = None
    told_bad: int = 0
    _depth: int = 0
    _suites: int = 0
    _case: _Case | None = None
    _note: CaseResult | None = None
    _text: list[str] = field(default_factory=list[str])
    _size: int = 0

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH or len(self.cases) >= MAX_CASES:
            _malformed(f"The JUnit report is nested deeper than {MAX_DEPTH}, or has more than {MAX_CASES} cases.")
        name = tag.rpartition(":")[2]
        if name == "testsuite":
            self._start_suite(attributes)
        elif name == "testcase":
            self._start_case(attributes)
        elif self._case is not None and name in ("failure", "error", "skipped"):
            self._note = _result_of(name, attributes)
            self._text = [attributes.get("message", "")[:MAX_TEXT], "\n"]
            self._size = 0

    def end(self, tag: str) -> None:
        self._depth -= 1
        name = tag.rpartition(":")[2]
        if name == "testsuite":
            self._suites -= 1
        elif name == "testcase":
            self._case = None
        elif self._case is not None and self._note is not None and name in ("failure", "error", "skipped"):
            self._case.note(self._note, "".join(self._text).strip())
            self._note = None

    def text(self, data: str) -> None:
        if self._note is not None and self._size < MAX_TEXT:
            self._size += len(data)
            self._text.append(data)

    def _start_suite(self, attributes: Mapping[str, str]) -> None:
        self.is_junit = True
        if self._suites == 0:
            # a suite inside another is counted by the outer one
            tests = _number(attributes.get("tests"))
            if tests is not None:
                self.told_tests = (self.told_tests or 0) + tests
            self.told_bad += (_number(attributes.get("failures")) or 0) + (_number(attributes.get("errors")) or 0)
        self._suites += 1

    def _start_case(self, attributes: Mapping[str, str]) -> None:
        if self._case is not None or not self._suites:
            _malformed("The JUnit report has a <testcase> where none can be.")
        group = attributes.get("classname") or attributes.get("class") or attributes.get("file") or ""
        name = attributes.get("name", "")
        full = harmless((f"{group}::{name}" if group else name)[:MAX_NAME]) or "(no name)"
        self._case = _Case(full, _seconds(attributes.get("time", "")))
        state = attributes.get("result") or attributes.get("status") or ""
        if state.lower() in _NOT_RUN:
            self._case.note(CaseResult.SKIPPED, state)
        self.cases.append(self._case)


def _result_of(tag: str, attributes: Mapping[str, str]) -> CaseResult:
    if tag == "skipped":
        return CaseResult.XFAILED if attributes.get("type") == "pytest.xfail" else CaseResult.SKIPPED
    return CaseResult.FAILED if tag == "failure" else CaseResult.ERROR


def _number(text: str | None) -> int | None:
    try:
        return max(0, int(text)) if text is not None and len(text) < 10 else None
    except ValueError:
        return None


def _seconds(text: str) -> float:
    try:
        seconds = float(text.replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if math.isfinite(seconds) and 0 <= seconds < 1e6 else 0.0


# The command tool: any program, judged by its exit status, its output, or the report that it writes.

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
        separation: how far assertions are to be kept from the candidate; a command can't, so where it is required
            nothing passes.

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
        separation: Separation = CONFIRMED,
    ) -> None:
        wanted = expect.encode() if isinstance(expect, str) else expect
        runner = _CommandRunner(tuple(command) if command else None, wanted, exact, _checked(report))
        super().__init__(runner, separation)


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
    """See `groundwire.tools._running.Runner`."""

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

    def why_not(self, isolation: Isolation, task: Task) -> str:
        return "" if isolation is Isolation.IN_PROCESS else "a command's own word is taken for what it ran"

    def start(
        self,
        task: Task,
        *,
        coverage_of: Tree | None,
        isolation: Isolation = Isolation.IN_PROCESS,
        first: Sequence[str] = (),
    ) -> Launch:
        shown = self.command or task.command
        invocation = read_command(shown)
        words = invocation.words
        if invocation.runner == "pytest" and not invocation.here:
            words = ("python", "-m", "pytest", *invocation.arguments)  # the console script may not be on the path
        if not words:
            raise NotRunnable("There is no command; give one to the tool or to the task.")
        env = {**ENVIRONMENT, **invocation.env}
        if self.report is None:
            return Launch(shown=shown, command=words, env=env)
        wrapped = arguments_of("copy_main", Invocation("command", (self.report, *words)), task.tree)
        return Launch(
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
