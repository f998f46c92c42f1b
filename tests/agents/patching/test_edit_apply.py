"""Edits against a tree: found once or refused, and nothing touched that may not be."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundwire.agents.patching._edit_apply import (
    MAX_FILE_BYTES,
    SHOWN_LINES,
    apply_edits,
    candidate_from,
    closest_lines,
)
from groundwire.agents.patching._edit_blocks import Edit, SearchReplace, WholeFile
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._errors import CandidateError
from groundwire.core._tasks import Task

if TYPE_CHECKING:
    from conftest import Scene


def task_of(**files: str | bytes) -> Task:
    tree = Tree({f"{n}.py": c.encode() if isinstance(c, str) else c for n, c in files.items()})
    return Task(id="t", tree=tree)


def edited(before: str | bytes, *edits: tuple[str, str]) -> bytes:
    task = task_of(a=before)
    return apply_edits([SearchReplace("a.py", *edit) for edit in edits], task.tree, task)["a.py"]


@pytest.mark.parametrize(
    ("before", "search", "replace", "after"),
    [
        ("x = 1\ny = 2\n", "y = 2\n", "y = 3\n", "x = 1\ny = 3\n"),
        ("x = 1\ny = 2", "y = 2\n", "y = 3\n", "x = 1\ny = 3"),
        ("x = 1\ny = 2\n", "x = 1\n", "", "y = 2\n"),
        ("x = 1\n", "x = 1\n", "", ""),
        ("a\nb\nc\n", "b\n", "b1\nb2\n", "a\nb1\nb2\nc\n"),
        ("a  \nb\n", "a\nb\n", "c\n", "c\n"),
        ("a\nb\n", "a  \nb\t\n", "c\n", "c\n"),
        ("if x:\n    a\n    b\n", "a\nb\n", "c\nif d:\n    e\n\n", "if x:\n    c\n    if d:\n        e\n\n"),
        ("a\nb\n", "    a\n    b\n", "    c\n", "c\n"),
        ("print('a')\n", "print(‘a’)\n", "print(‘b’)\n", "print('b')\n"),
        ('x = "a" - 1\n', "x = “a” – 1\n", "x = “b” – 1\n", 'x = "b" - 1\n'),
        ("if a < b and c:\n", "if a &lt; b and c:\n", "if a &lt;= b and c:\n", "if a <= b and c:\n"),
        ("if a:\n\tif b:\n\t\tc\n", "if a:\n    if b:\n        c\n", "if a:\n    d\n", "if a:\n\td\n"),
        ("if a:\n\tif b:\n\t\tc\n", "  if b:\n    c\n", "  if d:\n    e\n", "if a:\n\tif d:\n\t\te\n"),
        ("if a:\n    if b:\n        c\n", "if a:\n\tif b:\n\t\tc\n", "if a:\n\td\n", "if a:\n    d\n"),
        ("s = '“'\n", "s = '“'\n", "s = '”'\n", "s = '”'\n"),
        ("if x:\n    a\n    b\n", "a\nb\n", "", "if x:\n"),
        ("a = max(1)\nx = 1\n", "x = 1\n", "x = 2\n", "a = max(1)\nx = 2\n"),
        ("\n", "", "new\n", "new\n"),
        ("", "", "new\n", "new\n"),
    ],
)
def test_replacing(before: str, search: str, replace: str, after: str) -> None:
    assert edited(before, (search, replace)).decode() == after


def test_later_edits_see_earlier_ones() -> None:
    assert edited("a\nb\n", ("a\n", "c\n"), ("c\nb\n", "d\n")) == b"d\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nb\r\n", b"a\r\nc\r\nd\r\n"),
        (b"a\r\nb", b"a\r\nc\r\nd"),
        (b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nc\nd\n"),
        (b"\xef\xbb\xbfb\n", b"\xef\xbb\xbfc\nd\n"),
        (b"x\na\r\nb\r\n", b"x\na\r\nc\nd\n"),
        ("a\x0c\u2028\nb\n".encode(), "a\x0c\u2028\nc\nd\n".encode()),
    ],
)
def test_line_ends_and_marks_stay(before: bytes, after: bytes) -> None:
    assert edited(before, ("b\n", "c\nd\n")) == after


@given(
    st.lists(st.text(alphabet="ab =()\t", max_size=6), min_size=1, max_size=12),
    st.lists(st.text(alphabet="xyz ", max_size=5), max_size=4),
    st.data(),
)
def test_unique_lines_are_replaced_and_nothing_else(lines: list[str], new: list[str], draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(lines) - 1))
    end = draw.draw(st.integers(start + 1, len(lines)))
    wanted = lines[start:end]
    assume(any(line.strip() for line in wanted))
    places = [i for i in range(len(lines)) if lines[i : i + len(wanted)] == wanted]
    text = "".join(f"{line}\n" for line in lines)
    edit = ("".join(f"{line}\n" for line in wanted), "".join(f"{line}\n" for line in new))
    if len(places) > 1:
        with pytest.raises(CandidateError, match="more than once"):
            edited(text, edit)
    else:
        expected = "".join(f"{line}\n" for line in [*lines[:start], *new, *lines[end:]])
        assert edited(text, edit).decode() == expected


@pytest.mark.parametrize(
    ("before", "search", "complaint"),
    [
        ("a\na\n", "a\n", "more than once (lines 1, 2)"),
        ("a\n" * 50, "a\n", "more than once"),
        ("  a\n   a\n", "a\n", "more than once"),
        ("def total(x):\n    return x\n", "def totl(x):\n", "closest lines are 1 to 1:\ndef total(x):"),
        ("abc\n", "completely different\n", "not in the file."),
        ("if x:\n    a\n  b\n", "a\nb\n", "not in the file"),
        ("a\n", "", "is empty, but the file exists"),
        ("a\n", " \n\n", "is empty, but the file exists"),
        (b"\xff\xfe\n", "a\n", "not UTF-8"),
    ],
)
def test_complaints(before: str | bytes, search: str, complaint: str) -> None:
    with pytest.raises(CandidateError, match=re.escape(complaint)):
        edited(before, (search, "b\n"))


@pytest.mark.parametrize(
    "path",
    ["../x.py", "/etc/x.py", "a/../../x.py", "a//x.py", ".git/hooks/x.py", ".GIT/x.py", "a\\x.py", "a\x00.py", "",
     ".", "..", "x\n.py", "\ud800.py", "a/./x.py", "x" * 2000 + ".py"],
)  # fmt: skip
@pytest.mark.parametrize("whole", [True, False])
def test_paths_outside_are_refused(path: str, whole: bool) -> None:
    task = task_of(a="x\n")
    edit: Edit = WholeFile(path, "x\n") if whole else SearchReplace(path, "", "x\n")
    with pytest.raises(CandidateError):
        apply_edits([edit], task.tree, task)


@pytest.mark.parametrize(
    "path",
    ["tests/test_a.py", "test_a.py", "pkg/test_a.py", "a_test.py", "conftest.py", "pkg/conftest.py", "pytest.ini",
     "pyproject.toml", "setup.py", "setup.cfg", "task.toml", "sitecustomize.py", "data.txt", "tests/helper.py"],
)  # fmt: skip
def test_tests_and_configuration_are_read_only(scene: Scene, path: str) -> None:
    task = scene.task({path: "a\n", "pkg/a.py": "a\n"})
    for edit in (WholeFile(path, "b\n"), SearchReplace(path, "a\n", "b\n")):
        with pytest.raises(CandidateError, match="may not be changed") as caught:
            candidate_from([SearchReplace("pkg/a.py", "a\n", "b\n"), edit], task.tree, task)
        assert path in caught.value.what


@pytest.mark.parametrize(
    ("path", "complaint"),
    [("a.py/b.py", "part of its path is a file"), ("pkg.py", "is a folder"), ("c.py/d.py", "part")],
)
def test_a_file_and_a_folder_of_one_name(path: str, complaint: str) -> None:
    task = Task(id="t", tree=Tree({"a.py": b"x\n", "pkg.py/b.py": b"x\n"}))
    with pytest.raises(CandidateError, match=complaint):
        apply_edits([WholeFile("c.py", "x\n"), WholeFile(path, "x\n")], task.tree, task)


def test_new_files_and_missing_ones(scene: Scene) -> None:
    task = scene.task()
    assert apply_edits([SearchReplace("shop/new.py", "", "x = 1\n")], task.tree, task) == {"shop/new.py": b"x = 1\n"}
    with pytest.raises(CandidateError, match=r"no file shop/prices\.py.*shop/price\.py"):
        apply_edits([SearchReplace("shop/prices.py", "x\n", "y\n")], task.tree, task)


def test_a_file_is_edited_one_way_only() -> None:
    task = task_of(a="x\n")
    whole, block = WholeFile("a.py", "y\n"), SearchReplace("a.py", "x\n", "y\n")
    for edits in ([whole, block], [block, whole], [whole, whole]):
        with pytest.raises(CandidateError, match="as a whole and edited"):
            apply_edits(edits, task.tree, task)


def test_too_large_and_not_unicode() -> None:
    task = task_of(a="x\n")
    with pytest.raises(CandidateError, match="at most"):
        apply_edits([WholeFile("a.py", "x" * (MAX_FILE_BYTES + 1))], task.tree, task)
    with pytest.raises(CandidateError, match="not valid Unicode"):
        apply_edits([WholeFile("a.py", "\udc80\n")], task.tree, task)


def test_the_candidate_is_against_the_base(scene: Scene) -> None:
    task = scene.task({"a.py": "a\n", "b.py": "b\n"})
    better = task.tree.with_changes({"a.py": b"A\n"})
    candidate = candidate_from([SearchReplace("b.py", "b\n", "B\n")], better, task)
    assert candidate == Candidate(
        task.tree.digest, {"a.py": b"A\n", "b.py": b"B\n"}, ("llm.search_replace",), "1 edit in b.py"
    )
    assert candidate.digest == Candidate(task.tree.digest, {"a.py": b"A\n", "b.py": b"B\n"}).digest
    undone = candidate_from([WholeFile("a.py", "a\n")], better, task)
    assert undone.is_base and undone.edits == ("llm.whole_file",)


@pytest.mark.parametrize("edit", [SearchReplace("a.py", "a\n", "a\n"), WholeFile("a.py", "a\n")])
def test_no_change_is_a_complaint(scene: Scene, edit: Edit) -> None:
    task = scene.task({"a.py": "a\n"})
    with pytest.raises(CandidateError, match="change nothing"):
        candidate_from([edit], task.tree, task)


@pytest.mark.parametrize(
    "edit",
    [
        SearchReplace("a.py", "x\n" * 50_000, "q\n"),
        SearchReplace("a.py", "x\n" * 50_000 + "z\n", "q\n"),
        SearchReplace("b.py", "y\n" * 30_000, "q\n"),
    ],
)
def test_hostile_repetition_takes_no_time(edit: Edit) -> None:
    task = task_of(a="x\n" * 200_000, b="    y\n" * 100_000)
    began = time.process_time()
    with pytest.raises(CandidateError):
        apply_edits([edit], task.tree, task)
    assert time.process_time() - began < 5


# The hint that a model gets when it quoted lines that are not in the file.


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
