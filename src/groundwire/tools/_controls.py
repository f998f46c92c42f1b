"""Confirms a PASS by controls: a check that cannot fail is no signal.

Each case runs once more with an assertion turned round (`groundwire.tools.inside.controls`), and has to fail there.
Where the candidate is in the same process that takes two runs, each case turned in one of them, as a coin falls. What
can't fail on the base tree either is left out; it is looked at only where a control was passed.
"""

from __future__ import annotations

import ast
import json
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from groundwire.core._candidates import Candidate
from groundwire.core._signals import CaseResult, Controls, Isolation, NoVerdict, Observation, Verdict
from groundwire.core._tasks import Task
from groundwire.tools._reports import CaseControl, RunReport
from groundwire.tools._running import Judgement, Launch
from groundwire.tools._summaries import PASSED, named
from groundwire.tools._verdicts import Situation
from groundwire.tools._yardsticks import moved_yardsticks, resting_on

SETTINGS, COIN = "_gw_controls.json", "GROUNDWIRE_COIN"
PAIR, ALL = (0, 1), (2,)
LEAST_SHARE = 0.5
"""The part of the cases that must be seen to be able to fail."""
MANY = 256

Run = Callable[[Launch, Candidate], Awaitable[Judgement]]


def as_it_is(report: RunReport, situation: Situation) -> tuple[RunReport, Situation]:
    """A report in which what failed because it was turned round speaks against nobody.

    Args:
        report: of a run with controls.
        situation: what its verdict rests on.
    """
    turned = {name for name, control in report.controls.items() if control.turned}
    bad = {case.id for case in report.cases if case.id in turned and not case.result.ok}
    if not bad:
        return report, situation
    excused = {"result": CaseResult.PASSED, "message": ""}
    cases = tuple(case.model_copy(update=excused) if case.id in bad else case for case in report.cases)
    report = replace(report, cases=cases, late=report.late - bad)
    if report.status == 1 and situation.end.exit_code == 1:
        report = replace(report, status=0)
        situation = replace(situation, end=replace(situation.end, exit_code=0))
    return report, situation


@dataclass(frozen=True)
class _Seen:
    """What runs with controls showed.

    Args:
        turned: of each case that was turned.
        deceived: cases in which another value deceived an assertion.
        idle: cases that passed though none of their assertions decided it: none was reached, or a failure was caught.
        moved: cases that compare with what the candidate has changed, and with nothing else.
    """

    turned: Mapping[str, CaseControl]
    deceived: frozenset[str]
    idle: frozenset[str]
    moved: frozenset[str]

    @property
    def suspects(self) -> frozenset[str]:
        """Cases that passed though they had to fail."""
        return (
            self.deceived
            | self.idle
            | self.moved
            | {name for name, control in self.turned.items() if control.came == "passed"}
        )


class Confirming:
    """Confirms what passes. Remembers which cases of a base tree can't fail."""

    def __init__(self) -> None:
        self._cannot_fail: OrderedDict[tuple[str, tuple[str, ...], Isolation], frozenset[str]] = OrderedDict()

    async def judge(
        self,
        start: Launch,
        candidate: Candidate,
        task: Task,
        run: Run,
        *,
        seen: Observation | None,
        before: Mapping[str, CaseResult] | None,
    ) -> Observation:
        """Judges a candidate that passes by controls too.

        Args:
            start: how it is run.
            candidate: what is judged.
            task: the task.
            run: one sandbox run.
            seen: its PASS in a plain run; None: it passed an earlier one, so that a pair of runs may be the first.
            before: how each case ended on the base tree; None where that is not known.

        Returns:
            What a plain run shows; its controls with it where it is a PASS, or no verdict (`check_cannot_fail`).
        """
        runs = await run_with_controls(start, candidate, task, run)
        plain = seen or _together(runs) or (await run(start, candidate)).observation
        if plain.verdict is not Verdict.PASS:
            return plain
        found = _seen(runs, candidate, task)
        left_out = await self._left_out(start, task, run) if found.suspects else frozenset[str]()
        excused = frozenset(name for name in left_out if before is None or before.get(name) in PASSED)
        return _weighed(plain, found, excused, before, task)

    async def _left_out(self, start: Launch, task: Task, run: Run) -> frozenset[str]:
        """Cases that pass on the base tree, and pass there turned round too."""
        key = (task.tree.digest, start.shown, start.isolation)
        if key not in self._cannot_fail:
            base = Candidate(task.tree.digest, {})
            self._cannot_fail[key] = _seen(await run_with_controls(start, base, task, run), base, task).suspects
            while len(self._cannot_fail) > MANY:
                self._cannot_fail.popitem(last=False)
        return self._cannot_fail[key]


