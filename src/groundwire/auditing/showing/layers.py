"""Places the nodes of a graph in layers from the start downwards."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

__all__ = ["layers"]


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
