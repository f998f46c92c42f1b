"""From what was declared to a LangGraph graph that is held to it."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from groundwire.core._errors import GraphError, GroundingError
from groundwire.core._signals import Origin
from groundwire.core._traits import ActorTraits, ToolTraits
from groundwire.graphs.build._bounds import Bounds, Node, bound_function, bound_router, bound_runnable, watched
from groundwire.graphs.build._declarations import GraphPart, Helpers, Parts, PlainPart, parts_of
from groundwire.graphs.build._expansion import builder_of, chooses_one, held_graphs, jumps_of
from groundwire.graphs.build._proof import Role
from groundwire.graphs.run._answer import LastAnswer, handing_in
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._gate import GateKind
from groundwire.graphs.run._nodes import ActorNode, CriticNode, FusedNode, FusedNodes, NextNode
from groundwire.graphs.run._routing import Exits
from groundwire.graphs.run._state import EpisodeState, Route
from groundwire.graphs.run._tool_node import ToolNode

# A copy of a plain LangGraph graph whose nodes and routers are held to what the proof was told of them.


def guarded(name: str, graph: object, *, outer: Sequence[str] = (), outer_fan_out: bool = True) -> Runnable[Any, Any]:
    """Compiles a graph again, with every node and router inside its bounds; the graph itself stays as it is.

    Args:
        name: of the node that the graph is.
        graph: a `StateGraph`, compiled or not.
        outer: nodes of the graph around it to which its nodes may jump.
        outer_fan_out: True if such a jump may lead to several at once.
    """
    builder: Any = copy.copy(builder_of(graph))
    builder.nodes = {
        node: dataclasses.replace(spec, runnable=_node(f"{name}/{node}", spec, outer, outer_fan_out))
        for node, spec in builder.nodes.items()
    }
    builder.branches = type(builder.branches)(
        builder.branches.default_factory,
        {
            source: {label: _branch(f"{name}/{source}", label, branch) for label, branch in branches.items()}
            for source, branches in builder.branches.items()
        },
    )
    # what they gave the nodes is in the nodes by now
    builder._node_defaults = type(builder._node_defaults)()
    if not isinstance(graph, CompiledStateGraph):
        return builder.compile(name=name)
    compiled = cast("Any", graph)
    again: Any = builder.compile(
        checkpointer=compiled.checkpointer,
        cache=compiled.cache,
        store=compiled.store,
        interrupt_before=compiled.interrupt_before_nodes,
        interrupt_after=compiled.interrupt_after_nodes,
        debug=compiled.debug,
        name=compiled.name,
    )
    return again.with_config(compiled.config) if compiled.config else again


def _node(place: str, spec: Any, outer: Sequence[str], outer_fan_out: bool) -> Runnable[Any, Any]:
    ends = jumps_of(spec)
    if builder_of(spec.runnable) is not None:
        inner = guarded(place, spec.runnable, outer=ends)
        return RunnableLambda(bound_runnable(Bounds(place, ends, fan_out=True), inner, ours=False))
    bounds = Bounds(place, ends, fan_out=True, outer=outer, outer_fan_out=outer_fan_out)
    return RunnableLambda(bound_runnable(bounds, spec.runnable, ours=False))


def _branch(place: str, label: str, branch: Any) -> Any:
    router: Runnable[Any, Any] = branch.path
    return branch._replace(path=RunnableLambda(_held(place, label, router, branch)))


def _held(place: str, label: str, router: Runnable[Any, Any], branch: Any) -> Callable[..., Awaitable[Any]]:
    targets, one = {*branch.ends.values()}, chooses_one(branch)

    async def leave(state: Any, config: RunnableConfig) -> Any:
        chosen: Any = await router.ainvoke(state, config)
        ways = cast("list[Any]", chosen) if isinstance(chosen, (list, tuple)) else [chosen]
        # LangGraph itself holds labels to the map, but not Send
        wrong = {way.node for way in ways if isinstance(way, Send)} - targets
        if wrong or (one and len(ways) > 1):
            what = f"sent to {', '.join(sorted(wrong))}" if wrong else f"chose {len(ways)} ways at once"
            raise GroundingError(
                f"The router {label} of {place} {what}, which it had not declared.",
                do="Name all its targets in the map, and let its annotation say what it returns.",
            )
        return cast("Any", chosen)

    return leave


# Where a node leads: its verdict, a stop and a hand-in have a say in it, as the state holds them.


class NextNodes:
    """Which nodes may follow each node of one graph.

    Args:
        parts: what was declared.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def known(self) -> Mapping[str, NextNode]:
        """Where actors, critics and tools lead, unless routers or joins of the user's have a say in it."""
        parts = self._parts
        own = {router.source for router in parts.routers} | {source for sources, _ in parts.joins for source in sources}
        names = [name for name in (*parts.actors, *parts.critics, *parts.tools) if name not in own]
        return {name: way for name in names if (way := self.of(name)) is not None}

    def of(self, name: str) -> NextNode | None:
        """Where the state says that a node leads; None where only static edges do."""
        way, by = self._on(name), self._parts.hands_in().get(name)
        return partial(_or_hand_in, way, by) if way and by else way

    def _on(self, name: str) -> NextNode | None:
        parts = self._parts
        if name in parts.stopping():
            return _leave(parts.targets(name), parts.hand_in().get(name))
        if name in parts.tools and not parts.has_plain_edges(name):
            return partial(_route, self.out(name))
        targets = [*parts.targets(name), *(to for via, to in parts.gates.values() if via == name)]
        if name in parts.critics and len(set(targets)) == 1:
            return lambda _state: targets[0]
        return None

    def targets(self, name: str) -> list[str]:
        """All that `of` may say of a node."""
        parts = self._parts
        last, hands_in = parts.hand_in().get(name), parts.hands_in().get(name)
        if name in parts.tools:
            ways = [*self.out(name).values()]
        elif name in parts.critics:
            ways = [to for via, to in parts.gates.values() if via == name]
        else:
            ways = [*parts.targets(name), *([last] if last else []), END]
        return [*ways, *([hands_in] if hands_in else [])]

    def out(self, tool: str) -> Mapping[Route, str]:
        """Where the routes lead that a tool's verdict may open."""
        parts = self._parts
        ways: dict[Route, str] = {Route.STOP: END}
        for kind, route in ((GateKind.REFINE, Route.REFINE), (GateKind.ADVANCE, Route.ADVANCE)):
            if (tool, kind) in parts.gates:
                via, to = parts.gates[tool, kind]
                ways[route] = via or to
        if tool in parts.confirms:
            ways[Route.CONFIRM] = parts.confirms[tool]
        if tool in parts.refers:
            ways[Route.REFER] = parts.refers[tool]
        return ways


