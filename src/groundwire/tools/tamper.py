"""What a run shows of a candidate that reached for the yardstick while it ran: a FAIL that says what was tried.

Each has a case `tamper::WHAT`. Only what the candidate itself must have done is said of it: where its tests could have
done it too, and are not known to leave it alone, nothing is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from groundwire.limits import ExecResult
from groundwire.signals import CaseOutcome, CaseResult
from groundwire.tools.endings import ended_by
from groundwire.tools.reports import RunReport

__all__ = ["Situation", "tampering_seen", "tampering_with_report"]


@dataclass(frozen=True)
class Situation:
    """What a verdict rests on besides the report.

    Args:
        end: how the process ended.
        expected: how each case of the clean base tree ended, where that is known.
        changed: the paths that the candidate changed.
        trusted_file: True for a file that the candidate may not have written.
        cure: what to do where the runner is missing.
        base_touches: files that the clean base tree's own run changes; None: it is not known to have run to its end.
    """

    end: ExecResult
    expected: Mapping[str, CaseResult] | None = None
    changed: frozenset[str] = frozenset()
    trusted_file: Callable[[str], bool] = lambda _path: False
    cure: str = ""
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
