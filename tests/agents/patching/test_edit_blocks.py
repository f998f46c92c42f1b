"""The answer format: strict, bounded, and read back as it was written."""

from __future__ import annotations

import re
from html import escape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundwire.agents.patching._edit_blocks import (
    MAX_ANSWER_CHARS,
    MAX_EDITS,
    SearchReplace,
    WholeFile,
    parse_answer,
    render_answer,
)
from groundwire.core._errors import CandidateError
from groundwire.core._reasoning_text import without_reasoning

MARKS = ["=======", "========", "<<<<<<< SEARCH", ">>>>>>> REPLACE", "FILE: other.py", "```", "````", "~~~", "", "  x"]
TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\u2060"), max_size=30)
LINES = st.lists(TEXT | st.sampled_from(MARKS), max_size=8).map(lambda lines: "".join(f"{line}\n" for line in lines))
PATHS = st.from_regex(r"[a-z]{1,5}(/[a-z_ ]{0,4}[a-z]){0,2}\.py", fullmatch=True)
EDITS = st.lists(
    st.one_of(st.builds(SearchReplace, PATHS, LINES, LINES), st.builds(WholeFile, PATHS, LINES)), min_size=1
)


@given(EDITS)
@example([SearchReplace("a.py", "Title\n=======\n", "Other\n=======\n")])
@example([WholeFile("a.py", "```\n"), SearchReplace("a.py", "", "x\n")])
def test_what_is_written_is_read_back(edits: list[SearchReplace | WholeFile]) -> None:
    answer = render_answer(edits)
    assert parse_answer(f"The cause is this:\n\n{answer}\nThat is all.") == tuple(edits)
    assert parse_answer(answer.replace("\n", "\r\n")) == tuple(edits)


@given(st.text(max_size=400))
def test_any_text_is_edits_or_one_error(text: str) -> None:
    try:
        assert parse_answer(text)
    except CandidateError as error:
        assert error.what


BLOCK = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    "answer",
    [
        f"FILE: p/x.py\n{BLOCK}",
        f"Prose.\n\n**FILE: `p/x.py`**\n\n```python\n{BLOCK}```\nMore prose.",
        f"### FILE: ./p/x.py\n```\n{BLOCK}```",
        f"FILE: p/x.py\nI change this line:\n{BLOCK}",
        f'FILE: "p/x.py"\n{BLOCK.replace("< SEARCH", "<SEARCH").replace("> REPLACE", ">REPLACE  ")}',
        f"FILE: p/x.py\n\n```\n{BLOCK}```\n```python\nan example, not a file\n```",
    ],
)
def test_how_models_write_it(answer: str) -> None:
    assert parse_answer(answer) == (SearchReplace("p/x.py", "a\n", "b\n"),)


DIFF = "--- a/p/x.py\n+++ b/p/x.py\n@@ -812,3 +900,3 @@ def f():\n c\n-a\n+b\n d\n"
AS_DIFF = (SearchReplace("p/x.py", "c\na\nd\n", "c\nb\nd\n"),)


@pytest.mark.parametrize(
    "answer",
    [
        f"p/x.py\n{BLOCK}",
        f"**`p/x.py`**:\n\n```python\n{BLOCK}```",
        f"```python\np/x.py\n{BLOCK}```",
        f"File: p/x.py\n{BLOCK}",
        f"1. The loop.\n\n   FILE: p/x.py\n   {BLOCK.replace(chr(10), chr(10) + '   ')}",
        f"FILE: p/x.py\n{BLOCK.replace('SEARCH', 'ORIGINAL').replace('REPLACE', 'UPDATED')}",
        f"FILE: p/x.py\n{escape(BLOCK)}",
        f"<think>FILE: p/x.py\n</think>\np/x.py\n{BLOCK}",
    ],
)
def test_forms_of_other_tools_are_read_where_they_leave_no_doubt(answer: str) -> None:
    assert parse_answer(without_reasoning(answer)) == (SearchReplace("p/x.py", "a\n", "b\n"),)


