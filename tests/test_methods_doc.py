"""`docs/methods.md`: every row that is owed is there, and what it names exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from groundwire.benchmarks._catalogue import BENCHMARKS
from groundwire.cli.commands._app import app
from groundwire.graphs.library._catalogue import NAMES
from groundwire.training._catalogue import form

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "methods.md").read_text()
LEFT_OUT = {5, 41, 44, 47, 48, 54, 55, 60, 63, 72, 77, 81, 82, 83, 84, 88, 89}
"""Rows that need a trained latent model, pixels, chemistry or the like."""
ROWS = {
    int(cells[0]): cells
    for cells in ([cell.strip() for cell in line.strip("| ").split(" | ")] for line in TEXT.splitlines())
    if cells[0].isdecimal()
}


def test_all_rows_that_are_owed_are_there() -> None:
    assert set(ROWS) == set(range(1, 107)) - LEFT_OUT and len(ROWS) == 89
    assert all(len(cells) == 7 and all(cells) for cells in ROWS.values())


@pytest.mark.parametrize("number", sorted(ROWS))
def test_the_graph_the_command_and_the_test_of_a_row_exist(number: int) -> None:
    _, _, _, where, command, test, differs = ROWS[number]
    path, _, name = test.strip("`").partition("::")
    assert f"def {name}(" in (ROOT / path).read_text(), test
    for graph in re.findall(r"graphs/(\w+)\.md", where):
        assert graph in NAMES
    for written in re.findall(r"`(groundwire [^`]+)`", command):
        check_command(shlex.split(written.replace("…", "RUN")))
    assert differs


def check_command(words: list[str]) -> None:
    """Its command, its flags, and the graph, benchmark or format that it names."""
    group: Any = get_command(app)
    one: Any = group.commands[words[1]]
    flags = {name for parameter in one.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= flags, words
    if words[1] == "run":
        assert words[2] in NAMES, words
    if words[1] == "bench":
        assert words[2] in BENCHMARKS, words
    if "--format" in words:
        assert form(words[words.index("--format") + 1])
    if "--graph" in words:
        assert words[words.index("--graph") + 1] in NAMES


def test_the_five_sets_are_described_by_their_columns() -> None:
    section = TEXT.partition("## Five data sets by their columns")[2]
    for name in ("MathStrat", "GUI-Critic-Train", "CoTErrorSet", "OpenMathReasoning", "Deep Search"):
        assert f"| {name}" in section, name
