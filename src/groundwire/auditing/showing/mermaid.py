"""Mermaid flow charts; node names are text, never markup."""

from __future__ import annotations

from groundwire.auditing.report import GraphReport, Report

__all__ = ["COLOURS", "as_mermaid"]

COLOURS = {
    "ungrounded": "#d62728",
    "partly": "#e0a000",
    "unknown": "#7f7f7f",
    "tool_loop": "#1f77b4",
    "worklist": "#8c8c8c",
    "grounded": "#2ca02c",
}
PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-.,/()")


def as_mermaid(report: Report) -> str:
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