async def run_with_controls(
    start: Launch, candidate: Candidate, task: Task, run: Run, *, halves: Sequence[int] | None = None
) -> Sequence[Judgement]:
    """Every case turned round once: in one run of two, as a coin falls, or, where the candidate is apart, in one.

    Args:
        start: how it is run.
        candidate: what is judged.
        task: the task.
        run: one sandbox run.
        halves: `PAIR` or `ALL`; None: as the candidate is apart or not.
    """
    coin = secrets.token_hex(16)
    python = [path for path in task.tree.files if path.endswith(".py")]
    files = {
        "fixed": sorted(path for path in python if not task.may_edit(path)),
        "editable": sorted(path for path in python if task.may_edit(path)),
        "asserting": _assert_helpers(candidate, task),
    }
    support = {**start.support, SETTINGS: json.dumps(files).encode()}
    found: list[Judgement] = []
    for half in halves or (PAIR if start.isolation is Isolation.IN_PROCESS else ALL):
        env = {**start.env, COIN: f"{coin}:{half}"}
        found.append(await run(replace(start, env=env, support=support, controlled=True), candidate))
    return found


def _seen(runs: Sequence[Judgement], candidate: Candidate, task: Task) -> _Seen:
    cases = [case.id for case in runs[0].observation.evidence.cases]
    yardsticks = moved_yardsticks(candidate, task)
    told = [(name, control) for run in runs for name, control in run.controls.items()]
    idle = [name for name, control in told if control.came in ("caught", "unreached")]
    return _Seen(
        turned={name: control for name, control in told if control.turned},
        deceived=frozenset(name for name, control in told if control.deceived),
        idle=frozenset(_among(task, idle, _turnable_functions)),
        moved=frozenset(_among(task, cases, partial(resting_on, yardsticks)) if yardsticks else ()),
    )


def _together(runs: Sequence[Judgement]) -> Observation | None:
    """What a pair of runs shows as one plain run would; None unless there are two, and both pass.

    Each case is as it is in one of them, and excused in the other one.
    """
    if len(runs) != len(PAIR):
        return None
    first, second = (run.observation for run in runs)
    if Verdict.PASS is not first.verdict or Verdict.PASS is not second.verdict:
        return None
    as_they_are = {
        case.id: case for case in second.evidence.cases if not runs[1].controls.get(case.id, CaseControl()).turned
    }
    cases = tuple(
        as_they_are.get(case.id, case) if runs[0].controls.get(case.id, CaseControl()).turned else case
        for case in first.evidence.cases
    )
    evidence = first.evidence.model_copy(update={"cases": cases})
    update = {"evidence": evidence, "exit_code": 0, "duration_s": first.duration_s + second.duration_s}
    return first.model_copy(update=update)


def _weighed(
    plain: Observation,
    seen: _Seen,
    left_out: frozenset[str],
    before: Mapping[str, CaseResult] | None,
    task: Task,
) -> Observation:
    """The PASS with its controls, or no verdict where the tests that decide could not have failed."""
    passed = [case.id for case in plain.evidence.cases if case.result in PASSED]
    suspects = [name for name in passed if name in seen.suspects and name not in left_out]
    kinds = [
        seen.turned[name].kind
        for name in passed
        if name in seen.turned and seen.turned[name].came == "failed" and name not in seen.suspects
    ]
    out = [name for name in passed if name in left_out]
    controls = Controls(
        changed_value=kinds.count("changed_value"),
        negation=kinds.count("negation"),
        uncontrolled=len(passed) - len(out) - len(suspects) - len(kinds),
        left_out=len(out),
        passed=len(suspects),
        cannot_fail=(*suspects, *out),
    )
    evidence = plain.evidence.model_copy(update={"controls": controls})
    failed_before = {name for name, result in (before or {}).items() if not result.ok}
    # a case that asserts nothing says that it can fail by having failed on the base tree; nothing else could
    quiet = [name for name in passed if name in failed_before and name not in seen.turned]
    smoke = _among(task, quiet, _silent_functions)
    to_control = len(passed) - len(out) - len(smoke)
    decisive = [name for name in suspects if before is None or before.get(name) not in PASSED]
    if decisive:
        why = f"Passes, but {_why(decisive, seen)} can't fail."
    elif len(kinds) < LEAST_SHARE * to_control or not (kinds or smoke):
        why = (
            f"Passes, but of {len(passed) - len(out)} cases only {len(kinds)} were seen to be able to fail: assert "
            "what the code returns, or judge by other tests."
        )
    else:
        return plain.model_copy(update={"evidence": evidence})
    evidence = evidence.model_copy(update={"detail": why})
    update = {"evidence": evidence, "verdict": Verdict.NONE, "reason": NoVerdict.CHECK_CANNOT_FAIL}
    return plain.model_copy(update=update)


