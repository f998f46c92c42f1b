"""A picture of the graphs as SVG, its nodes in layers: no script, no style sheet, no link; every text escaped."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from xml.sax.saxutils import escape

from groundwire_audit._report import AuditReport, GraphReport

# Mermaid flow charts; node names are text, never markup.

COLOURS = {
    "ungrounded": "#d62728",
    "partly": "#e0a000",
    "unknown": "#7f7f7f",
    "tool_loop": "#1f77b4",
    "worklist": "#8c8c8c",
    "grounded": "#2ca02c",
}
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,/()")


def as_mermaid(report: AuditReport) -> str:
    """One chart for each graph."""
    return "\n\n".join(_chart(g) for g in report.graphs) + "\n"


def _chart(graph: GraphReport) -> str:
    names = list(dict.fromkeys([*graph.nodes, *(n for a, b, _ in graph.edges for n in (a, b))]))
    ids = {name: f"n{i}" for i, name in enumerate(names)}
    lines = [f"%% {''.join(c if c in PLAIN else '?' for c in graph.name)}", "flowchart TD"]
    lines += [
        f'  {ids[n]}(["{escaped(_shown(n))}"])' if n.startswith("__") else f'  {ids[n]}["{escaped(n)}"]' for n in names
    ]
    styles: list[str] = []
    for i, (source, target, verdict) in enumerate(graph.edges):
        lines.append(f"  {ids[source]} {'-.->' if target == '?' else '-->'} {ids[target]}")
        if verdict in COLOURS:
            styles.append(f"  linkStyle {i} stroke:{COLOURS[verdict]},stroke-width:2px")
    return "\n".join(lines + styles)


def _shown(name: str) -> str:
    return {"__start__": "start", "__end__": "end"}.get(name, name)


def escaped(text: str) -> str:
    """Text that Mermaid shows as it is: everything but plain characters as a numbered entity."""
    return "".join(c if c in PLAIN else f"#{ord(c)};" for c in text)


# Places the nodes of a graph in layers from the start downwards.


def layers(nodes: Sequence[str], edges: Sequence[tuple[str, str]], start: str) -> list[list[str]]:
    """Nodes by their distance from the start; those that nothing reaches come last. Order within a layer: by the middle
    of what leads there, so that edges cross less.
    """
    steps: dict[str, list[str]] = {}
    for source, target in edges:
        steps.setdefault(source, []).append(target)
    depth: dict[str, int] = {}
    pending = deque([(start, 0)] if start in nodes else [])
    while pending:
        node, distance = pending.popleft()
        if node in depth:
            continue
        depth[node] = distance
        pending += [(t, distance + 1) for t in steps.get(node, ()) if t not in depth and t != "__end__"]
    lowest = max(depth.values(), default=-1)
    for node in nodes:
        if node not in depth:
            depth[node] = lowest + 1
    if "__end__" in nodes:
        depth["__end__"] = max((d for n, d in depth.items() if n != "__end__"), default=-1) + 1
    found: list[list[str]] = []
    for level in sorted(set(depth.values())):
        found.append(_ordered([n for n in nodes if depth[n] == level], found[-1] if found else [], edges))
    return found


def _ordered(level: list[str], above: list[str], edges: Sequence[tuple[str, str]]) -> list[str]:
    place = {n: i for i, n in enumerate(above)}

    def middle(node: str) -> float:
        into = [place[s] for s, t in edges if t == node and s in place]
        return sum(into) / len(into) if into else float(len(above))

    return sorted(level, key=middle)


# A picture of the graphs as SVG: no script, no style sheet, no link; every text escaped.

NODE_H, GAP_X, GAP_Y, MARGIN, CHAR_W, MIN_W = 34.0, 36.0, 46.0, 24.0, 7.6, 60.0
TITLE_H, LEGEND_H = 30.0, 22.0
MAX_LABEL = 40
FONT = 'font-family="sans-serif" font-size="13"'
Box = tuple[float, float, float]
"""Left, top and width."""


def as_svg(report: AuditReport) -> str:
    """One picture with all graphs, one below the other."""
    parts: list[str] = []
    top, width = MARGIN, 560.0
    for graph in report.graphs:
        body, graph_w, graph_h = _graph(graph, top)
        parts += body
        top += graph_h + MARGIN
        width = max(width, graph_w)
    parts += _legend(top)
    height = top + LEGEND_H + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
    )
    title = f"<title>{text(f'groundwire audit {report.target}')}</title>"
    back = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    return "\n".join([head, title, back, *_markers(), *parts, "</svg>"]) + "\n"


def text(value: str) -> str:
    """Text for XML: markup escaped, characters that can't be seen as a mark."""
    allowed = "".join(c if c in "\t\n" or c.isprintable() else "�" for c in value)
    return escape(allowed, {'"': "&quot;", "'": "&apos;"})


