"""Frameworks beside LangGraph: their agents, teams of agents, and the graphs that are classes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import pairwise

from groundwire_audit._report import SourcePlace
from groundwire_audit.reading._asked_again import refine, task
from groundwire_audit.reading._chats import maker_of
from groundwire_audit.reading._class_graphs import framework_of, made_of
from groundwire_audit.reading._conditions import Taint, TaintKind
from groundwire_audit.reading._crew_flows import Flow
from groundwire_audit.reading._frames import Arguments, Effect, Frame
from groundwire_audit.reading._graph import (
    END,
    START,
    DeclaredBranch,
    DeclaredEdge,
    DeclaredGraph,
    DeclaredNode,
    GraphValue,
)
from groundwire_audit.reading._graph_methods import run_graph, with_tools
from groundwire_audit.reading._haystack import MAKERS as PIPELINES
from groundwire_audit.reading._langgraph_calls import tool_list, why_hidden
from groundwire_audit.reading._llama_workflows import Workflow
from groundwire_audit.reading._pydantic_graphs import declare_nodes
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._values import (
    ClassValue,
    Const,
    FunctionValue,
    Instance,
    Items,
    ModelValue,
    ToolNodeValue,
    ToolValue,
    Value,
    data,
    external,
)

# Graphs that are classes.


def declare_class(reader: Reader, cls: ClassValue) -> DeclaredGraph | None:
    """The graph that a class is, declared once; None for any other class."""
    known = made_of(reader, cls)
    if known is not None:
        return known
    match framework_of(cls):
        case "flow":
            graph = Flow(reader, cls).declare()
        case "workflow":
            graph = Workflow(reader, cls).declare()
        case _:
            return None
    reader.graphs.append(graph)
    return graph


# Ready-made agents: a model and its tools.

Maker = Callable[[Reader, str, Arguments, ast.AST, Frame], Value]


def _agent(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`Agent(tools=[…], handoffs=[…])`."""
    place = frame.module.place(node)
    graph = DeclaredGraph(frame.name, place, kind="agent", compiled=True, ends="limit of turns only")
    graph.appends.add("messages")
    model = given.get(-1, "model", "llm")
    label = model.thing.label if model is not None and isinstance(model.thing, ModelValue) else "model"
    graph.nodes["agent"] = DeclaredNode("agent", Value(ModelValue(label)), place)
    graph.edges += [DeclaredEdge(START, "agent", place), DeclaredEdge("agent", END, place)]
    tools = given.get(-1, "tools", "function_tools")
    if tools is None and path.endswith(("from_tools", "from_tools_or_functions")):
        tools = given.get(0, "tools_or_functions")
    known = tool_list(tools)
    unseen = tuple(Value(ToolValue(n, None)) for n in HIDDEN_TOOLS if _is_there(given.named.get(n)))
    provided = given.named.get("builtin_tools")
    own = tool_list(provided) if provided is not None else ()
    own_tool = COMES_WITH.get(path.rsplit(".", 1)[-1])
    if own_tool is not None:
        unseen = (*unseen, Value(ToolValue(own_tool[0], external(own_tool[1]))))
    if known is None:
        with_tools(graph, ToolNodeValue(None, why_hidden(tools)), place)
    elif known or unseen or own:
        with_tools(graph, ToolNodeValue((*known, *(own or ()), *unseen)), place)
    handoffs = given.named.get("handoffs") or given.named.get("can_handoff_to")
    graph.structured = any(_is_there(given.named.get(n)) for n in ("output_type", "result_type", "response_format"))
    graph.handoffs = handoffs.thing if handoffs is not None and isinstance(handoffs.thing, Items) else Items("list")
    own_name = given.named.get("name")
    graph.called = str(own_name.thing.value) if own_name is not None and isinstance(own_name.thing, Const) else ""
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


COMES_WITH = {
    "SandboxAgent": ("sandbox", "agents.LocalShellTool()"),
    "CodeAgent": ("the code that it writes", "smolagents.local_python_executor"),
    "CodeActAgent": ("the code that it writes", "smolagents.local_python_executor"),
}
"""Agents that come with a tool of their own → its name, and what it is."""
HIDDEN_TOOLS = ("mcp_servers", "mcps", "toolsets")


