"""A graph as a Mermaid chart, drawn from what was declared, so that the picture in a page is the graph that runs."""

from __future__ import annotations

from groundwire.graphs.build._declarations import Parts
from groundwire.graphs.build._feedback_graph import FeedbackGraph
from groundwire.graphs.build._proof import END, START, Edge, Role, Wiring
from groundwire.graphs.run._gate import GateKind

SHAPES = {Role.ACTOR: '(["{}"])', Role.CRITIC: '("{}")', Role.TOOL: '["{}"]'}
LABELS = {GateKind.REFINE: "refine: a sealed FAIL", GateKind.ADVANCE: "advance: go on"}


def as_mermaid(graph: FeedbackGraph) -> str:
    """A flow chart: dotted edges are gates, which only a sealed signal opens; a tool's other edges are its PASS."""
    wiring = graph.wiring()
    names = {name: f"n{number}" for number, name in enumerate(sorted(wiring.roles))} | {START: "start", END: "end_"}
    lines = ["flowchart LR", "  start((start))"]
    for name, role in sorted(wiring.roles.items()):
        shape = SHAPES.get(role, '["{}"]')
        shown = name.replace('"', "#quot;")
        lines.append(f"  {names[name]}{shape.format(f'{shown} · {role}')}")
    lines.append("  end_((end))")
    edges = dict.fromkeys(e for e in wiring.edges if not _is_only_a_stop(e, graph.parts, wiring))
    lines += [f"  {names[edge.source]} {_arrow(edge, graph, wiring)} {names[edge.target]}" for edge in edges]
    return "\n".join(lines) + "\n"


def _is_only_a_stop(edge: Edge, parts: Parts, wiring: Wiring) -> bool:
    """An actor with nothing to propose stops too; drawn, it would hide the shape. So would the way of what stands."""
    stands = parts.hands_in().get(edge.source) == edge.target and parts.confirms.get(edge.source) != edge.target
    return stands or (edge.target == END and wiring.roles.get(edge.source) is Role.ACTOR)


def _arrow(edge: Edge, graph: FeedbackGraph, wiring: Wiring) -> str:
    if edge.gate:
        return f'-. "{LABELS[GateKind(edge.gate)]}" .->'
    if graph.parts.refers.get(edge.source) == edge.target:
        return '-- "undecided" -->'
    tool = graph.parts.tools.get(edge.source)
    if tool is not None and getattr(tool.tool, "never_passes", False):
        return '-- "go on" -->' if edge.target != END else '-- "stop" -->'
    if wiring.roles.get(edge.source) is Role.TOOL and edge.choice:
        return '-- "pass" -->' if edge.target != END else '-- "pass, or stop" -->'
    return "-->"
