"""Answers in words: where they are found, in which form they are compared, and what is never shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groundwire.agents.width._answers import TextAnswer, bounded, final_part
from groundwire.core._errors import TaskError
from groundwire.core._reasoning_text import without_reasoning


def test_the_one_answer_counts_and_thinking_does_not(scene: Any) -> None:
    context = scene.context(scene.task({"answer.txt": ""}, editable=("answer.txt",)))
    read = TextAnswer().read
    found = read("ANSWER: 3\n<think>ANSWER: 2</think>so\n**Answer:** `3`.\nand no more", context)
    assert found is not None and found.text == "3"
    assert read("ANSWER: 1\n<think>ANSWER: 2</think>so\n**Answer:** `3`.", context) is None, "two that differ"
    assert (read("**ANSWER:** 7\x1b[31m\n", context) or found).candidate.changes == {"answer.txt": b"7\n"}
    assert [read(text, context) for text in ("no mark", "ANSWER:", "ANSWER: 4 <think>", "<think>ANSWER: 5")][3] is None
    assert read("no mark", context) is None and read("ANSWER: ", context) is None


def test_a_choice_is_one_answer_by_its_label_its_text_or_both(scene: Any) -> None:
    task = scene.task({"answer.txt": ""}, editable=("answer.txt",))
    context = scene.context(replace(task, prompt="Which is prime?\nA. four\nB. six\nC. seven"))
    said = ["C", "c", "(C)", "C.", "C) seven", "**C. Seven**", "seven", "Option C", "The answer is (C)."]
    found = [TextAnswer().read(f"ANSWER: {text}", context) for text in said]
    assert {answer.key for answer in found if answer} == {"c"} and None not in found
    handed = {answer.candidate.changes["answer.txt"] for answer in found if answer}
    assert handed == {b"C\n", b"seven\n"}, "a label where one was named"
    assert TextAnswer().read("ANSWER: B or C", context) is None


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
    assert without_reasoning("a</think>b<think>c") == "b"
    assert len(final_part("word " * 10_000, tokens=100)) == 350
    for tokens in (100, 1000):
        assert len(bounded("candidate", hostile, tokens, number=1)) <= tokens * 3.5
    assert "</candidate>" not in bounded("candidate", hostile, 1000)[:-12]
