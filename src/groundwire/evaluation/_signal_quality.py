"""How far the signal that steers can be trusted, and what stood behind each refinement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation._rates import Rate
from groundwire.evaluation._rows import FAIL, NONE, PASS, Bools, origin_name, share
from groundwire.evaluation._trials import Trials

# How far the signal that steers can be trusted, and a critic that says where the error is.


@dataclass(frozen=True)
class Confusion:
    """Internal verdicts against hidden ones, in trials (arXiv 2303.11366, table of test execution accuracy).

    Args:
        tp: internal pass, hidden pass.
        fn: internal fail, hidden pass: a right candidate was sent back.
        fp: internal pass, hidden fail: a wrong candidate was let through.
        tn: internal fail, hidden fail.
    """

    tp: int
    fn: int
    fp: int
    tn: int

    @property
    def precision(self) -> float | None:
        """Of what passed inside, the share that is right."""
        return share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        """Of what is right, the share that passed inside; None where hidden tests judged nothing that failed inside, as
        in our own runs, since it would be 1 whatever the signal is worth."""
        return share(self.tp, self.tp + self.fn) if self.fn + self.tn else None

    @property
    def false_pass_share(self) -> float | None:
        """Of what passed inside, the share that is wrong."""
        return share(self.fp, self.tp + self.fp)


def confusion(trials: Trials, rows: Bools | None = None) -> Confusion:
    """Counts the trials that both sides judged.

    Where hidden tests judge only what passed inside, as in our own runs, there can be no FN and no TN.
    """
    both = (trials.visible != NONE) & (trials.hidden != NONE) & ~trials.is_given
    if rows is not None:
        both &= rows
    inside, hidden = trials.visible[both], trials.hidden[both]
    return Confusion(
        tp=int(((inside == PASS) & (hidden == PASS)).sum()),
        fn=int(((inside == FAIL) & (hidden == PASS)).sum()),
        fp=int(((inside == PASS) & (hidden == FAIL)).sum()),
        tn=int(((inside == FAIL) & (hidden == FAIL)).sum()),
    )


def confusion_by_origin(trials: Trials) -> Mapping[str, Confusion]:
    """The same by the internal signal's origin; origins with nothing to compare are left out."""
    found = {
        origin_name(code): confusion(trials, trials.origin == code) for code in np.unique(trials.origin) if code >= 0
    }
    return {origin: c for origin, c in found.items() if c.tp + c.fn + c.fp + c.tn}


@dataclass(frozen=True)
class Localised:
    """How well a critic finds the first wrong step (ProcessBench, arXiv 2412.06559).

    Args:
        acc_err: of solutions with an error, the share whose first wrong step it names.
        acc_ok: of solutions without one, the share that it calls right.
        f1: their harmonic mean; None where either is missing.
    """

    acc_err: float | None
    acc_ok: float | None
    f1: float | None


def localiser_f1(acc_err: float, acc_ok: float) -> float:
    """2·acc_err·acc_ok / (acc_err + acc_ok); 0 where both are 0 (ProcessBench, arXiv 2412.06559)."""
    return 2 * acc_err * acc_ok / (acc_err + acc_ok) if acc_err + acc_ok else 0.0


def localised(labels: Sequence[int], said: Sequence[int]) -> Localised:
    """Scores a critic.

    Args:
        labels: by solution, the index of its earliest wrong step, or −1 where it has none.
        said: what the critic says, in the same form.

    Raises:
        ValueError: not as many of the one as of the other.
    """
    true, told = np.asarray(labels), np.asarray(said)
    if true.shape != told.shape:
        raise ValueError(f"{len(labels)} labels, but {len(said)} answers")
    wrong = true >= 0
    acc_err = share(int((true == told)[wrong].sum()), int(wrong.sum()))
    acc_ok = share(int((told < 0)[~wrong].sum()), int((~wrong).sum()))
    f1 = None if acc_err is None or acc_ok is None else localiser_f1(acc_err, acc_ok)
    return Localised(acc_err, acc_ok, f1)


# What stood behind each refinement, and what a run's numbers may not be compared with.


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