def _why(decisive: Sequence[str], seen: _Seen) -> str:
    for kind, said in (
        (seen.idle, "none of what it asserts has decided that"),
        (seen.moved, "what it is compared with is the project's own, and the candidate has changed that"),
    ):
        if of_kind := [name for name in decisive if name in kind]:
            return f"{said}: {named(of_kind)}"
    return f"so it would whatever the candidate did: {named(decisive)}"


def _among(task: Task, names: Sequence[str], functions: Callable[[bytes], frozenset[str]]) -> list[str]:
    """Of these cases those whose functions are among what is found in the text of their file."""
    known: dict[str, frozenset[str]] = {}
    found: list[str] = []
    for name in names:
        file, function = _place_of(name, task)
        if file not in known:
            known[file] = functions(task.tree.files.get(file, b""))
        if function in known[file]:
            found.append(name)
    return found


def _place_of(name: str, task: Task) -> tuple[str, str]:
    """File and function of a case, as pytest and as unittest name it."""
    file, _, path = name.partition("::")
    if path:
        return file, path.partition("[")[0].rpartition("::")[2]
    parts = name.partition(" ")[0].split(".")
    paths = ["/".join(parts[:n]) + ".py" for n in range(len(parts) - 1, 0, -1)]
    # discovery may begin in a folder, which is no part of the name then
    found = (name for path in paths for name in task.tree.files if name == path or name.endswith(f"/{path}"))
    return min(found, key=lambda name: (not task.is_test(name), len(name)), default=""), parts[-1]


def _silent_functions(code: bytes) -> frozenset[str]:
    """The functions of a file of tests, by name, in whose text nothing is asserted."""
    return _functions(code, lambda function: not any(map(_asserts, ast.walk(function))))


def _turnable_functions(code: bytes) -> frozenset[str]:
    """Those in whose text an assertion stands that can be turned round, so that it is known if it was reached."""
    return _functions(code, lambda function: any(map(_can_be_turned, ast.walk(function))))


def _assert_helpers(candidate: Candidate, task: Task) -> list[str]:
    """Functions that assert, in files of the base tree that the candidate has changed: tests may lean on them."""
    found: set[str] = set()
    for path in candidate.changes:
        if path.endswith(".py"):
            code = task.tree.files.get(path, b"")
            found |= _functions(code, lambda function: any(map(_fails_by_itself, ast.walk(function))))
    return sorted(found)


def _fails_by_itself(node: ast.AST) -> bool:
    return _asserts(node) or (isinstance(node, ast.Name) and node.id == "AssertionError")


def _functions(code: bytes, of_kind: Callable[[ast.AST], bool]) -> frozenset[str]:
    """The names of which all functions of a file are of a kind."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    kinds = {node: of_kind(node) for node in found}
    return frozenset({n.name for n in found if kinds[n]} - {n.name for n in found if not kinds[n]})


def _can_be_turned(node: ast.AST) -> bool:
    """True for an assertion about something that has a name, so that it is no `assert False`."""
    if isinstance(node, ast.Assert):
        said: Sequence[ast.AST] = [node.test]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("assert"):
        said = node.args
    else:
        return False
    return any(isinstance(part, ast.Name) for one in said for part in ast.walk(one))


def _asserts(node: ast.AST) -> bool:
    """True for what could be turned round; a failure that is only told (`assert False`, `pytest.fail`) could not."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    told = name in ("raises", "warns") or ("assert" in name.lower() and name != "AssertionError")
    return told or (isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant))
