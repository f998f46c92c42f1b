"""Chats of two, group chats and teams of AutoGen, AG2 and Semantic Kernel.

A chat is a graph whose nodes are the speakers, each leading to the next one. What ends it is the test on the way back
to the first. Where a model chooses who speaks, the order is only one of many, and its choice is on that way too.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from groundwire_audit._report import SourcePlace
from groundwire_audit.reading._conditions import ALWAYS, Formula, Taint, TaintKind, Taints, Test, all_of, negate, when
from groundwire_audit.reading._endings import (
    CONDITIONS,
    Ending,
    Maker,
    ending_of,
    number_of,
    stopped_by,
)
from groundwire_audit.reading._frames import Arguments, Frame, deep, text_of, truth
from groundwire_audit.reading._graph import (
    END,
    START,
    DeclaredBranch,
    DeclaredEdge,
    DeclaredGraph,
    DeclaredNode,
    GraphValue,
)
from groundwire_audit.reading._graph_methods import run_graph
from groundwire_audit.reading._knowledge import words
from groundwire_audit.reading._langgraph_calls import tool_list, why_hidden
from groundwire_audit.reading._members import line_of
from groundwire_audit.reading._reader import Reader
from groundwire_audit.reading._speakers import PRINTED, SAID, Speaker, SpeakerValue, speaker_of, speakers_of
from groundwire_audit.reading._values import (
    NONE,
    Bound,
    Const,
    FunctionValue,
    Handle,
    Instance,
    Items,
    Partial,
    Scope,
    Table,
    Value,
    data,
    external,
)

PACKAGES = words("autogen ag2 autogen_agentchat autogen_ext autogen_core semantic_kernel")
ASK: Taints = frozenset({Taint(TaintKind.ASK)})
IN_TURN, BY_CODE, BY_MODEL = "in turn", "by a function", "by a model"


def declare_chat(
    reader: Reader, speakers: Sequence[Speaker], ending: Ending, place: SourcePlace, frame: Frame, order: str = IN_TURN
) -> DeclaredGraph:
    """A chat as a graph.

    Args:
        reader: follows what speakers call.
        speakers: in turn, the first who replies first.
        ending: what it goes on by.
        place: where it is made.
        frame: the function that makes it.
        order: how the next speaker is chosen.
    """
    graph = DeclaredGraph(frame.name, place, kind="chat", compiled=True, ends="no cap")
    for speaker in speakers:
        name = speaker.name if speaker.name not in graph.nodes else f"{speaker.name} {len(graph.nodes) + 1}"
        graph.nodes[name] = DeclaredNode(name, _turn(speaker, order), speaker.place)
    names = list(graph.nodes)
    graph.edges += [DeclaredEdge(START, n, place) for n in names[:1]]
    opens = _opens(names, speakers, ending, order)
    for at, name in enumerate(names):
        following = names[(at + 1) % len(names)]
        if at + 1 == len(names) and ending.limit is not None and ending.limit <= len(names):
            graph.edges.append(DeclaredEdge(name, END, place))  # it is over before anybody speaks twice
        elif name in opens and opens[name] != ALWAYS:
            ways = {following: opens[name], END: negate(opens[name])}
            graph.branches.append(DeclaredBranch(name, NONE, {n: n for n in ways}, place, opens=ways))
        else:
            graph.edges.append(DeclaredEdge(name, following, place))
    reader.graphs.append(graph)
    return graph


def _turn(speaker: Speaker, order: str) -> Value:
    def speak(name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
        return speaker.speak(frame, node, surely=order == IN_TURN)

    return Value(Handle({}, speak))


def _opens(names: Sequence[str], speakers: Sequence[Speaker], ending: Ending, order: str) -> dict[str, Formula]:
    """What must hold for a chat to go on after one of its speakers."""
    if not names:
        return {}
    if order == BY_MODEL:
        chosen = when(Test(SAID, text="a model chooses who speaks", constant=True))
        return {names[-1]: all_of([*ending.again(), chosen])}
    at = _only_talker(speakers)
    turns = Ending(limit=ending.limit, counted=ending.counted).again()
    if at is not None and any(s.executes for s in speakers):
        # one who writes code, and one who runs it: what comes back is what the code did
        return {names[-1]: all_of([*turns, when(Test(PRINTED, text="what the code did"))])}
    if at is not None and (ending.by_tools if len(speakers) == 1 else speakers[1 - at].tools and len(speakers) == 2):
        return {names[at]: all_of([*turns, when(Test(ASK, text=f"{names[at]} asks for a tool"))])}
    return {names[-1]: all_of(ending.again())}


def _only_talker(speakers: Sequence[Speaker]) -> int | None:
    """The place of the only one behind whose words a model is; None where there are more, or none."""
    talking = [i for i, s in enumerate(speakers) if s.talks]
    return talking[0] if len(talking) == 1 else None


def _chat_of_two(sender: Speaker, recipient: Speaker, turns: Value | None, node: ast.AST, frame: Frame) -> Value:
    """`a.initiate_chat(b, max_turns=…)`: b replies, then a, and so on."""
    if recipient.team is not None:
        return run_graph(sender.reader, recipient.team, node, frame)
    ending = Ending()
    number = number_of(turns)
    ending.count(turns if number is None else Value(Const(2 * number if number > 1 else 1)))
    for replies in (s.replies for s in (sender, recipient) if s.replies is not None):
        ending.count(Value(Const(2 * replies + 1)))
    ending.tests += stopped_by(sender, recipient, frame)
    if not ending.tests and not ending.counted:
        # a message that is no more than this word ends each of these chats
        ending.tests.append(when(Test(SAID, text="TERMINATE", constant=True), holds=False))
    graph = declare_chat(sender.reader, [recipient, sender], ending, frame.module.place(node), frame)
    graph.name = f"{sender.name} and {recipient.name}"
    return run_graph(sender.reader, graph, node, frame)


def _queue(sender: Speaker | None, reader: Reader, queue: Value | None, place: SourcePlace) -> list[_Queued]:
    held = queue.thing.items if queue is not None and isinstance(queue.thing, Items) else []
    entries = [h.thing.entries for h in held if isinstance(h.thing, Table)]
    return [
        (
            sender or speaker_of(reader, e.get("sender"), place),
            speaker_of(reader, e.get("recipient"), place),
            e.get("max_turns"),
        )
        for e in entries
    ]


_Queued = tuple[Speaker, Speaker, Value | None]
"""A chat of a list of dicts: who with whom, and how many turns."""


# Agents.


def _value(speaker: Speaker) -> Value:
    """An agent, with its methods."""

    def method(name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
        place = frame.module.place(node)
        match name.removeprefix("a_"):
            case "initiate_chat":
                recipient = speaker_of(speaker.reader, given.get(0, "recipient", "manager"), place)
                return _chat_of_two(speaker, recipient, given.named.get("max_turns"), node, frame)
            case "initiate_chats":
                for sender, recipient, turns in _queue(speaker, speaker.reader, given.get(0, "chat_queue"), place):
                    _chat_of_two(sender, recipient, turns, node, frame)
                return data(SAID)
            case "register_for_execution" | "register_for_llm":
                if not given.positional:
                    return Value(Partial(Value(Bound(made, name)), (), ()))
                if name == "register_for_execution":
                    speaker.tools.append(given.positional[0])
                return given.positional[0]
            case "register_function":
                speaker.tools += _functions_of(given.get(0, "function_map"))
            case "register_nested_chats":
                speaker.asks += [r for _, r, _ in _queue(speaker, speaker.reader, given.get(0, "chat_queue"), place)]
            case "register_reply":
                function = given.get(1, "reply_func")
                speaker.functions += [function] if function is not None and _is_function(function) else []
            case _ if name in SPEAKS:
                return speaker.speak(frame, node)
            case _:
                pass
        return data()

    made = Value(SpeakerValue({}, method, speaker))
    return made


SPEAKS = words("generate_reply a_generate_reply run run_stream on_messages on_messages_stream get_response invoke")


def _agent(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """An agent of AutoGen since 0.4, or of Semantic Kernel."""
    last = path.rsplit(".", 1)[-1]
    made = Speaker(reader, _name(given, last), frame.module.place(node))
    made.executes = last == "CodeExecutorAgent"
    made.person = "always" if last == "UserProxyAgent" else ""
    quiet = made.person or (made.executes and "model_client" not in given.named)
    made.model = "" if quiet else "model"
    inner = given.named.get("team")
    made.team = inner.thing.graph if inner is not None and isinstance(inner.thing, GraphValue) else None
    _give_tools(made, given, path)
    return _value(made)


def _conversable(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """An agent of AutoGen before 0.4, or of AG2."""
    last = path.rsplit(".", 1)[-1]
    proxy = last.endswith("UserProxyAgent")
    made = Speaker(reader, _name(given, last), frame.module.place(node))
    config, model = given.named.get("code_execution_config"), given.named.get("llm_config")
    may_differ = proxy and given.more is not None  # from what it is where nothing is said
    if may_differ if config is None else not _is_in_sight(config):
        made.unseen = "whether it runs code is not in sight"
    else:
        made.executes = _is_on(config) if config is not None else proxy
    made.model = "model" if (_is_on(model) if model is not None else not proxy and not made.executes) else ""
    mode = given.named.get("human_input_mode")
    held = mode.thing.value if mode is not None and isinstance(mode.thing, Const) else ""
    by_default = "ALWAYS" if proxy else "TERMINATE" if last == "ConversableAgent" else "NEVER"
    said = str(held) if mode is not None else "" if may_differ else by_default
    made.person = {"ALWAYS": "always", "NEVER": ""}.get(said, "sometimes")
    made.replies = number_of(given.named.get("max_consecutive_auto_reply"))
    stops = given.named.get("is_termination_msg")
    made.stops = [stops] if stops is not None and _is_function(stops) else []
    _give_tools(made, given, path)
    return _value(made)


def _name(given: Arguments, otherwise: str) -> str:
    named = given.get(0, "name")
    held = named.thing.value if named is not None and isinstance(named.thing, Const) else None
    return held if isinstance(held, str) and held else otherwise


def _is_on(value: Value) -> bool:
    return not (isinstance(value.thing, Const) and not value.thing.value)


def _is_in_sight(value: Value) -> bool:
    """False for a setting that is handed in, read from a file, or one of several."""
    return isinstance(value.thing, Const | Table)


def _is_function(value: Value) -> bool:
    return isinstance(value.thing, FunctionValue | Partial)


OUTSIDE = {"WebSurfer": "requests.get", "FileSurfer": "glob.glob", "RetrieveUserProxyAgent": "chromadb.query"}
"""Agents that come with a tool of their own → what it does."""


def _give_tools(made: Speaker, given: Arguments, path: str) -> None:
    for name in ("tools", "functions", "plugins"):
        listed = given.named.get(name)
        known = tool_list(listed)
        if known is None:
            made.hidden = why_hidden(listed)
        made.tools += [f for tool in known or () for f in _of_plugin(made.reader, tool)]
    made.tools += _functions_of(given.named.get("function_map"))
    if given.named.get("workbench") is not None:
        made.tools.append(external("mcp.tools"))
    made.tools += [external(does) for last, does in OUTSIDE.items() if path.endswith(last)]


def _of_plugin(reader: Reader, tool: Value) -> list[Value]:
    """The functions of a plugin: methods that are given to the model. Any other tool is one itself."""
    if not isinstance(tool.thing, Instance):
        return [tool]
    cls = tool.thing.of
    frame = Frame(cls.module, Scope(cls.scope), "", 1)
    members = {n: m.thing for c in reversed(line_of(cls)) for n, m in c.members.items()}
    given = [
        name
        for name, m in members.items()
        if isinstance(m, FunctionValue)
        and any("kernel_function" in text_of(d) for d in getattr(m.node, "decorator_list", []))
    ]
    return [reader.attribute(tool, name, frame) for name in given] or [tool]


def _functions_of(table: Value | None) -> list[Value]:
    return list(table.thing.entries.values()) if table is not None and isinstance(table.thing, Table) else []


def _register(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`register_function(f, caller=a, executor=b)`."""
    executor, function = given.get(2, "executor"), given.get(0, "f")
    if executor is not None and isinstance(executor.thing, SpeakerValue) and function is not None:
        executor.thing.speaker.tools.append(function)
    return function or data()


