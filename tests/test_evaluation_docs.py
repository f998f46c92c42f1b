"""docs/evaluation.md: the example prints what it says, and no number of the report is left unexplained."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import groundwire.evaluation
from groundwire.evaluation import Arm, Trials
from groundwire.evaluation._drift import Friction
from groundwire.evaluation._table import LINES

PAGE = (Path(__file__).parents[1] / "docs" / "evaluation.md").read_text()


def test_the_example_prints_what_it_says() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (said,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == said


@pytest.mark.parametrize("name", LINES)
def test_every_line_of_the_report_is_explained(name: str) -> None:
    first_cells = [row.split(" | ")[0].removeprefix("| ") for row in PAGE.replace("\\|", "¦").splitlines()]
    told = {part.strip() for cell in first_cells if cell for part in (cell, *cell.split(", "))}
    assert name.replace("|", "¦") in told


def test_what_the_page_names_is_there() -> None:
    named = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) + re.findall(r"`(\w+)`,? \(?\d{4}\.\d", PAGE)
    assert len(named) >= 9
    assert [name for name in named if name not in groundwire.evaluation.__all__] == []
    assert all(f"`{kind}`" in PAGE for kind in Friction)
    assert Arm(name="x", trials=Trials.of([])).facts.control_of == "", "the key that finds a control arm"
