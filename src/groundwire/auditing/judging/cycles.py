"""Finds ways round: each simple cycle, up to a bound, shortest first."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

__all__ = ["components", "cycles"]

MAX_CYCLES = 2000
MAX_WORK = 200_000
Steps = Mapping[str, Iterable[str]]


def components(nodes: Iterable[str], steps: Steps) -> list[set[str]]:
    """Strongly connected sets of nodes that hold a cycle (Tarjan 1972, without recursion)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    held: set[str] = set()
    found: list[set[str]] = []
    for root in nodes:
        if root in order:
            continue
        work = [(root, iter(sorted(steps.get(root, ()))))]
        order[root] = low[root] = len(order)
        stack.append(root)
        held.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in order:
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    held.add(target)
                    work.append((target, iter(sorted(steps.get(target, ())))))
                    break
                if target in held:
                    low[node] = min(low[node], order[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    found.append(_unwound(stack, held, node))
    return [c for c in found if len(c) > 1 or next(iter(c)) in set(steps.get(next(iter(c)), ()))]


def _unwound(stack: list[str], held: set[str], node: str) -> set[str]:
    component: set[str] = set()
    while True:
        top = stack.pop()
        held.discard(top)
        component.add(top)
        if top == node:
            return component


def cycles(nodes: Iterable[str], steps: Steps) -> tuple[list[tuple[str, ...]], bool]:
    """Simple cycles as node names, each once, starting at its first node in the order given.

    Returns:
        The cycles, the shortest first, and whether these are all. Where there are more than can be listed, at least the
        shortest one through every edge is in the list.
    """
    names = list(nodes)
    found: dict[tuple[str, ...], None] = {}
    complete = True
    for component in components(names, steps):
        ordered = [n for n in names if n in component]
        inside = {n: [t for t in steps.get(n, ()) if t in component] for n in ordered}
        listed = _listed(ordered, inside)
        if listed is None:
            complete = False
            listed = [c for n in ordered for t in inside[n] if (c := _shortest(inside, n, t)) is not None]
        for cycle in listed:
            found.setdefault(_turned(cycle, names))
    return sorted(found, key=lambda c: (len(c), [names.index(n) for n in c])), complete


def _turned(cycle: tuple[str, ...], names: list[str]) -> tuple[str, ...]:
    first = min(range(len(cycle)), key=lambda i: names.index(cycle[i]))
    return cycle[first:] + cycle[:first]


def _listed(ordered: list[str], inside: Mapping[str, list[str]]) -> list[tuple[str, ...]] | None:
    """All simple cycles, each from the earliest of its nodes; None where there are too many."""
    found: list[tuple[str, ...]] = []
    rank = {n: i for i, n in enumerate(ordered)}
    work = 0
    for start in ordered:
        path = [start]
        on_path = {start}
        pending = [iter(inside[start])]
        while pending:
            work += 1
            if work > MAX_WORK or len(found) > MAX_CYCLES:
                return None
            target = next(pending[-1], None)
            if target is None:
                pending.pop()
                on_path.discard(path.pop())
            elif target == start:
                found.append(tuple(path))
            elif target not in on_path and rank[target] > rank[start]:
                path.append(target)
                on_path.add(target)
                pending.append(iter(inside[target]))
    return found


def _shortest(inside: Mapping[str, list[str]], source: str, target: str) -> tuple[str, ...] | None:
    """The shortest cycle that takes the edge from `source` to `target`."""
    came_from: dict[str, str] = {}
    pending = deque([target])
    while pending:
        node = pending.popleft()
        if node == source:
            path = [source]
            while node != target:
                node = came_from[node]
                path.append(node)
            return (source, *reversed(path[1:])) if len(path) > 1 else (source,)
        for following in inside[node]:
            if following not in came_from and following != target:
                came_from[following] = node
                pending.append(following)
    return None
