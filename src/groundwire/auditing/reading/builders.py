"""Makes graphs out of the calls that declare them."""

from __future__ import annotations

import ast

from groundwire.auditing.declared_graph import END, START, Branch, Graph, GraphValue, Node, StaticEdge
from groundwire.auditing.places import Place
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.attributes import bases
from groundwire.auditing.reading.frames import Frame
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.report import Finding, Level
from groundwire.auditing.values import (
    Class,
    Command,
    Const,
    External,
    Function,
    Items,
    Model,
    Table,
    Tool,
    ToolNode,
    Value,
    const,
    external,
)
from groundwire.auditing.words import words

__all__ = [
    "AGENTS",
    "BUILDERS",
    "functional",
    "handoff",
    "make_agent",
    "make_graph",
    "make_team",
    "read_schema",
    "tool_list",
    "why_hidden",
]

BUILDERS = frozenset({"StateGraph", "MessageGraph", "Graph"})
AGENTS = words(
    """
    create_react_agent create_agent create_tool_calling_executor create_function_calling_executor
    create_agent_executor create_deep_agent AgentExecutor initialize_agent create_sql_agent
    create_pandas_dataframe_agent create_csv_agent create_conversational_retrieval_agent
    """
)
WITH_OWN_TOOLS = {"create_sql_agent": "sql", "create_pandas_dataframe_agent": "exec", "create_csv_agent": "exec"}
APPENDING = ("add_messages", "add", "operator.add", "concat", "extend", "merge", "append")
MESSAGES_STATES = frozenset({"MessagesState", "AgentState", "CopilotKitState"})


def make_graph(reader: Reader, given: Arguments, kind: str, place: Place, frame: Frame) -> Value:
    """`StateGraph(…)` and its older relatives."""
    graph = Graph(frame.name, place, kind="message" if kind == "MessageGraph" else "state")
    if kind == "Graph":
        graph.findings.append(
            Finding(
                "old-api",
                "The class Graph is gone since LangGraph 1.0; this graph does not run there.",
                place,
                Level.NOTE,
            )
        )
    elif kind == "MessageGraph":
        graph.findings.append(
            Finding("old-api", "MessageGraph is deprecated; its state is one list of messages.", place, Level.NOTE)
        )
    schema = given.get(0, "state_schema", "schema")
    if schema is not None:
        read_schema(schema, graph)
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def read_schema(schema: Value, graph: Graph) -> None:
    """Keys of the state, and which of them are added to."""
    graph.schema_value = schema
    match schema.thing:
        case Class():
            _read_class(schema.thing, graph)
        case External(path=path) if path.rsplit(".", 1)[-1] in MESSAGES_STATES:
            graph.appends.add("messages")
        case Table(entries=entries):
            for name in entries:
                graph.schema.setdefault(str(name), ast.Constant(None))
        case _:
            pass


def _read_class(cls: Class, graph: Graph) -> None:
    for base in reversed(bases(cls)):
        if isinstance(base.thing, Class):
            _annotations(base.thing, graph)
        elif isinstance(base.thing, External) and base.thing.path.rsplit(".", 1)[-1] in MESSAGES_STATES:
            graph.appends.add("messages")
    _annotations(cls, graph)


def _annotations(cls: Class, graph: Graph) -> None:
    for name, annotation in cls.annotations.items():
        graph.schema[name] = annotation
        if (
            isinstance(annotation, ast.Subscript)
            and _word(annotation.value) == "Annotated"
            and isinstance(annotation.slice, ast.Tuple)
        ):
            reducers = [_word(e) for e in annotation.slice.elts[1:]]
            if any(
                r in APPENDING or r.startswith(("add", "append", "merge", "concat", "extend", "reduce"))
                for r in reducers
            ):
                graph.appends.add(name)
            else:
                graph.appends.discard(name)


