"""The verdict rule: from what a runner reported and how it ended, to pass, fail or no verdict.

A pass needs a complete and consistent report: every case that was to run has an outcome, none of them bad, at least one
passed, the runner ended as it said it would, and every case that the base tree ran has run again. A fail needs one case
that failed, or one that was running when the run ended. All else is no verdict, with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from groundwire.core._sandboxes import ExecResult
from groundwire.core._signals import CaseOutcome, CaseResult, NoVerdict, Verdict
from groundwire.tools._preload import ModuleOrigin
from groundwire.tools._reports import RunReport
from groundwire.tools._summaries import PASSED, counts, ended_by, how_it_ended, killed_from_outside, last_error, named

# What a run shows of a candidate that reached for what judges it while it ran: a FAIL that says what was tried.
#
# Each has a case `tamper::WHAT`. Only what the candidate itself must have done is said of it: where its tests could
# have done it too, and are not known to leave it alone, nothing is said here.


@dataclass(frozen=True)
class Situation:
    """What a verdict rests on besides the report.

    Args:
        end: how the process ended.
        expected: how each case of the clean base tree ended, where that is known.
        changed: the paths that the candidate changed.
        trusted_file: True for a file that the candidate may not have written.
        cure: what to do where the runner is missing.
        place_of: where a module belongs that could not be imported.
        base_touches: files that the clean base tree's own run changes; None: it is not known to have run to its end.
    """

    end: ExecResult
    expected: Mapping[str, CaseResult] | None = None
    changed: frozenset[str] = frozenset()
    trusted_file: Callable[[str], bool] = lambda _path: False
    cure: str = ""
    place_of: Callable[[str], ModuleOrigin] = lambda _name: ModuleOrigin.UNKNOWN
    base_touches: frozenset[str] | None = None


def tampering_seen(report: RunReport, situation: Situation) -> tuple[CaseOutcome, ...]:
    """The attempts that a report shows."""
    if not situation.changed:
        return ()
    by_base = situation.base_touches
    found = [
        _case(path, f"{path} was {how} while the tests ran.")
        for path, how in sorted({**report.touched, **report.left_touched}.items())
        # a suite that is not known may write its own data, but hardly its own code
        if (path.endswith(".py") if by_base is None else path not in by_base)
    ]
    found += [
        _case(f"runner::{name}", f"{file} replaced {name} of the runner.")
        for name, file in sorted(report.replaced.items())
        if file in situation.changed
    ]
    if by_base is not None and _walked_out(report, situation.end):
        found.append(
            _case("exit", "The process ended with exit status 0, as if all were well, before it had reported.")
        )
    return tuple(found)


def tampering_with_report(situation: Situation) -> tuple[CaseOutcome, ...]:
    """The attempt that a report shows which our plugin did not write."""
    if not situation.changed:
        return ()
    return (_case("report", "The report holds a line that our plugin did not write: something wrote or changed it."),)


def _walked_out(report: RunReport, end: ExecResult) -> bool:
    return report.status is None and end.exit_code == 0 and end.signal is None and not ended_by(end)


def _case(what: str, message: str) -> CaseOutcome:
    return CaseOutcome(id=f"tamper::{what}", result=CaseResult.FAILED, message=message)


# The verdict rule: from what a runner reported, and how it ended, to pass, fail or no verdict.


@dataclass(frozen=True)
class Decision:
    """A verdict, with its reason and its cases.

    Args:
        detail: one line for people.
        partial: True if the runner stopped before all cases had run.
        out_of_time: True if nothing but time counts against the candidate.
        late: the cases that a limit of time ended.
        tampering: True if the candidate reached for what judges it.
    """

    verdict: Verdict
    detail: str
    reason: NoVerdict | None = None
    cases: tuple[CaseOutcome, ...] = ()
    collected: int = 0
    deselected: int = 0
    partial: bool = False
    out_of_time: bool = False
    late: tuple[str, ...] = ()
    tampering: bool = False


def no_verdict(reason: NoVerdict, detail: str) -> Decision:
    """Nothing can be said."""
    return Decision(Verdict.NONE, detail, reason=reason)


def tampered(attempts: tuple[CaseOutcome, ...], others: tuple[CaseOutcome, ...] = ()) -> Decision:
    """A FAIL for what was tried."""
    shown = named([c.id.removeprefix("tamper::") for c in attempts])
    return Decision(
        Verdict.FAIL,
        f"The candidate reached for what judges it ({shown}): {attempts[0].message}",
        cases=(*attempts, *others),
        partial=True,
        tampering=True,
    )


def without_report(situation: Situation) -> Decision:
    """The runner left no report at all."""
    end = situation.end
    if end.exit_code in (126, 127):
        return no_verdict(NoVerdict.RUNNER_MISSING, f"The command was not found. {situation.cure}".strip())
    if limit := ended_by(end):
        return no_verdict(NoVerdict.LIMIT_HIT, f"The runner hit its limit {limit} before any test ran.")
    if end.exit_code is None:
        return no_verdict(NoVerdict.RUNNER_CRASHED, f"The runner {how_it_ended(end)} and left no report.")
    return no_verdict(NoVerdict.REPORT_MISSING, f"The runner {how_it_ended(end)} and left no report.")


def decide(report: RunReport, situation: Situation) -> Decision:
    """The verdict on one run."""
    report = _with_suspects(report, situation)
    for rule in _RULES:
        if found := rule(report, situation):
            return replace(
                found,
                cases=found.cases or _all_cases(report),
                collected=len(report.selected or ()) + report.deselected,
                deselected=report.deselected,
            )
    return Decision(
        Verdict.PASS,
        counts(report.cases, len(report.cases)),
        cases=_all_cases(report),
        collected=len(report.cases) + report.deselected,
        deselected=report.deselected,
    )


def _all_cases(report: RunReport) -> tuple[CaseOutcome, ...]:
    return (*report.broken, *report.passed_over, *report.cases)


def _with_suspects(report: RunReport, situation: Situation) -> RunReport:
    """A case that the candidate's own code skipped, or declared an expected failure, has failed."""
    suspects = {name for name, file in report.skipped_by.items() if file in situation.changed}
    if not suspects:
        return report
    return replace(report, cases=tuple(_condemned(c) if c.id in suspects else c for c in report.cases))


