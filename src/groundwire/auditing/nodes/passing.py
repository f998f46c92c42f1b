"""Which nodes of a graph every run passes."""

from __future__ import annotations

from groundwire.auditing.declared_graph import END, START, Graph

__all__ = ["surely_passed"]


def surely_passed(graph: Graph) -> set[str]:
    """Nodes without which the end can't be reached, by the declared edges."""
    steps: dict[str, set[str]] = {}
    for edge in graph.edges:
        steps.setdefault(edge.source, set()).add(edge.target)
    for branch in graph.branches:
        steps.setdefault(branch.source, set()).update(
            (branch.ends or {END: END, **{n: n for n in graph.nodes}}).values()
        )
    for node in graph.nodes.values():
        if node.destinations:
            steps.setdefault(node.name, set()).update(node.destinations)
        if node.name not in steps:
            steps[node.name] = {END}
    return {name for name in graph.nodes if not _reaches(steps, without=name)}


def _reaches(steps: dict[str, set[str]], *, without: str) -> bool:
    pending, seen = [START], {START, without}
    while pending:
        for target in steps.get(pending.pop(), ()):
            if target == END:
                return True
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return False
