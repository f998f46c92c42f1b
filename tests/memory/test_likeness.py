"""When two texts say the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.memory._policy import WORDS_READ, echoes, fingerprint, says_the_same

TEXT = "The upper bound of the range is exclusive, so the last element of every list was left out of the total."


def test_case_space_and_punctuation_make_no_difference() -> None:
    loud = "  the UPPER bound of the range: is exclusive -- so the last element of every list was left out of the total"
    assert fingerprint(TEXT) == fingerprint(loud)
    assert says_the_same(TEXT, loud)


def test_order_makes_a_difference() -> None:
    assert fingerprint("compare a with b") != fingerprint("compare b with a")
    assert not says_the_same("a is less than b, never more", "b is less than a, never more")


def test_a_word_changed_in_a_long_text_says_the_same() -> None:
    longer = f"{TEXT} {TEXT.replace('upper', 'lower')} {' '.join(map(str, range(30)))}"
    assert says_the_same(longer, longer.replace("17", "seventeen"))
    assert not says_the_same(longer, TEXT), "half of it is another text"


def test_without_words_nothing_is_alike() -> None:
    assert not says_the_same("", "")
    assert not says_the_same("?!", "?!")
    assert echoes("", ["", TEXT]) is None


def test_short_texts_are_compared_whole() -> None:
    assert says_the_same("Off by one.", "off by one")
    assert not says_the_same("Off by", "Off by one")


def test_an_echo_names_the_text_that_it_repeats_most() -> None:
    other = "Division by zero happens where the list of prices is empty and nothing was sold on that day."
    assert echoes(TEXT, [other, TEXT]) == 1
    assert echoes(other, [other, TEXT]) == 0
    assert echoes(TEXT, []) is None
    assert echoes("Something new was learned here today.", [other, TEXT]) is None


def test_two_recalled_texts_put_together_are_an_echo() -> None:
    other = "Division by zero happens where the list of prices is empty and nothing was sold on that day."
    assert echoes(f"{TEXT} {other}", [TEXT, other]) is not None
    fresh = " ".join(f"word{n}" for n in range(20))
    assert echoes(f"{TEXT} {fresh}", [TEXT, other]) is None, "half of it is new"


def test_enormous_texts_are_read_in_part() -> None:
    head = " ".join(f"w{n}" for n in range(WORDS_READ))
    assert fingerprint(head) == fingerprint(f"{head} and more")


@given(st.text(), st.text())
def test_likeness_is_mutual_and_total(one: str, other: str) -> None:
    assert says_the_same(one, other) == says_the_same(other, one)
    assert len(fingerprint(one)) == 32


@given(st.text(st.characters(categories=("L", "N")), min_size=1))
def test_every_text_with_words_says_what_it_says(text: str) -> None:
    assert says_the_same(text, text)
    assert echoes(text, [text]) == 0
