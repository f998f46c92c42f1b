"""FeedbackGraph: a builder over LangGraph's StateGraph in which only outside signals can cause a correction."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send

from groundwire.contexts import Actor, Critic, Needs, Tool
from groundwire.errors import GraphError, GroundingError
from groundwire.graphs.app import FeedbackApp, SandboxChoice
from groundwire.graphs.budget import Budget
from groundwire.graphs.episode import Episode
from groundwire.graphs.gate import GateKind
from groundwire.graphs.nodes import ActorNode, CriticNode
from groundwire.graphs.proof import Edge, Role, Wiring, prove
from groundwire.graphs.state import EpisodeState, Route
from groundwire.graphs.tool_node import Exits, ToolNode, judges_hidden
from groundwire.records import Store
from groundwire.signals import Origin

__all__ = ["FeedbackGraph"]

Router = Callable[[Any], Any]


class FeedbackGraph:
    """Wires actors, critics and tools into a loop that `compile` proves to be grounded.

    The first actor is the entry unless `set_entry` names another node. A PASS and every stop lead to the end.

    Args:
        state: the state's class; subclass `EpisodeState` to add typed fields.
        name: for reports.
        trust: opt-in origins (`other_model`, `human`) whose FAIL may open a gate; marked in every report.
    """

    def __init__(
        self, state: type[EpisodeState] = EpisodeState, *, name: str = "feedback", trust: Iterable[Origin] = ()
    ) -> None:
        self.name = name
        self._state = state
        self._trust = frozenset(trust)
        self._actors: dict[str, tuple[Actor, int]] = {}
        self._critics: dict[str, Critic] = {}
        self._tools: dict[str, Tool] = {}
        self._plain: dict[str, tuple[Callable[..., Any], Role, tuple[str, ...]]] = {}
        self._edges: list[tuple[str, str]] = []
        self._routers: list[tuple[str, Router, Mapping[Any, str]]] = []
        self._gates: dict[tuple[str, GateKind], tuple[str | None, str]] = {}
        self._confirms: dict[str, str] = {}
        self._entry: str | None = None

    def add_actor(self, name: str, actor: Actor, *, width: int = 1) -> FeedbackGraph:
        """Adds a node that proposes candidates.

        Args:
            name: the node's name.
            actor: see `groundwire.contexts.Actor`.
            width: candidates asked for in one trial; each is judged, one is admitted.
        """
        self._check_new(name)
        if width < 1:
            raise GraphError(f"The width of {name} is {width}.", do="Ask for at least 1 candidate a trial.")
        self._actors[name] = (actor, width)
        return self

    def add_critic(self, name: str, critic: Critic) -> FeedbackGraph:
        """Adds a node that turns a failing signal into a reflection."""
        self._check_new(name)
        self._critics[name] = critic
        return self

    def add_tool(self, name: str, tool: Tool) -> FeedbackGraph:
        """Adds a node that judges candidates; the only kind of node from which a signal can come."""
        self._check_new(name)
        self._tools[name] = tool
        return self

    def add_node(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        role: Literal["pure", "unknown"] = "unknown",
        destinations: Sequence[str] = (),
    ) -> FeedbackGraph:
        """Adds a plain LangGraph node.

        Args:
            name: the node's name.
            function: as for `StateGraph.add_node`; may be async; may return a state update, `Command` or `Send`s.
            role: `pure` promises that it calls no model; a cycle through an `unknown` one must be gated.
            destinations: every node it may lead to by returning `Command(goto=…)` or `Send`. Holds at run time too.

        Raises:
            GraphError: the name is taken, or the function names `Command` or `Send` and declares no destinations.
        """
        self._check_new(name)
        if not destinations and _mentions_jump(function):
            raise GraphError(
                f"{name} may return Command or Send to undeclared nodes.",
                do=f'Declare them:  graph.add_node("{name}", …, destinations=["…"])',
            )
        self._plain[name] = (function, Role(role), tuple(destinations))
        return self

    def add_edge(self, source: str, target: str) -> FeedbackGraph:
        """Adds an edge that is always taken."""
        self._edges.append((source, target))
        return self

    def add_conditional_edges(
        self, source: str, router: Router, targets: Mapping[Any, str] | Sequence[str]
    ) -> FeedbackGraph:
        """Adds edges that a function of the state chooses from; every target must be declared.

        Raises:
            GraphError: no targets.
        """
        path_map = dict(targets) if isinstance(targets, Mapping) else {t: t for t in targets}
        if not path_map:
            raise GraphError(f"The router of {source} declares no targets.", do="Give a list or a dict of them.")
        self._routers.append((source, router, path_map))
        return self

    def refine(self, tool: str, *, via: str | None = None, to: str) -> FeedbackGraph:
        """The only edge that may rewrite: opens on a sealed FAIL of the current candidate.

        Args:
            tool: the tool node whose signal opens it.
            via: a critic that reflects on the signal first.
            to: the actor that may then propose again.
        """
        return self._gate(GateKind.REFINE, tool, via, to)

    def advance(self, tool: str, *, to: str) -> FeedbackGraph:
        """Opens on a fresh sealed observation that says "go on"; the actor may only append.

        Args:
            tool: the tool node, an environment.
            to: the actor that acts next.
        """
        return self._gate(GateKind.ADVANCE, tool, None, to)

    def confirm(self, tool: str, *, by: str) -> FeedbackGraph:
        """A PASS of `tool` is judged by another tool before it counts, for example by hidden tests."""
        self._confirms[tool] = by
        return self

    def set_entry(self, name: str) -> FeedbackGraph:
        """Starts at `name`: a tool (the baseline is judged first), an actor, or a plain node."""
        self._entry = name
        return self

    def wiring(self) -> Wiring:
        """Roles and edges as declared; what the proof works on."""
        roles = {
            **dict.fromkeys(self._actors, Role.ACTOR),
            **dict.fromkeys(self._critics, Role.CRITIC),
            **dict.fromkeys(self._tools, Role.TOOL),
            **{name: role for name, (_, role, _) in self._plain.items()},
        }
        edges = [Edge(START, self._entry_name())]
        edges += [Edge(a, b) for a, b in self._edges]
        edges += [Edge(a, b) for a, _, path_map in self._routers for b in path_map.values()]
        edges += [Edge(name, target) for name, (_, _, targets) in self._plain.items() for target in targets]
        edges += [Edge(name, END) for name in self._actors]
        for (tool, kind), (via, to) in self._gates.items():
            edges.append(Edge(tool, via or to, gate=kind))
            if via:
                edges.append(Edge(via, to))
        edges += [Edge(tool, by) for tool, by in self._confirms.items()]
        edges += [Edge(tool, END) for tool in self._tools if not self._has_plain_edges(tool)]
        return Wiring(roles, list(dict.fromkeys(edges)))

    def compile(
        self,
        *,
        store: Store | None = None,
        budget: Budget | None = None,
        sandbox: SandboxChoice | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        interrupt_before: Sequence[str] = (),
        interrupt_after: Sequence[str] = (),
    ) -> FeedbackApp:
        """Proves the graph and builds it.

        Args:
            store: ledger and memory; default: in memory, gone with the process.
            budget: ceilings of each episode.
            sandbox: where tools run code; default: bubblewrap.
            checkpointer: any LangGraph checkpointer.
            interrupt_before: nodes before which LangGraph pauses (needs a checkpointer).
            interrupt_after: nodes after which it pauses.

        Raises:
            UngroundedLoopError: a loop can repeat without any outside check.
            GraphError: the wiring is wrong in another way.
        """
        self._check_wiring()
        wiring = self.wiring()
        prove(wiring)
        # LangGraph's own annotations are partly unknown to a strict type checker, so the builder is Any here
        builder: Any = StateGraph(self._state, context_schema=Episode)
        self._add_nodes(builder)
        self._add_edges(builder)
        compiled = builder.compile(
            checkpointer=checkpointer,
            interrupt_before=list(interrupt_before) or None,
            interrupt_after=list(interrupt_after) or None,
            name=self.name,
        )
        return FeedbackApp(
            compiled,
            name=self.name,
            state=self._state,
            wiring=wiring,
            store=store,
            budget=budget or Budget(),
            sandbox=sandbox,
        )

    def _check_new(self, name: str) -> None:
        if name in {START, END} or not name:
            raise GraphError(f"{name!r} can't be a node's name.", do="Choose another.")
        if name in self._actors or name in self._critics or name in self._tools or name in self._plain:
            raise GraphError(f"There is a node {name!r} already.", do="Choose another name.")

    def _gate(self, kind: GateKind, tool: str, via: str | None, to: str) -> FeedbackGraph:
        if (tool, kind) in self._gates:
            raise GraphError(f"{tool} has a {kind} edge already.", do="One tool node has one; add another tool node.")
        self._gates[tool, kind] = (via, to)
        return self

    def _entry_name(self) -> str:
        if self._entry is not None:
            return self._entry
        if not self._actors:
            raise GraphError("The graph has no actor.", do='Add one:  graph.add_actor("write", …)')
        return next(iter(self._actors))

    def _has_plain_edges(self, name: str) -> bool:
        return any(a == name for a, _ in self._edges) or any(a == name for a, _, _ in self._routers)

    def _check_wiring(self) -> None:
        for (tool, kind), (via, to) in self._gates.items():
            self._expect(tool, self._tools, "tool", f"{kind} leaves")
            self._expect(to, self._actors, "actor", f"{kind} leads to")
            if via is not None:
                self._expect(via, self._critics, "critic", f"{kind} goes via")
        for tool, by in self._confirms.items():
            self._expect(tool, self._tools, "tool", "confirm leaves")
            self._expect(by, self._tools, "tool", "confirm leads to")
        for tool in {*(t for t, _ in self._gates), *self._confirms}:
            if self._has_plain_edges(tool):
                raise GraphError(
                    f"{tool} has both gated and plain edges, and the plain ones would be taken whatever the verdict.",
                    do="Remove the plain edge: a PASS and every stop lead to the end by themselves.",
                )

    def _expect(self, name: str, kind: Collection[str], word: str, edge: str) -> None:
        if name not in kind:
            raise GraphError(
                f"{edge} {name!r}, which is not {'an' if word[0] in 'aeiou' else 'a'} {word}.",
                do=f"Known {word}s: {', '.join(kind) or 'none'}.",
            )

    def _add_nodes(self, builder: Any) -> None:
        entry = self._entry_name()
        needs = [getattr(actor, "needs", Needs()) for actor, _ in self._actors.values()]
        for name, (actor, width) in self._actors.items():
            builder.add_node(name, ActorNode(name, actor, width=width, is_entry=name == entry))
        for name, critic in self._critics.items():
            builder.add_node(name, CriticNode(name, critic))
        for name, tool in self._tools.items():
            by = self._confirms.get(name)
            exits = Exits(
                gates=frozenset(kind for t, kind in self._gates if t == name),
                confirm=by is not None,
                confirm_is_hidden=by is not None and judges_hidden(self._tools[by]),
                plain=self._has_plain_edges(name),
            )
            want = any(n.coverage for n in needs)
            builder.add_node(name, ToolNode(name, tool, exits, want_coverage=want, trusted=self._trust))
        for name, (function, _, targets) in self._plain.items():
            if targets:
                builder.add_node(name, _bounded(name, function, frozenset(targets)), destinations=targets)
            else:
                builder.add_node(name, _bounded(name, function, frozenset()))

    def _add_edges(self, builder: Any) -> None:
        builder.add_edge(START, self._entry_name())
        for name in self._actors:
            targets = [b for a, b in self._edges if a == name]
            if targets or not self._has_plain_edges(name):
                builder.add_conditional_edges(name, _leave(targets), [*targets, END])
        for source, target in self._edges:
            if source not in self._actors:
                builder.add_edge(source, target)
        for source, router, path_map in self._routers:
            if source in self._actors:
                builder.add_conditional_edges(source, _unless_stopped(router, path_map), [*path_map.values(), END])
            else:
                builder.add_conditional_edges(source, router, dict(path_map))
        for via, to in self._gates.values():
            if via:
                builder.add_edge(via, to)
        for name in self._tools:
            if not self._has_plain_edges(name):
                builder.add_conditional_edges(name, _route, self._exits(name))

    def _exits(self, tool: str) -> dict[Any, str]:
        exits: dict[Any, str] = {Route.STOP: END}
        for kind, route in ((GateKind.REFINE, Route.REFINE), (GateKind.ADVANCE, Route.ADVANCE)):
            if (tool, kind) in self._gates:
                via, to = self._gates[tool, kind]
                exits[route] = via or to
        if tool in self._confirms:
            exits[Route.CONFIRM] = self._confirms[tool]
        return exits


async def _route(state: EpisodeState) -> Route:
    # async, since LangGraph would run a plain function in a thread: a tenth of a superstep
    return state.route


def _leave(targets: list[str]) -> Router:
    async def leave(state: EpisodeState) -> str | list[str]:
        return END if state.route is Route.STOP or not targets else targets

    return leave


def _unless_stopped(router: Router, path_map: Mapping[Any, str]) -> Router:
    """An actor's own router, but an actor that has stopped leads to the end."""

    async def leave(state: EpisodeState) -> str | list[str]:
        if state.route is Route.STOP:
            return END
        label = router(state)
        if inspect.isawaitable(label):
            label = await label
        return [path_map[x] for x in label] if isinstance(label, list) else path_map[label]  # pyright: ignore[reportUnknownVariableType]

    return leave


