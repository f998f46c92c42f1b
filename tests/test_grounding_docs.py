"""docs/grounding.md: each example does what is printed below it, and no rule of the gate is left out."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from groundwire.core._errors import GroundwireError
from groundwire.graphs.run._gate import Refusal

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "grounding.md").read_text()
BLOCKS: list[tuple[str, str]] = re.findall(r"```(python|text)\n(.*?)```", PAGE, re.DOTALL)
PRELUDE = BLOCKS[0][1]
EXAMPLES = [(code, said) for (_, code), (kind, said) in pairwise(BLOCKS) if kind == "text"]


def run(code: str) -> str:
    """What the code prints, and the error that ends it, as a person would see them."""
    names: dict[str, Any] = {}
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(PRELUDE, names)
        try:
            exec(code, names)
        except GroundwireError as error:
            print(f"{type(error).__name__}: {error}")
    return printed.getvalue()


def test_every_example_has_what_it_prints() -> None:
    assert [kind for kind, _ in BLOCKS] == ["python", *["python", "text"] * len(EXAMPLES)]
    assert len(EXAMPLES) == 12


@pytest.mark.parametrize(("code", "said"), EXAMPLES)
def test_an_example_does_what_is_printed_below_it(code: str, said: str) -> None:
    assert run(code) == said


def test_the_gate_s_table_is_complete_and_in_its_order() -> None:
    table = PAGE.partition("| refusal |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(Refusal)


def test_every_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", PAGE):
        assert (ROOT / "docs" / target).exists(), target