@pytest.mark.parametrize(
    "answer",
    [
        DIFF,
        f"The bound is wrong:\n\n```diff\ndiff --git a/p/x.py b/p/x.py\nindex 1..2 100644\n{DIFF}```\n\nThat is all.",
        f"FILE: p/x.py\n```diff\n{DIFF}```",
        "FILE: p/x.py\n```diff\n@@ ... @@\n c\n-a\n+b\n d\n```",
        "FILE: p/x.py\n```patch\n c\n-a\n+b\n d\n```",
        DIFF.replace("\n", "\r\n"),
        f"{DIFF}\\ No newline at end of file\n\nIt compares with the wrong bound.",
    ],
)
def test_a_diff_is_read_by_its_lines_and_not_by_its_numbers(answer: str) -> None:
    assert parse_answer(answer) == AS_DIFF


def test_a_diff_of_several_hunks_and_files_and_a_new_one() -> None:
    more = "@@ -1 +1,2 @@\n e\n+f\n--- a/y.py\n+++ b/y.py\n@@ -1 +1 @@\n-old\n+new\n"
    made = "--- /dev/null\n+++ b/z.py\n@@ -0,0 +1,2 @@\n+one\n+two\n"
    assert parse_answer(f"{DIFF}{more}{made}") == (
        *AS_DIFF,
        SearchReplace("p/x.py", "e\n", "e\nf\n"),
        SearchReplace("y.py", "old\n", "new\n"),
        WholeFile("z.py", "one\ntwo\n"),
    )


def test_an_underline_within_a_block_is_its_text_and_a_path_in_prose_names_no_file() -> None:
    held = "    Returns\n    =======\n"
    answer = f"FILE: x.py\n<<<<<<< SEARCH\n{held}=======\nb\n>>>>>>> REPLACE\n"
    assert parse_answer(answer) == (SearchReplace("x.py", held, "b\n"),)
    assert parse_answer(f"FILE: x.py\nAs in y.py it is.\n{BLOCK}") == (SearchReplace("x.py", "a\n", "b\n"),)
    with pytest.raises(CandidateError, match="no edit"):
        parse_answer("`x.py`:\n```python\nan excerpt, not the file\n```")


def test_several_blocks_and_files() -> None:
    answer = f"FILE: x.py\n{BLOCK}text\n{BLOCK}FILE: y.py\n```python\nwhole\n```\n```\nnot a file\n```\n"
    assert parse_answer(answer) == (
        SearchReplace("x.py", "a\n", "b\n"),
        SearchReplace("x.py", "a\n", "b\n"),
        WholeFile("y.py", "whole\n"),
    )


def test_prose_between_the_name_and_a_fence_is_no_whole_file() -> None:
    answer = f"FILE: x.py\nThe code now:\n```\na\n```\n{BLOCK}"
    assert parse_answer(answer) == (SearchReplace("x.py", "a\n", "b\n"),)


def test_joiners_that_we_put_in_are_taken_out() -> None:
    assert parse_answer("FILE: x.py\n```\na <\u2060|b|>\n```") == (WholeFile("x.py", "a <|b|>\n"),)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("", "no edit"),
        ("I think it is fine.", "no edit"),
        ("```python\ncode\n```", "no edit"),
        ("FILE: x.py\n", "no edit"),
        (BLOCK, "belongs to no file"),
        ("FILE: x.py\n<<<<<<< SEARCH\na\n=======\nb\n", "not closed: the line >>>>>>> REPLACE"),
        ("FILE: x.py\n<<<<<<< SEARCH\na\nb\n", "not closed: the line ======="),
        ("FILE: x.py\n<<<<<<< SEARCH\na\n<<<<<<< SEARCH\n", "not closed"),
        (f"FILE: x.py\n{BLOCK.replace('b', '=======')}", "more than one row"),
        ("FILE: x.py\n```\na\n", "not closed"),
        ("FILE: x.py\n````\na\n```\n", "not closed"),
        ("x" * (MAX_ANSWER_CHARS + 1), "characters"),
        ("FILE: x.py\n" + BLOCK * (MAX_EDITS + 1), "more than 64 edits"),
    ],
)
def test_each_complaint_says_what_is_wrong(answer: str, complaint: str) -> None:
    with pytest.raises(CandidateError, match=re.escape(complaint)) as caught:
        parse_answer(answer)
    assert caught.value.do
