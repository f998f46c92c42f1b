"""Each graph that goes wide has its page: the same wiring, the same cost, when to use it and when not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from groundwire.graphs.library._catalogue import NAMES, card

LIBRARY = Path(__file__).parents[3] / "src/groundwire/graphs/library"
PAGES = Path(__file__).parents[3] / "docs/graphs"
WIDE = [name for name in NAMES if "judged_outside(" in (LIBRARY / f"_{name}.py").read_text()]


@pytest.mark.parametrize("name", WIDE)
def test_a_page_says_what_its_card_says_and_its_links_lead_somewhere(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text()
    assert text.startswith(f"# {name}\n") and f"Cost: {card(name).cost}." in text
    for heading in ("## How it works", "## When to use it", "## When not", "## Figures"):
        assert heading in text, heading
    assert '-. "refine: a sealed FAIL" .->' in text
    assert ("**A control.**" in text) is not card(name).grounded
    assert ("allow_ungrounded=True).compile" in text) is not card(name).grounded
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (PAGES / target).exists(), target
    for path in re.findall(r"`(tests/[\w/]+\.py)`", text):
        assert (PAGES.parents[1] / path).exists(), path
