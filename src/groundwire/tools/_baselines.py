"""What is known of the base tree: which cases it has, how they ended, how long they took."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from groundwire.core._sandboxes import Limits
from groundwire.core._signals import CaseResult

MANY = 256
LEAST_S = 2.0
RUN_FACTOR = 3.0
CASES_FACTOR = 10.0
AGAIN_FACTOR = 5.0
LEAST_CASE_CPU_S = 0.3
UNKNOWN_CASE_CPU_S = 1.0
CASE_FACTOR = 20.0


@dataclass(frozen=True)
class Pace:
    """How long a run may take.

    Args:
        limits: of the whole run.
        case_cpu_s: processor seconds of any one case; 0: no limit of its own. Counted on the processor, so that a busy
            machine fails nobody.
    """

    limits: Limits
    case_cpu_s: float = 0.0

    def wider(self, most: Limits) -> Pace:
        """For a second look at a candidate that only ran out of time: five times as much, within `most`."""
        wall_s = min(most.wall_s, AGAIN_FACTOR * self.limits.wall_s)
        return Pace(most.model_copy(update={"wall_s": wall_s}), AGAIN_FACTOR * self.case_cpu_s)


@dataclass(frozen=True)
class Baseline:
    """The base tree, judged.

    Args:
        cases: every case that it selected → how it ended; one that did not end counts as failed.
        duration_s: wall seconds of the run.
        cases_s: wall seconds of its cases together; the rest is start-up.
        slowest_s: wall seconds of the slowest case that is known to have run to its end; 0 where there is none.
        healthy: True if all cases ran to an end, so that its duration says how long a run takes.
        touches: files that its own run changes, of those that a candidate may not change.
    """

    cases: Mapping[str, CaseResult]
    duration_s: float
    cases_s: float
    slowest_s: float
    healthy: bool
    touches: frozenset[str] = frozenset()

    def pace(self, limits: Limits) -> Pace:
        """Tighter limits for a search over many candidates: mutants often run for ever.

        A run gets the base tree's time and ten times that of its cases; at least three times its time, and 2 s. A case
        gets twenty times the processor time of the slowest, and at least 0.3 s (1 s where none is known to end).
        """
        case_cpu_s = max(LEAST_CASE_CPU_S, CASE_FACTOR * self.slowest_s)
        if not self.healthy:
            return Pace(limits, case_cpu_s if self.slowest_s else UNKNOWN_CASE_CPU_S)
        wall_s = max(LEAST_S, RUN_FACTOR * self.duration_s, self.duration_s + CASES_FACTOR * self.cases_s)
        return Pace(limits.model_copy(update={"wall_s": min(limits.wall_s, wall_s)}), case_cpu_s)


class Baselines:
    """The last few base trees, by tree and command."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, tuple[str, ...]], Baseline] = OrderedDict()

    def get(self, tree_digest: str, command: tuple[str, ...]) -> Baseline | None:
        """What is known of it."""
        return self._known.get((tree_digest, command))

    def put(self, tree_digest: str, command: tuple[str, ...], baseline: Baseline) -> None:
        """Remembers it; the oldest is forgotten."""
        self._known[tree_digest, command] = baseline
        self._known.move_to_end((tree_digest, command))
        while len(self._known) > MANY:
            self._known.popitem(last=False)
