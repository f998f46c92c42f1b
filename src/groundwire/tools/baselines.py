"""What is known of the base tree: which cases it has, how they ended, how long they took."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from groundwire.limits import Limits
from groundwire.signals import CaseResult

__all__ = ["Baseline", "Baselines"]

MANY = 256
LEAST_S = 2.0
RUN_FACTOR = 3.0
CASES_FACTOR = 10.0
AGAIN_FACTOR = 5.0


@dataclass(frozen=True)
class Baseline:
    """The base tree, judged.

    Args:
        cases: every case that it selected → how it ended; one that did not end counts as failed.
        duration_s: wall seconds of the run.
        cases_s: wall seconds of its cases together; the rest is start-up.
        healthy: True if all cases ran to an end, so that its duration says how long a run takes.
    """

    cases: Mapping[str, CaseResult]
    duration_s: float
    cases_s: float
    healthy: bool

    def limits(self, limits: Limits) -> Limits:
        """Tighter limits for a search over many candidates.

        The base tree's time and ten times that of its cases; at least three times its time, and 2 s. Mutants often run
        for ever; without this each would cost the task's whole wall limit.
        """
        if not self.healthy:
            return limits
        wall_s = max(LEAST_S, RUN_FACTOR * self.duration_s, self.duration_s + CASES_FACTOR * self.cases_s)
        return limits.model_copy(update={"wall_s": min(limits.wall_s, wall_s)})

    def wider(self, limits: Limits) -> Limits:
        """Limits for a second look at a candidate that only ran out of time: five times those of the first."""
        wall_s = min(limits.wall_s, AGAIN_FACTOR * self.limits(limits).wall_s)
        return limits.model_copy(update={"wall_s": wall_s})


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
