"""The page of an audit: what it says, and that nothing in a source can become markup."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from groundwire_audit._report import AuditReport, GraphReport, Grounding, Loop, Mode, SourcePlace
from groundwire_audit.showing._page import as_page

HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(1)> \x1b[31m \u202e"
OURS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "p", "span", "code", "section", "figure", "pre",
    "mark", "svg", "rect", "defs", "marker", "path", "text", "line",
}  # fmt: skip
GRAPH = """\
from langgraph.graph import StateGraph, START, END

def write(state):
    return {"text": llm.invoke(state["text"])}

def grade(state):
    return {"ok": llm.invoke("good? " + state["text"])}

def route(state):
    return END if "yes" in state["ok"] else "write"

graph = StateGraph(dict)
graph.add_node("write", write)
graph.add_node("grade", grade)
graph.add_edge(START, "write")
graph.add_edge("write", "grade")
graph.add_conditional_edges("grade", route)
app = graph.compile()
"""


class Tags(HTMLParser):
    """Which elements a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("href", "src")]


def tags_of(page: str) -> set[str]:
    parser = Tags()
    parser.feed(page)
    return parser.found


@pytest.mark.parametrize("name", ["write", HOSTILE, "", "ж" * 500])
def test_nothing_of_a_source_becomes_markup(name: str, tmp_path: Path) -> None:
    source = tmp_path / "graph.py"
    source.write_text("\n".join(f"line_{number} = {HOSTILE!r}  # {HOSTILE}" for number in range(40)))
    loop = Loop(Grounding.UNGROUNDED, "k", (name, "other"), f"why {HOSTILE}", place=SourcePlace(str(source), 20))
    edges = ((name, "other", "ungrounded"), ("other", name, "ungrounded"))
    graph = GraphReport(name, Mode.SOURCE, nodes=(name, "other"), edges=edges, loops=(loop,))
    page = as_page(AuditReport(HOSTILE, (graph,)))
    assert tags_of(page) <= OURS
    assert "\x1b" not in page and "\u202e" not in page
    # the line itself, and six on each side
    assert page.count("line_") == 13 and "<mark>   20  line_19" in page


def test_a_file_that_is_gone_leaves_the_finding(tmp_path: Path) -> None:
    loop = Loop(Grounding.UNGROUNDED, "k", ("a", "b"), "because", place=SourcePlace(str(tmp_path / "no.py"), 3))
    page = as_page(AuditReport("t", (GraphReport("g", Mode.SOURCE, nodes=("a", "b"), loops=(loop,)),)))
    assert "because" in page and "<pre" not in page


def test_the_program_writes_it(tmp_path: Path) -> None:
    source = tmp_path / "graph.py"
    source.write_text(GRAPH)
    out = tmp_path / "out.html"
    ran = subprocess.run(
        [sys.executable, "-m", "groundwire_audit", source, "--html", out], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1, ran.stderr
    page = out.read_text()
    assert "ungrounded" in page and "write" in page and "<svg" in page and "<mark>" in page
    assert tags_of(page) <= OURS