def _is_there(value: Value | None) -> bool:
    match value.thing if value is not None else Const(None):
        case Const(value=None):
            return False
        case Items(items=[], rest=None):
            return False
        case _:
            return True


def _run(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`Runner.run(agent, …)`."""
    agent = given.get(0, "starting_agent", "agent")
    if agent is not None and isinstance(agent.thing, GraphValue):
        return run_graph(reader, agent.thing.graph, node, frame)
    frame.add(Effect(TaintKind.MODEL, "", "agent", frame.module.place(node)))
    if agent is None or agent.taints:
        frame.add(Effect(TaintKind.UNKNOWN, "what tools the agent has is not in sight", path, frame.module.place(node)))
    return data(frozenset({Taint(TaintKind.MODEL, "text", "agent")}))


def _handed(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`handoff(agent)`: the agent."""
    return given.get(0, "agent") or data()


def _function_tool(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A function as a tool: `Tool(f)`, `FunctionTool(on_invoke_tool=f)`, `FunctionTool.from_defaults(fn=f)`."""
    action = given.get(-1, "fn", "async_fn", "function", "on_invoke_tool") or given.get(0)
    name = given.named.get("name")
    shown = name.thing.value if name is not None and isinstance(name.thing, Const) else ""
    label = str(
        shown or (action.thing.name if action is not None and isinstance(action.thing, FunctionValue) else "tool")
    )
    return Value(ToolValue(label, action))


def _crew(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`Crew(agents=[…])`: the agents, one after another; of a `@CrewBase` class those of its `@agent` methods."""
    place = frame.module.place(node)
    graph = DeclaredGraph(frame.name, place, kind="crew", compiled=True)
    agents = given.get(-1, "agents")
    if agents is not None and isinstance(agents.thing, Items):
        members = list(agents.thing.items)
    else:
        members = _of_crew_base(reader, node, frame)
    for i, member in enumerate(members):
        graph.nodes[f"agent{i + 1}"] = DeclaredNode(f"agent{i + 1}", member, place)
    if not members:
        graph.nodes["agents"] = DeclaredNode("agents", Value(ModelValue("crew")), place)
    names = [START, *graph.nodes, END]
    graph.edges = [DeclaredEdge(a, b, place) for a, b in pairwise(names)]
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


def _of_crew_base(reader: Reader, node: ast.AST, frame: Frame) -> list[Value]:
    holder = frame.scope.get("self")
    if holder is None or not isinstance(holder.thing, Instance):
        return []
    found: list[Value] = []
    for name, member in holder.thing.of.members.items():
        if isinstance(member.thing, FunctionValue) and _is_agent_method(member.thing):
            found.append(reader.call(reader.attribute(holder, name, frame), Arguments(), node, frame))
    return [f for f in found if isinstance(f.thing, GraphValue)]


def _is_agent_method(method: FunctionValue) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "agent" for d in getattr(method.node, "decorator_list", []))


def _graph(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return declare_nodes(reader, given, frame.module.place(node), frame)


def _workflow_of_agents(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`AgentWorkflow(agents=[…])`."""
    agents = given.get(0, "agents")
    held = agents.thing.items if agents is not None and isinstance(agents.thing, Items) else []
    members = [a.thing.graph for a in held if isinstance(a.thing, GraphValue)]
    graph = team(members, frame.name, frame.module.place(node), by_default=True)
    reader.graphs.append(graph)
    return Value(GraphValue(graph))


MAKERS: dict[str, dict[str, Maker]] = {
    "agents": {
        "Agent": _agent,
        "SandboxAgent": _agent,
        "run": _run,
        "run_sync": _run,
        "run_streamed": _run,
        "handoff": _handed,
        "FunctionTool": _function_tool,
        "function_tool": _function_tool,
    },
    "pydantic_ai": {"Agent": _agent, "Tool": _function_tool},
    "pydantic_graph": {"Graph": _graph},
    "smolagents": {"ToolCallingAgent": _agent, "CodeAgent": _agent, "tool": _function_tool},
    "autogen_core": {"FunctionTool": _function_tool},
    "haystack": {**PIPELINES, "Agent": _agent, "create_tool_from_function": _function_tool},
    "crewai": {"Agent": _agent, "LiteAgent": _agent, "Crew": _crew, "Task": task},
    "dspy": {"Refine": refine, "BestOfN": refine},
    "llama_index": {
        "FunctionAgent": _agent,
        "ReActAgent": _agent,
        "CodeActAgent": _agent,
        "OpenAIAgent": _agent,
        "from_tools": _agent,
        "from_tools_or_functions": _agent,
        "AgentWorkflow": _workflow_of_agents,
        "FunctionTool": _function_tool,
        "from_defaults": _function_tool,
    },
}
"""package → last name of what is called."""


def call_framework(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value | None:
    """The value of a call that makes or runs an agent of one of these frameworks, or None."""
    if "()" in path:
        return None
    parts = path.removeprefix("missing:").split(".")
    maker = MAKERS.get(parts[0], {}).get(parts[-1]) or maker_of(parts[0], parts[-1])
    if maker is None or len(parts) == 1:
        return None
    if maker is _run and "Runner" not in parts:
        return None
    if maker is _function_tool and parts[-1] == "from_defaults" and "FunctionTool" not in parts:
        return None
    return maker(reader, path, given, node, frame)


# Agents that hand over to one another.


def team(members: list[DeclaredGraph], name: str, place: SourcePlace, *, by_default: bool = False) -> DeclaredGraph:
    """Agents that can hand over to one another.

    Args:
        members: the agents.
        name: of the team.
        place: where it is made.
        by_default: one that names no others can hand over to all of them.
    """
    graph = DeclaredGraph(name, place, compiled=True, ends="limit of turns only")
    graph.appends.add("messages")
    names = {id(m): m.called or _own_name(m) for m in members}
    chooses = Value(ModelValue("model"))
    for member in members:
        graph.nodes[names[id(member)]] = DeclaredNode(names[id(member)], Value(GraphValue(member)), member.place)
    for member in members:
        own = names[id(member)]
        targets = [names[id(t)] for t in handed_to(member, members)]
        if not targets and by_default and not (member.handoffs and member.handoffs.items):
            targets = [n for n in graph.nodes if n != own]
        if targets:
            graph.branches.append(DeclaredBranch(own, chooses, {**{t: t for t in targets}, END: END}, member.place))
        else:
            graph.edges.append(DeclaredEdge(own, END, member.place))
    return graph


def handed_to(agent: DeclaredGraph, others: list[DeclaredGraph]) -> list[DeclaredGraph]:
    """Those of the others that an agent can hand over to: named, or as objects."""
    found: list[DeclaredGraph] = []
    for value in agent.handoffs.items if agent.handoffs is not None else []:
        match value.thing:
            case GraphValue(graph=graph) if any(graph is o for o in others):
                found.append(graph)
            case Const(value=str(name)):
                found += [o for o in others if o.called == name]
            case _:
                continue
    return found


def _own_name(graph: DeclaredGraph) -> str:
    return min(graph.aliases, default=graph.name or "agent")


def circles_of_agents(graphs: list[DeclaredGraph]) -> list[DeclaredGraph]:
    """Teams of agents that can hand over to one another and back, where nothing in sight puts them together."""
    agents = [g for g in graphs if g.kind == "agent" and g.handoffs is not None and g.handoffs.items]
    every = [g for g in graphs if g.kind == "agent"]
    reach = {id(a): _reached(a, every) for a in agents}
    found: list[DeclaredGraph] = []
    done: set[int] = set()
    for agent in agents:
        if id(agent) in done:
            continue
        circle = [o for o in every if id(o) in reach[id(agent)] and id(agent) in reach.get(id(o), set())]
        done |= {id(o) for o in circle}
        if circle and not any({id(o) for o in circle} <= _members(g) for g in graphs):
            for one in circle:
                one.called = _own_name(one)
            found.append(team(circle, " + ".join(o.called for o in circle[:3]), circle[0].place))
    return found


def _members(graph: DeclaredGraph) -> set[int]:
    return {id(n.action.thing.graph) for n in graph.nodes.values() if isinstance(n.action.thing, GraphValue)}


def _reached(agent: DeclaredGraph, others: list[DeclaredGraph]) -> set[int]:
    seen: set[int] = set()
    pending = [agent]
    while pending:
        for target in handed_to(pending.pop(), others):
            if id(target) not in seen:
                seen.add(id(target))
                pending.append(target)
    return seen
