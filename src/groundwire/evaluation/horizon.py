"""How far a chain of steps gets, and whether one error brings the next."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.rates import Rate
from groundwire.evaluation.trials import Trials

__all__ = ["Horizon", "horizon", "horizon_length"]


@dataclass(frozen=True)
class Horizon:
    """Steps, and what follows on an error.

    Args:
        step: steps that did not fail (p).
        length: H_.5(p): steps after which half of the chains have failed; None where no step failed, or all did.
        after_error: steps after a failed one that failed.
        after_ok: steps after one that did not fail that failed.
    """

    step: Rate
    length: int | None
    after_error: Rate
    after_ok: Rate

    @property
    def self_conditioning(self) -> float | None:
        """P(error | error before) − P(error | none before); None where either is unknown."""
        after_error, after_ok = self.after_error.value, self.after_ok.value
        return None if after_error is None or after_ok is None else after_error - after_ok


def horizon_length(p: float, s: float = 0.5) -> int | None:
    """H_s(p) = ⌈ln s / ln p⌉, in steps; None where p is 0 or 1 (arXiv 2509.09677).

    Args:
        p: accuracy of one step.
        s: success rate of the whole chain that is still wanted.
    """
    return math.ceil(math.log(s) / math.log(p)) if 0 < p < 1 else None


def horizon(trials: Trials) -> Horizon:
    """Over all steps of all trials (arXiv 2509.09677)."""
    ok = trials.step_ok
    row = trials.stepped.rows
    pair = row[1:] == row[:-1]
    after_error, after_ok = pair & ~ok[:-1], pair & ok[:-1]
    step = Rate(int(np.count_nonzero(ok)), len(ok))
    return Horizon(
        step=step,
        length=None if step.value is None else horizon_length(step.value),
        after_error=Rate(int((after_error & ~ok[1:]).sum()), int(after_error.sum())),
        after_ok=Rate(int((after_ok & ~ok[1:]).sum()), int(after_ok.sum())),
    )
