"""Calls of LangGraph and LangChain that mean something to an audit, whatever module they are imported from."""

from __future__ import annotations

import ast
from collections.abc import Callable

from groundwire_audit._report import Finding, Level, SourcePlace
from groundwire_audit.reading._conditions import Taint, TaintKind, Test, negate, when
from groundwire_audit.reading._frames import Arguments, Effect, Frame, merge
from groundwire_audit.reading._graph import (
    END,
    START,
    DeclaredBranch,
    DeclaredEdge,
    DeclaredGraph,
    DeclaredNode,
    GraphValue,
)
from groundwire_audit.reading._knowledge import FAMILIES, words
from groundwire_audit.reading._members import bases, concatenated
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    ChainValue,
    ClassValue,
    CommandValue,
    Const,
    External,
    FunctionValue,
    Instance,
    Items,
    ModelValue,
    SendValue,
    Table,
    ToolNodeValue,
    ToolValue,
    Value,
    const,
    data,
    external,
)

# Makes graphs out of the calls that declare them.

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


def make_graph(reader: Reader, given: Arguments, kind: str, place: SourcePlace, frame: Frame) -> Value:
    """`StateGraph(…)` and its older relatives."""
    graph = DeclaredGraph(frame.name, place, kind="message" if kind == "MessageGraph" else "state")
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


def read_schema(schema: Value, graph: DeclaredGraph) -> None:
    """Keys of the state, and which of them are added to."""
    graph.schema_value = schema
    match schema.thing:
        case ClassValue():
            _read_class(schema.thing, graph)
        case External(path=path) if path.rsplit(".", 1)[-1] in MESSAGES_STATES:
            graph.appends.add("messages")
        case Table(entries=entries):
            for name in entries:
                graph.schema.setdefault(str(name), ast.Constant(None))
        case _:
            pass


def _read_class(cls: ClassValue, graph: DeclaredGraph) -> None:
    for base in reversed(bases(cls)):
        if isinstance(base.thing, ClassValue):
            _annotations(base.thing, graph)
        elif isinstance(base.thing, External) and base.thing.path.rsplit(".", 1)[-1] in MESSAGES_STATES:
            graph.appends.add("messages")
    _annotations(cls, graph)


def _annotations(cls: ClassValue, graph: DeclaredGraph) -> None:
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


def functional(reader: Reader, made: Value, place: SourcePlace) -> Value:
    """`@entrypoint`: a graph whose loops are in its source."""
    function = made.thing
    name = function.name if isinstance(function, FunctionValue) else "entrypoint"
    graph = DeclaredGraph(name, place, kind="functional", body=made, compiled=True)
    graph.aliases.add(name)
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


GIVES_TOOLS = (".get_tools()", ".load_mcp_tools()")
"""What a library's tools come from: a toolkit, a server."""


def tool_list(value: Value | None) -> tuple[Value, ...] | None:
    """The tools of a list, or None where they are not all known."""
    if value is None:
        return ()
    match value.thing:
        case Items(items=held, rest=rest):
            return (*held, *([rest] if rest is not None else []))
        case ToolNodeValue(tools=tools):
            return tools
        case Const(value=None):
            return ()
        case External(path=path) if path.endswith(GIVES_TOOLS):
            given_by = path.removesuffix(".get_tools()").removesuffix(".load_mcp_tools()").removesuffix("()")
            return (external(given_by, value.taints),)
        case _:
            return None


def make_agent(reader: Reader, path: str, given: Arguments, place: SourcePlace, frame: Frame) -> Value:
    """A ready-made agent: a model and its tools, which go on only through a tool."""
    maker = path.rsplit(".", 1)[-1]
    first = "model" if "create_agent" in path and maker == "create_agent" else "agent"
    graph = DeclaredGraph(frame.name, place, kind="agent", compiled=True)
    graph.appends.add("messages")
    own = given.named.get("name")
    if own is not None and isinstance(own.thing, Const) and isinstance(own.thing.value, str):
        graph.aliases.add(own.thing.value)
        graph.called = own.thing.value
    model = given.get(0, "model", "llm", "agent")
    label = model.thing.label if model is not None and isinstance(model.thing, ModelValue) else "model"
    graph.nodes[first] = DeclaredNode(first, Value(ModelValue(label)), place)
    tools = given.get(1, "tools", "toolkit")
    known = tool_list(tools)
    if maker in WITH_OWN_TOOLS:
        known = (Value(ToolValue(WITH_OWN_TOOLS[maker], external(f"langchain_community.{maker}.SQLDatabase.run"))),)
    why = "" if known is not None else why_hidden(tools)
    if maker == "create_deep_agent" and known is not None:
        known = (*known, *_of_deep_agent(given))
    if known is None or known:
        allowed = _allowed_by_person(given)
        names = {_tool_name(t) for t in known or ()}
        gate = _gate(given, "tools") or "*" in allowed or (bool(names) and names <= allowed)
        graph.nodes["tools"] = DeclaredNode(
            "tools", Value(ToolNodeValue(known, why, allowed=allowed)), place, human_gate=gate
        )
        graph.branches.append(
            DeclaredBranch(first, external("langgraph.prebuilt.tools_condition"), {"tools": "tools", END: END}, place)
        )
        graph.edges.append(DeclaredEdge("tools", first, place))
    else:
        graph.edges.append(DeclaredEdge(first, END, place))
    graph.edges.append(DeclaredEdge(START, first, place))
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def _of_deep_agent(given: Arguments) -> tuple[Value, ...]:
    """What a deep agent has beside its tools: the files of a backend, and agents that work for it."""
    found: list[Value] = []
    backend = given.named.get("backend")
    if backend is not None and backend.thing != Const(None):
        found.append(Value(ToolValue("files", external("deepagents.backends.FilesystemBackend.read"))))
    below = given.named.get("subagents")
    match below.thing if below is not None else Const(None):
        case Const(value=None):
            pass
        case Items(items=held, rest=None):
            specs = [h.thing.entries.get("tools") for h in held if isinstance(h.thing, Table)]
            found += [t for s in specs if s is not None for t in tool_list(s) or ()]
        case _:
            found.append(Value(ToolValue("task", None)))
    return tuple(found)


