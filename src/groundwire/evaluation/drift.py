"""Whether a loop that feeds on its own output goes wrong: it accepts more and more, and is right less and less."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.rows import NONE, PASS
from groundwire.evaluation.trials import Trials

__all__ = ["Drift", "avalanche", "drift"]

FALLS = 2
"""Rounds in a row before the alarm: one may be chance."""


def avalanche(accuracy: Sequence[float], acceptance: Sequence[float]) -> int | None:
    """The round at which verified accuracy had fallen twice in a row while acceptance rose; None where it never did.

    Args:
        accuracy: by round, from 1 on, the share that is verified to be right.
        acceptance: by round, the share that the loop's own filter accepted.

    Returns:
        The round's number, counted from 1.

    Source: error avalanching, arXiv 2309.08589 (methods row 28).
    """
    falling = 0
    for number, (was, now, took, takes) in enumerate(
        zip(accuracy, accuracy[1:], acceptance, acceptance[1:], strict=False), 2
    ):
        falling = falling + 1 if now < was and takes > took else 0
        if falling == FALLS:
            return number
    return None


@dataclass(frozen=True)
class Drift:
    """By round, from the first try on, over the trials that hidden tests judged.

    Args:
        accuracy: share that hidden tests pass.
        acceptance: share that what steers passes.
        alarm: round of the alarm (`avalanche`); None where there is none.
    """

    accuracy: Sequence[float]
    acceptance: Sequence[float]
    alarm: int | None


def drift(trials: Trials) -> Drift:
    """Verified accuracy and acceptance by round, and the avalanche alarm."""
    judged = ~trials.is_given & (trials.hidden != NONE) & (trials.visible != NONE)
    rounds = trials.trial[judged]
    count = np.bincount(rounds)[1:] if len(rounds) else np.zeros(0, dtype=np.int64)
    # a round that nobody judged ends the series
    until = int(np.argmin(count > 0)) if len(count) and not (count > 0).all() else len(count)
    right = np.bincount(rounds, weights=trials.hidden[judged] == PASS)[1 : until + 1]
    taken = np.bincount(rounds, weights=trials.visible[judged] == PASS)[1 : until + 1]
    accuracy, acceptance = (right / count[:until]).tolist(), (taken / count[:until]).tolist()
    return Drift(accuracy, acceptance, avalanche(accuracy, acceptance))