def _word(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _word(function)
        case ast.Lambda():
            return "add"
        case _:
            return ""


def functional(reader: Reader, made: Value, place: Place) -> Value:
    """`@entrypoint`: a graph whose loops are in its source."""
    function = made.thing
    name = function.name if isinstance(function, Function) else "entrypoint"
    graph = Graph(name, place, kind="functional", body=made, compiled=True)
    graph.aliases.add(name)
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def tool_list(value: Value | None) -> tuple[Value, ...] | None:
    """The tools of a list, or None where they are not all known."""
    if value is None:
        return ()
    match value.thing:
        case Items(items=held, rest=rest):
            return (*held, *([rest] if rest is not None else []))
        case ToolNode(tools=tools):
            return tools
        case Const(value=None):
            return ()
        case External(path=path) if path.endswith(".get_tools()"):
            return (external(path.removesuffix(".get_tools()").removesuffix("()"), value.taints),)
        case _:
            return None


def make_agent(reader: Reader, path: str, given: Arguments, place: Place, frame: Frame) -> Value:
    """A ready-made agent: a model and its tools, which go on only through a tool."""
    maker = path.rsplit(".", 1)[-1]
    first = "model" if "create_agent" in path and maker == "create_agent" else "agent"
    graph = Graph(frame.name, place, kind="agent", compiled=True)
    graph.appends.add("messages")
    own = given.named.get("name")
    if own is not None and isinstance(own.thing, Const) and isinstance(own.thing.value, str):
        graph.aliases.add(own.thing.value)
    model = given.get(0, "model", "llm", "agent")
    label = model.thing.label if model is not None and isinstance(model.thing, Model) else "model"
    graph.nodes[first] = Node(first, Value(Model(label)), place)
    tools = given.get(1, "tools", "toolkit")
    known = tool_list(tools)
    if maker in WITH_OWN_TOOLS:
        known = (Value(Tool(WITH_OWN_TOOLS[maker], external(f"langchain_community.{maker}.SQLDatabase.run"))),)
    why = "" if known is not None else why_hidden(tools)
    if known is None or known:
        graph.nodes["tools"] = Node("tools", Value(ToolNode(known, why)), place, human_gate=_gate(given, "tools"))
        graph.branches.append(
            Branch(first, external("langgraph.prebuilt.tools_condition"), {"tools": "tools", END: END}, place)
        )
        graph.edges.append(StaticEdge("tools", first, place))
    else:
        graph.edges.append(StaticEdge(first, END, place))
    graph.edges.append(StaticEdge(START, first, place))
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def why_hidden(value: Value | None) -> str:
    """Why the tools of a list are not known."""
    if value is not None:
        if isinstance(value.thing, External):
            return f"what {value.thing.path} gives is not known"
        for taint in value.taints:
            if taint.detail:
                return taint.detail
    return "its tools are not in sight"


def _gate(given: Arguments, node: str) -> bool:
    for name in ("interrupt_before", "interrupt_after"):
        value = given.named.get(name)
        if (
            value is not None
            and isinstance(value.thing, Items)
            and any(i.thing == Const(node) for i in value.thing.items)
        ):
            return True
    return False


def make_team(reader: Reader, maker: str, given: Arguments, place: Place, frame: Frame) -> Value:
    """A ready-made supervisor or swarm over several agents."""
    graph = Graph(frame.name, place)
    graph.appends.add("messages")
    agents = given.get(0, "agents")
    members = agents.thing.items if agents is not None and isinstance(agents.thing, Items) else []
    named = {_agent_name(m, i): m for i, m in enumerate(members)}
    for name, agent in named.items():
        graph.nodes[name] = Node(name, agent, place)
    asks = Value(Model("model"))
    if maker == "create_supervisor":
        graph.nodes["supervisor"] = Node("supervisor", Value(Model("model")), place)
        graph.edges += [StaticEdge(START, "supervisor", place), *(StaticEdge(n, "supervisor", place) for n in named)]
        graph.branches.append(Branch("supervisor", asks, {**{n: n for n in named}, END: END}, place))
    else:
        graph.edges += [StaticEdge(START, n, place) for n in list(named)[:1]]
        for name in named:
            graph.branches.append(Branch(name, asks, {**{n: n for n in named if n != name}, END: END}, place))
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def _agent_name(agent: Value, index: int) -> str:
    if isinstance(agent.thing, GraphValue) and agent.thing.graph.aliases:
        return sorted(agent.thing.graph.aliases)[0]
    return f"agent{index + 1}"


def handoff(name: Value | None) -> Value:
    """A tool that hands over to another agent."""
    target = name or const("?")
    return Value(Tool("handoff", Value(Command(target, None, to_parent=True))))
