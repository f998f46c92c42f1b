"""The section `From the command line` of each graph's page; run as a program this writes them."""

from __future__ import annotations

import re
from pathlib import Path

from groundwire.cli.graph_options._flags import example, options_of
from groundwire.graphs.library._catalogue import NAMES

__all__ = ["PAGES", "section"]

PAGES = Path(__file__).parents[2] / "docs" / "graphs"
HEADING = "## From the command line\n"
BEFORE = "## When to use it\n"


def section(graph: str) -> str:
    """What a page says of the graph's command and options."""
    rows = [f"| `{o.flag}` | {o.kind} | {o.default} | {o.help} |" for o in options_of(graph)]
    table = "\n".join(["| option | values | default | what it is |", "|---|---|---|---|", *rows])
    return f"{HEADING}\n```\n{example(graph)}\n```\n\n{table}\n\n"


def write() -> None:
    for graph in NAMES:
        page = PAGES / f"{graph}.md"
        text = re.sub(rf"^{HEADING}.*?(?=^## )", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        before, heading, after = text.partition(BEFORE)
        assert heading, page
        page.write_text(f"{before}{section(graph)}{heading}{after}")


if __name__ == "__main__":
    write()