def _tool_name(tool: Value) -> str:
    match tool.thing:
        case ToolValue(label=label):
            return label
        case FunctionValue(name=name):
            return name
        case _:
            return "?"


def _allowed_by_person(given: Arguments) -> frozenset[str]:
    """Tools that a person has to allow: `HumanInTheLoopMiddleware(interrupt_on={…})`, or `interrupt_on={…}` itself."""
    middleware = given.named.get("middleware")
    held = middleware.thing.items if middleware is not None and isinstance(middleware.thing, Items) else []
    asked = [t.thing.action for t in held if isinstance(t.thing, ToolValue) and t.thing.label == PERSON]
    found: set[str] = set()
    for value in (*asked, given.named.get("interrupt_on")):
        if value is not None and isinstance(value.thing, Table):
            entries = value.thing.entries.items()
            found |= {str(k) for k, v in entries if not (isinstance(v.thing, Const) and not v.thing.value)}
    return frozenset(found)


PERSON = "HumanInTheLoopMiddleware"


def _person(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return Value(ToolValue(PERSON, given.get(0, "interrupt_on")))


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


def make_team(reader: Reader, maker: str, given: Arguments, place: SourcePlace, frame: Frame) -> Value:
    """A ready-made supervisor or swarm over several agents."""
    graph = DeclaredGraph(frame.name, place)
    graph.appends.add("messages")
    agents = given.get(0, "agents")
    members = agents.thing.items if agents is not None and isinstance(agents.thing, Items) else []
    named = {_agent_name(m, i): m for i, m in enumerate(members)}
    for name, agent in named.items():
        graph.nodes[name] = DeclaredNode(name, agent, place)
    asks = Value(ModelValue("model"))
    if maker == "create_supervisor":
        own = given.named.get("supervisor_name")
        leader = str(own.thing.value) if own is not None and isinstance(own.thing, Const) else "supervisor"
        graph.nodes[leader] = DeclaredNode(leader, _leader(reader, given, place, frame), place)
        graph.edges += [DeclaredEdge(START, leader, place), *(DeclaredEdge(n, leader, place) for n in named)]
        graph.branches.append(DeclaredBranch(leader, asks, {**{n: n for n in named}, END: END}, place))
    else:
        graph.edges += [DeclaredEdge(START, n, place) for n in list(named)[:1]]
        for name, agent in named.items():
            if not _hands_over(agent):
                # which tools it has is out of sight, and so whom it can hand over to
                others: dict[object, str] = {**{n: n for n in named if n != name}, END: END}
                graph.branches.append(DeclaredBranch(name, asks, others, place))
            else:
                graph.edges.append(DeclaredEdge(name, END, place))
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def _leader(reader: Reader, given: Arguments, place: SourcePlace, frame: Frame) -> Value:
    """The supervisor: a model, or an agent where it has tools of its own beside those that hand over."""
    tools = given.named.get("tools")
    held = tool_list(tools)
    own = [t for t in held if not (isinstance(t.thing, ToolValue) and t.thing.label == "handoff")] if held else held
    if tools is None or own == []:
        return Value(ModelValue("model"))
    return make_agent(reader, "langgraph.prebuilt.create_react_agent", Arguments([], {"tools": tools}), place, frame)


def _hands_over(agent: Value) -> bool:
    """All tools of an agent are in sight, so that those which hand over are its only ways to others."""
    if not isinstance(agent.thing, GraphValue) or agent.thing.graph.kind != "agent":
        return False
    node = agent.thing.graph.nodes.get("tools")
    return node is None or (isinstance(node.action.thing, ToolNodeValue) and node.action.thing.tools is not None)


def _agent_name(agent: Value, index: int) -> str:
    if isinstance(agent.thing, GraphValue):
        graph = agent.thing.graph
        if graph.called:
            return graph.called
        if graph.aliases:
            return sorted(graph.aliases)[0]
    return f"agent{index + 1}"


def handoff(name: Value | None) -> Value:
    """A tool that hands over to another agent."""
    target = name or const("?")
    return Value(ToolValue("handoff", Value(CommandValue(target, None, to_parent=True))))


Maker = Callable[["Reader", Arguments, ast.AST, Frame], Value]


def call_langgraph(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value | None:
    """The value of a call that is known by name, or None."""
    name = path.rsplit(".", 1)[-1]
    if not FAMILIES.match(path) and not path.startswith(("deepagents", "missing:langgraph")):
        return None
    if path.startswith("langgraph") and name in BUILDERS:
        return make_graph(reader, given, name, frame.module.place(node), frame)
    if name in AGENTS:
        return make_agent(reader, path, given, frame.module.place(node), frame)
    if name in {"create_supervisor", "create_swarm"}:
        return make_team(reader, name, given, frame.module.place(node), frame)
    maker = MAKERS.get(name)
    return maker(reader, given, node, frame) if maker is not None else None


def _tool_node(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    tools = given.get(0, "tools")
    known = tool_list(tools)
    name = given.named.get("name")
    own = name.thing.value if name is not None and isinstance(name.thing, Const) else "tools"
    return Value(ToolNodeValue(known, "" if known is not None else why_hidden(tools), str(own)))


def _tools_condition(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Called inside a router: tools if the model asked for one, else the end."""
    asks = when(Test(frozenset({Taint(TaintKind.ASK)}), text="the model asks for a tool"))
    return merge([(const("tools"), asks), (const("__end__"), negate(asks))])


def _command(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    graph = given.named.get("graph")
    to_parent = graph is not None and not (isinstance(graph.thing, Const) and graph.thing.value is None)
    return Value(CommandValue(given.named.get("goto"), given.named.get("update"), to_parent))


def _send(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return Value(SendValue(given.get(0, "node") or data()))


def _lambda(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return given.get(0, "func", "afunc") or data()


def _parallel(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    first = given.positional[0].thing if given.positional else None
    entries = dict(first.entries) if isinstance(first, Table) else {}
    return Value(Table({**entries, **given.named}))


def _sequence(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return Value(ChainValue(tuple(given.positional)))


def _tool(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`tool(f)`, `StructuredTool.from_function(f)`, `Tool(name=…, func=f)`."""
    action = given.get(-1, "func", "coroutine", "function")
    for value in given.positional:
        if isinstance(value.thing, FunctionValue | Instance) or (action is None and not isinstance(value.thing, Const)):
            action = value
    label = given.named.get("name") or next((v for v in given.positional if isinstance(v.thing, Const)), None)
    fallback = action.thing.name if action is not None and isinstance(action.thing, FunctionValue) else "tool"
    shown = label.thing.value if label is not None and isinstance(label.thing, Const) else fallback
    return Value(ToolValue(str(shown), action))


def _retriever_tool(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    label = given.get(1, "name")
    shown = label.thing.value if label is not None and isinstance(label.thing, Const) else "retriever"
    return Value(ToolValue(str(shown), external("langchain.tools.retriever.Retriever()")))


def _agent_runnable(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A model that answers with the next action, and runs nothing itself."""
    model = given.get(0, "llm", "model")
    return Value(
        ModelValue(model.thing.label if model is not None and isinstance(model.thing, ModelValue) else "agent")
    )


def _add_messages(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    left, right = given.get(0, "left") or data(), given.get(1, "right") or data()
    if isinstance(left.thing, Items) or isinstance(right.thing, Items):
        return concatenated(left, right)
    return data(left.taints, right.taints)


def _interrupt(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    frame.add(Effect(TaintKind.HUMAN, "", "interrupt()", frame.module.place(node)))
    return data(frozenset({Taint(TaintKind.HUMAN, what="interrupt()")}))


def _remote(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return external("remote.Graph()", frozenset({Taint(TaintKind.UNKNOWN, "what a remote graph does is not in sight")}))


def _passthrough(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return given.positional[0] if given.positional else external("langchain_core.runnables.RunnablePassthrough()")


MAKERS: dict[str, Maker] = {
    "ToolNode": _tool_node,
    "ToolExecutor": _tool_node,
    "tools_condition": _tools_condition,
    "Command": _command,
    "Send": _send,
    "RunnableLambda": _lambda,
    "RunnableCallable": _lambda,
    "chain": _lambda,
    "task": _lambda,
    "RunnableParallel": _parallel,
    "RunnableSequence": _sequence,
    "RunnablePassthrough": _passthrough,
    "tool": _tool,
    "Tool": _tool,
    "StructuredTool": _tool,
    "from_function": _tool,
    "create_retriever_tool": _retriever_tool,
    "create_openai_functions_agent": _agent_runnable,
    "create_openai_tools_agent": _agent_runnable,
    "create_tool_calling_agent": _agent_runnable,
    "create_structured_chat_agent": _agent_runnable,
    "create_xml_agent": _agent_runnable,
    "add_messages": _add_messages,
    "interrupt": _interrupt,
    "RemoteGraph": _remote,
    "HumanInTheLoopMiddleware": _person,
}
