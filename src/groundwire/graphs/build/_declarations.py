"""What was declared to a `FeedbackGraph`: nodes, edges and rules, before anything is made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from groundwire.core._contexts import Actor, Critic, RepeatableTool, Tool
from groundwire.core._errors import GraphError
from groundwire.core._records import StopReason
from groundwire.core._signals import Origin
from groundwire.core._traits import ActorTraits, CriticTraits
from groundwire.graphs.build._proof import END, START, Role
from groundwire.graphs.run._gate import GateKind

# What was declared to a `FeedbackGraph`, before anything is made of it.

Router: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True)
class Helpers:
    """LangGraph graphs that a node calls.

    Args:
        graphs: by a name of your choice.
        roles: `NAME/NODE` → `pure`, `world` or `unknown`.
    """

    graphs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    roles: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class ActorPart:
    """A node that proposes."""

    actor: Actor
    width: int
    helpers: Helpers


@dataclass(frozen=True)
class CriticPart:
    """A node that reflects."""

    critic: Critic
    helpers: Helpers


@dataclass(frozen=True)
class ToolPart:
    """A node that judges."""

    tool: Tool
    helpers: Helpers


@dataclass(frozen=True)
class PlainPart:
    """A plain LangGraph node.

    Args:
        function: what LangGraph runs.
        role: `pure` or `unknown`.
        destinations: where it may jump to.
        fan_out: True if it may jump to several at once.
        options: what LangGraph's `add_node` is given besides.
        helpers: graphs that it calls.
    """

    function: Any
    role: Role
    destinations: tuple[str, ...]
    fan_out: bool
    options: Mapping[str, Any]
    helpers: Helpers


@dataclass(frozen=True)
class GraphPart:
    """A whole graph as a node.

    Args:
        graph: a `FeedbackGraph`, or a LangGraph graph, compiled or not.
        roles: of a LangGraph graph's nodes: `pure`, `world` or `unknown`.
        destinations: nodes of this graph to which it may jump (`Command.PARENT`).
        fan_out: True if it may jump to several at once.
        options: what LangGraph's `add_node` is given besides.
    """

    graph: Any
    roles: Mapping[str, str]
    destinations: tuple[str, ...]
    fan_out: bool
    options: Mapping[str, Any]


@dataclass(frozen=True)
class RouterPart:
    """Edges that a function of the state chooses from."""

    source: str
    router: Router
    path_map: Mapping[Any, str]
    role: Role
    fan_out: bool


@dataclass(frozen=True)
class Cap:
    """How often a tool may fail before the episode ends.

    Args:
        failures: FAILs since it last said "go on", over all trials.
        reason: why the episode ends at that many.
    """

    failures: int
    reason: StopReason


@dataclass
class Parts:
    """All that was declared, in its order."""

    actors: dict[str, ActorPart] = field(default_factory=dict[str, ActorPart])
    critics: dict[str, CriticPart] = field(default_factory=dict[str, CriticPart])
    tools: dict[str, ToolPart] = field(default_factory=dict[str, ToolPart])
    plain: dict[str, PlainPart] = field(default_factory=dict[str, PlainPart])
    graphs: dict[str, GraphPart] = field(default_factory=dict[str, GraphPart])
    edges: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    joins: list[tuple[tuple[str, ...], str]] = field(default_factory=list[tuple[tuple[str, ...], str]])
    routers: list[RouterPart] = field(default_factory=list[RouterPart])
    gates: dict[tuple[str, GateKind], tuple[str | None, str]] = field(
        default_factory=dict[tuple[str, GateKind], tuple[str | None, str]]
    )
    caps: dict[str, Cap] = field(default_factory=dict[str, "Cap"])
    """How often a tool may open `refine`, by its name."""
    confirms: dict[str, str] = field(default_factory=dict[str, str])
    refers: dict[str, str] = field(default_factory=dict[str, str])
    """Tool → the tool that is asked where it can't tell."""
    lasts: set[str] = field(default_factory=set[str])
    """Tools of `confirms` from which the last candidate goes on as well."""
    entry: str | None = None

    @property
    def names(self) -> list[str]:
        """Every node's name."""
        return [*self.actors, *self.critics, *self.tools, *self.plain, *self.graphs]

    def check_new(self, name: str) -> None:
        """Raises GraphError where no node may be called so, or one is."""
        if name in {START, END} or not name or set(name) & set("/|:"):
            raise GraphError(f"{name!r} can't be a node's name.", do="Choose another, without / | and :.")
        if name in self.names:
            raise GraphError(f"There is a node {name!r} already.", do="Choose another name.")

    def entry_name(self) -> str:
        """Where the graph begins: the node that was named, else the first actor."""
        if self.entry is not None:
            return self.entry
        if not self.actors:
            raise GraphError("The graph has no actor.", do='Add one:  graph.add_actor("write", …)')
        return next(iter(self.actors))

    def beginners(self) -> set[str]:
        """What can run before any actor has proposed and any tool has judged."""
        steps = {
            *self.edges,
            *((source, target) for sources, target in self.joins for source in sources),
            *((router.source, target) for router in self.routers for target in router.path_map.values()),
            *((name, target) for name, part in self.plain.items() for target in part.destinations),
            *((name, target) for name, part in self.graphs.items() for target in part.destinations),
        }
        quiet = {*self.plain, *(name for name, part in self.graphs.items() if parts_of(part.graph) is None)}
        found: set[str] = set()
        pending = [self.entry_name()]
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += [target for source, target in steps if source == name and name in quiet]
        return found

    def begins_with_actor(self) -> bool:
        """True if the first that runs is an actor, also inside a nested graph."""
        entry = self.entry_name()
        if entry in self.graphs:
            inner = parts_of(self.graphs[entry].graph)
            return inner is not None and inner.begins_with_actor()
        return entry in self.actors

    def stopping(self) -> list[str]:
        """Nodes that can stop the episode and then lead to the end: actors, and feedback graphs."""
        return [*self.actors, *(name for name, part in self.graphs.items() if parts_of(part.graph) is not None)]

    def hand_in(self) -> Mapping[str, str]:
        """Actor → the tool that judges its last candidate, where that is the answer whatever was said of it before."""
        return {to: self.confirms[tool] for (tool, _), (_, to) in self.gates.items() if tool in self.lasts}

    def hands_in(self) -> Mapping[str, str]:
        """Node → the tool that judges what stands (`graphs.run.answer`) where the loop ends there.

        These are the tools that are asked after another tool's PASS and hand on their own, and all that can run after
        such a tool has asked for another try.
        """
        found: dict[str, str] = {}
        for tool in self.confirms.values():
            by = self.confirms.get(tool)
            pending = [tool] if by else []
            while pending:
                name = pending.pop()
                if by and name != by and name not in found:
                    pending += self._after(name)
                    if name in {*self.actors, *self.critics, *self.tools}:
                        found[name] = by
        return found

    def _after(self, name: str) -> list[str]:
        gated = [(tool, via, to) for (tool, _), (via, to) in self.gates.items()]
        steps = [*self.edges, *((tool, via or to) for tool, via, to in gated)]
        steps += [(via, to) for _, via, to in gated if via]
        steps += [*self.confirms.items(), *self.refers.items()]
        steps += [(router.source, to) for router in self.routers for to in router.path_map.values()]
        steps += [(source, to) for sources, to in self.joins for source in sources]
        return [to for source, to in steps if source == name]

    def is_all_in_the_ledger(self) -> bool:
        """True if every node's work is kept in the ledger: there are only actors, critics and tools."""
        nested = [parts_of(part.graph) for part in self.graphs.values()]
        return not self.plain and all(inner is not None and inner.is_all_in_the_ledger() for inner in nested)

    def identities(self) -> Mapping[str, str]:
        """What each tool is, options and all, where a recorded verdict of it may stand for a new one."""
        tools = {name: part.tool for name, part in self.tools.items()}
        return {name: tool.identity for name, tool in tools.items() if isinstance(tool, RepeatableTool)}

    def revisions(self, prefix: str = "") -> Mapping[str, int]:
        """Node → revision of its actor, where that is not the first one, also in nested graphs."""
        found = {
            f"{prefix}{name}": revision
            for name, part in self.actors.items()
            if (revision := ActorTraits.of(part.actor, name=name).revision) != 1
        }
        for within, inner in self._nested(prefix):
            found |= inner.revisions(within)
        return found

    def ungrounded(self, prefix: str = "") -> Mapping[str, str]:
        """Node → class of the actors and critics that declare `grounded=False`, also in nested graphs."""
        actors = {n: p.actor for n, p in self.actors.items() if not ActorTraits.of(p.actor, name=n).grounded}
        critics = {n: p.critic for n, p in self.critics.items() if not CriticTraits.of(p.critic, name=n).grounded}
        found = {f"{prefix}{n}": type(held).__name__ for n, held in (*actors.items(), *critics.items())}
        for within, inner in self._nested(prefix):
            found |= inner.ungrounded(within)
        return found

    def _nested(self, prefix: str) -> Iterator[tuple[str, Parts]]:
        """The parts of the graphs that were handed in as nodes, each with what its nodes' names begin with."""
        for name, part in self.graphs.items():
            inner = parts_of(part.graph)
            if inner is not None:
                yield f"{prefix}{name}/", inner

    def has_plain_edges(self, name: str) -> bool:
        """True if edges leave the node that are taken whatever a signal says."""
        return (
            any(source == name for source, _ in self.edges)
            or any(name in sources for sources, _ in self.joins)
            or any(router.source == name for router in self.routers)
        )

    def targets(self, name: str) -> Sequence[str]:
        """Where the node's plain edges lead, those that a router chooses left out."""
        return [target for source, target in self.edges if source == name]


