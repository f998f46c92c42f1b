"""FeedbackGraph: a builder over LangGraph's StateGraph in which only outside signals can cause a correction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, cast

from langgraph.checkpoint.base import BaseCheckpointSaver

from groundwire.agents.programs._plain_functions import (
    ActorFunction,
    CriticFunction,
    FunctionActor,
    FunctionCritic,
)
from groundwire.core._contexts import Actor, Critic, Tool
from groundwire.core._errors import GraphError
from groundwire.core._records import StopReason, Store
from groundwire.core._signals import Origin
from groundwire.core._traits import ActorTraits, CriticTraits, ToolTraits
from groundwire.graphs.build._bounds import annotated_jumps, mentions_jump
from groundwire.graphs.build._checks import check_declared, check_grounded, check_parallel, check_part
from groundwire.graphs.build._compiler import to_state_graph
from groundwire.graphs.build._declarations import (
    ActorPart,
    Cap,
    CriticPart,
    GraphPart,
    Helpers,
    Parts,
    PlainPart,
    Router,
    RouterPart,
    Rules,
    ToolPart,
    parts_of,
)
from groundwire.graphs.build._expansion import builder_of, wiring_of
from groundwire.graphs.build._proof import Role, Wiring, prove
from groundwire.graphs.run._answer import Select
from groundwire.graphs.run._app import FeedbackApp
from groundwire.graphs.run._budget import Budget, RunBudget
from groundwire.graphs.run._driver import Durability
from groundwire.graphs.run._gate import GateKind
from groundwire.graphs.run._sandboxes import SandboxChoice
from groundwire.graphs.run._state import EpisodeState
from groundwire.tools._check import Check, CheckFunction

PlainRole = Literal["pure", "unknown"]
NodeLike: TypeAlias = "Callable[[Any], Any] | Any"
"""What LangGraph takes as a node, or a graph; the first half lets a type checker read lambdas."""
Graphs = Mapping[str, Any]
Roles = Mapping[str, str]

OPTIONS = frozenset({"cache_policy", "defer", "input_schema", "metadata", "retry_policy", "timeout", "trace_policy"})
"""Of LangGraph's options for a node; an error handler would be a way on that the proof does not see."""


def is_plain(part: object, method: str) -> bool:
    """True for a function where a part with that method may stand; for a class never, whose instance was meant."""
    return callable(part) and not isinstance(part, type) and not hasattr(part, method)


