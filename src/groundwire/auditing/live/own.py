"""Our own FeedbackGraph: its gates are declared and enforced, so its loops are told from them."""

from __future__ import annotations

from typing import Any, cast

from groundwire.auditing.judging.cycles import cycles
from groundwire.auditing.live.names import line_of_classes
from groundwire.auditing.report import GraphReport, Level, Loop, Mode, Report, Verdict

__all__ = ["audit_own", "is_own"]

OWN = frozenset({"groundwire.graphs.build._feedback_graph.FeedbackGraph", "groundwire.graphs.run._app.FeedbackApp"})


def is_own(thing: object) -> bool:
    """True for a FeedbackGraph, compiled or not."""
    return bool(OWN.intersection(line_of_classes(thing)))


def audit_own(thing: object, mode: Mode, target: str) -> Report:
    """Each loop with the gate that opens it."""
    held: Any = cast("Any", thing).wiring
    wiring: Any = held() if callable(held) else held
    edges = [(e.source, e.target, str(e.gate)) for e in wiring.edges]
    gates = {(a, b): gate for a, b, gate in edges}
    steps: dict[str, list[str]] = {}
    for source, to, _ in edges:
        steps.setdefault(source, []).append(to)
    names = [n for n in dict.fromkeys([*wiring.roles]) if n in steps]
    loops = [_loop(c, gates, {n: str(r) for n, r in wiring.roles.items()}) for c in cycles(names, steps)[0]]
    shown = tuple((a, b, next((str(x.verdict) for x in loops if _holds(x, a, b)), "")) for a, b, _ in edges)
    name = str(getattr(thing, "name", "") or "feedback")
    return Report(target or name, (GraphReport(name, mode, nodes=tuple(names), edges=shown, loops=tuple(loops)),))


def _holds(loop: Loop, source: str, target: str) -> bool:
    return (source, target) in zip(loop.nodes, (*loop.nodes[1:], loop.nodes[0]), strict=True)


def _loop(cycle: tuple[str, ...], gates: dict[tuple[str, str], str], roles: dict[str, str]) -> Loop:
    crossed = [gates.get(pair, "") for pair in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
    if "refine" in crossed:
        return Loop(Verdict.GROUNDED, "gate refine", cycle, "opens only on a sealed FAIL of the current candidate")
    if "advance" in crossed:
        return Loop(Verdict.TOOL_LOOP, "gate advance", cycle, "advances on sealed observations only; nothing rewrites")
    if not {roles.get(n, "unknown") for n in cycle} & {"actor", "critic", "unknown"}:
        return Loop(Verdict.WORKLIST, "no model", cycle, "no actor or critic is in this loop")
    return Loop(Verdict.UNGROUNDED, "no gate", cycle, "no gate is on this loop: compile() refuses it", Level.ERROR)
