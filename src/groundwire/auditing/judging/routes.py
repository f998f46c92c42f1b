"""Where the router of a conditional edge can lead, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from groundwire.auditing.conditions import Formula, Test, all_of, negate, paths, when
from groundwire.auditing.declared_graph import END, Branch
from groundwire.auditing.judging.destinations import annotated
from groundwire.auditing.judging.steps import Edge, Way, Wiring
from groundwire.auditing.nodes.following import follow_action, state_of
from groundwire.auditing.reading.externals import READY_MADE
from groundwire.auditing.reading.merging import deep, options
from groundwire.auditing.report import Finding
from groundwire.auditing.taints import Kind, Taint, reason
from groundwire.auditing.values import Const, External, Items, Model, Send, Value

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader

__all__ = ["add_routes"]

ASK = frozenset({Taint(Kind.ASK)})


def add_routes(reader: Reader, wiring: Wiring, branch: Branch) -> None:
    """Adds each step that a router can choose."""
    graph = wiring.graph
    ready = _ready_made(branch)
    if ready is not None:
        _to_all(wiring, branch, ready)
        return
    state = state_of(reader, graph)
    frame, outcomes = follow_action(reader, branch.router, state, "router")
    wiring.router_effects[branch.source] = (*wiring.router_effects.get(branch.source, ()), *frame.effects)
    ends = branch.ends if branch.ends is not None else annotated(reader, branch.router)
    asks = any(e.kind is Kind.MODEL for e in frame.effects)
    for outcome in outcomes:
        for value, formula in options(outcome.value):
            _route(wiring, branch, ends, value, all_of([outcome.when, formula]), asks=asks)


def _ready_made(branch: Branch) -> Formula | None:
    """The condition of a router of a library that is known."""
    match branch.router.thing:
        case External(path=path) if path.endswith("tools_condition") or path.startswith(READY_MADE):
            return when(Test(ASK, text="the model asks for a tool"))
        case Model(label=label):
            return when(Test(frozenset({Taint(Kind.MODEL, "fields", label)}), text="the model chooses"))
        case _:
            return None


def _to_all(wiring: Wiring, branch: Branch, condition: Formula) -> None:
    ends = branch.ends or {"tools": "tools", END: END}
    for target in dict.fromkeys(ends.values()):
        opens = negate(condition) if target == END else condition
        _step(wiring, branch, target, opens, "branch", asks=False)


def _route(
    wiring: Wiring, branch: Branch, ends: Mapping[object, str] | None, value: Value, opens: Formula, *, asks: bool
) -> None:
    """One thing that a router may return."""
    match value.thing:
        case Items(items=held, rest=rest):
            for item in (*held, *([rest] if rest is not None else [])):
                for inner, formula in options(item):
                    _route(wiring, branch, ends, inner, all_of([opens, formula]), asks=asks)
        case Send(target=target):
            for inner, formula in options(target):
                known = isinstance(inner.thing, Const) and isinstance(inner.thing.value, str)
                _route(wiring, branch, ends if not known else None, inner, all_of([opens, formula]), asks=asks)
        case Const(value=None):
            pass
        case Const(value=label):
            _to_label(wiring, branch, ends, label, opens, asks=asks)
        case External(path=path) if path.endswith((".END", ".START")):
            _to_label(wiring, branch, ends, END, opens, asks=asks)
        case _:
            _dynamic(wiring, branch, ends, value, opens, asks=asks)


def _to_label(
    wiring: Wiring, branch: Branch, ends: Mapping[object, str] | None, label: object, opens: Formula, *, asks: bool
) -> None:
    if ends is not None:
        if label in ends:
            _step(wiring, branch, ends[label], opens, "branch", asks=asks)
        elif branch.ends is not None:
            known = ", ".join(repr(k) for k in ends)
            wiring.findings.append(
                Finding(
                    "label-not-in-map",
                    f"The router of {branch.source} can return {label!r}, which its map does not hold ({known}): "
                    "a KeyError.",
                    branch.place,
                )
            )
        else:
            _step(wiring, branch, str(label), opens, "branch", asks=asks)
        return
    target = str(label)
    if target != END and target not in wiring.graph.nodes and branch.hidden_map:
        wiring.anywhere.setdefault(
            branch.source, (f"the map of the router of {branch.source} is not in sight", branch.place)
        )
        return
    if target != END and target not in wiring.graph.nodes:
        near = ", ".join(wiring.graph.nodes)
        wiring.findings.append(
            Finding(
                "unknown-target",
                f"The router of {branch.source} can return {target!r}, which is no node ({near}): the run would end "
                "there, silently.",
                branch.place,
            )
        )
        return
    _step(wiring, branch, target, opens, "branch", asks=asks)


def _dynamic(
    wiring: Wiring, branch: Branch, ends: Mapping[object, str] | None, value: Value, opens: Formula, *, asks: bool
) -> None:
    """A router that returns what it read somewhere."""
    test = Test(deep(value), text="what is read there")
    if ends is not None:
        labelled = all(isinstance(k, bool) for k in ends)
        for label, target in ends.items():
            chosen = (
                when(test, holds=bool(label))
                if labelled
                else when(Test(test.left, text=f"it names {label!r}", constant=True))
            )
            _step(wiring, branch, target, all_of([opens, chosen]), "branch", asks=asks)
        return
    why = reason(deep(value)) or "it is read from the state"
    wiring.anywhere.setdefault(branch.source, (f"the router of {branch.source} may lead anywhere: {why}", branch.place))


def _step(wiring: Wiring, branch: Branch, target: str, opens: Formula, kind: str, *, asks: bool) -> None:
    ways = [Way(p) for p in paths(opens)]
    if ways:
        wiring.add(Edge(branch.source, target, ways, kind, branch.place, asks_model=asks))
