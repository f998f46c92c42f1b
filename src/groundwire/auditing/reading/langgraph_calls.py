"""Calls of LangGraph and LangChain that mean something to an audit, whatever module they are imported from."""

from __future__ import annotations

import ast
from collections.abc import Callable

from groundwire.auditing.conditions import Test, negate, when
from groundwire.auditing.knowledge.lookup import FAMILIES
from groundwire.auditing.reading.arguments import Arguments
from groundwire.auditing.reading.builders import (
    AGENTS,
    BUILDERS,
    make_agent,
    make_graph,
    make_team,
    tool_list,
    why_hidden,
)
from groundwire.auditing.reading.containers import concatenated
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.merging import merge
from groundwire.auditing.reading.reader_protocol import Reader
from groundwire.auditing.taints import Kind, Taint
from groundwire.auditing.values import (
    Chain,
    Command,
    Const,
    Function,
    Instance,
    Items,
    Model,
    Send,
    Table,
    Tool,
    ToolNode,
    Value,
    const,
    data,
    external,
)

__all__ = ["call_langgraph"]

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
    return Value(ToolNode(known, "" if known is not None else why_hidden(tools)))


def _tools_condition(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """Called inside a router: tools if the model asked for one, else the end."""
    asks = when(Test(frozenset({Taint(Kind.ASK)}), text="the model asks for a tool"))
    return merge([(const("tools"), asks), (const("__end__"), negate(asks))])


def _command(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    graph = given.named.get("graph")
    to_parent = graph is not None and not (isinstance(graph.thing, Const) and graph.thing.value is None)
    return Value(Command(given.named.get("goto"), given.named.get("update"), to_parent))


def _send(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return Value(Send(given.get(0, "node") or data()))


def _lambda(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return given.get(0, "func", "afunc") or data()


def _parallel(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    first = given.positional[0].thing if given.positional else None
    entries = dict(first.entries) if isinstance(first, Table) else {}
    return Value(Table({**entries, **given.named}))


def _sequence(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return Value(Chain(tuple(given.positional)))


def _tool(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`tool(f)`, `StructuredTool.from_function(f)`, `Tool(name=…, func=f)`."""
    action = given.named.get("func") or given.named.get("coroutine")
    for value in given.positional:
        if isinstance(value.thing, Function | Instance) or (action is None and not isinstance(value.thing, Const)):
            action = value
    label = given.named.get("name") or next((v for v in given.positional if isinstance(v.thing, Const)), None)
    fallback = action.thing.name if action is not None and isinstance(action.thing, Function) else "tool"
    shown = label.thing.value if label is not None and isinstance(label.thing, Const) else fallback
    return Value(Tool(str(shown), action))


def _retriever_tool(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    label = given.get(1, "name")
    shown = label.thing.value if label is not None and isinstance(label.thing, Const) else "retriever"
    return Value(Tool(str(shown), external("langchain.tools.retriever.Retriever()")))


def _agent_runnable(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A model that answers with the next action, and runs nothing itself."""
    model = given.get(0, "llm", "model")
    return Value(Model(model.thing.label if model is not None and isinstance(model.thing, Model) else "agent"))


def _add_messages(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    left, right = given.get(0, "left") or data(), given.get(1, "right") or data()
    if isinstance(left.thing, Items) or isinstance(right.thing, Items):
        return concatenated(left, right)
    return data(left.taints, right.taints)


def _interrupt(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    frame.add(Effect(Kind.HUMAN, "", "interrupt()", frame.module.place(node)))
    return data(frozenset({Taint(Kind.HUMAN, what="interrupt()")}))


def _remote(reader: Reader, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return external("remote.Graph()", frozenset({Taint(Kind.UNKNOWN, "what a remote graph does is not in sight")}))


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
}
