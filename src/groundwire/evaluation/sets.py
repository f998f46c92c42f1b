"""Which episodes stand behind a number."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from groundwire.evaluation.drift import repeated
from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.rows import FAIL, NONE, PASS, Bools, Ints
from groundwire.evaluation.trials import Trials

__all__ = ["SETS", "episode_sets"]

SETS: Mapping[str, str] = {
    "solved": "the answer is right",
    "first": "the first try is right",
    "unsolved": "the answer is not known to be right",
    "fixes": "wrong at first, right at the end",
    "breaks": "right at first, wrong at the end",
    "false": "the answer passed what steers and failed the hidden tests",
    "unverified": "the answer passed only tests that a model wrote",
    "none": "no verdict on the answer",
    "given": "passed before anything was tried",
    "repeats": "an answer came again after a FAIL",
    "lessons": "a trial was given lessons",
    "oracle": "a signal used the answer key",
}
"""By name: what the episodes of a set have in common."""


def episode_sets(trials: Trials) -> Mapping[str, Ints]:
    """By set, the numbers of its episodes."""
    episodes = Episodes.of(trials)
    first, final = episodes.truth(episodes.first), episodes.truth(episodes.last)
    last = np.maximum(episodes.last, 0)
    visible = np.where(episodes.tried, trials.visible[last], NONE) if len(trials) else final
    hidden = np.where(episodes.tried, trials.hidden[last], NONE) if len(trials) else final
    counted = episodes.counted
    found = {
        "solved": counted & (final == PASS),
        "first": counted & (first == PASS),
        "unsolved": counted & (final != PASS),
        "fixes": counted & (first == FAIL) & (final == PASS),
        "breaks": counted & (first == PASS) & (final == FAIL),
        "false": (visible == PASS) & (hidden == FAIL),
        "unverified": counted & (final == NONE) & (visible == PASS),
        "none": counted & (final == NONE) & (visible == NONE),
        "given": episodes.given,
        "repeats": _any(episodes, repeated(trials)),
        "lessons": _any(episodes, trials.lessons > 0),
        "oracle": _any(episodes, trials.oracle),
    }
    return {name: np.flatnonzero(which) for name, which in found.items()}


def _any(episodes: Episodes, rows: Bools) -> Bools:
    """By episode, True where any of its rows is."""
    return episodes.total(rows.astype(np.int64)) > 0
