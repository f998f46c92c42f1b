"""The hint that a model gets when it quoted lines that are not in the file."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.patching._edit_apply import SHOWN_LINES, closest_lines

FILE = [
    "def f(x):",
    "    if x:",
    "        return 1",
    "",
    "    return 2",
    "",
    "def g(x):",
    "    if x:",
    "        return 3",
]


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        (["    if x:", "        return 3.0"], "8 to 9:\n    if x:\n        return 3\nLine 9"),
        (["", "def g(y):", "    if x:", ""], "7 to 8:\ndef g(x):\n    if x:\nLine 7"),
        (["def f(y):"], "1 to 1:\ndef f(x):\nLine 1 of the file differs from what was quoted:\ndef f(y):"),
        (["    return 22", "nothing like it"], "5 to 6:\n    return 2\n\nLine 5"),
        (["\x1b[31m    if x:", "        return 1"], "2 to 3:"),
    ],
)
def test_the_nearest_lines(wanted: list[str], shown: str) -> None:
    assert f"The closest lines are {shown}" in closest_lines(FILE, wanted)


@pytest.mark.parametrize("wanted", [["import antigravity"], [""], [" ", "\t"]])
def test_nothing_is_said_where_nothing_is_near(wanted: list[str]) -> None:
    assert closest_lines(FILE, wanted) == ""
    assert closest_lines([], wanted) == ""


lines = st.lists(st.text(alphabet="ab \x1b", max_size=4), max_size=30)


@given(lines, lines)
def test_what_is_shown_is_bounded_and_printable(file: list[str], wanted: list[str]) -> None:
    said = closest_lines(file, wanted)
    assert "\x1b" not in said
    assert said.count("\n") <= SHOWN_LINES + 2


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        (["x"] * 300_000, ["x"] * 100_000 + ["y"]),
        (["x" * 100] * 100_000, ["y" * 100] * 100_000),
        ([f"{i}" for i in range(200_000)], [f"{i}0" for i in range(100_000)]),
    ],
)
def test_hostile_texts_take_no_time(file: list[str], wanted: list[str]) -> None:
    began = time.process_time()
    closest_lines(file, wanted)
    assert time.process_time() - began < 5