def _condemned(case: CaseOutcome) -> CaseOutcome:
    message = f"The code under test ended the case itself ({case.result.value}).\n{case.message}"
    return case.model_copy(update={"result": CaseResult.FAILED, "message": message})


# --- the rules, in their order; the first that speaks decides

_Rule = Callable[[RunReport, Situation], Decision | None]


def _runner_missing(report: RunReport, situation: Situation) -> Decision | None:
    if report.missing:
        return no_verdict(NoVerdict.RUNNER_MISSING, f"{report.missing}. {situation.cure}".strip())
    return None


def _tampered(report: RunReport, situation: Situation) -> Decision | None:
    attempts = tampering_seen(report, situation)
    return tampered(attempts, (*_all_cases(report), *_cut_off(report, situation))) if attempts else None


def _copy_judged(report: RunReport, _situation: Situation) -> Decision | None:
    """Nothing that a candidate changes would be seen."""
    for name, file in sorted(report.elsewhere.items()):
        return no_verdict(
            NoVerdict.USAGE,
            f"The tests import {name} from {file}, an installed copy, and not from the project: take it out of the"
            " environment, or put the project before it (PYTHONPATH=. or PYTHONPATH=src in front of the command).",
        )
    return None


def _module_missing(report: RunReport, situation: Situation) -> Decision | None:
    """A module that only an installation can bring; that a candidate's own import can't be met is its fault."""
    bad = [c for c in (*report.broken, *report.cases) if not c.result.ok]
    missing = {c.id: name for c in bad if (name := _not_found(c)) and situation.place_of(name) is ModuleOrigin.OUTSIDE}
    if not missing or (situation.changed and len(missing) < len(bad)):
        return None
    names = sorted({name.partition(".")[0] for name in missing.values()})
    return replace(
        no_verdict(
            NoVerdict.MODULE_MISSING,
            f"{named(missing)}: the module {named(names)} is in no file of the project and is not installed. Install it"
            " into the project's environment (python -m pip install …), or name an interpreter that has it (--python).",
        ),
        cases=_all_cases(report),
    )


