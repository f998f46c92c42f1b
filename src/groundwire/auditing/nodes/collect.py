"""Reads the facts of each node of a graph: its functions are followed once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from groundwire.auditing.conditions import all_of
from groundwire.auditing.declared_graph import Graph, Node
from groundwire.auditing.nodes.declared import as_declared
from groundwire.auditing.nodes.facts import Facts, Jump
from groundwire.auditing.nodes.following import Outcome, follow_action, state_of
from groundwire.auditing.nodes.subgraph_facts import of_subgraph
from groundwire.auditing.nodes.tool_facts import of_tools
from groundwire.auditing.nodes.updates import Write, read_update, united
from groundwire.auditing.reading.merging import options
from groundwire.auditing.taints import Kind
from groundwire.auditing.values import Command, GraphValue, Items, Send, ToolNode

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader

__all__ = ["facts_of_graph"]


def facts_of_graph(reader: Reader, graph: Graph) -> dict[str, Facts]:
    """Facts of each node, read once; of a graph that is being read already, none.

    Raises:
        TooComplex: there is more to follow than we are ready to; nothing of it is kept.
    """
    known = reader.facts.get(graph)
    if known is None:
        known = reader.facts[graph] = {}
        try:
            for node in graph.nodes.values():
                known[node.name] = _facts(reader, graph, node)
        except BaseException:
            # facts of some nodes would be taken for those of all
            del reader.facts[graph]
            raise
    return known


def _facts(reader: Reader, graph: Graph, node: Node) -> Facts:
    declared = reader.role_of(graph, node)
    match node.action.thing:
        case ToolNode():
            facts = of_tools(reader, node.action.thing, node)
            if graph.kind == "message":
                facts.writes["*"] = facts.writes["messages"]
        case GraphValue(graph=inner):
            facts = of_subgraph(inner, facts_of_graph(reader, inner), node)
        case _:
            facts = _of_action(reader, graph, node)
    return as_declared(facts, declared, node) if declared else facts


def _of_action(reader: Reader, graph: Graph, node: Node) -> Facts:
    state = state_of(reader, graph)
    frame, outcomes = follow_action(reader, node.action, state, node.name)
    updates: list[dict[str, Write]] = []
    jumps: list[Jump] = []
    for outcome in outcomes:
        for value, formula in options(outcome.value):
            found = all_of([outcome.when, formula])
            _read_value(replace(outcome, value=value, when=found), updates, jumps)
    return Facts(
        effects=tuple(frame.effects),
        asked=frozenset(frame.asked),
        writes=united(updates),
        jumps=jumps,
        reads=frozenset(state.read),
        loops=tuple(frame.loops),
        nested=tuple(dict.fromkeys(frame.nested)),
        runs_tools=any(e.kind is Kind.WORLD and e.detail == "tool" for e in frame.effects),
    )


def _read_value(outcome: Outcome, updates: list[dict[str, Write]], jumps: list[Jump]) -> None:
    thing = outcome.value.thing
    if isinstance(thing, Items) and any(
        isinstance(i.thing, Command | Send) for i in [*thing.items, *([thing.rest] if thing.rest else [])]
    ):
        for item in (*thing.items, *([thing.rest] if thing.rest else [])):
            _read_value(replace(outcome, value=item), updates, jumps)
        return
    if isinstance(thing, Command):
        if thing.goto is not None:
            jumps.append(Jump(thing.goto, outcome.when, thing.to_parent, outcome.asked))
        updates.append(read_update(thing.update, outcome.when) if thing.update is not None else {})
        return
    if isinstance(thing, Send):
        jumps.append(Jump(outcome.value, outcome.when, asked=outcome.asked))
        return
    updates.append(read_update(outcome.value, outcome.when))
