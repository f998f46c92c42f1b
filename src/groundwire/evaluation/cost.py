"""What a run cost, and what a success cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation.episodes import Episodes
from groundwire.evaluation.rows import share
from groundwire.evaluation.trials import Trials

__all__ = ["Cost", "cost", "tokens_saved"]


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
