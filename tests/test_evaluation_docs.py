"""docs/evaluation.md: the example prints what it says, and no number of the report is left unexplained."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from groundwire.evaluation import Arm, Trials
from groundwire.evaluation import _confidence as confidence
from groundwire.evaluation import _process as process
from groundwire.evaluation import _reasoning as thinking
from groundwire.evaluation import _signal_quality as signal_quality
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
    modules = {"confidence": confidence, "process": process, "signal_quality": signal_quality, "thinking": thinking}
    named = re.findall(rf"`({'|'.join(modules)})\.(\w+)", PAGE)
    assert len(named) >= 9
    assert [(m, name) for m, name in named if name not in modules[m].__all__] == []
    assert all(f"`{kind}`" in PAGE for kind in Friction)
    assert Arm(name="x", trials=Trials.of([])).facts.control_of == "", "the key that finds a control arm"
