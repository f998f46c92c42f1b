"""How much each line is to blame: by coverage where there is some, by slices and frames where the failure tells any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from groundwire.agents.patching._project_view import relevance_of
from groundwire.agents.search._localise import Line, LineCounts, counts, suspiciousness
from groundwire.agents.search._slicing import Slicer
from groundwire.core._contexts import Coverage
from groundwire.core._signals import Signal
from groundwire.core._tasks import Task

ALIKE = 0.5
"""Blame of a line where nothing is known."""
NOT_RUN = 0.02
"""Blame of a line that no failing case ran, though others of the project were seen to run: only import can reach it."""
FRAME_FACTOR = 1.5
OUTSIDE_FACTOR = 0.3
"""For a line in no slice of a failing assertion: it may be where something is missing, but can't have done it."""


@dataclass(frozen=True)
class Blame:
    """Blame by line.

    Args:
        lines: path → line → blame; 1 is the most suspicious of all.
        elsewhere: blame of a line that is not listed.
        paths: the editable files, the most suspicious first.
    """

    lines: Mapping[str, Mapping[int, float]]
    elsewhere: float
    paths: tuple[str, ...]

    def most(self, path: str) -> float:
        """The most blame that any line of a file carries."""
        return max(self.lines.get(path, {}).values(), default=self.elsewhere)

    def of(self, path: str, first: int, last: int) -> float:
        """The most blame that any line of a range carries."""
        known = self.lines.get(path)
        if not known:
            return self.elsewhere
        return max((known.get(line, self.elsewhere) for line in range(first, last + 1)), default=self.elsewhere)


def blame(
    task: Task, signal: Signal | None, coverage: Coverage | None, formula: Callable[[LineCounts], float]
) -> Blame:
    """Whom to blame for what failed in the base tree.

    Args:
        task: its editable Python files share the blame.
        signal: the baseline's failure; None where it was not judged.
        coverage: lines of the base tree that each case ran.
        formula: `ochiai` or `dstar`.
    """
    editable = sorted(path for path in task.tree.files if path.endswith(".py") and task.may_edit(path))
    scores: dict[Line, float] = {}
    alone: set[Line] = set()
    if signal is not None and coverage:
        failed = {case.id for case in signal.evidence.failed()}
        table = counts(coverage, failed, signal.evidence.passed())
        scores = {line: s for line, s in suspiciousness(table, formula).items() if line[0] in set(editable)}
        alone = {line for line in scores if not table[line].passed_ran}
        if len(alone) == len(scores):
            alone = set()  # no passing case ran anything that a failing one ran: that tells nothing
    sliced = Slicer(task, coverage).lines(signal.evidence.failed()) if signal is not None else frozenset[Line]()
    elsewhere = NOT_RUN if scores else ALIKE * OUTSIDE_FACTOR if sliced else ALIKE
    lines: dict[str, dict[int, float]] = {}
    for line in scores or sliced:
        # what only failing cases ran may be where something is missing, though no value came from there
        outside = sliced and line not in sliced and line not in alone
        score = scores.get(line, ALIKE) * (OUTSIDE_FACTOR if outside else 1.0)
        lines.setdefault(line[0], {})[line[1]] = max(score, NOT_RUN)
    for path, mentioned in relevance_of(task.tree, signal).lines.items():
        if path in editable:
            known = lines.setdefault(path, {})
            for number in mentioned:
                known[number] = min(1.0, known.get(number, elsewhere) * FRAME_FACTOR)
    found = Blame(lines, elsewhere, ())
    return replace(found, paths=tuple(sorted(editable, key=lambda path: (-found.most(path), path))))
