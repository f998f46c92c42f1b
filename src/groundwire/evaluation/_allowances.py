"""What each episode of an arm may use, and two arms cut to the smaller allowance: spending can't be compared.

A loop that stops at its first success spends less the more it solves, so arms that spent the same need not have been
allowed the same: of two equal policies, the one that may try more often solves more, at equal tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from groundwire.evaluation._rows import Bools, Floats, Ints
from groundwire.evaluation._trials import Episodes, Trials

EQUAL_WITHIN = 0.10
"""Tries are said to cost the same where they differ by no more than this share of the larger one."""


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What one episode may use. None: nothing limits it, or that is not known.

    Args:
        trials: tries, what was given not counted.
        samples: candidates judged, over all tries.
        tokens: prompt and completion tokens; a try begins while fewer were used.
        seconds: wall seconds, likewise.
    """

    trials: int | None = None
    samples: int | None = None
    tokens: int | None = None
    seconds: float | None = None

    def smaller(self, other: Allowance) -> Allowance:
        """The smaller of both, of each kind."""
        known = {
            field.name: [getattr(side, field.name) for side in (self, other) if getattr(side, field.name) is not None]
            for field in fields(self)
        }
        return Allowance(**{name: min(values, default=None) for name, values in known.items()})

    def __str__(self) -> str:
        """`7 trials, 4,000 tokens`; empty where nothing is known."""
        named = ((f.name, getattr(self, f.name)) for f in fields(self))
        told = [f"{value:,} {name.removesuffix('s') if value == 1 else name}" for name, value in named if value]
        return ", ".join(told)


def allowance_in(config: Mapping[str, Any]) -> Allowance:
    """What a run's config says that each of its episodes might use."""
    asked: Mapping[str, Any] = config.get("suite") or config.get("cli") or {}
    settings: Mapping[str, Any] = asked.get("settings") or {}
    imported: Mapping[str, Any] = config.get("imported") or {}
    return Allowance(
        trials=settings.get("max_trials") or imported.get("trials") or imported.get("allowed_trials") or None,
        tokens=settings.get("max_tokens"),
        seconds=settings.get("max_seconds"),
    )


def bounded(trials: Trials, allowance: Allowance) -> Allowance:
    """The same with the trials that were seen where none are told: the most of any episode, since one that was not
    solved went on until then. Where every episode was solved, nobody knows where it would have ended."""
    if allowance.trials is not None or not len(trials):
        return allowance
    episodes = Episodes.of(trials)
    lasting = episodes.counted & episodes.tried & ~episodes.final_right
    most = int(trials.trial.max()) if lasting.any() else None
    told = {field.name: getattr(allowance, field.name) for field in fields(allowance)}
    return Allowance(**{**told, "trials": most or None})


def within(trials: Trials, allowance: Allowance) -> Trials:
    """The tries that begin within an allowance; the others never were."""
    kept = np.ones(len(trials), dtype=np.bool_)
    if allowance.trials is not None:
        kept &= trials.trial <= allowance.trials
    judged = np.maximum(trials.sampled.lengths, 1)
    for most, used in (
        (allowance.samples, judged),
        (allowance.tokens, trials.tokens),
        (allowance.seconds, trials.seconds),
    ):
        if most is not None:
            kept &= _before(trials, np.where(trials.is_given, 0, used)) < most
    return trials if kept.all() else trials.take(kept | trials.is_given)


def _before(trials: Trials, used: Floats | Ints) -> Floats:
    """By row, what its episode had used before it."""
    total = np.cumsum(used, dtype=np.float64) - used
    return total - total[trials.starts][trials.number] if len(total) else total


@dataclass(frozen=True, kw_only=True)
class ComparedAllowances:
    """What both arms were allowed, and whether that was the same.

    Args:
        arm: to the one.
        control: to the other.
        both: the smaller of these, to which both were cut.
        was_cut: True if that left out a try of either.
        single: True if one arm might try once, and the other went on. Cut to one try, nothing of what comes after it
            would be compared, so both are left as they are, and are not equal.
        held_to: `allowance`: the control was given what the run's episodes might use; `spending`: only what they did
            use; empty: both are told by `both`.
        ratio: tokens of a try of the arm, as a multiple of the control's; None where either is not known, or where both
            were held to tokens.
        widths: the most candidates of one try, of the one and the other.
    """

    arm: Allowance
    control: Allowance
    both: Allowance
    was_cut: bool
    single: bool
    held_to: str
    ratio: float | None
    widths: tuple[int, int]

    @property
    def is_equal(self) -> bool:
        """True if neither arm might use more than the other, tries within 10 % of one price."""
        if self.held_to:
            return self.held_to == "allowance"
        if self.single:
            return False
        near = self.ratio is None or abs(1 - self.ratio) <= EQUAL_WITHIN * max(1.0, self.ratio)
        return near and self.widths[0] == self.widths[1]

    def __str__(self) -> str:
        if self.held_to == "allowance":
            return "the control was allowed what the run was: equal"
        if self.held_to:
            return "the control was held to what the run used, which is less where it succeeded: NOT equal"
        if self.single:
            return f"{self._sides()}: NOT equal, and more tries alone could do that"
        told = f"allowed {self.both} each" if str(self.both) else "neither came to an end of what it was allowed"
        if self.was_cut:
            told = f"{self._sides()}, both cut to {self.both}"
        if self.is_equal:
            return f"{told}: equal"
        why = [] if self.ratio is None else [f"×{self.ratio:.2f} tokens a try"]
        why += [f"{self.widths[0]} against {self.widths[1]} candidates a try"] * (self.widths[0] != self.widths[1])
        return f"{told}, {', '.join(why)}: NOT equal, so more than what is compared differs"

    def _sides(self) -> str:
        return f"allowed {str(self.arm) or 'as much as it took'} against {str(self.control) or 'as much as it took'}"


def allowed_alike(
    arm: Trials, control: Trials, told: Allowance, control_told: Allowance, held_to: str
) -> tuple[Trials, Trials, ComparedAllowances]:
    """Both arms within the smaller allowance, and what that is.

    Args:
        arm: the one.
        control: the other.
        told: what its run says that an episode of the arm might use.
        control_told: likewise.
        held_to: what a control of ours was held to, by its run; empty: this is none.
    """
    mine, theirs = (bounded(t, a) for t, a in ((arm, told), (control, control_told)))
    both = mine.smaller(theirs)
    later = any(bool((t.trial > 1).any()) for t in (arm, control))
    single = not held_to and later and both.trials == 1 and mine.trials != theirs.trials
    # a control that is held to tokens tries as often as these last: its trials are not the other arm's
    cut = (arm, control) if held_to or single else (within(arm, both), within(control, both))
    prices = [_tokens_a_try(t) for t in cut]
    known = not held_to and all(prices)
    return (
        *cut,
        ComparedAllowances(
            arm=mine,
            control=theirs,
            both=both,
            was_cut=sum(map(len, cut)) < len(arm) + len(control),
            single=single,
            held_to=held_to,
            ratio=prices[0] / prices[1] if known else None,
            widths=(_width(cut[0]), _width(cut[1])),
        ),
    )


def _tokens_a_try(trials: Trials) -> float:
    tries: Bools = ~trials.is_given
    return float(trials.tokens[tries].mean()) if tries.any() else 0.0


def _width(trials: Trials) -> int:
    tries: Bools = ~trials.is_given & (np.bincount(trials.stepped.rows, minlength=len(trials)) == 0)
    return int(np.maximum(trials.sampled.lengths[tries], 1).max()) if tries.any() else 1
