"""Runs one of our reporting runners (pytest, unittest, doctest) in the sandbox, with the project's Python."""

from __future__ import annotations

import json
import marshal
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from types import CodeType
from typing import Any, cast

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._paths import matches
from groundwire.core._sandboxes import ExecResult, HeadStart
from groundwire.core._signals import CaseResult, Crossings, Isolation, NoVerdict, Observation, Origin
from groundwire.core._tasks import Task
from groundwire.tools._boxes import (
    asked_names,
    fixed_files,
    own_names,
    reaches_far,
    shares_files,
    tests_box,
    why_one_box,
    withheld_files,
)
from groundwire.tools._commands import Invocation, RunnerName, read_command
from groundwire.tools._controls import as_it_is
from groundwire.tools._docstrings import docstrings, examples, is_plain
from groundwire.tools._guard import digests, editable_files, is_fixed, tampering
from groundwire.tools._preload import imports_from_outside, own_modules
from groundwire.tools._reports import ReportProblem, RunReport, read_coverage, read_report
from groundwire.tools._running import Launch, NotRunnable, Partner, Reading
from groundwire.tools._separation import modules_kept_separate
from groundwire.tools._summaries import ended_by, harmless, how_it_ended
from groundwire.tools._verdicts import Situation, decide, no_verdict, tampered, tampering_with_report, without_report

# Brings our runners into the sandbox, and starts them there.

REPORT, LINES, STACK = "report.jsonl", "lines.jsonl", "stack.txt"
ENVIRONMENT: Mapping[str, str] = {
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "COLUMNS": "120",
}
"""The same candidate shall give the same output: no colours, no random hash seed, no stranger's plugin."""

# Runs our module before anything of the project can be imported: neither the work folder nor PYTHONPATH is on the
# import path until pytest and all we need are loaded, so a `json.py` or `pytest.py` in the project can't stand in for
# them. Then the path is as it would have been, and at its end come the folders that an editable install would add.
_BOOT = """
import os, sys
name, here, more, sys.argv[1:] = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
work, old = os.getcwd(), [p for p in sys.path if p]
theirs = {os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep)} | {work}
sys.path[:] = [os.environ["GROUNDWIRE_SUPPORT"]] + [p for p in old if os.path.isabs(p) and p not in theirs]
run = __import__(name).prepare()
sys.path[:] = [work] * (here == "here") + [p for p in old if p != os.environ["GROUNDWIRE_SUPPORT"]]
more = [os.path.normpath(os.path.join(work, m)) for m in more.split(os.pathsep) if m]
sys.path += [p for p in more if p not in sys.path]
del name, here, more, work, old, theirs, os.environ["GROUNDWIRE_SUPPORT"], os.environ["GROUNDWIRE_OUT"]
sys.exit(run(sys.argv[1:]))
"""


ASKS, ANSWERS = "_gw_crossing", "_gw_crossing_candidate"
"""The modules that the two boxes of a pair have loaded, where they run in forks."""

# Answers from the candidate's own box: nothing of the project is on the import path until our modules are loaded.
_ANSWER = """
import os, sys
sys.path[:] = [os.environ.pop("GROUNDWIRE_SUPPORT"), *(p for p in sys.path if os.path.isabs(p))]
import _gw_crossing_candidate as candidate
del sys.path[0], os.environ["GROUNDWIRE_OUT"]
candidate.serve_line(int(os.environ.pop("GROUNDWIRE_LINE")))
"""


def arguments_of(module: str, invocation: Invocation, tree: Tree) -> tuple[str, ...]:
    """Arguments of the Python interpreter that run one of our modules in place of the runner that was named."""
    here = "here" if invocation.here else "-"
    return ("-c", _BOOT, f"_gw_{module}", here, os.pathsep.join(_install_folders(tree)), *invocation.arguments)