def _mentions_jump(function: Callable[..., Any]) -> bool:
    """True if the function's source or annotation names Command or Send; what can't be read is caught at run time."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    names = set(code.co_names) if code is not None else set[str]()
    return bool(names & {"Command", "Send"}) or "Command" in str(getattr(function, "__annotations__", {}).get("return"))


def _bounded(name: str, function: Callable[..., Any], allowed: frozenset[str]) -> Callable[..., Any]:
    """Wraps a plain node so that a jump it did not declare is refused at run time."""

    async def node(state: Any) -> Any:
        result = function(state)
        if inspect.isawaitable(result):
            result = await result
        taken = set(_jumps(result))
        if not taken <= allowed:
            raise GroundingError(
                f"{name} jumped to {', '.join(sorted(taken - allowed))}, which it had not declared.",
                do=f'Declare it:  graph.add_node("{name}", …, destinations=[…])',
            )
        return result

    return node


def _jumps(result: Any) -> Iterable[str]:
    if isinstance(result, Command):
        # LangGraph leaves the type of goto open
        goto: Any = result.goto  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        yield from _named(goto)
    elif isinstance(result, (Send, list, tuple)):
        yield from _jump_items(result)


def _named(goto: Any) -> Iterable[str]:
    return [goto] if isinstance(goto, str) else _jump_items(goto)


def _jump_items(items: Any) -> Iterable[str]:
    if isinstance(items, Send):
        yield items.node
    elif isinstance(items, (list, tuple)):
        for item in cast("list[Any]", items):
            if isinstance(item, str):
                yield item
            else:
                yield from _jumps(item)
