"""Reflexion's logs of environments."""

from __future__ import annotations

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from published import published

from groundwire.core._errors import RecordingError
from groundwire.logs import _rows as rows
from groundwire.logs import read_environments

ROWS: list[dict[str, Any]] = [
    {"name": "env_0", "memory": [], "is_success": True},
    {"name": "env_1", "memory": ["I was stuck.", "Again."], "is_success": False},
]
ALFWORLD = {
    "base": [84, 94, 97, 98, 100, 101, 101],
    "reflexion": [84, 103, 111, 113, 117, 118, 123, 126, 128, 129, 130, 130, 131, 133, 134],
}
WEBSHOP = {"base_1": [31], "base_2": [33, 34, 34, 34], "reflexion_1": [33, 33, 34, 35], "reflexion_2": [33, 35, 35, 35]}


def test_rows_of_a_trial_plain_and_gzipped(tmp_path: Path) -> None:
    text = json.dumps(ROWS, indent=4)
    (tmp_path / "plain").write_text(text)
    (tmp_path / "packed").write_bytes(gzip.compress(text.encode()))
    for name in ("plain", "packed"):
        first, second = read_environments(tmp_path / name)
        assert (first.name, first.reflections, first.solved) == ("env_0", [], True)
        assert (second.name, second.reflections, second.solved) == ("env_1", ["I was stuck.", "Again."], False)


WRONG: list[tuple[Any, str]] = [
    ({"name": "env_0"}, "it holds no JSON list"),
    ([*ROWS, {"name": "env_2", "memory": []}], ", row 3: .*is_success: Field required"),
    ([{"name": "env_0", "memory": "x", "is_success": True}], ", row 1: .*memory: Input should be a valid list"),
    ([1], ", row 1: "),
]


@pytest.mark.parametrize(("value", "problem"), WRONG)
def test_what_is_no_such_log_is_named(tmp_path: Path, value: Any, problem: str) -> None:
    file = tmp_path / "log"
    file.write_text(json.dumps(value))
    with pytest.raises(RecordingError, match=f"log{problem}" if problem[0] == "," else problem):
        list(read_environments(file))


def test_a_file_that_is_cut_short_or_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "log"
    file.write_text(json.dumps(ROWS, indent=4)[:-10])
    with pytest.raises(RecordingError, match="this is no JSON"):
        list(read_environments(file))
    monkeypatch.setattr(rows, "MAX_CHARS", 50)
    with pytest.raises(RecordingError, match="holds more than"):
        list(read_environments(file))


@pytest.mark.parametrize(("run", "solved"), ALFWORLD.items())
def test_alfworld_as_its_source_counts_it(run: str, solved: list[int]) -> None:
    folder = published("reflexion_alfworld")
    trials = [list(read_environments(folder / f"{run}_trial_{n:02}.json")) for n in range(len(solved))]
    assert [len(rows) for rows in trials] == [134] * len(solved)
    assert [sum(row.solved for row in rows) for rows in trials] == solved
    for before, after in itertools.pairwise(trials):
        pairs = list(zip(before, after, strict=True))
        assert all(a.name == b.name for b, a in pairs)
        assert all(a.reflections[: len(b.reflections)] == b.reflections for b, a in pairs)
        assert all(a.solved for b, a in pairs if b.solved)


def test_alfworld_reflections_grow_past_the_paper_s_window() -> None:
    rows = read_environments(published("reflexion_alfworld") / "reflexion_trial_14.json")
    assert max(len(row.reflections) for row in rows) == 14


@pytest.mark.parametrize(("run", "solved"), WEBSHOP.items())
def test_webshop_as_its_source_counts_it(run: str, solved: list[int]) -> None:
    folder = published("reflexion_webshop")
    trials = [list(read_environments(folder / f"{run}_trial_{n}.json")) for n in range(len(solved))]
    assert [(len(rows), sum(row.solved for row in rows)) for rows in trials] == [(100, n) for n in solved]
