"""Rows that say almost the same, and rows that don't."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core._errors import ConfigError
from groundwire.training import Row
from groundwire.training._schema import Part, Provenance
from groundwire.training._trajectories import Author
from groundwire.training.filters._texts import NearDuplicates, shingles

NOWHERE = Provenance(
    runs=("r",), episodes=("e",), task="t", trials=(1,), seals="verified", origin=Author.ENV, origins=(), model="m",
    model_revision="1", oracle=False, hidden=False, grounded=True,
)  # fmt: skip


class Said(Row):
    """A question and its answer."""

    prompt: str
    """What is asked."""
    completion: str
    """What is said."""


def said(text: str, prompt: str = "Say something.", boilerplate: str = "") -> Said:
    until, end = len(boilerplate), len(boilerplate) + len(prompt)
    ours = Part(part="prompt", end=until, origin=Author.HUMAN, what="prompt")
    theirs = Part(part="prompt", start=until, end=end, origin=Author.HUMAN, what="task")
    provenance = NOWHERE.model_copy(update={"origins": (ours, theirs)})
    return Said(provenance=provenance, prompt=boilerplate + prompt, completion=text)


LONG = " ".join(f"word{number}" for number in range(200))


def test_the_first_of_rows_that_are_alike_is_kept() -> None:
    rows = [
        said(LONG),
        said(LONG.replace("word100 ", "another ")),  # 5 of 196 shingles differ: 0.95 alike
        said(LONG.upper()),
        said(" ".join(f"word{number}" for number in range(100, 300))),  # 96 of 296 are shared
        said("short"),
        said("short", "Say something else."),
        said("short"),
        said("short", "What is this?", boilerplate=LONG),
        said("short", "What is that?", boilerplate=LONG),
        said("short", "What is this?", boilerplate=LONG),
    ]
    told: list[list[str]] = []
    for _ in range(2):
        alike = NearDuplicates(0.8)
        told.append([alike.refuses(row) for row in rows])
    assert told[0] == told[1] == ["", *["near_duplicate"] * 2, "", "", "", "near_duplicate", "", "", "near_duplicate"]


@given(st.lists(st.text(max_size=80), min_size=1, max_size=8))
def test_the_same_row_is_never_kept_twice(texts: list[str]) -> None:
    alike = NearDuplicates(1.0)
    first = [alike.refuses(said(text)) for text in texts]
    assert first[0] == "" and all(alike.refuses(said(text)) == "near_duplicate" for text in texts)


def test_shingles_overlap_and_are_told_once() -> None:
    assert shingles("A b, C d") == ["a b , c d"] and shingles("") == [""]
    assert shingles("a b c d e f") == ["a b c d e", "b c d e f"]
    assert len(shingles("a b c d e " * 9)) == 5


def test_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    for least in (0.4, 1.1, float("nan")):
        with pytest.raises(ConfigError, match=r"similarity of 0\.5 to 1"):
            NearDuplicates(least)
    monkeypatch.setitem(sys.modules, "rensa", None)
    with pytest.raises(ConfigError, match=r"groundwire\[training\]"):
        NearDuplicates(0.8)
