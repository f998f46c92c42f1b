"""How a trajectory went: its cost, its first error, its recovery, its length, and whether one error brings the next."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.core._signals import Origin
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._rows import FAIL, ORIGINS, PASS, Floats, Ints, mean_of, share
from groundwire.evaluation._trials import Episodes, Trials

# What a run cost, and what a success cost.


@dataclass(frozen=True)
class Cost:
    """Sums over all trials, failed ones too: that is what a success cost.

    Args:
        tokens: prompt and completion tokens (B_total of arXiv 2510.01123).
        critical_tokens: of these, those that were waited for (B_seq).
        calls: model calls.
        judgings: judgings by something outside the model.
        seconds: wall seconds, summed over trials; episodes that ran at the same time count each.
        usd: US dollars, without what is in `unpriced`.
        unpriced: trials with a call whose price is not known.
        successes: episodes whose answer is right, those that passed before anything was tried left out.
    """

    tokens: int
    critical_tokens: int
    calls: int
    judgings: int
    seconds: float
    usd: float
    unpriced: int
    successes: int

    @property
    def tokens_per_success(self) -> float | None:
        """None without a success."""
        return share(self.tokens, self.successes)

    @property
    def usd_per_success(self) -> float | None:
        """US dollars; None without a success, or where a price is not known."""
        return None if self.unpriced else share(self.usd, self.successes)

    @property
    def seconds_per_success(self) -> float | None:
        """None without a success."""
        return share(self.seconds, self.successes)

    @property
    def judgings_per_success(self) -> float | None:
        """None without a success."""
        return share(self.judgings, self.successes)

    @property
    def tokens_per_second(self) -> float | None:
        """Of the trials that called a model and took time to."""
        return share(self.tokens, self.seconds) if self.tokens else None


def cost(trials: Trials) -> Cost:
    """Tokens, calls, money and time."""
    episodes = Episodes.of(trials)
    unknown = np.isnan(trials.usd)
    return Cost(
        tokens=int(trials.tokens.sum()),
        critical_tokens=int(trials.critical_tokens.sum()),
        calls=int(trials.calls.sum()),
        judgings=int(trials.judgings.sum()),
        seconds=float(trials.seconds.sum()),
        usd=float(trials.usd[~unknown].sum()),
        unpriced=int(unknown.sum()),
        successes=int((episodes.final_right & episodes.counted).sum()),
    )


def tokens_saved(written: Sequence[int], whole: Sequence[bool], planned: int) -> float | None:
    """What ending traces early has saved, as a share of what all planned traces would have taken (arXiv 2508.15260).

    A trace that was cut off, or never begun, is taken to be as long as those that ended by themselves are on average;
    the weakest traces tend to be longer, so this is rather too little.

    Args:
        written: tokens of each trace that was begun.
        whole: by trace, True if it ended by itself.
        planned: traces that would have been written in full.

    Returns:
        The share; None where no trace ended by itself.
    """
    complete = [tokens for tokens, ended in zip(written, whole, strict=True) if ended]
    if not complete or not sum(complete):
        return None
    expected = planned * sum(complete) / len(complete)
    return max(0.0, 1 - sum(written) / expected)


# How a trajectory went: where it first erred, whether it recovered, how much it kept, and how much it wandered.

VERIFIER = ORIGINS.index(Origin.VERIFIER)
"""As trials hold it."""


@dataclass(frozen=True)
class StepErrors:
    """Of the trials that took steps which something outside the model answered.

    Args:
        trials: how many such trials there are.
        steps: their steps.
        errors: steps that failed.
        first_error: mean number of the first step that failed, counted from 1; None where none did.
        trapped: trials whose very first step failed (Trap@1, after arXiv 2601.22311).
        recovered: trials with a failed step that passed all the same.
        kept_prefix: mean share of a trial's steps that the next trial takes again, from the first one on.
        violations: trials, of all, that a verifier found in breach of a rule (arXiv 2602.11202); None: none looked.
        corrections: trials, of all, that such a finding opened: corrections used; likewise.
    """

    trials: int
    steps: int
    errors: Rate
    first_error: float | None
    trapped: Rate
    recovered: Rate
    kept_prefix: float | None
    violations: int | None
    corrections: int | None


def process(trials: Trials) -> StepErrors:
    """First error and recovery (arXiv 2404.03683, 2601.14209), and the prefix that is kept (arXiv 2602.03647)."""
    stepped = trials.stepped.lengths > 0
    first = first_errors(trials)
    failed = first >= 0
    verified = trials.origin == VERIFIER
    return StepErrors(
        trials=int(stepped.sum()),
        steps=len(trials.step_ok),
        errors=Rate(int((~trials.step_ok).sum()), len(trials.step_ok)),
        first_error=mean_of(first[failed] + 1),
        trapped=Rate(int((first == 0).sum()), int(stepped.sum())),
        recovered=Rate(int((failed & (trials.visible == PASS)).sum()), int(failed.sum())),
        kept_prefix=mean_of(kept_prefixes(trials)),
        violations=int((verified & (trials.visible == FAIL)).sum()) if verified.any() else None,
        corrections=int((trials.trigger == VERIFIER).sum()) if verified.any() else None,
    )


def first_errors(trials: Trials) -> Ints:
    """By trial, the index of its first failed step; −1 where none failed."""
    first = np.full(len(trials), -1, dtype=np.int64)
    at = np.flatnonzero(~trials.step_ok)[::-1]
    row = trials.stepped.rows[at]
    # the last assignment to a row holds: the earliest step, since they come backwards
    first[row] = at - trials.stepped.starts[row]
    return first


def kept_prefixes(trials: Trials) -> Floats:
    """For each trial that follows a stepped one in its episode: the share of that one's steps that it begins with."""
    lengths = trials.stepped.lengths
    later = np.flatnonzero((trials.number[1:] == trials.number[:-1]) & (lengths[:-1] > 0) & (lengths[1:] > 0)) + 1
    starts, actions = trials.stepped.starts, trials.step_action.codes
    kept = np.zeros(len(later))
    for at, row in enumerate(later):
        common = int(min(lengths[row - 1], lengths[row]))
        same = actions[starts[row - 1] :][:common] == actions[starts[row] :][:common]
        kept[at] = (common if same.all() else int(same.argmin())) / lengths[row - 1]
    return kept


@dataclass(frozen=True)
class Wandering:
    """How a search went (arXiv 2505.20296).

    Args:
        steps: transitions taken.
        revisits: arrivals at a state that had been visited before.
        invalid: transitions that the rules do not allow.
    """

    steps: int
    revisits: int
    invalid: int


def wandering(states: Sequence[Hashable], valid: Sequence[bool]) -> Wandering:
    """Counts revisited states and invalid transitions.

    Args:
        states: in the order visited, the start first.
        valid: by transition, whether the rules allow it; one less than states.

    Raises:
        ValueError: not one transition between each two states.
    """
    if len(valid) != max(len(states) - 1, 0):
        raise ValueError(f"{len(states)} states need {max(len(states) - 1, 0)} transitions, not {len(valid)}")
    return Wandering(len(valid), len(states) - len(set(states)), sum(not ok for ok in valid))


# How far a chain of steps gets, and whether one error brings the next.


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
