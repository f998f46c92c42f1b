"""Mermaid and SVG: what a node is called is text, never markup, script or another statement."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from groundwire_audit._report import AuditReport, GraphReport, Grounding, Loop, Mode
from groundwire_audit.showing._pictures import as_mermaid, as_svg, layers

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    '"]; click n0 "javascript:alert(1)"',
    "<script>alert(1)</script>",
    "</text><image href='http://evil/x.png'/>",
    "a\n  n9 --> n0\n%%{init: {}}%%",
    "]]>&amp;<!--",
    "\x00\x1b[31m\ufffe",
    "#quot;#35;",
    "end\u202egnp.exe",
    "ж" * 500,
    "",
]


def report(name: str) -> AuditReport:
    edges = (
        ("__start__", name, ""),
        (name, "other", "ungrounded"),
        ("other", name, "ungrounded"),
        ("other", "?", "unknown"),
        ("other", "__end__", ""),
        ("other", "other", "grounded"),
    )
    loop = Loop(Grounding.UNGROUNDED, "k", (name, "other"), "why")
    return AuditReport(name, (GraphReport(name, Mode.SOURCE, nodes=(name, "other"), edges=edges, loops=(loop,)),))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_mermaid_chart_holds_only_our_statements(name: str) -> None:
    lines = as_mermaid(report(name)).splitlines()
    assert re.fullmatch(r"%% [\w .,/()?-]*", lines[0], re.ASCII)
    assert lines[1] == "flowchart TD"
    label = r"(?:[A-Za-z0-9 _.,/()-]|#\d+;)*"
    statement = re.compile(
        rf'  n\d+(?:\["{label}"\]|\(\["{label}"\]\)| (?:-->|-\.->) n\d+)'
        r"|  linkStyle \d+ stroke:#[0-9a-f]+,stroke-width:2px"
    )
    assert [x for x in lines[2:] if x and not statement.fullmatch(x)] == []
    nodes = [x for x in lines if re.match(r"  n\d+[\[(]", x)]
    arrows = [x for x in lines if re.match(r"  n\d+ -", x)]
    assert (len(nodes), len(arrows)) == (5, 6)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_picture_is_well_formed_and_holds_only_shapes(name: str) -> None:
    root = ElementTree.fromstring(as_svg(report(name)))
    allowed = {"svg", "title", "rect", "defs", "marker", "path", "text", "line"}
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= allowed
    attributes = {a for e in root.iter() for a in e.attrib}
    assert not {a for a in attributes if a.startswith("on") or "href" in a or a == "style"}
    for element in root.iter():
        assert element.tag in {f"{SVG}text", f"{SVG}title"} or not (element.text or "").strip()


def test_a_picture_shows_each_node_and_edge_in_its_verdicts_colour() -> None:
    root = ElementTree.fromstring(as_svg(report("write")))
    texts = [e.text for e in root.iter(f"{SVG}text")]
    assert {"write", "other", "start", "end", "?"} <= set(texts)
    curves = [e.attrib["stroke"] for e in root.iter(f"{SVG}path") if "marker-end" in e.attrib]
    assert sorted(curves) == sorted(["#444444", "#d62728", "#d62728", "#7f7f7f", "#444444", "#2ca02c"])
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for box in root.iter(f"{SVG}rect"):
        assert float(box.get("x", "0")) + float(box.attrib["width"]) <= width
        assert float(box.get("y", "0")) + float(box.attrib["height"]) <= height


def test_nodes_lie_in_layers_from_the_start_to_the_end() -> None:
    nodes = ["__start__", "a", "b", "c", "lost", "__end__"]
    edges = [("__start__", "a"), ("a", "b"), ("a", "c"), ("c", "a"), ("b", "__end__")]
    assert layers(nodes, edges, "__start__") == [["__start__"], ["a"], ["b", "c"], ["lost"], ["__end__"]]
