"""The page of a ready-made graph shows the very graph that runs."""

from __future__ import annotations

import re
from pathlib import Path

from groundwire import FeedbackGraph
from groundwire.graphs.build._picture import as_mermaid
from groundwire.graphs.library._catalogue import card

PAGES = Path(__file__).parents[2] / "docs" / "graphs"


def check_page(name: str, graph: FeedbackGraph) -> None:
    """Fails with the picture to paste where the page shows another one."""
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert f"```mermaid\n{as_mermaid(graph)}```" in text, as_mermaid(graph)
    described = card(name)
    assert text.startswith(f"# {name}\n") and described.cost in text, "the page and the card agree on the cost"
    for heading in ("## When to use it", "## When not", "## Figures"):
        assert heading in text, heading
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (PAGES / target).exists(), target
