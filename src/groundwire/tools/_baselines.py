"""What is known of the base tree: which cases it has, how they ended, how long they took."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from groundwire.core._sandboxes import Limits
from groundwire.core._signals import CaseOutcome, CaseResult

MANY = 256
LEAST_S = 2.0
RUN_FACTOR = 3.0
CASES_FACTOR = 10.0
AGAIN_FACTOR = 5.0
LEAST_CASE_CPU_S = 0.1
UNKNOWN_CASE_CPU_S = 0.3
CASE_FACTOR = 20.0


Outcome = Mapping[str, tuple[CaseResult, str]]
"""How each case ended, and where it failed: the innermost place in the project, "" where that is not known."""
_LATE = "did not finish within"
"""What a case says that a limit of time ended, wherever it was by then."""
_PLACE = re.compile(r"(?m)^  (\S+:\d+) in ")


def outcome_of(cases: Iterable[CaseOutcome]) -> Outcome:
    """What a run of the base tree came to."""
    places = (
        (case, _PLACE.findall(case.message) if case.result is CaseResult.FAILED and _LATE not in case.message else ())
        for case in cases
    )
    return {case.id: (case.result, found[-1] if found else "") for case, found in places}


@dataclass(frozen=True)
class Pace:
    """How long a run may take.

    Args:
        limits: of the whole run; `case_s` is that of any one case. It is counted on the processor, so that a busy
            machine fails nobody.
        stops: the run ends with the first case that hangs, and once it is known to be no better than the base tree.
    """

    limits: Limits
    stops: bool = False

    def wider(self, most: Limits) -> Pace:
        """For a second look at a candidate that only ran out of time: five times as much, within `most`."""
        wall_s = min(most.wall_s, AGAIN_FACTOR * self.limits.wall_s)
        case_s = min(most.case_s, AGAIN_FACTOR * self.limits.case_s)
        return replace(self, limits=most.model_copy(update={"wall_s": wall_s, "case_s": case_s}))


@dataclass(frozen=True)
class Baseline:
    """The base tree, judged.

    Args:
        cases: every case that it selected → how it ended; one that did not end counts as failed.
        duration_s: wall seconds of the run, without the cases that a limit of time ended.
        cases_s: wall seconds of its other cases together; the rest is start-up.
        slowest_s: processor seconds of the slowest case that is known to have run to its end (wall seconds where the
            runner says no more); None where there is none.
        healthy: True if all cases ran to an end.
        timed: True if all cases ran, to an end or to a limit of their own, so that its duration says how long a run
            takes.
        touches: files that its own run changes, of those that a candidate may not change.
        outcome: all that it came to, to be compared with another run of the same tree.
        unsteady: cases that ended otherwise in another run by itself.
        late: cases that a limit of time ended.
    """

    cases: Mapping[str, CaseResult]
    duration_s: float
    cases_s: float
    slowest_s: float | None
    healthy: bool
    timed: bool
    touches: frozenset[str] = frozenset()
    outcome: Outcome = field(default_factory=dict[str, tuple[CaseResult, str]])
    unsteady: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()

    @property
    def failing(self) -> tuple[str, ...]:
        """The cases that are known to have failed, in their order; none that once ended otherwise, nor, where others
        failed, any that ran out of time: each candidate would wait for it."""
        failed = {name for name, (result, _) in self.outcome.items() if not result.ok} - self.unsteady
        failed = failed - self.late or failed
        return tuple(name for name in self.cases if name in failed)

    def pace(self, limits: Limits) -> Pace:
        """Tighter limits for a search over many candidates: mutants often run for ever.

        A run gets the base tree's time and ten times that of its cases; at least three times its time, and 2 s. A case
        gets twenty times the processor time of the slowest, and at least 0.1 s (0.3 s where none is known to end).
        """
        slowest_s = self.slowest_s
        case_s = UNKNOWN_CASE_CPU_S if slowest_s is None else max(LEAST_CASE_CPU_S, CASE_FACTOR * slowest_s)
        wall_s = limits.wall_s
        if self.timed:
            wall_s = max(LEAST_S, RUN_FACTOR * self.duration_s, self.duration_s + CASES_FACTOR * self.cases_s)
        tighter = {"wall_s": min(limits.wall_s, wall_s), "case_s": min(limits.case_s, case_s)}
        return Pace(limits.model_copy(update=tighter), stops=True)


class JudgingMode(Enum):
    """How many candidates of one base tree are judged, from the fastest way to the surest."""

    HEAD_START = auto()
    """As `QUICK`, and what comes before the project's own code is done once for all of them."""
    QUICK = auto()
    """In a fork server, what failed on the base tree first, without what the tests don't ask for."""
    PLAIN = auto()
    """In a fork server, as the command has it."""
    COLD = auto()
    """Each in a fresh process, as a single candidate is."""


class Baselines:
    """The last few base trees, by tree and command."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, tuple[str, ...]], Baseline] = OrderedDict()
        self._ways: OrderedDict[tuple[str, tuple[str, ...]], tuple[JudgingMode, str]] = OrderedDict()

    def way(self, tree_digest: str, command: tuple[str, ...]) -> tuple[JudgingMode, str] | None:
        """The fastest way in which the base tree ends as it does by itself, and why it is not the fastest of all."""
        return self._ways.get((tree_digest, command))

    def put_way(self, tree_digest: str, command: tuple[str, ...], way: JudgingMode, why: str) -> None:
        """Remembers it; the oldest is forgotten."""
        self._ways[tree_digest, command] = (way, why)
        while len(self._ways) > MANY:
            self._ways.popitem(last=False)

    def get(self, tree_digest: str, command: tuple[str, ...]) -> Baseline | None:
        """What is known of it."""
        return self._known.get((tree_digest, command))

    def put(self, tree_digest: str, command: tuple[str, ...], baseline: Baseline) -> None:
        """Remembers it, and what differs from what was known; the oldest is forgotten."""
        before = self._known.get((tree_digest, command))
        if before is not None:
            both = before.outcome.keys() & baseline.outcome.keys()
            changed = {name for name in both if before.outcome[name] != baseline.outcome[name]}
            baseline = replace(baseline, unsteady=before.unsteady | changed)
        self._known[tree_digest, command] = baseline
        self._known.move_to_end((tree_digest, command))
        while len(self._known) > MANY:
            self._known.popitem(last=False)