class FeedbackGraph:
    """Wires actors, critics and tools into a loop that `compile` proves to be grounded.

    The first actor is the entry unless `set_entry` names another node. A PASS and every stop lead to the end.

    Args:
        state: the state's class; subclass `EpisodeState` to add typed fields.
        name: for reports.
        trust: opt-in origins (`other_model`, `human`) whose FAIL may open a gate; marked in every report.
        rules: those of `compile`, where it is given none.
        budget: likewise.
        allow_ungrounded: True to let in controls: actors and critics that revise their own text without a signal and
            declare it (`grounded=False`). Every report of such a graph says that it is not grounded. Loops between
            nodes stay refused.
    """

    def __init__(
        self,
        state: type[EpisodeState] = EpisodeState,
        *,
        name: str = "feedback",
        trust: Iterable[Origin] = (),
        rules: Rules | None = None,
        budget: Budget | None = None,
        allow_ungrounded: bool = False,
    ) -> None:
        self.name = name
        self.allow_ungrounded = allow_ungrounded
        self.state = state
        self.trust = frozenset(trust)
        self.rules = rules or Rules()
        self.budget = budget or Budget()
        self.parts = Parts()

    @classmethod
    def loop(
        cls,
        actor: Actor | ActorFunction,
        check: Tool | CheckFunction,
        *,
        critic: Critic | CriticFunction | None = None,
        width: int = 1,
        baseline: bool = False,
        roles: Roles | None = None,
        **options: Any,
    ) -> Self:
        """The whole loop in one line: `write`, then `check`, whose sealed FAIL alone leads back to `write`.

        Args:
            actor: proposes; an actor, or a function (`add_actor`).
            check: judges; a tool, or a function of the candidate (`add_tool`).
            critic: reflects on each FAIL first, as `reflect`; None: the actor is told what failed, and nothing else.
            width: candidates of one trial.
            baseline: True to judge the task's own files first; where they pass, nothing is proposed.
            roles: as for `add_actor`.
            **options: of `FeedbackGraph`: `name`, `budget`, `rules`, …

        Raises:
            GraphError, ConfigError: as `add_actor`.
        """
        options.setdefault("name", "loop")
        graph = cls(**options)
        graph.add_actor("write", actor, width=width, roles=roles).add_tool("check", check).add_edge("write", "check")
        if critic is not None:
            graph.add_critic("reflect", critic)
        if baseline:
            graph.add_tool("baseline", check).set_entry("baseline").refine("baseline", to="write")
        graph.refine("check", via=None if critic is None else "reflect", to="write")
        return graph

    def add_actor(
        self,
        name: str,
        actor: Actor | ActorFunction,
        *,
        width: int = 1,
        graphs: Graphs | None = None,
        roles: Roles | None = None,
    ) -> FeedbackGraph:
        """Adds a node that proposes candidates.

        Args:
            name: the node's name.
            actor: see `groundwire.core._contexts.Actor`; or a function, sync or async, that gets the `ActorContext` and
                gives the answer's text, texts by their paths, a `Candidate`, or a list of any of these. One that is not
                async runs in a thread.
            width: candidates asked for in one trial; each is judged, one is admitted.
            graphs: LangGraph graphs that it calls, by a name of your choice; those that it holds are found anyway.
            roles: `GRAPH/NODE` → `pure`, `world` or `unknown`, for the nodes of these.

        Raises:
            GraphError: the name is taken, the width is under 1, or it has no async `propose`.
            ConfigError: what it declares is no `ActorTraits`.
        """
        self.parts.check_new(name)
        if width < 1:
            raise GraphError(f"The width of {name} is {width}.", do="Ask for at least 1 candidate a trial.")
        part = cast("Actor", FunctionActor(cast("ActorFunction", actor)) if is_plain(actor, "propose") else actor)
        ActorTraits.of(part, name=name)
        check_part(name, part, "actor")
        known: Roles = getattr(part, "graph_roles", {})  # of a graph that the actor is (`from_langgraph`)
        self.parts.actors[name] = ActorPart(part, width, Helpers(graphs or {}, {**known, **(roles or {})}))
        return self

    def add_critic(
        self, name: str, critic: Critic | CriticFunction, *, graphs: Graphs | None = None, roles: Roles | None = None
    ) -> FeedbackGraph:
        """Adds a node that turns a failing signal into a reflection.

        A function gets the `CriticContext` and gives the reflection's text. Other arguments and errors as for
        `add_actor`.
        """
        self.parts.check_new(name)
        part = cast("Critic", FunctionCritic(cast("CriticFunction", critic)) if is_plain(critic, "reflect") else critic)
        CriticTraits.of(part, name=name)
        check_part(name, part, "critic")
        self.parts.critics[name] = CriticPart(part, Helpers(graphs or {}, roles or {}))
        return self

    def add_tool(
        self, name: str, tool: Tool | CheckFunction, *, graphs: Graphs | None = None, roles: Roles | None = None
    ) -> FeedbackGraph:
        """Adds a node that judges candidates; the only kind of node from which a signal can come.

        A function gets the candidate, and stands for `tools.Check(function)`. Other arguments and errors as for
        `add_actor`.
        """
        self.parts.check_new(name)
        part = cast("Tool", Check(cast("CheckFunction", tool)) if is_plain(tool, "judge") else tool)  # pyright: ignore[reportCallIssue, reportArgumentType]  no overload takes both forms
        ToolTraits.of(part, name=name)
        check_part(name, part, "tool")
        self.parts.tools[name] = ToolPart(part, Helpers(graphs or {}, roles or {}))
        return self

    def add_node(
        self,
        name: str,
        node: NodeLike,
        *,
        role: PlainRole = "unknown",
        destinations: Sequence[str] | None = None,
        fan_out: bool = False,
        graphs: Graphs | None = None,
        roles: Roles | None = None,
        **options: Any,
    ) -> FeedbackGraph:
        """Adds a plain LangGraph node, or a whole graph as a node.

        Args:
            name: the node's name.
            node: as for `StateGraph.add_node`: a function, sync or async, that returns a state update, `Command` or
                `Send`; a runnable; a LangGraph graph, compiled or not; or a `FeedbackGraph`. A function may write only
                the fields that your state class adds.
            role: `pure` promises that it calls no model; a cycle through an `unknown` one must be gated.
            destinations: every node it may lead to by `Command(goto=…)` or `Send`; of a graph: by `Command.PARENT`.
                Default: those in its annotation `-> Command[Literal[…]]`. Holds at run time too.
            fan_out: True if it may lead to several of them at once.
            graphs: LangGraph graphs that the function calls, by a name of your choice.
            roles: of the nodes of a LangGraph graph: `pure`, `unknown`, or `world` for one that touches the world each
                time it runs; of graphs that a function calls: `GRAPH/NODE`.
            **options: what else `StateGraph.add_node` takes: `defer`, `retry_policy`, `cache_policy`, `timeout`,
                `metadata`, `input_schema`, `trace_policy`.

        Raises:
            GraphError: the name is taken, or the function names `Command` or `Send` and declares no destinations.
        """
        self.parts.check_new(name)
        unknown = sorted(options.keys() - OPTIONS)
        if unknown:
            raise GraphError(
                f"{name} can't be given {', '.join(unknown)}.",
                do=f"Its LangGraph options: {', '.join(sorted(OPTIONS))}; wire the rest as nodes and edges.",
            )
        if builder_of(node) is not None or parts_of(node) is not None:
            self.parts.graphs[name] = GraphPart(node, roles or {}, tuple(destinations or ()), fan_out, options)
            return self
        destinations = annotated_jumps(node) or None if destinations is None else destinations
        if destinations is None and mentions_jump(node):
            raise GraphError(
                f"{name} may return Command or Send to undeclared nodes.",
                do=f'Declare them:  graph.add_node("{name}", …, destinations=["…"])',
            )
        helpers = Helpers(graphs or {}, roles or {})
        self.parts.plain[name] = PlainPart(node, Role(role), tuple(destinations or ()), fan_out, options, helpers)
        return self

    def add_edge(self, source: str | Sequence[str], target: str) -> FeedbackGraph:
        """Adds an edge that is always taken; from several sources: when all of them have run."""
        if isinstance(source, str):
            self.parts.edges.append((source, target))
        else:
            self.parts.joins.append((tuple(source), target))
        return self

    def add_conditional_edges(
        self,
        source: str,
        router: Router,
        targets: Mapping[Any, str] | Sequence[str],
        *,
        role: PlainRole = "unknown",
        fan_out: bool = False,
    ) -> FeedbackGraph:
        """Adds edges that a function of the state chooses from.

        Args:
            source: the node that they leave.
            router: returns a label, a node's name, END or a `Send`; may be async.
            targets: every node it may choose, or label → node. Holds at run time too.
            role: `pure` promises that it calls no model; a cycle through an `unknown` one must be gated.
            fan_out: True if it may choose several at once, or send several packets.

        Raises:
            GraphError: no targets.
        """
        path_map = dict(targets) if isinstance(targets, Mapping) else {t: t for t in targets}
        if not path_map:
            raise GraphError(f"The router of {source} declares no targets.", do="Give a list or a dict of them.")
        self.parts.routers.append(RouterPart(source, router, path_map, Role(role), fan_out))
        return self

    def refine(
        self,
        tool: str,
        *,
        via: str | None = None,
        to: str,
        failures: int | None = None,
        stop: StopReason = StopReason.REJECTED,
    ) -> FeedbackGraph:
        """The only edge that may rewrite: opens on a sealed FAIL of the current candidate.

        Args:
            tool: the tool node whose signal opens it.
            via: a critic that reflects on the signal first.
            to: the actor that may then propose again, or a nested graph that begins with one.
            failures: FAILs of this tool, since it last said "go on", that end the episode; None: any number.
            stop: the reason that the episode ends with then.
        """
        if failures is not None:
            if failures < 1:
                raise GraphError(
                    f"{tool} is allowed {failures} failures.", do="Allow at least 1, or leave the limit out."
                )
            self.parts.caps[tool] = Cap(failures, stop)
        return self._gate(GateKind.REFINE, tool, via, to)

    def advance(self, tool: str, *, to: str) -> FeedbackGraph:
        """Opens on a fresh sealed observation that says "go on"; the actor may only append.

        Args:
            tool: the tool node, an environment.
            to: the actor that acts next.
        """
        return self._gate(GateKind.ADVANCE, tool, None, to)

    def confirm(self, tool: str, *, by: str, select: Select = "best") -> FeedbackGraph:
        """A PASS of `tool` is judged by another tool before it counts, for example by hidden tests.

        Where `tool` has no `advance`, its "go on" leads there too: what was approved is then carried out.

        Args:
            tool: the tool node whose PASS it is.
            by: the tool node that has the last word.
            select: `best`: only what has passed goes there. `last`: where the loop ends without a PASS, its last
                candidate goes there too, and no proposal follows.
        """
        self.parts.confirms[tool] = by
        if select == "last":
            self.parts.lasts.add(tool)
        return self

    def refer(self, tool: str, *, to: str) -> FeedbackGraph:
        """Where `tool` gives no verdict since it is undecided, another tool is asked: a person, for example.

        Args:
            tool: the tool node that may be undecided (`NoVerdict.UNDECIDED`).
            to: the tool node that is asked then.
        """
        self.parts.refers[tool] = to
        return self

    def set_entry(self, name: str) -> FeedbackGraph:
        """Starts at `name`: a tool (the baseline is judged first), an actor, a plain node, or a nested graph."""
        self.parts.entry = name
        return self

    def wiring(self) -> Wiring:
        """Roles and edges as declared, nested graphs spelt out; what the proof works on."""
        return wiring_of(self.parts)

    def __gated_wiring__(self) -> Wiring:
        """See `groundwire_audit.GatedGraph`."""
        return self.wiring()

    def compile(
        self,
        *,
        store: Store | None = None,
        budget: Budget | None = None,
        run_budget: RunBudget | None = None,
        sandbox: SandboxChoice | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
        durability: Durability | None = None,
        interrupt_before: Sequence[str] = (),
        interrupt_after: Sequence[str] = (),
        rules: Rules | None = None,
    ) -> FeedbackApp:
        """Proves the graph and builds it.

        Args:
            store: ledger and memory; default: in memory, gone with the process.
            budget: ceilings of each episode; default: the graph's own.
            run_budget: ceilings of all episodes of a run together; default: none.
            sandbox: where tools run code; default: bubblewrap.
            checkpointer: any LangGraph checkpointer.
            durability: when checkpoints are written. `exit`: when a run ends or pauses, the default where all nodes are
                actors, critics and tools, since the ledger already holds every step of theirs. `async` or `sync`: at
                every superstep, so that plain nodes do not run again after a crash, and for time travel to any step;
                `async` is the default where there are plain nodes.
            interrupt_before: nodes before which LangGraph pauses (needs a checkpointer).
            interrupt_after: nodes after which it pauses.
            rules: what is judged again, and when a loop that does not move is ended; default: the graph's own.

        Raises:
            UngroundedLoopError: a loop can repeat without any outside check.
            UngroundedPartError: a part revises its own text without one, and `allow_ungrounded` is not set.
            GraphError: the wiring is wrong in another way.
        """
        check_declared(self.parts)
        if not self.allow_ungrounded:
            check_grounded(self.parts)
        wiring = self.wiring()
        prove(wiring)
        check_parallel(self.parts)
        compiled = to_state_graph(self.parts, self.state, self.trust).compile(
            checkpointer=checkpointer,
            interrupt_before=list(interrupt_before) or None,
            interrupt_after=list(interrupt_after) or None,
            name=self.name,
        )
        fused = None
        if checkpointer is None and not interrupt_before and not interrupt_after:
            fused = to_state_graph(self.parts, self.state, self.trust, fused=True).compile(name=self.name)
        return FeedbackApp(
            compiled,
            fused=fused,
            name=self.name,
            state=self.state,
            wiring=wiring,
            store=store,
            budget=budget or self.budget,
            run_budget=run_budget,
            sandbox=sandbox,
            durability=durability or ("exit" if self.parts.is_all_in_the_ledger() else "async"),
            rules=rules or self.rules,
            trust=self.trust,
            tools=self.parts.identities(),
            revisions=self.parts.revisions(),
            ungrounded=tuple(self.parts.ungrounded()),
        )

    def _gate(self, kind: GateKind, tool: str, via: str | None, to: str) -> FeedbackGraph:
        if (tool, kind) in self.parts.gates:
            raise GraphError(f"{tool} has a {kind} edge already.", do="One tool node has one; add another tool node.")
        self.parts.gates[tool, kind] = (via, to)
        return self