def parts_of(graph: object) -> Parts | None:
    """What was declared to a feedback graph; None for any other graph."""
    parts = getattr(graph, "parts", None)
    return parts if isinstance(parts, Parts) else None


# How a loop treats doubt and standstill: what is judged again, and when it has gone on long enough.


class Rules(BaseModel):
    """Settings of one compiled graph; the ledger holds them with the run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    retries: int = Field(default=1, ge=0, le=5)
    """Times a judging is repeated that gave no verdict because the sandbox or the runner broke. Nobody else repeats
    one."""
    rejudge_fails: int = Field(default=1, ge=0, le=100)
    """Times a FAIL is judged again before it opens `refine`, where a case fails that was not yet seen to fail twice on
    one candidate. Only tools that declare `ToolTraits(repeatable=True)` are asked again."""
    rejudge_passes: int = Field(default=1, ge=0, le=100)
    """Times a PASS is judged again before anything rests on it; of such tools only, and never of hidden tests. With 0
    it is confirmed in the one judging that there is."""
    steady: int = Field(default=3, ge=1)
    """Looks in all at a PASS that takes no more than 10 s, where `rejudge_passes` is not set: a case that failed and
    passed on one tree is flaky, and two looks miss every second one that is a matter of luck."""
    repeats: int | None = Field(default=3, ge=1)
    """Trials in a row that may fail in the same way; the next one escalates (Reflexion, arXiv 2303.11366: more than 3).
    None: never."""
    escalations: int = Field(default=3, ge=0)
    """Escalations before a loop that does not move is stuck."""
    actions: int | None = Field(default=None, ge=1)
    """Steps of one trial in an environment; the next one is inefficient (Reflexion: more than 30). None: the budget's
    steps decide."""
    refinements: Mapping[Origin, int] = {}
    """The most refinements that signals of an origin may open in one episode; an origin that is not named has no cap
    of its own."""
