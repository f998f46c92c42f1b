"""What becomes of feedback, and whether a loop that feeds on its own output goes wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from groundwire.core._signals import Origin
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._rows import FAIL, NONE, ORIGINS, PASS, Bools
from groundwire.evaluation._trials import Episodes, Trials

# Whether a loop that feeds on its own output goes wrong: it accepts as much or more, and is right less and less.

FALLS = 2
"""Rounds in a row before the alarm: one may be chance."""


def avalanche(accuracy: Sequence[float], acceptance: Sequence[float]) -> int | None:
    """The round at which verified accuracy had fallen twice in a row while acceptance did not; None where it never had.
    A filter that lets all through from the first round on has no room to accept more.

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
        falling = falling + 1 if now < was and takes >= took > 0 else 0
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


# What becomes of feedback: answers repeated in spite of it, calls repeated after an error, and why errors last.


class Friction(StrEnum):
    """Why an episode's error lasted, told by rule from its trials (after arXiv 2506.11930)."""

    FEEDBACK_WRONG = "feedback_wrong"
    """A candidate that the hidden tests pass was sent back."""
    NOT_FOLLOWED = "not_followed"
    """An answer came again, or the last two failed in the same way."""
    FORMAT = "format"
    """The last try held nothing that could be judged, though a model was asked."""
    TOO_HARD = "too_hard"
    """Each answer failed in another way than the one before."""
    UNKNOWN = "unknown"
    """Fewer than two tries, or the failures have no signature to compare."""


@dataclass(frozen=True)
class Uptake:
    """What becomes of feedback.

    Args:
        repeats: trials after a FAIL whose candidate had been tried in the episode before; walks in an environment are
            not compared.
        stuck: trials after a FAIL for which the loop had been found stuck, so that it escalated.
        recalls: steps after a failed one that are the very same again (`degenerate_repeat` of arXiv 2601.15625).
        recoveries: steps after a failed one that did not fail.
        friction: unsolved episodes by why their error lasted.
    """

    repeats: Rate
    stuck: Rate
    recalls: Rate
    recoveries: Rate
    friction: Mapping[Friction, int]

    @property
    def friction_share(self) -> float | None:
        """Of unsolved episodes, the share whose feedback was not followed."""
        return Rate(self.friction.get(Friction.NOT_FOLLOWED, 0), sum(self.friction.values())).value


def uptake(trials: Trials) -> Uptake:
    """Repeated answers and friction (arXiv 2506.11930), re-calls and recovery after an error (arXiv 2601.15625)."""
    after = _after_fail(trials)
    escalated = np.zeros(len(trials), dtype=np.bool_)
    escalated[1:] = trials.escalation[1:] > trials.escalation[:-1]
    # a walk's candidate names its trial, so that none is ever there again
    compared = after & (trials.origin != ORIGINS.index(Origin.ENVIRONMENT))
    row = trials.stepped.rows
    next_too = (row[1:] == row[:-1]) & ~trials.step_ok[:-1]
    same = trials.step_action.codes[1:] == trials.step_action.codes[:-1]
    return Uptake(
        repeats=Rate(int((compared & repeated(trials)).sum()), int(compared.sum())),
        stuck=Rate(int((after & escalated).sum()), int(after.sum())),
        recalls=Rate(int((next_too & same).sum()), int(next_too.sum())),
        recoveries=Rate(int((next_too & trials.step_ok[1:]).sum()), int(next_too.sum())),
        friction=friction(trials),
    )


def _after_fail(trials: Trials) -> Bools:
    """By row, True where the trial before it in its episode failed and was itself a try."""
    after = np.zeros(len(trials), dtype=np.bool_)
    same = trials.number[1:] == trials.number[:-1]
    after[1:] = same & (trials.visible[:-1] == FAIL) & ~trials.is_given[:-1]
    return after


def repeated(trials: Trials) -> Bools:
    """By row, True where its candidate was tried in the episode before."""
    known = trials.candidate.is_named
    key = trials.number * (len(trials.candidate.names) + 1) + trials.candidate.codes
    _, first = np.unique(key, return_index=True)
    again = np.ones(len(trials), dtype=np.bool_)
    again[first] = False
    return again & known


def friction(trials: Trials) -> Mapping[Friction, int]:
    """Unsolved episodes by why their error lasted; those of one kind come under the first that fits."""
    episodes = Episodes.of(trials)
    unsolved = np.flatnonzero(episodes.counted & episodes.tried & ~episodes.final_right)
    if not len(unsolved):
        return {}
    last = episodes.last[unsolved]
    two = last > episodes.first[unsolved]
    sent_back = (trials.visible == FAIL) & (trials.hidden == PASS)
    wrong = np.add.reduceat(sent_back, trials.starts, dtype=np.int64)[unsolved] > 0
    signed = trials.signature.is_named
    before = np.maximum(last - 1, 0)
    same = two & signed[last] & (trials.signature.codes[last] == trials.signature.codes[before])
    came_again = np.add.reduceat(repeated(trials), trials.starts, dtype=np.int64)[unsolved] > 0
    end = trials.ends[unsolved]
    nothing = (trials.visible[end] == NONE) & (trials.calls[end] > 0) & (trials.judgings[end] == 0)
    changed = two & signed[last] & signed[before]
    kinds = np.select([wrong, same | came_again, nothing, changed], [0, 1, 2, 3], default=4)
    return {kind: int(n) for kind, n in zip(Friction, np.bincount(kinds, minlength=5), strict=True) if n}