def _route(ways: Mapping[Route, str], state: EpisodeState) -> str:
    return ways[state.route]


def _or_hand_in(way: NextNode, by: str, state: EpisodeState) -> str | Sequence[str]:
    return by if state.route == Route.HAND_IN else way(state)


def _leave(targets: Sequence[str], by: str | None) -> NextNode:
    def leave(state: EpisodeState) -> str | Sequence[str]:
        if by and state.route == Route.CONFIRM:
            return by
        if state.route == Route.STOP or not targets:
            return END
        return targets[0] if len(targets) == 1 else targets

    return leave


# From what was declared to a LangGraph graph.


@dataclass(frozen=True)
class Surroundings:
    """What a nested graph is told of the one around it.

    Args:
        prefix: begins its nodes' names.
        may_begin: True if nothing runs before it.
        outer: nodes around it to which its own may jump.
        outer_fan_out: True if such a jump may lead to several at once.
        want_coverage: True if an actor anywhere asked for coverage.
    """

    prefix: str = ""
    may_begin: bool = True
    outer: Sequence[str] = ()
    outer_fan_out: bool = False
    want_coverage: bool = False


def to_state_graph(
    parts: Parts,
    state: type[EpisodeState],
    trust: Collection[Origin],
    around: Surroundings | None = None,
    *,
    fused: bool = False,
) -> Any:
    """A `StateGraph` in which every node is wrapped by what holds it to its role.

    Args:
        parts: what was declared.
        state: the state's class.
        trust: opt-in origins that the graph names.
        around: for a nested graph.
        fused: True for one superstep for all nodes that follow each other (`FusedNodes`).
    """
    return _StateGraphAssembly(parts, state, frozenset(trust), around or Surroundings(), fused=fused).builder()


