"""What was declared holds at run time: where a node leads, what it writes and which graphs it calls."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Coroutine, Generator, Iterable, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FunctionType, MethodType, UnionType
from typing import Any, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph._internal._constants import CONFIG_KEY_SCRATCHPAD
from langgraph.config import get_config
from langgraph.errors import ParentCommand
from langgraph.graph import END, StateGraph
from langgraph.pregel import Pregel
from langgraph.runtime import Runtime
from langgraph.types import Command, Send
from pydantic import BaseModel

from groundwire.core._errors import GroundingError
from groundwire.graphs.build._reachable import reachable_from
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._state import EpisodeState, Route, as_kept

# A node may call only those LangGraph graphs that the proof has seen.

Node = Callable[[EpisodeState, Runtime[Episode]], Awaitable[Any]]


def watched(name: str, node: Node, *, calls_graphs: bool) -> Node:
    """A node whose records are all in the ledger when it has run, and which is not begun once the episode is cancelled.

    Args:
        name: the node's name.
        node: an actor's, critic's or tool's.
        calls_graphs: True if the graphs that it calls are part of the proof; else it can't begin any.
    """

    async def run(state: EpisodeState, runtime: Runtime[Episode]) -> Any:
        runtime.context.check_cancelled()
        try:
            with nullcontext() if calls_graphs else only_seen_graphs(name):
                return as_kept(await node(state, runtime))
        finally:
            await runtime.context.settle()

    return run


class GraphGuard:
    """Which node is running, and may call no LangGraph graph but those that the proof has seen."""

    __slots__ = ("node",)

    def __init__(self, node: str) -> None:
        self.node = node
        """Empty: whatever runs now may call any."""

    def check(self) -> None:
        """Called when a graph is about to begin.

        Raises:
            GroundingError: the proof has not seen it.
        """
        if self.node:
            raise GroundingError(
                f"{self.node} called a LangGraph graph that the proof has not seen.",
                do=f'Declare it where the node is added:  graph.add_…("{self.node}", …, graphs={{"helper": …}})',
            )


@contextmanager
def only_seen_graphs(node: str = "") -> Generator[GraphGuard]:
    """A LangGraph graph that the node invokes is refused before it begins; the guard can be told of other nodes.

    LangGraph asks the running node's scratchpad for a number when a graph begins inside it; there is no public place to
    stand in the way. A graph that is invoked with a `thread_id` of its own asks nobody, and is not noticed.
    """
    configurable: dict[str, Any] = get_config().get("configurable", {})
    scratchpad = configurable.get(CONFIG_KEY_SCRATCHPAD)
    guard = GraphGuard(node)
    if scratchpad is None:
        yield guard
        return

    def counted() -> int:
        guard.check()
        return scratchpad.subgraph_counter()

    configurable[CONFIG_KEY_SCRATCHPAD] = dataclasses.replace(scratchpad, subgraph_counter=counted)
    try:
        yield guard
    finally:
        configurable[CONFIG_KEY_SCRATCHPAD] = scratchpad


# Jumps: what a node or router returns to say where it leads. They must be declared, and are held to that.


class Jump(NamedTuple):
    """One step that a node asks for.

    Args:
        target: node name, or END.
        graph: "" for the node's own graph; else the name that LangGraph gives to another one.
    """

    target: str
    graph: str = ""


def mentions_jump(function: object) -> bool:
    """True if the function, or what it calls of the same project, names `Command` or `Send`.

    What can't be read is caught when it happens.
    """
    reached = reachable_from(function, stop_at=(Pregel, StateGraph))
    seen = any(value is Command or value is Send for value in reached.values)
    annotation = getattr(function, "__annotations__", {}).get("return", "")
    return seen or bool(reached.unresolved & {"Command", "Send"}) or "Command" in str(annotation)


def annotated_jumps(function: object) -> tuple[str, ...]:
    """Where a function says that it leads: the names in its annotation `-> Command[Literal["a", "b"]]`."""
    called: Any = function if isinstance(function, (FunctionType, MethodType)) else type(function).__call__
    try:
        returned = get_type_hints(called).get("return")
    except (NameError, TypeError):
        return ()
    whole = get_args(returned) if get_origin(returned) in (Union, UnionType) else (returned,)
    commands = [part for part in whole if get_origin(part) is Command]
    return tuple(name for command in commands for literal in get_args(command) for name in get_args(literal))


def jumps_in(result: Any) -> Iterable[Jump]:
    """Every jump in what a node returned, END left out: ending is always allowed."""
    return (jump for jump in _jumps(result, "") if jump.target != END)


def _jumps(result: Any, graph: str) -> Iterable[Jump]:
    if isinstance(result, Send):
        yield Jump(result.node, graph)
    elif isinstance(result, Command):
        command = cast("Command[Any]", result)
        yield from _named(command.goto, command.graph or "")
    elif isinstance(result, (list, tuple)):
        for item in cast("Iterable[Any]", result):
            yield from _jumps(item, graph)


def _named(goto: Any, graph: str) -> Iterable[Jump]:
    if isinstance(goto, str):
        yield Jump(goto, graph)
    elif isinstance(goto, Send):
        yield Jump(goto.node, graph)
    elif isinstance(goto, Iterable) and not isinstance(goto, Mapping):
        for item in cast("Iterable[Any]", goto):
            yield from _named(item, graph)


# What was declared holds at run time: a node that leads elsewhere, or writes what is not its own, is refused.

OWNED = frozenset(EpisodeState.model_fields)
"""Fields that only actors, critics and tools write."""


@dataclass(frozen=True)
class Bounds:
    """Where a node may jump.

    Args:
        name: the node's name.
        targets: nodes of its own graph.
        fan_out: True if it may jump to several at once.
        outer: nodes of the graph around its own (`Command.PARENT`).
        outer_fan_out: True if it may jump to several of these at once.
    """

    name: str
    targets: Collection[str] = ()
    fan_out: bool = False
    outer: Collection[str] = ()
    outer_fan_out: bool = False

    def check(self, result: object) -> None:
        """Refuses a jump that was not declared.

        Raises:
            GroundingError: naming the jump.
        """
        jumps = list(jumps_in(result))
        self._check([j for j in jumps if not j.graph], self.targets, fan_out=self.fan_out)
        outer = [j for j in jumps if j.graph]
        self._check(outer, self.outer if _all_to_parent(outer) else (), fan_out=self.outer_fan_out)

    def check_from_inside(self, command: object) -> None:
        """Refuses a jump to this node's graph, made inside the graph that the node is, that was not declared.

        Raises:
            GroundingError: naming the jump.
        """
        jumps = [Jump(j.target) for j in jumps_in(command)]
        self._check(jumps, self.targets, fan_out=self.fan_out)

    def _check(self, jumps: Iterable[Jump], allowed: Collection[str], *, fan_out: bool) -> None:
        taken = [j.target for j in jumps]
        wrong = sorted(set(taken) - set(allowed))
        if wrong:
            raise GroundingError(
                f"{self.name} jumped to {', '.join(wrong)}, which it had not declared.",
                do=f'Declare it:  graph.add_node("{self.name}", …, destinations=[…])',
            )
        if len(taken) > 1 and not fan_out:
            raise GroundingError(
                f"{self.name} jumped to {', '.join(taken)} at once, and had not declared that.",
                do=f'Declare it:  graph.add_node("{self.name}", …, destinations=[…], fan_out=True)',
            )


def _all_to_parent(jumps: Iterable[Jump]) -> bool:
    return all(j.graph == Command.PARENT for j in jumps)


def bound_function(
    bounds: Bounds, function: Callable[..., Any], *, calls_graphs: bool
) -> Callable[..., Awaitable[Any]]:
    """A plain node that keeps to its bounds and to its own fields of the state.

    Args:
        bounds: where it may jump.
        function: what runs; it may ask for what LangGraph gives a node (`runtime`, `config`, `writer`, `store`).
        calls_graphs: True if graphs that it calls are part of the proof.
    """
    is_async = _is_async(function)

    @functools.wraps(function)
    async def node(state: Any, **wanted: Any) -> Any:
        with nullcontext() if calls_graphs else only_seen_graphs(bounds.name):
            # in a thread, as LangGraph does it: what blocks must not stop the other episodes
            called = function(state, **wanted) if is_async else asyncio.to_thread(function, state, **wanted)
            result = await called
            if inspect.isawaitable(result):
                result = await result
        bounds.check(result)
        return _own_fields(bounds.name, result, state)

    return node


def bound_runnable(bounds: Bounds, runnable: Runnable[Any, Any], *, ours: bool) -> Callable[..., Awaitable[Any]]:
    """A runnable or graph as a node that keeps to its bounds.

    Args:
        bounds: where it, or a node inside it, may jump.
        runnable: what runs.
        ours: True if it is a node of a feedback graph, whose state it may write its own fields of; False inside a plain
            LangGraph graph, whose state is its own business.
    """

    async def node(state: Any, config: RunnableConfig) -> Any:
        try:
            result = await runnable.ainvoke(state.model_dump() if ours else state, config)
        except ParentCommand as jump:
            bounds.check_from_inside(_command(jump))
            raise
        bounds.check(result)
        return _own_fields(bounds.name, result, state) if ours else result

    return node


def _command(jump: ParentCommand) -> object:
    return cast("Any", jump).args[0]


def bound_router(
    source: str, router: Callable[..., Any], path_map: Mapping[Any, str], *, fan_out: bool, pure: bool, may_stop: bool
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A router that leads where it was declared to, and, after an actor that has stopped, to the end.

    Args:
        source: the node that it leaves.
        router: a function of the state.
        path_map: label → node.
        fan_out: True if it may choose several.
        pure: True if it calls no model, so that it can be called without a thread of its own.
        may_stop: True if the source can stop the episode.
    """
    targets = {*path_map.values(), END}
    at_once = pure or _is_async(router)

    async def leave(state: Any) -> list[str | Send]:
        if may_stop and state.route == Route.STOP:
            return [END]
        chosen = router(state) if at_once else await asyncio.to_thread(router, state)
        if inspect.isawaitable(chosen):
            chosen = await chosen
        labels = cast("list[Any]", chosen) if isinstance(chosen, (list, tuple)) else [chosen]
        if len(labels) > 1 and not fan_out:
            raise GroundingError(
                f"The router of {source} chose {len(labels)} ways at once, and had not declared that.",
                do=f'Declare it:  graph.add_conditional_edges("{source}", …, fan_out=True)',
            )
        return [_target(source, label, path_map, targets) for label in labels]

    return leave


