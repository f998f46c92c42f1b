"""All single edits of a file: every rule at every site it looks at."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import libcst as cst

from groundwire.agents.search.edits import Proposal
from groundwire.agents.search.operators import RULES, Rule
from groundwire.agents.search.scene import Scene
from groundwire.agents.search.source import Site

__all__ = ["proposals"]


@cache
def _rules(kind: type[cst.CSTNode]) -> tuple[Rule, ...]:
    return tuple(rule for rule in RULES if issubclass(kind, rule.nodes))


def proposals(site: Site, scene: Scene, *, evaluated: bool) -> Iterator[Proposal]:
    """What the operators offer at one site.

    Args:
        site: where.
        scene: the file.
        evaluated: False where the site is an expression that is never evaluated (a name that is bound).
    """
    if site.is_expression and not evaluated:
        return
    for rule in _rules(type(site.node)):
        yield from rule.offer(site, scene)
