"""A copy of a plain LangGraph graph whose nodes and routers are held to what the proof was told of them."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from groundwire.errors import GroundingError
from groundwire.graphs.bounds import Bounds, bound_runnable
from groundwire.graphs.foreign import builder_of, chooses_one, jumps_of

__all__ = ["guarded"]


def guarded(name: str, graph: object, *, outer: Sequence[str] = (), outer_many: bool = True) -> Runnable[Any, Any]:
    """Compiles a graph again, with every node and router inside its bounds; the graph itself stays as it is.

    Args:
        name: of the node that the graph is.
        graph: a `StateGraph`, compiled or not.
        outer: nodes of the graph around it to which its nodes may jump.
        outer_many: True if such a jump may lead to several at once.
    """
    builder: Any = copy.copy(builder_of(graph))
    builder.nodes = {
        node: dataclasses.replace(spec, runnable=_node(f"{name}/{node}", spec, outer, outer_many))
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


def _node(place: str, spec: Any, outer: Sequence[str], outer_many: bool) -> Runnable[Any, Any]:
    ends = jumps_of(spec)
    if builder_of(spec.runnable) is not None:
        inner = guarded(place, spec.runnable, outer=ends)
        return RunnableLambda(bound_runnable(Bounds(place, ends, many=True), inner, ours=False))
    bounds = Bounds(place, ends, many=True, outer=outer, outer_many=outer_many)
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
