"""Tasks out of a prompt: where the answer goes, what may be edited, and what the ledger says of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from groundwire import Candidate, GroundwireError, Task, Tree


def test_a_prompt_alone_has_one_file_for_its_answer() -> None:
    task = Task.of("A haiku about the sea.")
    assert (task.prompt, task.answer_file, dict(task.tree.files)) == (
        "A haiku about the sea.", "answer.txt", {"answer.txt": b""}
    )  # fmt: skip
    assert task.may_edit("answer.txt") and not task.may_edit("other.txt")
    assert task.id == "a-haiku-about-the-sea-81db542a"
    assert Task.of("A haiku about the sea.").id == task.id != Task.of("A haiku about the sea!").id
    assert Task.of("海").id == Task.of("海").id


def test_with_files_all_but_tests_may_be_edited_and_new_ones_made() -> None:
    task = Task.of("Mend it.", files={"a.py": "x", "test_a.py": b"y", "sub/b.txt": "z"}, test="pytest -q")
    assert [task.may_edit(p) for p in ("a.py", "sub/b.txt", "new/c.md")] == [True] * 3
    assert [task.may_edit(p) for p in ("test_a.py", "pyproject.toml")] == [False] * 2
    assert task.command == ("pytest", "-q")


def test_an_answer_file_is_the_only_one_that_may_be_written() -> None:
    task = Task.of("Sum up.", files={"a.log": "x"}, answer="out/[1].md")
    assert [p for p in ("a.log", "out/[1].md", "out/1.md") if task.may_edit(p)] == ["out/[1].md"]
    assert task.answer_file == "out/[1].md"
    narrow = Task.of("Mend it.", files={"a.py": "", "b.py": ""}, editable=["a.py"])
    assert narrow.answer_file == "a.py"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"prompt": " "}, "needs a prompt"),
        ({"prompt": None}, "needs a prompt"),
        ({"prompt": "x", "files": {"a": 1}}, "given as int"),
        ({"prompt": "x", "files": {"../a": ""}}, "outside the tree"),
        ({"prompt": "x", "answer": "/a"}, "outside the tree"),
        ({"prompt": "x", "editable": ["!a"]}, "negates"),
        ({"prompt": "x", "editable": "../a"}, "leads out"),
        ({"prompt": "x", "test": "pytest '"}, "can't be split"),
    ],
)
def test_what_is_wrong_is_said_at_once(arguments: dict[str, Any], why: str) -> None:
    with pytest.raises(GroundwireError, match=why):
        Task.of(**arguments)


def test_a_task_with_no_one_file_says_how_to_answer() -> None:
    with pytest.raises(GroundwireError, match=r"2 files \(a\.py, b\.py"):
        _ = Task.of("x", files={"a.py": "", "b.py": ""}).answer_file
    with pytest.raises(GroundwireError, match="has no file"):
        _ = Task("t", tree=Tree({"answer.txt": b""})).answer_file


def test_the_kind_is_written_down_only_where_it_is_not_repair() -> None:
    assert "kind" not in json.loads(Task("t").describe())
    assert json.loads(Task.of("x").describe())["kind"] == "write"


def test_the_text_of_a_candidate() -> None:
    assert Candidate("b", {"a": "héllo".encode()}).text == "héllo"
    assert Candidate("b", {"a": b"\xff", "gone": None}).text == "\\xff"
    assert Candidate("b", {}).text == ""
    with pytest.raises(GroundwireError, match=r"candidate\.changes\['a'\]"):
        _ = Candidate("b", {"b": b"", "a": b""}).text
