"""Roles that were declared for a node, in place of what was read."""

from __future__ import annotations

from dataclasses import replace

from groundwire.auditing.declared_graph import Node
from groundwire.auditing.nodes.facts import Facts
from groundwire.auditing.nodes.updates import Write
from groundwire.auditing.reading.frames import Effect
from groundwire.auditing.taints import Kind, Taint, Taints

__all__ = ["as_declared"]


def as_declared(facts: Facts, role: str, node: Node) -> Facts:
    """What was read, with the declared role in place of what is asked."""
    kind, said = ROLES[role]
    effect = Effect(kind, "tool", f"{node.name} (declared {role})", node.place) if kind is not None else None
    taints: Taints = (
        frozenset({Taint(said, "tool" if said is Kind.WORLD else "text", "declared")})
        if said is not None
        else frozenset()
    )
    keys = facts.writes or {"*": Write(taints, taints)}
    writes = {k: Write(taints, taints, w.always) if said is not None else w for k, w in keys.items()}
    effects = (effect,) if effect is not None else ()
    return replace(facts, effects=effects, asked=frozenset(effects), writes=writes, declared=role)


ROLES: dict[str, tuple[Kind | None, Kind | None]] = {
    "actor": (Kind.MODEL, Kind.MODEL),
    "critic": (Kind.MODEL, Kind.MODEL),
    "model": (Kind.MODEL, Kind.MODEL),
    "tool": (Kind.WORLD, Kind.WORLD),
    "world": (Kind.WORLD, Kind.WORLD),
    "human": (Kind.HUMAN, Kind.HUMAN),
    "pure": (None, None),
}