class _StateGraphAssembly:
    def __init__(
        self,
        parts: Parts,
        state: type[EpisodeState],
        trust: frozenset[Origin],
        around: Surroundings,
        *,
        fused: bool,
    ) -> None:
        self._parts = parts
        self._state = state
        self._trust = trust
        self._around = around
        self._want_coverage = around.want_coverage or wants_coverage(parts)
        self._next = NextNodes(parts)
        self._fused: dict[str, FusedNode] = {}
        self._known_next: Mapping[str, NextNode] = self._next.known() if fused else {}
        # LangGraph's own annotations are partly unknown to a strict type checker, so the builder is Any here
        self._builder: Any = StateGraph(state, context_schema=Episode)

    def builder(self) -> Any:
        self._add_nodes()
        for name in self._fused:
            self._builder.add_node(name, FusedNodes(name, self._fused, self._parts.actors))
        self._add_edges()
        return self._builder

    def _place(self, name: str) -> str:
        return f"{self._around.prefix}{name}"

    def _add_nodes(self) -> None:
        parts = self._parts
        first = parts.beginners() if self._around.may_begin else set[str]()
        for name, actor in parts.actors.items():
            last = self._last_answer(parts.hand_in().get(name))
            node = ActorNode(self._place(name), actor.actor, width=actor.width, may_begin=name in first, last=last)
            self._add(name, node, actor.actor, actor.helpers, calls_only=node.calls_only)
        for name, critic in parts.critics.items():
            node = CriticNode(self._place(name), critic.critic)
            self._add(name, node, critic.critic, critic.helpers, calls_only=node.calls_only)
        for name, tool in parts.tools.items():
            twin = next(other for other, part in parts.tools.items() if part.tool is tool.tool)
            node = ToolNode(
                self._place(name),
                tool.tool,
                self._exits_of(name),
                want_coverage=self._want_coverage,
                trusted=self._trust,
                author=self._place(twin),
                patient=any(ActorTraits.of(actor.actor).patient for actor in parts.actors.values()),
            )
            self._add(name, node, tool.tool, tool.helpers, calls_only=node.calls_only)
        for name, plain in parts.plain.items():
            self._add_plain(name, plain)
        for name, graph in parts.graphs.items():
            self._add_graph(name, graph, may_begin=name in first)

    def _add(self, name: str, node: Node, holder: object, helpers: Helpers, *, calls_only: bool = False) -> None:
        calls_graphs = bool(helpers.graphs or held_graphs(holder))
        by = self._parts.hands_in().get(name)
        if by:
            node = handing_in(node, self._place(by))
        if name in self._known_next:
            place = "" if calls_graphs else self._place(name)
            self._fused[name] = FusedNode(node, self._known_next[name], calls_only, place)
        else:
            self._builder.add_node(name, watched(self._place(name), node, calls_graphs=calls_graphs))

    def _add_plain(self, name: str, part: PlainPart) -> None:
        around = self._around
        bounds = Bounds(
            self._place(name), part.destinations, part.fan_out, outer=around.outer, outer_fan_out=around.outer_fan_out
        )
        if isinstance(part.function, Runnable):
            node = bound_runnable(bounds, cast("Any", part).function, ours=True)
        else:
            calls_graphs = bool(part.helpers.graphs or held_graphs(part.function))
            node = bound_function(bounds, part.function, calls_graphs=calls_graphs)
        self._builder.add_node(name, node, destinations=part.destinations, **part.options)

    def _add_graph(self, name: str, part: GraphPart, *, may_begin: bool) -> None:
        inner = parts_of(part.graph)
        if inner is not None:
            around = Surroundings(
                f"{self._place(name)}/", may_begin, part.destinations, part.fan_out, self._want_coverage
            )
            nested = to_state_graph(inner, part.graph.state, part.graph.trust, around).compile(name=name)
            self._builder.add_node(name, nested, destinations=part.destinations, **part.options)
            return
        graph = guarded(self._place(name), part.graph, outer=part.destinations, outer_fan_out=part.fan_out)
        bounds = Bounds(self._place(name), part.destinations, part.fan_out)
        node = bound_runnable(bounds, graph, ours=True)
        self._builder.add_node(name, node, destinations=part.destinations, **part.options)

    def _exits_of(self, name: str) -> Exits:
        parts = self._parts
        by = parts.confirms.get(name)
        return Exits(
            gates=frozenset(kind for tool, kind in parts.gates if tool == name),
            confirm=by is not None,
            confirm_is_hidden=by is not None and self._judges_hidden(by),
            plain=parts.has_plain_edges(name),
            last_word=self._place(by) if by else "",
            last=self._last_answer(by if name in parts.lasts else None),
            refer=name in parts.refers,
            cap=parts.caps.get(name),
            takes_last=any(parts.confirms[tool] == name for tool in parts.lasts),
        )

    def _last_answer(self, by: str | None) -> LastAnswer | None:
        return LastAnswer(self._judges_hidden(by)) if by else None

    def _judges_hidden(self, tool: str) -> bool:
        return ToolTraits.of(self._parts.tools[tool].tool).judges_hidden

    def _add_edges(self) -> None:
        parts, builder = self._parts, self._builder
        builder.add_edge(START, parts.entry_name())
        self._add_stops()
        for source, target in parts.edges:
            if source not in parts.stopping() and source not in self._fused:
                builder.add_edge(source, target)
        for sources, target in parts.joins:
            builder.add_edge(list(sources), target)
        for via, to in parts.gates.values():
            if via and via not in self._fused and via not in parts.hands_in():
                builder.add_edge(via, to)
        for part in parts.routers:
            router = bound_router(
                self._place(part.source),
                part.router,
                part.path_map,
                fan_out=part.fan_out,
                pure=part.role is Role.PURE,
                may_stop=part.source in parts.stopping(),
            )
            self._add_router(part.source, router, [*part.path_map.values(), END])

    def _add_stops(self) -> None:
        """What can stop the episode leads to the end then, and a tool where its verdict leads."""
        parts = self._parts
        handing = [critic for critic in parts.critics if critic in parts.hands_in()]
        for name in (*parts.stopping(), *parts.tools, *handing):
            way = self._next.of(name)
            is_static = name not in parts.tools and parts.has_plain_edges(name) and not parts.targets(name)
            if way is not None and name not in self._fused and not is_static:
                self._add_router(name, _awaited(way), self._next.targets(name))

    def _add_router(self, source: str, router: Callable[..., Coroutine[Any, Any, Any]], ways: Sequence[str]) -> None:
        if source in self._parts.graphs:
            # LangGraph asks the routers of a graph that jumped out without awaiting them
            self._builder.add_conditional_edges(
                source, RunnableLambda(partial(_at_once, router), router, name="leave"), list(dict.fromkeys(ways))
            )
        else:
            self._builder.add_conditional_edges(source, router, list(dict.fromkeys(ways)))


def wants_coverage(parts: Parts) -> bool:
    """True if an actor of the graph, or of one nested in it, wants to know which lines ran."""
    own = any(ActorTraits.of(p.actor).needs.coverage for p in parts.actors.values())
    nested = (parts_of(p.graph) for p in parts.graphs.values())
    return own or any(wants_coverage(inner) for inner in nested if inner is not None)


def _at_once(router: Callable[..., Coroutine[Any, Any, Any]], state: Any) -> Any:
    """Runs a coroutine that has nothing to wait for."""
    work = router(state)
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise GraphError(
        "A graph jumped to the graph around it, and the router that leaves it has to wait for something.",
        do='Let it return at once:  graph.add_conditional_edges("…", …, role="pure")',
    )


def _awaited(way: NextNode) -> Callable[[EpisodeState], Coroutine[Any, Any, Any]]:
    """Async, since LangGraph would run a plain function in a thread: a tenth of a superstep."""

    async def leave(state: EpisodeState) -> str | Sequence[str]:
        return way(state)

    return leave