# Group chats and teams.


def _group_chat(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`GroupChat(agents=[…], max_round=10)` of AutoGen before 0.4."""
    place = frame.module.place(node)
    speakers = speakers_of(reader, given.get(0, "agents"), place)
    ending = Ending()
    ending.count(given.get(2, "max_round") or Value(Const(10)))
    ending.tests += [f for a in speakers for b in speakers[:1] for f in stopped_by(a, b, frame)][:1]
    method = given.named.get("speaker_selection_method") or Value(Const("auto"))
    by_model = method.thing == Const("auto") or not _is_told(method)
    order = BY_MODEL if by_model else BY_CODE if _is_function(method) else IN_TURN
    if method.thing == Const("manual"):
        speakers.append(Speaker(reader, "who chooses", place, person="always"))
    return Value(GraphValue(declare_chat(reader, speakers, ending, place, frame, order)))


def _is_told(value: Value) -> bool:
    return isinstance(value.thing, Const) or _is_function(value)


def _manager(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`GroupChatManager(groupchat=…)`."""
    group = given.get(0, "groupchat")
    made = Speaker(reader, _name(Arguments(named=given.named), "manager"), frame.module.place(node))
    made.team = group.thing.graph if group is not None and isinstance(group.thing, GraphValue) else None
    made.unseen = "" if made.team is not None else "the group chat of a manager is not in sight"
    return _value(made)


def _pattern(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`AutoPattern(agents=[…], user_agent=…)` and its like, of AG2."""
    place = frame.module.place(node)
    speakers = speakers_of(reader, given.named.get("agents"), place)
    user = given.named.get("user_agent")
    if user is not None and user.thing != Const(None):
        speakers.append(speaker_of(reader, user, place))
    order = IN_TURN if path.endswith("RoundRobinPattern") else BY_MODEL
    return Value(GraphValue(declare_chat(reader, speakers, Ending(), place, frame, order)))


def _start(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`initiate_group_chat(pattern=…)`, `initiate_swarm_chat(agents=[…])`, `initiate_chats([…])`."""
    place = frame.module.place(node)
    for sender, recipient, turns in _queue(None, reader, given.get(0, "chat_queue"), place):
        _chat_of_two(sender, recipient, turns, node, frame)
    pattern = given.get(0, "pattern")
    if pattern is not None and isinstance(pattern.thing, GraphValue):
        return run_graph(reader, pattern.thing.graph, node, frame)
    if "agents" in given.named:
        made = _pattern(reader, path, given, node, frame)
        assert isinstance(made.thing, GraphValue)
        return run_graph(reader, made.thing.graph, node, frame)
    return data(SAID)


def _team(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A team of AutoGen since 0.4, or a group chat of Semantic Kernel."""
    last, place = path.rsplit(".", 1)[-1], frame.module.place(node)
    speakers = speakers_of(reader, given.get(0, "participants", "agents", "members"), place)
    manager = given.named.get("manager")
    ending = ending_of(reader, given.named.get("termination_condition"), frame)
    for name in ("termination_strategy", "manager"):
        other = ending_of(reader, given.named.get(name), frame)
        ending.tests += other.tests
        ending.count(Value(Const(other.limit)) if other.limit is not None else data() if other.counted else None)
    ending.count(given.named.get("max_turns"))
    chooses = [given.named.get(n) for n in ("selector_func", "selection_strategy")]
    chosen = any(c is not None and any(t.kind is TaintKind.MODEL for t in deep(c)) for c in chooses)
    of_code = any(c is not None and _is_function(c) for c in chooses)
    by_model = last in CHOSEN_BY_MODEL or chosen or (manager is not None and isinstance(manager.thing, Instance))
    order = BY_CODE if of_code else BY_MODEL if by_model else IN_TURN
    return Value(GraphValue(declare_chat(reader, speakers, ending, place, frame, order)))


CHOSEN_BY_MODEL = words("SelectorGroupChat Swarm MagenticOneGroupChat HandoffOrchestration MagenticOrchestration")


# Graphs of agents.


def _builder(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`DiGraphBuilder()`: agents as nodes, and edges that a word or a function opens."""
    graph = DeclaredGraph(frame.name, frame.module.place(node), kind="chat", compiled=True, ends="no cap")
    opens: dict[str, dict[str, Formula]] = {}

    def node_of(value: Value | None) -> tuple[str, Speaker]:
        speaker = speaker_of(reader, value, graph.place)
        held = value.thing.value if value is not None and isinstance(value.thing, Const) else speaker.name
        return str(held), speaker

    def edge(source: str, speaker: Speaker, target: str, condition: Value | None, place: SourcePlace) -> None:
        if condition is None or condition.thing == Const(None):
            graph.edges.append(DeclaredEdge(source, target, place))
            return
        said = data(speaker.says())
        if _is_function(condition) and isinstance(condition.thing, FunctionValue):
            formula = truth(reader.call(condition, Arguments([said]), condition.thing.node, frame), "its condition")
        else:
            formula = when(Test(said.taints, text=f"{source} says {_shown(condition)}", constant=True))
        opens.setdefault(source, {})[target] = formula

    def method(name: str, more: Arguments, at: ast.AST, inner: Frame) -> Value:
        place = inner.module.place(at)
        match name:
            case "add_node":
                called, speaker = node_of(more.get(0, "agent"))
                graph.nodes[called] = DeclaredNode(called, _turn(speaker, IN_TURN), speaker.place)
            case "add_edge":
                source, speaker = node_of(more.get(0, "source"))
                edge(source, speaker, node_of(more.get(1, "target"))[0], more.get(2, "condition"), place)
            case "set_entry_point":
                graph.edges.append(DeclaredEdge(START, node_of(more.get(0, "name"))[0], place))
            case "build" | "get_participants":
                _finish(graph, opens)
                return Value(GraphValue(graph))
            case _:
                pass
        return made

    made = Value(Handle({}, method))
    reader.graphs.append(graph)
    return made


def _shown(value: Value) -> str:
    return repr(value.thing.value) if isinstance(value.thing, Const) else "what opens it"


def _finish(graph: DeclaredGraph, opens: dict[str, dict[str, Formula]]) -> None:
    """Where nothing leads on, it ends; without an entry it starts where nothing leads to."""
    graph.branches = [DeclaredBranch(s, NONE, {n: n for n in w}, graph.place, opens=w) for s, w in opens.items()]
    leading = {e.source for e in graph.edges} | set(opens)
    reached = {e.target for e in graph.edges} | {t for w in opens.values() for t in w}
    graph.edges += [DeclaredEdge(n, END, graph.place) for n in graph.nodes if n not in leading]
    if START not in leading:
        starts = [n for n in graph.nodes if n not in reached] or list(graph.nodes)[:1]
        graph.edges += [DeclaredEdge(START, n, graph.place) for n in starts]


def _flow(reader: Reader, path: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`GraphFlow(participants, graph=…)`."""
    graph = given.get(1, "graph")
    return graph if graph is not None and isinstance(graph.thing, GraphValue) else data(SAID)


BEFORE_04: dict[str, Maker] = {
    "GroupChat": _group_chat,
    "GroupChatManager": _manager,
    "register_function": _register,
    **dict.fromkeys(("AutoPattern", "DefaultPattern", "RoundRobinPattern", "ManualPattern", "RandomPattern"), _pattern),
    **dict.fromkeys(
        ("initiate_group_chat", "run_group_chat", "a_initiate_group_chat", "initiate_swarm_chat", "initiate_chats"),
        _start,
    ),
}
TEAMS: dict[str, Maker] = {
    **dict.fromkeys(("RoundRobinGroupChat", "AgentGroupChat", "GroupChatOrchestration"), _team),
    **dict.fromkeys(CHOSEN_BY_MODEL, _team),
    "DiGraphBuilder": _builder,
    "GraphFlow": _flow,
    **CONDITIONS,
}
MAKES_CHATS = frozenset({*BEFORE_04, *TEAMS, "initiate_chat", "a_initiate_chat"} - {*CONDITIONS, "register_function"})
"""Calls that make a chat, by the last part of their names."""


def maker_of(package: str, last: str) -> Maker | None:
    """What makes of a call of one of these packages a value, or None."""
    if package not in PACKAGES:
        return None
    before = package in {"autogen", "ag2"}
    maker = (BEFORE_04 if before else TEAMS).get(last)
    if maker is None and last.endswith(("Agent", "WebSurfer", "FileSurfer")):
        return _conversable if before else _agent
    return maker
