from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groundwire.memory._text import escape, unescape

ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("\x00\x1a;0a\ud800"))


@given(ANY_TEXT)
def test_any_text_comes_back(text: str) -> None:
    assert unescape(escape(text)) == text


@given(ANY_TEXT)
def test_a_database_can_keep_what_was_escaped(text: str) -> None:
    kept = escape(text)
    assert "\x00" not in kept
    kept.encode("utf-8")


@given(ANY_TEXT, ANY_TEXT)
def test_different_texts_stay_different(one: str, other: str) -> None:
    assert (escape(one) == escape(other)) == (one == other)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00\x1a")))
def test_ordinary_text_is_kept_as_written(text: str) -> None:
    assert escape(text) == text