def _not_found(case: CaseOutcome) -> str:
    """The module that could not be imported, where that is what ended the case."""
    said = case.message if case.result is CaseResult.ERROR else case.message.partition("\n")[0]
    found = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", said)
    return found[1] if found else ""


def _bad_case(report: RunReport, situation: Situation) -> Decision | None:
    cut_off = _cut_off(report, situation)
    cases = (*_all_cases(report), *cut_off)
    bad = [c for c in cases if not c.result.ok]
    if not bad:
        return None
    total = len(report.selected or ()) + len(report.broken)
    ran = len(report.cases) + len(report.broken) + len(cut_off)
    late = report.late | {c.id for c in cut_off if ended_by(situation.end) in ("wall_s", "cpu_s")}
    return Decision(
        Verdict.FAIL,
        counts(cases, max(total, ran)) + _hanging(late) + _hint(bad, situation),
        cases=cases,
        partial=ran < total or report.selected is None or report.status is None or bool(report.stopped or cut_off),
        out_of_time=all(c.id in late for c in bad),
        late=tuple(sorted(late)),
    )


def _hanging(late: Collection[str]) -> str:
    return f"; out of time: {named(late)}" if late else ""


def _cut_off(report: RunReport, situation: Situation) -> tuple[CaseOutcome, ...]:
    if report.unfinished is None or (report.status is None and killed_from_outside(situation.end)):
        return ()
    why = report.broke_off or f"the process {how_it_ended(situation.end)} while the case ran"
    return (CaseOutcome(id=report.unfinished, result=CaseResult.FAILED, message=f"did not finish: {why}"),)


def _hint(bad: Iterable[CaseOutcome], situation: Situation) -> str:
    bad = list(bad)
    places = {situation.place_of(name): name for c in bad if (name := _not_found(c))}
    if name := places.get(ModuleOrigin.ROOT):
        return f"; {name} lies at the project's root, which plain pytest does not look in: use python -m pytest"
    if name := places.get(ModuleOrigin.INSIDE):
        return (
            f"; {name} lies in a folder that is not on the import path: put PYTHONPATH=FOLDER in front of the command"
        )
    text = "\n".join(c.message for c in bad)
    if program := re.search(r"FileNotFoundError: \[Errno 2\] No such file or directory: '([A-Za-z][\w-]*)'", text):
        return (
            f"; where the program {program[1]} is meant, it is not there, which no change to the code mends: leave its"
            " case out (--deselect), or name an interpreter beside which it is installed (--python)"
        )
    if ("fixture '" in text and "' not found" in text) or "async def functions are not natively supported" in text:
        return "; a pytest plugin may be missing: name it in the project's requirements, or add -p NAME to the command"
    return ""


def _cut_short(report: RunReport, situation: Situation) -> Decision | None:
    if report.status is not None:
        return None
    if report.selected is not None:
        where = "between two tests" if report.cases else "before the first test"
    else:
        where = f"while it collected {report.collecting}" if report.collecting else "before it collected anything"
    if limit := ended_by(situation.end):
        return no_verdict(NoVerdict.LIMIT_HIT, f"The runner hit its limit {limit} {where}.")
    return no_verdict(NoVerdict.RUNNER_CRASHED, f"The runner {how_it_ended(situation.end)} {where}. {report.internal}")


_PLUGIN_OF = (
    (r"-n\b|--numprocesses|--dist\b", "pytest-xdist"),
    (r"--cov|--no-cov", "pytest-cov"),
    (r"--timeout|\btimeout\b", "pytest-timeout"),
    (r"--asyncio-mode|\basyncio_", "pytest-asyncio"),
    (r"--reruns", "pytest-rerunfailures"),
    (r"--benchmark", "pytest-benchmark"),
    (r"--ds\b|\bDJANGO_SETTINGS_MODULE", "pytest-django"),
    (r"--randomly|-p no:randomly", "pytest-randomly"),
    (r"--html", "pytest-html"),
    (r"--hypothesis", "hypothesis"),
)
"""Options, on the command line or in a configuration file, and the distribution that brings them."""


