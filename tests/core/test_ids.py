"""Seeds: no two choices share one, and runs that were recorded before keep theirs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._ids import SEEDS, SeedRule, now, seed_for, seed_in

NUMBERS = st.integers(min_value=-(2**63), max_value=2**63 - 1)


@dataclass(frozen=True)
class Place:
    """Where a choice is made."""

    seed: int = 0
    seed_rule: SeedRule = SeedRule.HASHED
    trial: int = 1
    escalation: int = 0


@given(NUMBERS, NUMBERS, st.text(), NUMBERS, st.integers(0, 2**16 - 1))
def test_a_seed_is_the_same_for_the_same_choice_and_fits_every_provider(
    episode: int, trial: int, purpose: str, call: int, sample: int
) -> None:
    seed = seed_for(episode, trial, purpose, call, sample)
    assert seed == seed_for(episode, trial, purpose, call) + sample
    assert 0 <= seed < 2**31 and seed - sample < SEEDS


def test_a_known_choice_keeps_its_seed_for_ever() -> None:
    """Resuming and replaying a run rest on it."""
    assert [seed_for(0, 1, "propose"), seed_for(3, 2, "reflect", 1, 7)] == [684471601, 913055693]


def test_neither_episodes_nor_trials_nor_purposes_nor_calls_share_a_seed() -> None:
    seeds = [
        seed_for(episode, trial, purpose, call, sample)
        for episode in range(4)
        for trial in range(1, 6)
        for purpose in ("propose", "reflect")
        for call in range(3)
        for sample in range(8)
    ]
    assert len(set(seeds)) == len(seeds) == 4 * 5 * 2 * 3 * 8


def test_an_escalated_proposal_draws_anew_and_what_all_trials_share_does_not() -> None:
    once, raised, later = Place(), Place(escalation=1), Place(trial=2)
    assert len({seed_in(place, "propose") for place in (once, raised, later)}) == 3
    assert len({seed_in(place, "strategy", call=1, of_episode=True) for place in (once, raised, later)}) == 1


def test_what_was_recorded_before_keeps_its_sums() -> None:
    old = Place(seed=3, seed_rule=SeedRule.SUMMED, trial=2, escalation=1)
    sums = {
        "propose": 3 + 2 * 4096 + 64 * 5 + 1,
        "reflect": 2 * 4096 + 64 * 5 + 1,
        "function": 3 + 66 * 4096 + 64 * 5 + 1,
        "width": 3 + 66 * 4096 + 256 * 5 + 1,
        "shuffle": 3 + 2 * 1009 + 101 * 5 + 1,
    }
    assert {purpose: seed_in(old, purpose, call=5, sample=1) for purpose in sums} == sums
    assert seed_in(old, "write_tests", of_episode=True) == seed_in(old, "plan") == 3
    assert seed_in(old, "strategy", call=1, of_episode=True) == 3 + 1_000_003
    assert seed_in(old, "search", call=1, of_episode=True) == 3 + 1


def test_the_clock_is_iso_8601_in_utc_with_microseconds() -> None:
    before = datetime.now(UTC)
    texts = [now() for _ in range(1000)]
    after = datetime.now(UTC)
    assert texts == sorted(texts)
    read = [datetime.fromisoformat(text) for text in (texts[0], texts[-1])]
    assert before - timedelta(microseconds=1) <= read[0] <= read[1] <= after
    assert all(text == datetime.fromisoformat(text).isoformat(timespec="microseconds") for text in texts)
