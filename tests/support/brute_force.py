"""The proof's question answered by trying everything, written without a look at the proof."""

from __future__ import annotations

from itertools import chain, combinations
from typing import TypeAlias

from groundwire.graphs.build._proof import END, Role, Wiring

Active: TypeAlias = "tuple[frozenset[str], frozenset[tuple[int, str]]]"
"""What runs in a superstep, and which joins have heard from whom."""


def moves(wiring: Wiring, node: str) -> list[list[str]]:
    """What one run of a node may start together, without a signal: one way of each choice, some of the `many`."""
    edges = [e for e in wiring.edges if e.source == node and not e.gate and e.target != END]
    always = [e.target for e in edges if not e.choice and not e.many]
    ways: list[list[str]] = [[]]
    for choice in {e.choice for e in wiring.edges if e.source == node and e.choice}:
        options = [[e.target] for e in edges if e.choice == choice]
        gated = any(e.gate or e.target == END for e in wiring.edges if e.source == node and e.choice == choice)
        ways = [[*way, *option] for way in ways for option in (*options, *([[]] if gated or not options else []))]
    many = [e.target for e in edges if e.many]
    # twice is as good as more often
    packets = [list(p) for size in range(len(many) * 2 + 1) for p in combinations([*many, *many], size)]
    return [[*always, *way, *packet] for way in ways for packet in packets]


def blocked(wiring: Wiring, role: Role) -> frozenset[str]:
    """What interrupts a loop for a node of that role besides gates."""
    world = (n for n, r in wiring.roles.items() if r is Role.WORLD)
    return frozenset(world) if role is Role.UNKNOWN else frozenset()


def runs_without_end(wiring: Wiring, model: str) -> bool:
    """Follows pairs of running nodes: can a node come back to itself while `model` runs, on the way or beside it?"""
    stop = blocked(wiring, wiring.roles[model])

    def next_pairs(one: str, other: str) -> set[tuple[str, str]]:
        """One of the two runs; the other waits. "" stands for nothing."""
        if not one or one in stop:
            return set()
        found = {("", other)}
        for started in moves(wiring, one):
            started = [s for s in started if s not in stop]
            found |= {(s, other) for s in started}
            if not other:
                found |= {(s, t) for s, t in combinations(started, 2)}
        return found

    for start in wiring.roles:
        seen: set[tuple[str, str]] = set()
        pending = [(start, "")]
        while pending:
            one, other = pending.pop()
            for pair in next_pairs(one, other) | {(b, a) for a, b in next_pairs(other, one)}:
                if pair not in seen:
                    seen.add(pair)
                    pending.append(pair)
        if start == model and any(model in pair for pair in seen):
            return True
        if start != model and start not in stop and any(set(pair) == {start, model} for pair in seen):
            return True
    return False


def superstep(wiring: Wiring, active: frozenset[str], waiting: frozenset[tuple[int, str]]) -> set[Active]:
    """All states that LangGraph may be in after one superstep without a signal."""
    states: set[Active] = {(frozenset(), waiting)}
    for node in active:
        states = {(s | frozenset(way), w) for s, w in states for way in moves(wiring, node)}
    arrived = {(i, n) for i, join in enumerate(wiring.joins) for n in active & join.sources}
    found: set[Active] = set()
    for started, held in states:
        held = held | arrived
        for i, join in enumerate(wiring.joins):
            if frozenset(n for j, n in held if j == i) == join.sources:
                held = frozenset(h for h in held if h[0] != i)
                started = started | {join.target}
        found.add((started, held))
    return found


def repeats_in_simulation(wiring: Wiring, model: str) -> bool:
    """Plays supersteps from every set of running nodes: is there a round in which `model` runs?"""
    alive = [n for n in wiring.roles if n not in blocked(wiring, wiring.roles[model])]
    subsets = chain.from_iterable(combinations(alive, k) for k in range(1, len(alive) + 1))
    steps: dict[Active, set[Active]] = {}
    pending = [(frozenset(s), frozenset[tuple[int, str]]()) for s in subsets]
    while pending:
        state = pending.pop()
        if state in steps:
            continue
        after = {(s & frozenset(alive), w) for s, w in superstep(wiring, *state)}
        steps[state] = after
        pending.extend(after)
    for state in steps:
        if model in state[0]:
            seen: set[Active] = set()
            reached = list(steps[state])
            while reached:
                now = reached.pop()
                if now == state:
                    return True
                if now not in seen:
                    seen.add(now)
                    reached.extend(steps[now])
    return False
