"""What tells things apart: identifiers, the clock, and a seed of its own for every choice of an episode.

Sums of small numbers overlap: with `episode + 4096 * trial + sample`, four episodes of eight samples ask with eleven
seeds, not with 32, and an episode's second sample is the next one's first. So a seed is a hash of all that makes its
choice another one. Runs that were recorded before keep the sums that they were made with (`SeedRule.SUMMED`).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

import uuid_utils

# Identifiers and the clock: UUIDv7 texts (they sort by time) and UTC timestamps.


def new_id() -> str:
    """A fresh UUIDv7 as text; ids made later sort later."""
    return str(uuid_utils.uuid7())


def now() -> str:
    """The current time, ISO 8601 in UTC with microseconds."""
    second, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return f"{_to_the_second(second)}.{nanoseconds // 1000:06d}+00:00"


@lru_cache(maxsize=2)
def _to_the_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat().removesuffix("+00:00")


SEEDS = 2**31 - 2**16
"""First samples' seeds are below this, so that those of the others still fit what every provider takes: 31 bits."""
PHASES_PER_PROPOSAL = 16
"""Rounds of calls that one proposal may have: a phase's number tells how often the loop had been standing still."""


class SeedRule(StrEnum):
    """How a run's seeds are derived from those of its episodes; kept in the run's record."""

    HASHED = "hashed"
    """`seed_for`."""
    SUMMED = "summed"
    """Sums of small numbers, as in runs whose record names no rule."""


class Seeded(Protocol):
    """A context that choices are made in. `trial` and `escalation` count too, where it has them."""

    @property
    def seed(self) -> int:
        """The episode's."""
        ...

    @property
    def seed_rule(self) -> SeedRule:
        """The run's."""
        ...


def seed_for(episode: int, trial: int, purpose: str, call: int = 0, sample: int = 0) -> int:
    """A seed of its own for each choice of an episode.

    The task is no part of it: tasks differ by their prompts, and what keeps answers for requests (`replay:FILE`,
    `reuse`) knows a request by its seed too. So all tasks of a run draw by the same numbers; another episode's seed
    gives others.

    Args:
        episode: the episode's seed.
        trial: the trial, counted from 1; 0 for what belongs to none.
        purpose: what is chosen, `propose` for example.
        call: which of the calls for this purpose.
        sample: which of a call's samples. They have consecutive seeds, since engines that are asked for several
            samples of one request count on from its seed.

    Returns:
        A whole number from 0 up to, but not including, 2**31, for fewer than 65,536 samples.
    """
    digest = hashlib.sha256(f"{episode}/{trial}/{purpose}/{call}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % SEEDS + sample


def seed_in(context: Seeded, purpose: str, *, call: int = 0, sample: int = 0, of_episode: bool = False) -> int:
    """The seed of a choice that is made in a context, by the rule of its run.

    Args:
        context: where the choice is made.
        purpose: what is chosen; see `seed_for`.
        call: see `seed_for`.
        sample: see `seed_for`.
        of_episode: True where all trials share the choice.
    """
    number: int = 0 if of_episode else getattr(context, "trial", 0)
    escalation: int = 0 if of_episode else getattr(context, "escalation", 0)
    if context.seed_rule is SeedRule.SUMMED:
        sums = _SUMS.get(purpose, _Sums())
        begin = 0 if purpose in _FROM_ZERO else context.seed
        proposal = number + sums.trials_per_escalation * escalation
        return begin + sums.trial * proposal + sums.call * call + sums.sample * sample
    return seed_for(context.seed, number, f"{purpose}@{escalation}" if escalation else purpose, call, sample)


@dataclass(frozen=True)
class _Sums:
    """What `SeedRule.SUMMED` adds for each trial, call and sample."""

    trial: int = 4096
    call: int = 64
    sample: int = 1
    trials_per_escalation: int = 0


_FROM_ZERO = frozenset({"reflect"})
"""Critics were not told their episode's seed."""
_SUMS: Mapping[str, _Sums] = {
    "plan": _Sums(trial=0),
    "function": _Sums(trials_per_escalation=64),
    "width": _Sums(call=256, trials_per_escalation=64),
    "shuffle": _Sums(trial=1009, call=101),
    "strategy": _Sums(call=1_000_003),
    "renewed": _Sums(call=1_000_003),
    "search": _Sums(call=1),
}
"""By purpose, where they differ from those of `propose`."""
