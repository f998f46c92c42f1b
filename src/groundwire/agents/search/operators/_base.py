"""What every family of edit operators is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from groundwire.agents.search._precedence import binding, fitted
from groundwire.agents.search._scene import Scene
from groundwire.agents.search._source import Proposal, Site, Splice


@dataclass(frozen=True)
class Rule:
    """An operator: what it offers at nodes of some types.

    Args:
        nodes: the node types it looks at.
        offer: its proposals at one such site.
    """

    nodes: tuple[type[cst.CSTNode], ...]
    offer: Callable[[Site, Scene], Iterator[Proposal]]


def replace(name: str, site: Site, text: str, level: int, weight: float = 1.0) -> Proposal:
    """Replaces an expression by `text`, which binds at `level`, with parentheses where they are needed."""
    return Proposal(name, (Splice(*site.outer, fitted(text, level, site)),), weight)


def delimited(name: str, site: Site, text: str, weight: float = 1.0) -> Proposal:
    """Replaces a site that is no expression (an operator, a statement line) by `text` as it is."""
    return Proposal(name, (Splice(site.start, site.end, text),), weight)


def insert(name: str, offset: int, text: str, weight: float = 1.0) -> Proposal:
    """Inserts `text` before a byte."""
    return Proposal(name, (Splice(offset, offset, text),), weight)


def exchange(name: str, first: Site, second: Site, scene: Scene, weight: float = 1.0) -> Proposal:
    """Exchanges two sites that do not overlap; where a place asks for parentheses, it gets them."""
    splices = [Splice(*a.outer, _grouped(b, a, scene)) for a, b in ((first, second), (second, first))]
    return Proposal(name, tuple(sorted(splices, key=lambda s: s.start)), weight)


def _grouped(what: Site, place: Site, scene: Scene) -> str:
    text, node = scene.source.text(what), what.node
    return fitted(text, binding(node), place) if isinstance(node, cst.BaseExpression) else text
