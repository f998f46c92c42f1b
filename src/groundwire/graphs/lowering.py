"""From what was declared to a LangGraph graph."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import END, START, StateGraph

from groundwire.contexts import Needs
from groundwire.errors import GraphError
from groundwire.graphs.bounds import Bounds, bound_function, bound_router, bound_runnable
from groundwire.graphs.calls import Node, watched
from groundwire.graphs.episode import Episode
from groundwire.graphs.foreign import held_graphs
from groundwire.graphs.guarding import guarded
from groundwire.graphs.leading import Leading
from groundwire.graphs.nodes import ActorNode, CriticNode
from groundwire.graphs.parts import GraphPart, Helpers, Parts, PlainPart, parts_of
from groundwire.graphs.selection import LastAnswer
from groundwire.graphs.standing import handing_in
from groundwire.graphs.state import EpisodeState
from groundwire.graphs.strides import Leg, Stride, Way
from groundwire.graphs.tool_node import Exits, ToolNode, judges_hidden
from groundwire.graphs.wiring import Role
from groundwire.signals import Origin

__all__ = ["lower"]


@dataclass(frozen=True)
class Surroundings:
    """What a nested graph is told of the one around it.

    Args:
        prefix: begins its nodes' names.
        may_begin: True if nothing runs before it.
        outer: nodes around it to which its own may jump.
        outer_many: True if such a jump may lead to several at once.
        want_coverage: True if an actor anywhere asked for coverage.
    """

    prefix: str = ""
    may_begin: bool = True
    outer: Sequence[str] = ()
    outer_many: bool = False
    want_coverage: bool = False


def lower(
    parts: Parts,
    state: type[EpisodeState],
    trust: Collection[Origin],
    around: Surroundings | None = None,
    *,
    strides: bool = False,
) -> Any:
    """A `StateGraph` in which every node is wrapped by what holds it to its role.

    Args:
        parts: what was declared.
        state: the state's class.
        trust: opt-in origins that the graph names.
        around: for a nested graph.
        strides: True for one superstep a trial (`graphs.strides`).
    """
    return _Lowering(parts, state, frozenset(trust), around or Surroundings(), strides=strides).builder()


class _Lowering:
    def __init__(
        self,
        parts: Parts,
        state: type[EpisodeState],
        trust: frozenset[Origin],
        around: Surroundings,
        *,
        strides: bool,
    ) -> None:
        self._parts = parts
        self._state = state
        self._trust = trust
        self._around = around
        self._want_coverage = around.want_coverage or wants_coverage(parts)
        self._leading = Leading(parts)
        self._legs: dict[str, Leg] = {}
        self._ways: Mapping[str, Way] = self._leading.known() if strides else {}
        # LangGraph's own annotations are partly unknown to a strict type checker, so the builder is Any here
        self._builder: Any = StateGraph(state, context_schema=Episode)

    def builder(self) -> Any:
        self._add_nodes()
        for name in self._legs:
            self._builder.add_node(name, Stride(name, self._legs, self._parts.actors))
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
            self._add(name, node, actor.actor, actor.helpers)
        for name, critic in parts.critics.items():
            self._add(name, CriticNode(self._place(name), critic.critic), critic.critic, critic.helpers)
        for name, tool in parts.tools.items():
            twin = next(other for other, part in parts.tools.items() if part.tool is tool.tool)
            node = ToolNode(
                self._place(name),
                tool.tool,
                self._exits_of(name),
                want_coverage=self._want_coverage,
                trusted=self._trust,
                author=self._place(twin),
                patient=any(getattr(actor.actor, "patient", False) for actor in parts.actors.values()),
            )
            self._add(name, node, tool.tool, tool.helpers)
        for name, plain in parts.plain.items():
            self._add_plain(name, plain)
        for name, graph in parts.graphs.items():
            self._add_graph(name, graph, may_begin=name in first)

    def _add(self, name: str, node: Node, holder: object, helpers: Helpers) -> None:
        calls_graphs = bool(helpers.graphs or held_graphs(holder))
        by = self._parts.hands_in().get(name)
        if by:
            node = handing_in(node, self._place(by))
        node = watched(self._place(name), node, calls_graphs=calls_graphs)
        if name in self._ways:
            self._legs[name] = Leg(node, self._ways[name])
        else:
            self._builder.add_node(name, node)

    def _add_plain(self, name: str, part: PlainPart) -> None:
        around = self._around
        bounds = Bounds(
            self._place(name), part.destinations, part.many, outer=around.outer, outer_many=around.outer_many
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
            around = Surroundings(f"{self._place(name)}/", may_begin, part.destinations, part.many, self._want_coverage)
            nested = lower(inner, part.graph.state, part.graph.trust, around).compile(name=name)
            self._builder.add_node(name, nested, destinations=part.destinations, **part.options)
            return
        graph = guarded(self._place(name), part.graph, outer=part.destinations, outer_many=part.many)
        bounds = Bounds(self._place(name), part.destinations, part.many)
        node = bound_runnable(bounds, graph, ours=True)
        self._builder.add_node(name, node, destinations=part.destinations, **part.options)

    def _exits_of(self, name: str) -> Exits:
        parts = self._parts
        by = parts.confirms.get(name)
        return Exits(
            gates=frozenset(kind for tool, kind in parts.gates if tool == name),
            confirm=by is not None,
            confirm_is_hidden=by is not None and judges_hidden(parts.tools[by].tool),
            plain=parts.has_plain_edges(name),
            last_word=self._place(by) if by else "",
            last=self._last_answer(by if name in parts.lasts else None),
            refer=name in parts.refers,
            cap=parts.caps.get(name),
            takes_last=any(parts.confirms[tool] == name for tool in parts.lasts),
        )

    def _last_answer(self, by: str | None) -> LastAnswer | None:
        return LastAnswer(judges_hidden(self._parts.tools[by].tool)) if by else None

    def _add_edges(self) -> None:
        parts, builder = self._parts, self._builder
        builder.add_edge(START, parts.entry_name())
        self._add_stops()
        for source, target in parts.edges:
            if source not in parts.stopping() and source not in self._legs:
                builder.add_edge(source, target)
        for sources, target in parts.joins:
            builder.add_edge(list(sources), target)
        for via, to in parts.gates.values():
            if via and via not in self._legs and via not in parts.hands_in():
                builder.add_edge(via, to)
        for part in parts.routers:
            router = bound_router(
                self._place(part.source),
                part.router,
                part.path_map,
                many=part.many,
                pure=part.role is Role.PURE,
                may_stop=part.source in parts.stopping(),
            )
            self._add_router(part.source, router, [*part.path_map.values(), END])

    def _add_stops(self) -> None:
        """What can stop the episode leads to the end then, and a tool where its verdict leads."""
        parts = self._parts
        handing = [critic for critic in parts.critics if critic in parts.hands_in()]
        for name in (*parts.stopping(), *parts.tools, *handing):
            way = self._leading.of(name)
            is_static = name not in parts.tools and parts.has_plain_edges(name) and not parts.targets(name)
            if way is not None and name not in self._legs and not is_static:
                self._add_router(name, _awaited(way), self._leading.targets(name))

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
    own = any(getattr(p.actor, "needs", Needs()).coverage for p in parts.actors.values())
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


def _awaited(way: Way) -> Callable[[EpisodeState], Coroutine[Any, Any, Any]]:
    """Async, since LangGraph would run a plain function in a thread: a tenth of a superstep."""

    async def leave(state: EpisodeState) -> str | Sequence[str]:
        return way(state)

    return leave
