"""The order in which lessons come back."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from groundwire.memory._ranking import FUSION, Chooser, RankedLesson, RecallQuery, fuse, rank_family
from groundwire.memory._usefulness import Standing

QUESTION = RecallQuery("task", "family")


def candidate(number: int, text: str = "text", **fields: object) -> RankedLesson:
    given = {"id": str(number), "root": str(number), "task_id": "other", "fresh": number, **fields}
    return RankedLesson(number=number, text=text, **given)  # pyright: ignore[reportArgumentType]  # as the tests give them


def test_fusion_adds_reciprocal_ranks() -> None:
    """Cormack et al. 2009."""
    scores = fuse([{1: 1, 2: 2}, {2: 1}])
    assert scores == {1: 1 / (FUSION + 1), 2: 1 / (FUSION + 2) + 1 / (FUSION + 1)}
    assert fuse([]) == {}


def ordered(
    candidates: list[RankedLesson],
    question: RecallQuery = QUESTION,
    words: list[int] | None = None,
    meaning: list[int] | None = None,
) -> list[int]:
    return [c.number for c in rank_family(candidates, question, words or [], meaning or [])[0]]


def test_newer_comes_first_where_nothing_else_is_known() -> None:
    assert ordered([candidate(1), candidate(3), candidate(2)]) == [3, 2, 1]


def test_each_ranking_lifts_a_lesson() -> None:
    many = [candidate(number) for number in range(1, 6)]
    assert ordered(many, words=[1])[0] == 1
    assert ordered(many, meaning=[2])[0] == 2
    framed = [candidate(9), candidate(1, frames=("a.py:f",)), candidate(8)]
    assert ordered(framed, RecallQuery("task", "family", frames=("a.py:f", "b.py:g")))[0] == 1
    useful = [candidate(3, standing=Standing(9, 1, 3.0)), candidate(2, standing=Standing(9, 9, 3.0)), candidate(1)]
    assert ordered(useful) == [2, 3, 1]


def test_two_rankings_outweigh_one() -> None:
    many = [candidate(number) for number in range(1, 9)]
    assert ordered(many, words=[1, 2], meaning=[2])[0] == 2


def test_a_harmful_lesson_sinks() -> None:
    bad = candidate(5, standing=Standing(8, 1, 5.0))
    assert ordered([bad, *(candidate(number) for number in range(1, 5))]).index(5) > 0


def test_why_names_every_rank_that_counted() -> None:
    found, why = rank_family(
        [candidate(1, frames=("a.py:f",)), candidate(2, standing=Standing(4, 4, 2.0))],
        RecallQuery("task", "family", frames=("a.py:f",)),
        [1],
        [2, 1],
    )
    assert {c.number: why(c) for c in found} == {
        1: "new 2, words 1, meaning 2, frames 1, useful 2",
        2: "new 1, meaning 1, useful 1",
    }


@given(st.lists(st.integers(0, 30), unique=True), st.randoms())
def test_the_order_does_not_hang_on_the_order_of_the_rows(numbers: list[int], chance: random.Random) -> None:
    candidates = [candidate(n, fresh=n // 3, standing=Standing(n % 2, n % 2, 0.5)) for n in numbers]
    words = [n for n in numbers if n % 4 == 0]
    first = ordered(candidates, words=words)
    chance.shuffle(candidates)
    assert ordered(candidates, words=words) == first


def choose(question: RecallQuery, *offers: list[RankedLesson]) -> list[str]:
    chooser = Chooser(question)
    for offer in offers:
        chooser.offer(offer, lambda _: "why")
    return [chosen.id for chosen in chooser.chosen]


def test_the_window_is_kept() -> None:
    assert choose(RecallQuery("t", "f", window=2), [candidate(1)], [candidate(2), candidate(3)]) == ["1", "2"]


def test_what_says_the_same_is_taken_once() -> None:
    assert choose(QUESTION, [candidate(1), candidate(2, root="1")], [candidate(1), candidate(3)]) == ["1", "3"]


def test_a_lesson_that_does_not_fit_is_left_out_whole_and_the_next_is_tried() -> None:
    long = candidate(1, "x" * 350)
    short = candidate(2, "x" * 35)
    other = candidate(3, "x" * 35)
    assert choose(RecallQuery("t", "f", max_tokens=99), [long, short, other]) == ["2", "3"]
    assert choose(RecallQuery("t", "f", max_tokens=110), [long, short, other]) == ["1", "2"]
    assert choose(RecallQuery("t", "f", max_tokens=0), [short]) == []
