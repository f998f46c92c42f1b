"""What many candidates bring."""

from __future__ import annotations

import math

import pytest
from rows import VERDICTS, episode, trials

from groundwire.evaluation import Sample
from groundwire.evaluation._drift import avalanche, drift
from groundwire.evaluation._rates import Rate
from groundwire.evaluation._width import Vote, diversity, entropy_of, vote, votes, width


def samples(*told: str) -> tuple[Sample, ...]:
    """`a+`: the answer a, which is right."""
    return tuple(Sample(text[0], VERDICTS[text[1]]) for text in told)


def test_votes() -> None:
    """Row 14: two of three agree; a tie goes to the first seen, and is told."""
    assert vote(["A", "A", "B", None]) == Vote("A", 2 / 3, tie=False)
    assert vote(["B", "A", "A", "B"]) == Vote("B", 0.5, tie=True)
    assert vote(["A", "A", "B"], [0.1, 0.1, 0.9]).answer == "B"
    assert vote([None, None]) == Vote(None, 0.0, tie=False)


def test_all_votes_at_once_are_those_one_by_one() -> None:
    groups = [["b", "a", "a", "b"], ["a"], ["c", "a", "a"], [], ["a", "b", "c"]]
    rows = trials(*(episode(str(at), "-", samples=samples(*(f"{x}+" for x in g))) for at, g in enumerate(groups)))
    told = votes(rows)
    assert told.consensus.tolist() == pytest.approx([vote(g).consensus for g in groups])
    assert told.distinct.tolist() == [len(set(g)) for g in groups]
    assert told.entropy.tolist() == pytest.approx([entropy_of(g).entropy for g in groups])
    assert told.right.tolist() == [True, True, True, False, True]


def test_twenty_groups_by_the_number_of_right_candidates() -> None:
    """Row 93: the rows for Nc = 0 … 4 sum to 20, and gap = accuracy refined − accuracy of the majority. Row 91: right
    with no right candidate is a gain that no vote could have."""
    groups = [
        episode(
            f"{right}.{copy}",
            "-+" if right + copy >= 4 else "--",
            samples=[samples(*["a+"] * right, *(f"{x}-" for x in "bcde"[right:])), ()],
        )
        for right in range(5)
        for copy in range(4)
    ]
    told = width(trials(*groups))
    assert (told.groups, told.k) == (20, 4.0)
    assert {right: (r.part, r.whole) for right, r in told.by_right.items()} == {
        0: (0, 4), 1: (1, 4), 2: (2, 4), 3: (3, 4), 4: (4, 4)
    }  # fmt: skip
    assert (told.oracle, told.majority, told.refined) == (Rate(16, 20), Rate(16, 20), Rate(10, 20))
    assert told.gap == pytest.approx(10 / 20 - 16 / 20)
    gained = width(trials(episode("a", "-+", samples=[samples("a-", "b-"), ()])))
    assert (gained.oracle, gained.gap, gained.by_right) == (Rate(0, 1), 1.0, {0: Rate(1, 1)})
    nothing = width(trials(episode("a", "+")))
    assert (nothing.groups, nothing.gap, nothing.consensus) == (0, None, None)


def test_answers_and_their_entropy_by_round() -> None:
    """Row 30: four rounds, from scatter to sameness."""
    rounds = [
        samples("a-", "b-", "c-", "d-"),
        samples("a-", "a-", "b-", "b-"),
        samples("a-", "a-", "a-", "b-"),
        samples("a-", "a-"),
    ]
    told = diversity(trials(episode("x", "----", samples=rounds)))
    assert [d.distinct for d in told.values()] == [4, 2, 2, 1]
    assert [d.entropy for d in told.values()] == pytest.approx([math.log(4), math.log(2), 0.5623, 0.0], abs=1e-4)
    assert list(told) == [1, 2, 3, 4]


def test_the_avalanche_alarm() -> None:
    """Row 28: falling accuracy while acceptance rises gives an alarm at round 3; a flat series gives none."""
    assert avalanche([0.8, 0.7, 0.6, 0.5, 0.4], [0.5, 0.6, 0.7, 0.8, 0.9]) == 3
    assert avalanche([0.8] * 5, [0.5] * 5) is None
    assert avalanche([0.8, 0.7, 0.6, 0.5], [0.5, 0.4, 0.3, 0.2]) is None, "a loop that grows strict is none"
    assert avalanche([], []) is None
    wrong = [episode(f"w{at}", "---", hidden="+" * (3 - at) + "-" * at) for at in range(4)]
    poisoned = [episode(f"p{at}", "-" * at + "+" * (3 - at), hidden="---") for at in range(4)]
    told = drift(trials(*wrong, *poisoned))
    assert told.accuracy == pytest.approx([3 / 8, 2 / 8, 1 / 8])
    assert told.acceptance == pytest.approx([1 / 8, 2 / 8, 3 / 8])
    assert told.alarm == 3
