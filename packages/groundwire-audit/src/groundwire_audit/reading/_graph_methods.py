"""Methods of a graph's builder, and of the compiled graph."""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import pairwise

from groundwire_audit._report import SourcePlace
from groundwire_audit.reading._asked_again import validate
from groundwire_audit.reading._conditions import Taint, TaintKind, join
from groundwire_audit.reading._frames import Arguments, Frame, text_of
from groundwire_audit.reading._graph import (
    END,
    START,
    DeclaredBranch,
    DeclaredEdge,
    DeclaredGraph,
    DeclaredNode,
    GraphValue,
)
from groundwire_audit.reading._knowledge import words
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    Bound,
    Const,
    External,
    FunctionValue,
    Instance,
    Items,
    ModelValue,
    Partial,
    Placeholder,
    Table,
    ToolNodeValue,
    ToolValue,
    Value,
    data,
    external,
)

RUNS = words(
    """
    invoke ainvoke stream astream batch abatch astream_events astream_log run arun __call__ call run_sync run_stream
    run_stream_sync run_stream_events iter kickoff kickoff_async akickoff kickoff_for_each chat achat stream_chat
    astream_chat query aquery run_step
    """
)


def graph_method(reader: Reader, owner: Value, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`graph.add_node(…)`, `graph.compile(…)`, `graph.invoke(…)` …"""
    assert isinstance(owner.thing, GraphValue)
    graph, place = owner.thing.graph, frame.module.place(node)
    if graph.method is not None:
        return graph.method(name, given, node, frame)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.end_lineno is not None:
        # of a chain of calls, the line on which this one is written
        start = (node.func.end_col_offset or 0) - len(node.func.attr)
        place = frame.module.code.place(node.func.end_lineno, start + 1)
    match name:
        case "add_node":
            _add_node(graph, given, place, node, frame)
        case "add_edge":
            _add_edge(graph, given, place, node)
        case "add_conditional_edges":
            _add_branch(graph, _name(given.get(0, "source", "start_key"), node, 0), given, 1, place)
        case "set_conditional_entry_point":
            _add_branch(graph, START, given, 0, place)
        case "set_entry_point":
            graph.edges.append(DeclaredEdge(START, _name(given.get(0, "key"), node, 0), place))
        case "set_finish_point":
            graph.edges.append(DeclaredEdge(_name(given.get(0, "key"), node, 0), END, place))
        case "add_sequence":
            _add_sequence(graph, given, place, node)
        case "compile":
            _compile(graph, given)
            graph.compiled_at = place
        case _ if name in RUNS:
            return run_graph(reader, graph, node, frame, given)
        case "as_tool":
            return Value(ToolValue(graph.name or "graph", owner))
        case "tool" | "tool_plain" if graph.kind == "agent":
            if not given.positional:
                return Value(Partial(Value(Bound(owner, name)), (), ()))  # `@agent.tool(retries=2)`
            tool = given.positional[0]
            give_tool(graph, tool, place)
            return tool
        case "output_validator" | "result_validator" if graph.kind == "agent":
            if not given.positional:
                return Value(Partial(Value(Bound(owner, name)), (), ()))
            validate(reader, graph, given.positional[0], place)
            return given.positional[0]
        case _:
            pass
    _limit(graph, given)
    return owner


def name_of(value: Value | None, text: str) -> str:
    """A node's name; where it is not a constant, the source text that stands for it."""
    match value.thing if value is not None else None:
        case Const(value=str(name)):
            return {"START": START, "END": END}.get(name, name)
        case External(path=path) if path.endswith((".END", ".START")):
            return END if path.endswith(".END") else START
        case FunctionValue(name=name):
            return name
        case Placeholder(name=name):
            return name if "{" in name else f"{{{name}}}"
        case _:
            return f"{{{text}}}"


def _name(value: Value | None, node: ast.AST, index: int) -> str:
    text = "?"
    if isinstance(node, ast.Call) and index < len(node.args):
        text = text_of(node.args[index])
    return name_of(value, text)


def action_name(value: Value) -> str:
    """The name LangGraph gives a node that is added without one."""
    match value.thing:
        case FunctionValue(name=name) if name != "lambda":
            return name
        case ToolNodeValue(name=name):
            return name
        case Instance(of=cls):
            return cls.node.name
        case Partial(function=function):
            return action_name(function)
        case GraphValue(graph=graph):
            return sorted(graph.aliases)[0] if graph.aliases else graph.name or "graph"
        case ModelValue(label=label):
            return label
        case External(path=path):
            return path.rstrip("()").rsplit(".", 1)[-1]
        case _:
            return "node"


def _add_node(graph: DeclaredGraph, given: Arguments, place: SourcePlace, node: ast.AST, frame: Frame) -> None:
    first, second = given.get(0, "node"), given.get(1, "action")
    if first is None:
        return
    if second is None:
        name, action = action_name(first), first
    else:
        name, action = _name(first, node, 0), second
    _put(graph, name, action, place, given.named.get("destinations"))
    role = frame.module.directive(getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0)
    if role:
        graph.declared[name] = role


def _put(graph: DeclaredGraph, name: str, action: Value, place: SourcePlace, destinations: Value | None) -> None:
    targets: tuple[str, ...] | None = None
    if destinations is not None:
        match destinations.thing:
            case Items(items=held):
                targets = tuple(name_of(i, "?") for i in held)
            case Table(entries=entries):
                targets = tuple(str(k) for k in entries)
            case _:
                targets = None
    graph.nodes[name] = DeclaredNode(name, action, place, targets)


def _add_edge(graph: DeclaredGraph, given: Arguments, place: SourcePlace, node: ast.AST) -> None:
    source, target = given.get(0, "start_key", "start"), _name(given.get(1, "end_key", "end"), node, 1)
    if source is not None and isinstance(source.thing, Items):
        sources = tuple(name_of(i, "?") for i in source.thing.items)
        graph.edges += [DeclaredEdge(s, target, place, sources) for s in sources]
    else:
        graph.edges.append(DeclaredEdge(_name(source, node, 0), target, place))


def _add_branch(graph: DeclaredGraph, source: str, given: Arguments, at: int, place: SourcePlace) -> None:
    router = given.get(at, "path", "condition")
    if router is None:
        return
    path_map = given.get(at + 1, "path_map", "conditional_edge_mapping")
    ends = _ends(path_map)
    none = path_map is None or path_map.thing == Const(None)
    graph.branches.append(DeclaredBranch(source, router, ends, place, hidden_map=ends is None and not none))


def _ends(value: Value | None) -> dict[object, str] | None:
    match value.thing if value is not None else None:
        case Table(entries=entries, rest=None):
            return {k: name_of(v, "?") for k, v in entries.items()}
        case Items(items=held, rest=None):
            names = [name_of(i, "?") for i in held]
            return {n: n for n in names}
        case _:
            return None


def _add_sequence(graph: DeclaredGraph, given: Arguments, place: SourcePlace, node: ast.AST) -> None:
    steps = given.get(0, "nodes")
    if steps is None or not isinstance(steps.thing, Items):
        return
    names: list[str] = []
    for step in steps.thing.items:
        if isinstance(step.thing, Items) and len(step.thing.items) == 2:
            name, action = name_of(step.thing.items[0], text_of(node)), step.thing.items[1]
        else:
            name, action = action_name(step), step
        _put(graph, name, action, place, None)
        names.append(name)
    graph.edges += [DeclaredEdge(a, b, place) for a, b in pairwise(names)]


def _compile(graph: DeclaredGraph, given: Arguments) -> None:
    graph.compiled = True
    for option in ("interrupt_before", "interrupt_after"):
        value = given.named.get(option)
        match value.thing if value is not None else None:
            case Items(items=held):
                graph.gates |= {name_of(i, "?") for i in held}
            case Const(value="*"):
                graph.gates.add("*")
            case _:
                pass
    name = given.named.get("name")
    if name is not None and isinstance(name.thing, Const) and isinstance(name.thing.value, str):
        graph.aliases.add(name.thing.value)


def _limit(graph: DeclaredGraph, given: Arguments) -> None:
    for value in given.all():
        held = value.thing.entries.get("recursion_limit") if isinstance(value.thing, Table) else None
        if held is not None and isinstance(held.thing, Const) and isinstance(held.thing.value, int):
            graph.recursion_limit = held.thing.value
    direct = given.named.get("recursion_limit")
    if direct is not None and isinstance(direct.thing, Const) and isinstance(direct.thing.value, int):
        graph.recursion_limit = direct.thing.value


def run_graph(
    reader: Reader, graph: DeclaredGraph, node: ast.AST, frame: Frame, given: Arguments | None = None
) -> Value:
    """A graph is run inside a function: what its nodes ask is asked there."""
    if given is not None:
        _limit(graph, given)
    if not frame.depth and not frame.name:
        return data()
    frame.nested.append(graph)
    if graph.kind == "functional" and graph.body is not None:
        return reader.call(graph.body, given or Arguments(), node, frame)
    facts = reader.facts_of(graph)
    place = frame.module.place(node)
    for one in facts.values():
        for effect in one.effects:
            guard = effect.guard or f"inside {graph.name or 'a graph'}"
            frame.add(replace(effect, place=place, guard=guard))
    if graph.kind in {"agent", "crew", "chat"}:
        return data(frozenset({Taint(TaintKind.MODEL, "fields" if graph.structured else "text", graph.kind)}))
    keys = dict.fromkeys(k for f in facts.values() for k in f.writes)
    entries = {
        k: data(_without_keys(join(f.writes[k].taints for f in facts.values() if k in f.writes)))
        for k in keys
        if k != "*"
    }
    rest = data(*(_without_keys(f.writes["*"].taints) for f in facts.values() if "*" in f.writes))
    return Value(Table(dict(entries), rest if rest.taints else None))


def give_tool(graph: DeclaredGraph, tool: Value, place: SourcePlace) -> None:
    """One more tool for a ready-made agent."""
    known = graph.nodes.get("tools")
    held = known.action.thing if known is not None else ToolNodeValue(())
    assert isinstance(held, ToolNodeValue)
    tools = (*held.tools, tool) if held.tools is not None else None
    with_tools(graph, ToolNodeValue(tools, held.why), place)


def with_tools(graph: DeclaredGraph, tools: ToolNodeValue, place: SourcePlace) -> None:
    """The node that runs a ready-made agent's tools, and the steps there and back."""
    first = next(iter(graph.nodes))
    if "tools" not in graph.nodes:
        graph.edges = [e for e in graph.edges if (e.source, e.target) != (first, END)]
        asks = external("langgraph.prebuilt.tools_condition")
        graph.branches.append(DeclaredBranch(first, asks, {"tools": "tools", END: END}, place))
        graph.edges.append(DeclaredEdge("tools", first, place))
        graph.nodes["tools"] = DeclaredNode("tools", Value(tools), place)
    else:
        graph.nodes["tools"].action = Value(tools)
    held = tools.tools or ()
    graph.nodes["tools"].human_gate = bool(held) and all(
        isinstance(t.thing, ToolValue) and t.thing.asks_person for t in held
    )


def _without_keys(taints: frozenset[Taint]) -> frozenset[Taint]:
    return frozenset(t for t in taints if t.kind not in {TaintKind.KEY, TaintKind.LAST, TaintKind.LENGTH})
