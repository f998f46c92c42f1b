"""A program's report is hostile: whatever it holds, only what the task allows becomes a candidate."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.agents.patching._edit_apply import MAX_FILE_BYTES, candidate_of
from groundwire.agents.programs._program_run import (
    MAX_CHANGED_BYTES,
    MAX_CHANGED_FILES,
    MAX_REFUSED,
    Changes,
    ProgramReport,
    read_report,
    sort_changes,
)
from groundwire.core._candidates import Tree, check_path
from groundwire.core._tasks import Task

TREE = Tree({"shop/price.py": b"x = 1\n", "tests/test_price.py": b"", "README.md": b""})
TASK = Task(id="t", tree=TREE)
ENDED: dict[str, Any] = {"exit_code": 0, "signal": None, "timed_out": False, "error": "", "duration_s": 1.0}


def report(*changes: tuple[str, bytes | None], problems: list[tuple[str, str]] | None = None, **ended: Any) -> bytes:
    encoded = [[path, None if content is None else base64.b64encode(content).decode()] for path, content in changes]
    return json.dumps({**ENDED, "changes": encoded, "modes": [], "problems": problems or [], **ended}).encode()


def sorted_of(*changes: tuple[str, bytes | None], **fields: Any) -> Changes:
    read = read_report(report(*changes, **fields))
    assert read is not None
    return sort_changes(read, TREE, TASK)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        report(exit_code="0"),
        report(duration_s="soon"),
        report().replace(b"1.0", b"NaN"),
        report(more=1),
        report().replace(b'"changes": []', b'"changes": [["a.py", "no base64!"]]'),
        report().replace(b'"changes": []', b'"changes": [["a.py"]]'),
        report(modes=[["a.py", 1]]),
        report(modes=[["a.py"]]),
        report().replace(b'"changes": []', b'"changes": [["\\ud800.py", ""]]'),
    ],
)
def test_what_is_no_report(body: bytes) -> None:
    assert read_report(body) is None


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_are_none(body: bytes) -> None:
    read = read_report(body)
    assert read is None or isinstance(read, ProgramReport)


paths = st.text(max_size=12) | st.sampled_from(
    [
        *TREE.files,
        "../x.py",
        "/x.py",
        "a/../x.py",
        ".git/x.py",
        "shop/price.py/x.py",
        "x.py",
        "conftest.py",
        "shop",
        "a",
    ]
)


@given(st.lists(st.tuples(paths, st.none() | st.binary(max_size=8)), max_size=12))
def test_only_editable_paths_get_through(changes: list[tuple[str, bytes | None]]) -> None:
    encodable = [(path, content) for path, content in changes if path.isprintable()]
    got = sorted_of(*encodable)
    for path in got.allowed:
        assert TASK.may_edit(check_path(path))
    final = TREE.with_changes(got.allowed).files
    assert not any(other.startswith(f"{path}/") for path in final for other in final)
    assert {"tests/test_price.py", "README.md"} <= final.keys()
    told = " ".join(got.refused)
    for path, _ in encodable:
        assert path in got.allowed or f": {' '.join(path.split())}" in told
    candidate = candidate_of(TASK, TREE, got.allowed, edits=["x", "x"], note="n\x1b\n")
    assert (
        candidate.changes.items() <= got.allowed.items() and candidate.edits == ("x",) and "\x1b" not in candidate.note
    )


@given(st.lists(st.tuples(paths, st.booleans()), max_size=12), st.booleans())
def test_only_modes_of_editable_files_get_through(modes: list[tuple[str, bool]], deleted: bool) -> None:
    told = [(path, mode) for path, mode in modes if path.isprintable()]
    got = sorted_of(("shop/price.py", None if deleted else b"y\n"), modes=told)
    assert got.modes.keys() <= (set[str]() if deleted else {"shop/price.py"})
    candidate_of(TASK, TREE, got.allowed, edits=(), note="", modes=got.modes)


def test_a_mode_that_the_base_has_is_not_set() -> None:
    got = sorted_of(modes=[("shop/price.py", False)])
    assert (got.modes, got.files) == ({"shop/price.py": False}, 1)
    assert candidate_of(TASK, TREE, got.allowed, edits=(), note="", modes=got.modes).is_base


def test_too_much_is_left_out_and_told() -> None:
    big = b"#" * (MAX_FILE_BYTES + 1)
    assert sorted_of(("a.py", big)).refused == ("too_large: a.py",)
    full = b"#" * MAX_FILE_BYTES
    got = sorted_of(*((f"m{i}.py", full) for i in range(MAX_CHANGED_BYTES // MAX_FILE_BYTES + 1)))
    assert len(got.allowed) == MAX_CHANGED_BYTES // MAX_FILE_BYTES and got.refused == ("too_much: m4.py",)
    got = sorted_of(*((f"m{i}.py", b"") for i in range(MAX_CHANGED_FILES + 200)))
    assert len(got.allowed) == MAX_CHANGED_FILES and len(got.refused) == MAX_REFUSED


def test_what_the_guest_could_not_tell_is_told_on() -> None:
    got = sorted_of(problems=[("link_outside", "a.py"), ("tests", "faked"), ("\x1b[31m", "b\n.py")])
    assert got.refused == ("link_outside: a.py", "tests: faked", ": b .py")


def test_deleting_what_only_the_best_candidate_had() -> None:
    best = TREE.with_changes({"shop/new.py": b"y\n"})
    read = read_report(report(("shop/new.py", None)))
    assert read is not None
    changes = sort_changes(read, best, TASK)
    assert candidate_of(TASK, best, changes.allowed, edits=(), note="").is_base
