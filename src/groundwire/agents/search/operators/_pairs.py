"""Two small edits of one statement: what looks like one slip of the pen is often two."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._source import Proposal, Site, overlap
from groundwire.agents.search.operators._arithmetic import TOKENS as ARITHMETIC
from groundwire.agents.search.operators._base import Operator
from groundwire.agents.search.operators._calls import TOKENS as CALLS
from groundwire.agents.search.operators._compare import TOKENS as COMPARE
from groundwire.agents.search.operators._constants import TOKENS as CONSTANTS
from groundwire.agents.search.operators._logic import TOKENS as LOGIC
from groundwire.agents.search.operators._names import TOKENS as NAMES

SINGLE: dict[str, float] = {
    "compare.boundary": 1.0, "compare.negate": 1.0, "compare.swap": 0.6, "compare.replace": 0.4, "arith.swap": 0.7,
    "bool.and_or": 1.0, "bool.flip": 1.0, "bool.negate": 0.8, "const.off_by_one": 0.9, "const.replace": 0.5,
    "str.case": 0.5, "str.borrow": 0.3, "name.swap": 0.8, "attribute.swap": 0.4, "method.swap": 0.3,
}  # fmt: skip
"""Edits of one token, and how likely each is to be one of two."""
USES, HAS = 3.0, 4.0
"""How much likelier an edit is that reads what nothing reads, or takes away an attribute that the class lacks."""
LEAST = 0.3
"""Weight of an edit that is worth being one of two."""
MAX_SINGLE = 30
MAX_PAIRS = 80
MAX_LINES = 6


def _pairs(site: Site, scene: EditContext) -> Iterator[Proposal]:
    whole = _header(site)
    if site.function is None or not whole or scene.source.last_line(whole[-1]) - site.line >= MAX_LINES:
        return
    offered = [
        (SINGLE[p.name] * p.weight * _mends(p, inner, scene), p)
        for part in whole
        for inner, p in _single(part, site, scene)
    ]
    offered.sort(key=lambda item: -item[0])
    likely = offered[:MAX_SINGLE]
    pairs = [
        (a * b, first, second)
        for place, (a, first) in enumerate(likely)
        for b, second in likely[place + 1 :]
        if not overlap(first.splices, second.splices)
    ]
    pairs.sort(key=lambda item: -item[0])
    for weight, first, second in pairs[:MAX_PAIRS]:
        splices = sorted((*first.splices, *second.splices), key=lambda s: s.start)
        yield Proposal("pair.tokens", tuple(splices), weight)


def _header(site: Site) -> list[Site]:
    """What belongs to the statement itself, not to the statements in its blocks."""
    return [c for c in site.children if c.slot in ("body", "test", "iter", "item") and not _is_block(c)]


def _is_block(site: Site) -> bool:
    return isinstance(site.node, (cst.IndentedBlock, cst.SimpleStatementSuite))


_TOKENS = (*COMPARE, *ARITHMETIC, *LOGIC, *CONSTANTS, *NAMES, *CALLS)


def _single(part: Site, statement: Site, scene: EditContext) -> Iterator[tuple[Site, Proposal]]:
    for site in part.walk():
        if site.statement is not statement or (site.is_expression and site not in scene.source.evaluated):
            continue
        for rule in _TOKENS:
            if isinstance(site.node, rule.nodes):
                found = (p for p in rule.offer(site, scene) if p.name in SINGLE and p.weight >= LEAST)
                yield from ((site, p) for p in found)


def _mends(proposal: Proposal, site: Site, scene: EditContext) -> float:
    """How much likelier it is than its kind: where it reads what nothing reads, or an attribute goes that is none."""
    function = site.function
    used = function is not None and any(splice.text in scene.unread(function) for splice in proposal.splices)
    return (USES if used else 1.0) * (HAS if scene.habits.lacks(site) else 1.0)


RULES = (Operator((cst.SimpleStatementLine, cst.If, cst.While, cst.For), _pairs),)