def _install_folders(tree: Tree) -> Sequence[str]:
    """What an editable install of the project would put on the import path: it can't be followed into the sandbox."""
    if not any(name in tree.files for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        return ()
    return ("src", ".") if any(p.startswith("src/") and p.endswith(".py") for p in tree.files) else (".",)


@cache
def _ours(prefix: str = "") -> Mapping[str, bytes]:
    """Our modules whose names begin so."""
    files: dict[str, bytes] = {}
    for path in sorted((Path(__file__).parent / "inside").glob(f"{prefix}*.py")):
        if path.name != "__init__.py":
            source = path.read_bytes()
            files[f"_gw_{path.name}"] = source
            files[f"__pycache__/_gw_{path.stem}.{sys.implementation.cache_tag}.pyc"] = _compiled(path, source)
    return files


def _compiled(path: Path, source: bytes) -> bytes:
    """Bytecode in the form of PEP 552, never checked against its source; another Python than ours ignores it.

    Each run would have to compile our modules otherwise, which takes as long as a small test suite. This process takes
    it from its own `__pycache__` where that is there.
    """
    name = f"_gw_{path.stem}"
    code = _named(cast("CodeType", SourceFileLoader(name, str(path)).get_code(name)), f"{name}.py")
    return MAGIC_NUMBER + (1).to_bytes(4, "little") + source_hash(source) + marshal.dumps(code)


def _named(code: CodeType, file: str) -> CodeType:
    """The same code as if it had been compiled from `file`: no path of this machine goes into the sandbox."""
    parts = tuple(_named(part, file) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=file, co_consts=parts)


def support_files(settings: Mapping[str, Any]) -> Mapping[str, bytes]:
    """Our modules, and what they are told."""
    return {**_ours(), "_gw_settings.json": json.dumps(settings, sort_keys=True).encode()}


# Which pytest plugins a project declares.
#
# A plugin of an installed distribution is loaded only if the project names that distribution among its requirements
# or plugins. Strangers in the same environment cost start-up time, and the verdict would rest on them.

_DECLARING = (
    "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", ".pytest.ini", "pytest.toml", "Pipfile",
    "noxfile.py", "environment*.yml", "environment*.yaml", "**/*requirements*.txt", "**/*requirements*.in",
    "**/*requirements*/**/*.txt", "**/*requirements*/**/*.in", "constraints*.txt",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMENT = re.compile(r"(?m)(^|\s)#.*$")
MAX_FILE_BYTES = 1024 * 1024


def declared_names(tree: Tree) -> frozenset[str]:
    """Names, normalised as on the package index, that the project's requirement and tool files mention.

    More than the plugins' names is in it; what counts is which of them are installed and carry a plugin.
    """
    return frozenset(_names(tree))


def _names(tree: Tree) -> Iterator[str]:
    for path, content in tree.files.items():
        if matches(path, _DECLARING) and len(content) <= MAX_FILE_BYTES:
            text = _COMMENT.sub("", content.decode("utf-8", "replace"))
            for word in _NAME.findall(text):
                yield re.sub(r"[-_.]+", "-", word).strip("-").lower()


# Runs one of our reporting runners (pytest, unittest, doctest) with the project's Python.

SHARED_FLAGS = frozenset({"-S", "-s", "-B", "-O", "-OO"})
"""Flags of the interpreter with which a fork server can run for all candidates."""
STACK_LINES = 8
CLASSES_KEPT = 100
Guard = Callable[[Candidate, Task, Invocation], Observation | None]
More = Callable[[Task, Invocation], tuple[str, ...]]


def _partner(invocation: Invocation) -> Partner:
    command = ("python", *invocation.flags, "-c", _ANSWER)
    return Partner(command, {**ENVIRONMENT, **invocation.env}, _ours("crossing_"), (*_asked_by_ours(), ANSWERS))


@cache
def _asked_by_ours() -> tuple[str, ...]:
    """Modules of the library that those of ours import which cross from box to box."""
    files = {path: content for path, content in _ours("crossing_").items() if path.endswith(".py")}
    return tuple(name for name in imports_from_outside(Tree(files)) if name in sys.stdlib_module_names)


def nothing_more(_task: Task, _invocation: Invocation) -> tuple[str, ...]:
    """No further arguments."""
    return ()


@dataclass(frozen=True)
class PythonRunner:
    """A runner that reports through our own lines. See `groundwire.tools._running.Runner`.

    Args:
        name: which runner.
        default: the command where neither the tool nor the task has one.
        command: a command that goes before the task's.
        preload: modules that a fork server imports once.
        in_search: arguments that go after the user's where many candidates are judged in a fork server.
        cure: what to do where the runner is missing.
        more: arguments that go before the user's.
        guard: finds further ways in which a candidate reaches for what judges it.
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

    @property
    def identity(self) -> str:
        """See `Runner`."""
        return self.name

    def tampering(self, candidate: Candidate, task: Task) -> Observation | None:
        """See `Runner`."""
        return tampering(candidate, task) or self.guard(candidate, task, read_command(self._command(task)))

    def why_not(self, isolation: Isolation, task: Task) -> str:
        """See `Runner`."""
        if isolation is Isolation.IN_PROCESS:
            return ""
        is_doctest = self.name == "doctest"
        if isolation is Isolation.TWO_BOXES:
            return (self._why_no_examples(task) if is_doctest else "") or why_one_box(task)
        if is_doctest:
            return "doctests lie in the files that are judged"
        return "" if modules_kept_separate(task) else "the tests reach into the process of the code they test"

    def start(
        self,
        task: Task,
        *,
        coverage_of: Tree | None,
        isolation: Isolation = Isolation.IN_PROCESS,
        first: Sequence[str] = (),
    ) -> Launch:
        """See `Runner`."""
        shown = self._command(task)
        invocation = read_command(shown)
        if invocation.runner != self.name:
            raise NotRunnable(f"{' '.join(shown)!r} is not a {self.name} command; use tool_for(command).")
        everywhere = (*self.more(task, invocation), *invocation.arguments)
        quick = replace(invocation, arguments=_before_paths(everywhere, self.in_search(task, invocation)))
        invocation = replace(invocation, arguments=everywhere)
        module = f"{self.name}_main"
        separation = isolation is not Isolation.IN_PROCESS
        ours = (*_asked_by_ours(), f"_gw_{module}", ASKS)
        settings = {
            "crossing": self._told(task, invocation) if separation else None,
            "lines": None if coverage_of is None else [p for p in sorted(coverage_of.files) if _counts(p, task)],
            "own": [] if separation else sorted(own_modules(task)),
        }
        if self.name == "pytest":  # the others are told nothing of one task alone, so that many share a fork server
            settings |= {
                "fixed_files": digests(task),
                "declared": sorted(declared_names(task.tree)),
                "first": list(first),
                "conftests": any(path.rpartition("/")[2] == "conftest.py" for path in task.tree.files),
            }
        is_warm = SHARED_FLAGS.issuperset(invocation.flags) and coverage_of is None
        return Launch(
            shown=shown,
            command=("python", *invocation.flags, *arguments_of(module, invocation, task.tree)),
            warm=arguments_of(module, invocation, task.tree) if is_warm else None,
            quick=arguments_of(module, quick, task.tree) if is_warm else None,
            preload=(*self.preload, *(ours if separation else ()), *imports_from_outside(task.tree)),
            flags=invocation.flags if is_warm else (),
            head_start=HeadStart(editable_files(task)) if is_warm and not separation else None,
            begins_alike=self.name == "unittest",
            can_narrow=self.name == "pytest" and bool(first),
            env={**ENVIRONMENT, **invocation.env},
            support=support_files(settings),
            collect=(REPORT, STACK) if coverage_of is None else (REPORT, STACK, LINES),
            sealed=True,
            isolation=isolation,
            tree=tests_box(task) if isolation is Isolation.TWO_BOXES else None,
            partner=_partner(invocation) if isolation is Isolation.TWO_BOXES else None,
        )

    def _told(self, task: Task, invocation: Invocation) -> dict[str, Any]:
        told: dict[str, Any] = {"fixed": fixed_files(task), "asked": asked_names(task), "names": own_names(task)}
        told["files"] = self.name == "doctest" or shares_files(task)
        told["withheld"] = withheld_files(task) if told["files"] else []
        if self.name != "doctest":
            return told
        modules = [p for p in invocation.arguments if p in task.tree.files and p.endswith(".py")]
        return {**told, "docstrings": {p: docstrings(task.tree.files[p]) for p in modules if not is_fixed(p, task)}}

    def _why_no_examples(self, task: Task) -> str:
        """Why the examples can't be taken from the base tree and run elsewhere; empty if they can."""
        for path in read_command(self._command(task)).arguments:
            content = task.tree.files.get(path)
            if content is None:
                continue
            if not path.endswith(".py") or is_fixed(path, task) or not is_plain(content):
                return f"{path} holds examples that can't be read off its docstrings"
            code = "\n".join(code for told in (examples(content) or {}).values() for code, _ in told)
            if found := reaches_far(code.encode()):
                return f"the examples in {path} share a process, or more than files, with what they test ({found})"
        return ""

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
            return Reading(no_verdict(NoVerdict.UNFIT, report.unfit), unreliable=True, unfit=report.unfit)
        if report.undecided and (undecided := _undecided(report, situation)):
            unfit = f"{undecided} compares an object of the candidate with a plain value, which it alone could answer"
            return Reading(no_verdict(NoVerdict.UNFIT, unfit), unreliable=True, unfit=unfit)
        report = _with_stack(report, result)
        if report.controls:
            report, situation = as_it_is(report, situation)
        lines = result.files.get(LINES)
        return Reading(
            decide(report, situation),
            coverage=read_coverage(lines, report.selected or ()) if lines is not None else None,
            selected=report.selected,
            unreliable=bool(report.broken or report.unfinished or ended_by(result)),
            touched=frozenset({*report.touched, *report.left_touched}),
            controls=report.controls,
            crossings=_crossings(report),
        )

    def _command(self, task: Task) -> tuple[str, ...]:
        return self.command or task.command or self.default


def _crossings(report: RunReport) -> Crossings | None:
    if not report.own_equality and not report.kinds:
        return None
    cases, classes = sorted(report.own_equality), sorted(harmless(kind) for kind in report.kinds)
    return Crossings(own_equality=len(cases), cases=tuple(cases), classes=tuple(classes[:CLASSES_KEPT]))


def _before_paths(arguments: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments and more options: behind theirs, so that ours count, and before what is no option any more."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return (*arguments[:end], *more, *arguments[end:])


def _counts(path: str, task: Task) -> bool:
    return path.endswith(".py") and task.may_edit(path)


def _undecided(report: RunReport, situation: Situation) -> str:
    """The first case whose failure rests on a comparison that was not asked; empty where others failed by value.

    A case that passed on the base tree in one process counts whatever the others do.
    """
    failed = {case.id: case.id in report.undecided for case in report.cases if not case.result.ok}
    before = situation.expected or {}
    if not all(failed.values()):
        failed = {case: open_ for case, open_ in failed.items() if before.get(case) is CaseResult.PASSED}
    return next((case for case, open_ in failed.items() if open_), "")


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
