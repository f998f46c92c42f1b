"""Cases by trials: how each case ended in what stands for each trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundwire.core._signals import CaseResult, Signal
from groundwire.viewer._trials import TrialView


@dataclass(frozen=True)
class CaseRow:
    """A case and how it ended in each trial.

    Args:
        id: of the case.
        results: a result for each of the matrix's columns; empty where it was not run there.
    """

    id: str
    results: Sequence[str]

    @property
    def changed(self) -> bool:
        """True where it did not end alike in all columns that ran it."""
        return len({_counts(result) for result in self.results if result}) > 1


@dataclass(frozen=True)
class Column:
    """A column of the matrix: what stands for a trial.

    Args:
        trial: its trial.
        candidate: digest of the candidate.
        signal: id of the signal that is shown.
        verdict: of that signal.
    """

    trial: int
    candidate: str
    signal: str
    verdict: str


@dataclass(frozen=True)
class Matrix:
    """Cases by trials.

    Args:
        columns: the baseline and the trials.
        rows: the cases: those that changed first, then those that failed, then the rest, each in the runner's order.
    """

    columns: Sequence[Column]
    rows: Sequence[CaseRow]


_BAD = frozenset({CaseResult.FAILED.value, CaseResult.ERROR.value})


def _counts(result: str) -> str:
    return "bad" if result in _BAD else "good"


def matrix_of(trials: Sequence[TrialView], signals: Mapping[str, Signal]) -> Matrix:
    """Puts the matrix together.

    Args:
        trials: in order.
        signals: the episode's, by id.
    """
    columns: list[Column] = []
    results: list[Mapping[str, str]] = []
    for trial in trials:
        best = trial.best
        seen = [s for s in best.signals if not s.hidden and signals[s.id].evidence.cases] if best else []
        shown = seen[-1] if seen else None
        if best is not None and shown is not None:
            columns.append(Column(trial.number, best.digest, shown.id, shown.verdict))
            results.append({case.id: case.result.value for case in signals[shown.id].evidence.cases})
    ids = list(dict.fromkeys(name for result in results for name in result))
    rows = [CaseRow(name, [result.get(name, "") for result in results]) for name in ids]
    rows.sort(key=lambda row: (not row.changed, not _BAD & set(row.results)))
    return Matrix(columns, rows)
