"""LDB's logs: every field, what is refused, and the published files as their SOURCE.md counts them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from published import published

from groundwire.core._errors import RecordingError
from groundwire.core._sandboxes import Limits
from groundwire.logs import LdbRow, read_ldb, recording_of

ROW: dict[str, Any] = {
    "task_id": "MBPP/7",
    "prompt": 'def f(n):\n    """Twice n."""\n',
    "entry_point": "f",
    "canonical_solution": "    return 2 * n",
    "seed": "A",
    "given_tests": ["assert f(1) == 2", "assert f(2) == 4"],
    "generated_test": ["assert f(1) == 2"],
    "test": "def check(candidate):\n    assert f(3) == 6\ncheck(f)\n",
    "implementations": ["A", "B", "A"],
    "test_feedback": [["assert f(1) == 2 # Real Execution Output: 1"], ["x"], []],
    "is_passing": True,
    "is_solved": False,
    "reflections": [],
    "debug_iter": 2,
    "token_nums": 0,
}
COUNTS = {
    "humaneval_gpt35": (164, 136, 144, 413, 0),
    "humaneval_codellama": (164, 91, 104, 714, 0),
    "humaneval_starcoder": (164, 65, 78, 946, 0),
    "humaneval_gpt4seed": (164, 147, 156, 276, 0),
    "mbpp_gpt35": (500, 380, 437, 1158, 18),
}


def log(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def changed(**fields: Any) -> dict[str, Any]:
    return ROW | fields


def test_a_row_is_a_task_with_its_programs_in_order(tmp_path: Path) -> None:
    (row,) = read_ldb(log(tmp_path / "log", ROW))
    assert row.programs == ["A", "B", "A"] and [bool(f) for f in row.feedback] == [True, True, False]
    assert (row.logged_passing, row.logged_solved, row.family) == (True, False, "mbpp")
    task = row.task(Limits(cpu_s=5))
    assert (task.id, task.family, task.limits.cpu_s) == ("MBPP/7", "mbpp", 5)
    assert task.tree.files["tests/test_visible.py"].count(b"assert") == 1, "only what was really run is visible"
    assert task.hidden is not None


def test_the_reference_solution_is_in_nothing_that_is_read(tmp_path: Path) -> None:
    (row,) = read_ldb(log(tmp_path / "log", changed(canonical_solution="the answer key")))
    assert "the answer key" not in repr(row) + repr(row.task())


def test_rows_make_one_recording_by_task_and_order(tmp_path: Path) -> None:
    rows = list(read_ldb(log(tmp_path / "log", ROW, changed(task_id="MBPP/8"))))
    recording = recording_of(rows, source="ldb", model="gpt-3.5")
    assert list(recording.tasks) == ["MBPP/7", "MBPP/8"] and (recording.source, recording.model) == ("ldb", "gpt-3.5")
    assert [s.recorded.texts for s in recording.of_task("MBPP/8")] == [("A",), ("B",), ("A",)]
    completion = recording.of_task("MBPP/7")[0].recorded.completion
    assert completion is not None and (completion.usd, completion.prompt_tokens) == (None, 0)


def test_rows_are_read_one_at_a_time(tmp_path: Path) -> None:
    rows = read_ldb(log(tmp_path / "log", ROW, "damaged"))
    assert isinstance(next(rows), LdbRow)
    with pytest.raises(RecordingError, match="log:2: this is no JSON"):
        next(rows)


@pytest.mark.parametrize("field", ["task_id", "prompt", "entry_point", "test", "given_tests", "generated_test",
                                   "implementations", "test_feedback", "is_passing", "is_solved"])  # fmt: skip
def test_a_missing_field_is_named_with_its_line(tmp_path: Path, field: str) -> None:
    row = {name: value for name, value in ROW.items() if name != field}
    with pytest.raises(RecordingError, match=f"log:2: this is no row of an LDB log: {field}: Field required"):
        list(read_ldb(log(tmp_path / "log", ROW, row)))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"implementations": []}, "implementations: List should have at least 1 item"),
    ({"implementations": ["A", 3, "A"]}, "implementations.1: Input should be a valid string"),
    ({"is_solved": "yes"}, "is_solved: Input should be a valid boolean"),
    ({"generated_test": None}, "generated_test: Input should be a valid list"),
    ({"test_feedback": [[]]}, "MBPP/7 has 3 programs and 1 feedbacks"),
    ({"task_id": ""}, "task_id: String should have at least 1 character"),
]


@pytest.mark.parametrize(("fields", "problem"), WRONG)
def test_a_field_of_another_kind_is_named(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(RecordingError) as caught:
        list(read_ldb(log(tmp_path / "log", changed(**fields))))
    assert "log:1: " in caught.value.what and problem in caught.value.what and caught.value.do


def test_another_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="this is no row of an LDB log"):
        list(read_ldb(log(tmp_path / "log", {"format": "groundwire.core._recordings", "version": 1})))


def test_a_truncated_download_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "log.gz"
    file.write_bytes(gzip.compress(f"{json.dumps(ROW)}\n".encode() * 20)[:-40])
    with pytest.raises(RecordingError, match="damaged after line"):
        list(read_ldb(file))


@pytest.mark.parametrize("name", COUNTS)
def test_the_published_files_as_their_source_counts_them(name: str) -> None:
    rows = list(read_ldb(published("ldb") / f"{name}.jsonl.gz"))
    found = (
        len(rows),
        sum(row.logged_solved for row in rows),
        sum(row.logged_passing for row in rows),
        sum(len(row.programs) for row in rows),
        sum(not row.used_tests for row in rows),
    )
    assert found == COUNTS[name]
    assert all(row.logged_passing is (not row.feedback[-1]) for row in rows)
    assert all(row.logged_passing for row in rows if not row.used_tests), "zero tests were taken for a pass there"
    for row in rows:
        files = row.task().tree.files
        compile(files["tests/test_visible.py"], "test_visible.py", "exec")
