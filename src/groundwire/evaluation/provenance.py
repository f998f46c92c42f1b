"""What stood behind each refinement, and what a run's numbers may not be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.rates import Rate
from groundwire.evaluation.rows import origin_name
from groundwire.evaluation.trials import Trials

__all__ = ["Provenance", "provenance"]


@dataclass(frozen=True)
class Provenance:
    """Where signals came from.

    Args:
        triggers: by origin, its share of the refinements that a signal opened.
        ungrounded: trials after another one that no signal opened: of those, what stood behind them is the model's own.
        oracle: trials with a signal that used the answer key; any makes the run incomparable with one that had none.
        judged: trials by the origin of what judged them.
    """

    triggers: Mapping[str, Rate]
    ungrounded: Rate
    oracle: Rate
    judged: Mapping[str, int]


def provenance(trials: Trials) -> Provenance:
    """Triggers by origin (methods rows 22, 29 and 32), and the flags."""
    tries = ~trials.is_given
    opened = trials.trigger[tries & (trials.trigger >= 0)]
    later = np.zeros(len(trials), dtype=np.bool_)
    later[1:] = (trials.number[1:] == trials.number[:-1]) & tries[1:] & tries[:-1]
    judged = trials.origin[tries & (trials.origin >= 0)]
    return Provenance(
        triggers={origin_name(code): Rate(int((opened == code).sum()), len(opened)) for code in np.unique(opened)},
        ungrounded=Rate(int((later & (trials.trigger < 0)).sum()), int(later.sum())),
        oracle=Rate(int(trials.oracle.sum()), len(trials)),
        judged={origin_name(code): int((judged == code).sum()) for code in np.unique(judged)},
    )
