"""How much each line is to blame: coverage where there is some, frames in messages, else all lines alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from groundwire.agents.relevance import relevance_of
from groundwire.agents.search.localise import Counts, Line, counts, suspiciousness
from groundwire.contexts import Coverage
from groundwire.signals import Signal
from groundwire.tasks import Task

__all__ = ["Blame", "blame"]

ALIKE = 0.5
"""Blame of a line where nothing is known."""
NOT_RUN = 0.02
"""Blame of a line that no failing case ran, though others of the project were seen to run: only import can reach it."""
FRAME_FACTOR = 1.5


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

    def of(self, path: str, first: int, last: int) -> float:
        """The most blame that any line of a range carries."""
        known = self.lines.get(path)
        if not known:
            return self.elsewhere
        return max((known.get(line, self.elsewhere) for line in range(first, last + 1)), default=self.elsewhere)


def blame(task: Task, signal: Signal | None, coverage: Coverage | None, formula: Callable[[Counts], float]) -> Blame:
    """Whom to blame for what failed in the base tree.

    Args:
        task: its editable Python files share the blame.
        signal: the baseline's failure; None where it was not judged.
        coverage: lines of the base tree that each case ran.
        formula: `ochiai` or `dstar`.
    """
    editable = sorted(path for path in task.tree.files if path.endswith(".py") and task.may_edit(path))
    scores: dict[Line, float] = {}
    if signal is not None and coverage:
        failed = {case.id for case in signal.evidence.failed()}
        table = counts(coverage, failed, signal.evidence.passed())
        scores = {line: s for line, s in suspiciousness(table, formula).items() if line[0] in set(editable)}
    elsewhere = NOT_RUN if scores else ALIKE
    lines: dict[str, dict[int, float]] = {}
    for (path, line), score in scores.items():
        lines.setdefault(path, {})[line] = max(score, NOT_RUN)
    for path, mentioned in relevance_of(task.tree, signal).lines.items():
        if path in editable:
            known = lines.setdefault(path, {})
            for line in mentioned:
                known[line] = min(1.0, known.get(line, elsewhere) * FRAME_FACTOR)
    most = {path: max(lines.get(path, {}).values(), default=elsewhere) for path in editable}
    return Blame(lines, elsewhere, tuple(sorted(editable, key=lambda path: (-most[path], path))))