def _is_async(function: Callable[..., Any]) -> bool:
    called = function if inspect.isroutine(function) else type(function).__call__
    return inspect.iscoroutinefunction(called)


def _target(source: str, label: Any, path_map: Mapping[Any, str], targets: Collection[str]) -> str | Send:
    if isinstance(label, Send):
        if label.node not in targets:
            raise _undeclared(source, label.node)
        return label
    if label == END:
        return END
    if label not in path_map:
        raise _undeclared(source, label)
    return path_map[label]


def _undeclared(source: str, label: object) -> GroundingError:
    return GroundingError(
        f"The router of {source} chose {label!r}, which it had not declared.",
        do=f'Declare it:  graph.add_conditional_edges("{source}", …, […])',
    )


def _own_fields(name: str, result: Any, state: Any) -> Any:
    """The result without the fields that belong to actors, critics and tools.

    Raises:
        GroundingError: it changes one of them.
    """
    if isinstance(result, Command):
        command = cast("Command[Any]", result)
        if command.update is None or command.graph is not None:
            return command
        return Command(goto=command.goto, resume=command.resume, update=_kept(name, command.update, state))
    if isinstance(result, (Mapping, BaseModel)):
        return _kept(name, result, state)
    if isinstance(result, (list, tuple)):
        return [_own_fields(name, item, state) for item in cast("Iterable[Any]", result)]
    return result


def _kept(name: str, update: Any, state: Any) -> dict[str, Any]:
    if isinstance(update, BaseModel):
        fields = {key: getattr(update, key) for key in update.model_fields_set}
    else:
        fields = dict(update)
    changed = sorted(k for k in fields if k in OWNED and fields[k] != getattr(state, k, None))
    if changed:
        raise GroundingError(
            f"{name} wrote {', '.join(changed)}, which only actors, critics and tools may.",
            do="Give your state class a field of its own for it.",
        )
    return {key: value for key, value in fields.items() if key not in OWNED}
