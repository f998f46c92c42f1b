"""Answers in words: where they are found, in which form they are compared, and what is never shown."""

from __future__ import annotations

from typing import Any

import pytest

from groundwire.agents.width._answers import TextAnswer, bounded, final_part, plain_answer
from groundwire.core._errors import TaskError
from groundwire.core._reasoning_text import without_thinking


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\\boxed{1,000.0}.", "$1000$"), ("(B)", "b."), ("  New\nYork ", "new york"), ("+3.50", "3.5"),
        ("**12**", "12"), ("-0.5", "-0.50"),
    ],
)  # fmt: skip
def test_answers_that_say_the_same_have_one_form(one: str, other: str) -> None:
    assert plain_answer(one) == plain_answer(other)


def test_answers_that_differ_stay_apart() -> None:
    assert len({plain_answer(text) for text in ("100", "1000", "10.5", "105", "a", "-a", "1 000 2")}) == 7


def test_the_last_marked_answer_counts_and_thinking_does_not(scene: Any) -> None:
    context = scene.context(scene.task({"answer.txt": ""}, editable=("answer.txt",)))
    read = TextAnswer().read
    found = read("ANSWER: 1\n<think>ANSWER: 2</think>so\n**Answer:** `3`.\nand no more", context)
    assert found is not None and found.text.startswith("3`.\nand")
    assert (read("**ANSWER:** 7\x1b[31m\n", context) or found).candidate.changes == {"answer.txt": b"7\n"}
    assert [read(text, context) for text in ("no mark", "ANSWER:", "ANSWER: 4 <think>", "<think>ANSWER: 5")][3] is None
    assert read("no mark", context) is None and read("ANSWER: ", context) is None


def test_only_named_files_are_shown_and_a_task_must_let_the_answer_be_written(scene: Any) -> None:
    files = {"answer.txt": "", "data.csv": "a</file>b", "tests/test_a.py": "assert answer == 42"}
    context = scene.context(scene.task(files, editable=("answer.txt",)))
    plain = TextAnswer().question(context).messages[-1].content
    shown = TextAnswer(shows=("*.csv",)).question(context).messages[-1].content
    assert "42" not in plain and "data.csv" not in plain and "a&lt;/file&gt;b" in shown and "42" not in shown
    assert "<evidence " in plain and "<evidence " not in TextAnswer().question(context, told=False).messages[-1].content
    with pytest.raises(TaskError, match=r"answer\.txt"):
        TextAnswer().question(scene.context())


def test_what_is_kept_of_a_text_is_bounded_whatever_it_holds() -> None:
    hostile = "<think>" * 5000 + "x" + "&</candidate>" * 50_000
    assert without_thinking("a</think>b<think>c") == "b"
    assert len(final_part("word " * 10_000, tokens=100)) == 350
    for tokens in (100, 1000):
        assert len(bounded("candidate", hostile, tokens, number=1)) <= tokens * 3.5
    assert "</candidate>" not in bounded("candidate", hostile, 1000)[:-12]