def _usage(report: RunReport, situation: Situation) -> Decision | None:
    if report.usage:
        said = last_error(situation.end)
        return no_verdict(NoVerdict.USAGE, f"The runner did not accept its command line. {said}{_undeclared(said)}")
    if report.internal:
        return no_verdict(NoVerdict.RUNNER_CRASHED, f"The runner broke. {report.internal.splitlines()[0]}")
    if report.selected is None:
        return no_verdict(NoVerdict.USAGE, f"The command ran no tests. {last_error(situation.end)}".strip())
    return None


def _undeclared(said: str) -> str:
    if "unrecognized arguments" not in said and "Unknown config option" not in said:
        return ""
    names = [name for options, name in _PLUGIN_OF if re.search(options, said)] or ["a pytest plugin"]
    return (
        f"; {named(names)} may be missing: only plugins that the project declares are loaded, so name it in the"
        " project's requirements (and install it), or add -p NAME to the command"
    )


def _ended_otherwise(report: RunReport, situation: Situation) -> Decision | None:
    end = situation.end
    if end.exit_code == report.status and end.signal is None and not ended_by(end):
        return None
    said = f"The runner announced exit status {report.status} and then {how_it_ended(end)}."
    if ended_by(end):
        return no_verdict(NoVerdict.LIMIT_HIT, f"{said} Something the tests started may never end.")
    return no_verdict(NoVerdict.RUNNER_CRASHED, said)


def _nothing_ran(report: RunReport, _situation: Situation) -> Decision | None:
    if report.selected:
        return None
    if report.deselected:
        return no_verdict(NoVerdict.ALL_DESELECTED, f"All {report.deselected} tests were deselected.")
    if report.passed_over:
        return no_verdict(NoVerdict.ALL_SKIPPED, "Every test file skipped itself.")
    return no_verdict(NoVerdict.NOTHING_COLLECTED, "No test was collected; check the command and the test files.")


def _incomplete(report: RunReport, _situation: Situation) -> Decision | None:
    selected, reported = Counter(report.selected or ()), Counter(c.id for c in report.cases)
    if selected == reported:
        return None
    lost = named(set(selected) - set(reported)) or named(set(reported) - set(selected))
    return no_verdict(
        NoVerdict.COUNT_MISMATCH,
        f"{len(report.selected or ())} tests were to run, {len(report.cases)} have an outcome ({lost}).",
    )


def _forged(report: RunReport, situation: Situation) -> Decision | None:
    if not report.canary:
        return no_verdict(NoVerdict.REPORT_MALFORMED, "A case that must fail passed: the outcomes were taken over.")
    taken = sorted(name for name, file in report.replaced.items() if not situation.trusted_file(file))
    if taken:
        return no_verdict(NoVerdict.REPORT_MALFORMED, f"The code under test replaced {named(taken)} of the runner.")
    return None


def _shrunk(report: RunReport, situation: Situation) -> Decision | None:
    now = {c.id: c.result for c in report.cases}
    lost = [
        name
        for name, before in (situation.expected or {}).items()
        if now.get(name) not in PASSED and (before in PASSED or not before.ok or now.get(name) != before)
    ]
    if not lost:
        return None
    return no_verdict(
        NoVerdict.COUNT_MISMATCH, f"{len(lost)} tests that ran on the base tree no longer do: {named(lost)}."
    )


def _contradiction(report: RunReport, situation: Situation) -> Decision | None:
    if report.status == 0:
        return None
    return no_verdict(
        NoVerdict.RUNNER_CRASHED,
        f"No case failed, but the runner ended with exit status {report.status}. {last_error(situation.end)}".strip(),
    )


def _nothing_passed(report: RunReport, _situation: Situation) -> Decision | None:
    if any(c.result in PASSED for c in report.cases):
        return None
    return no_verdict(NoVerdict.ALL_SKIPPED, f"No test passed: {counts(report.cases, len(report.cases))}.")


_RULES: tuple[_Rule, ...] = (
    _runner_missing,
    _tampered,
    _copy_judged,
    _module_missing,
    _bad_case,
    _cut_short,
    _usage,
    _ended_otherwise,
    _nothing_ran,
    _incomplete,
    _forged,
    _shrunk,
    _contradiction,
    _nothing_passed,
)