def _markers() -> list[str]:
    colours = {"plain": "#444444", **COLOURS}
    lines = [
        f'<marker id="a-{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>'
        for name, colour in colours.items()
    ]
    return ["<defs>", *lines, "</defs>"]


def _label(name: str) -> str:
    shown = {"__start__": "start", "__end__": "end"}.get(name, name)
    return shown if len(shown) <= MAX_LABEL else f"{shown[: MAX_LABEL - 1]}…"


def _width(name: str) -> float:
    return max(MIN_W, len(_label(name)) * CHAR_W + 20)


def _graph(graph: GraphReport, top: float) -> tuple[list[str], float, float]:
    names = list(dict.fromkeys([*graph.nodes, *(n for a, b, _ in graph.edges for n in (a, b))]))
    rows = layers(names, [(a, b) for a, b, _ in graph.edges], "__start__")
    widest = max((sum(_width(n) + GAP_X for n in row) for row in rows), default=0.0)
    boxes: dict[str, Box] = {}
    y = top + TITLE_H
    for row in rows:
        x = MARGIN + GAP_X + (widest - sum(_width(n) + GAP_X for n in row)) / 2
        for name in row:
            boxes[name] = (x, y, _width(name))
            x += _width(name) + GAP_X
        y += NODE_H + GAP_Y
    title = f"{graph.name} ({graph.mode})"
    parts = [f'<text x="{MARGIN}" y="{top + 16}" {FONT} font-weight="bold">{text(title)}</text>']
    side = max((x + w for x, _, w in boxes.values()), default=0.0)
    for i, (source, target, verdict) in enumerate(graph.edges):
        parts.append(_edge(boxes[source], boxes[target], verdict, side + 14 + 7 * (i % 6), same=source == target))
    parts += [_node(name, box) for name, box in boxes.items()]
    return parts, side + 14 + 42 + MARGIN, y - top


def _node(name: str, box: Box) -> str:
    x, y, w = box
    radius = NODE_H / 2 if name.startswith("__") else 6
    dash = ' stroke-dasharray="4 3"' if name == "?" else ""
    shape = f'x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{NODE_H}" rx="{radius}"'
    middle = f'x="{x + w / 2:.1f}" y="{y + NODE_H / 2 + 5:.1f}" text-anchor="middle"'
    return f'<rect {shape} fill="#f6f8fa" stroke="#444444"{dash}/><text {middle} {FONT}>{text(_label(name))}</text>'


def _edge(source: Box, target: Box, verdict: str, side: float, *, same: bool) -> str:
    colour = COLOURS.get(verdict, "#444444")
    marker = verdict if verdict in COLOURS else "plain"
    (x1, y1, w1), (x2, y2, w2) = source, target
    right1, right2, middle1, middle2 = x1 + w1, x2 + w2, y1 + NODE_H / 2, y2 + NODE_H / 2
    if same:
        path = _curve(
            (right1, middle1 - 8), (right1 + 30, middle1 - 22), (right1 + 30, middle1 + 22), (right1, middle1 + 8)
        )
    elif 0 < y2 - y1 - NODE_H <= GAP_Y + 1:
        top, bottom, half = y2, y1 + NODE_H, (y1 + NODE_H + y2) / 2
        a, b = x1 + w1 / 2, x2 + w2 / 2
        path = _curve((a, bottom), (a, half), (b, half), (b, top))
    else:  # past other nodes or upwards: round them, on the right
        path = _curve((right1, middle1), (side, middle1), (side, middle2), (right2, middle2))
    width = 2 if verdict in COLOURS else 1.2
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{width}" marker-end="url(#a-{marker})"/>'


def _curve(*points: tuple[float, float]) -> str:
    start, *others = (f"{x:.1f} {y:.1f}" for x, y in points)
    return f"M{start} C{' '.join(others)}"


def _legend(top: float) -> list[str]:
    parts: list[str] = []
    x = MARGIN
    for verdict, colour in COLOURS.items():
        shown = verdict.replace("_", " ")
        parts.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x + 18:.1f}" y2="{top}" stroke="{colour}" stroke-width="3"/>')
        parts.append(
            f'<text x="{x + 23:.1f}" y="{top + 4}" font-family="sans-serif" font-size="11">{text(shown)}</text>'
        )
        x += 23 + len(shown) * 6.4 + 14
    return parts
