"""What becomes of feedback: answers repeated in spite of it, calls repeated after an error, and why errors last."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from groundwire.evaluation.columns import Bools
from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.rates import Rate
from groundwire.evaluation.rows import FAIL, NONE, PASS
from groundwire.evaluation.trials import Trials

__all__ = ["Friction", "Uptake", "friction", "repeated", "uptake"]


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
        repeats: trials after a FAIL whose candidate had been tried in the episode before.
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
    row = trials.stepped.rows
    next_too = (row[1:] == row[:-1]) & ~trials.step_ok[:-1]
    same = trials.step_action.codes[1:] == trials.step_action.codes[:-1]
    return Uptake(
        repeats=Rate(int((after & repeated(trials)).sum()), int(after.sum())),
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
