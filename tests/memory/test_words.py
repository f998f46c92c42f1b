"""Full text over a few hundred texts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from groundwire.memory._ranking import MOST_TERMS, as_fts5, as_websearch, rank_texts, terms_of

TEXTS = {
    1: "The bound is exclusive.",
    2: "Bounds are forgotten here.",
    3: "Nothing of the kind.",
    4: "The lists are sorted.",
}


def test_terms_are_the_different_words_in_their_order() -> None:
    assert terms_of("KeyError: 'x' in total_price, keyerror 12") == ("keyerror", "in", "total", "price", "12")
    assert terms_of("?! _ a") == ()
    assert len(terms_of(" ".join(f"w{n}" for n in range(99)))) == MOST_TERMS


def test_texts_that_share_words_come_back_best_first() -> None:
    assert rank_texts(TEXTS, terms_of("exclusive bound")) == [1, 2]
    assert rank_texts(TEXTS, terms_of("sorting a list")) == [4], "by their stems"
    assert rank_texts(TEXTS, terms_of("unheard")) == []
    assert rank_texts({}, ("bound",)) == [] and rank_texts(TEXTS, ()) == []


def test_equally_good_texts_come_newest_first() -> None:
    assert rank_texts({1: "same words", 9: "same words", 5: "same words"}, ("same",)) == [9, 5, 1]


def test_a_question_leaves_nothing_behind() -> None:
    rank_texts(TEXTS, ("bound",))
    assert rank_texts({7: "bound"}, ("bound",)) == [7]


def _rank_one(number: int) -> list[int]:
    return rank_texts({number: "bound"}, ("bound",))


def test_threads_do_not_share() -> None:
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(_rank_one, range(8)))
    assert answers == [[n] for n in range(8)]


@given(st.text())
def test_no_text_is_an_operator(text: str) -> None:
    rank_texts(TEXTS, terms_of(text))


def test_operators_are_words() -> None:
    terms = terms_of('NEAR AND OR NOT "quoted" text: * ^ -minus')
    assert as_fts5(terms).startswith('"near" OR "and" OR "or" OR "not" OR "quoted"')
    assert as_websearch(terms).startswith('"near" or "and" or "or" or "not"')
    assert rank_texts({1: "not near"}, terms) == [1]
