"""Plain nodes that note that they ran, around a small loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from operator import add
from typing import Annotated, Any, TypedDict

from guessing import Check, Guesser
from langgraph.graph import StateGraph
from pydantic import Field

from groundwire import EpisodeState, FeedbackGraph, StopReason, Task


class Visited(EpisodeState):
    seen: Annotated[list[str], add] = Field(default_factory=list[str])


class Noted(TypedDict, total=False):
    seen: Annotated[list[str], add]
    trial: int


def visit(name: str) -> Callable[[Any], dict[str, list[str]]]:
    def node(state: Any) -> dict[str, list[str]]:
        return {"seen": [name]}

    return node


def graph_with(first: str, node: Callable[[Any], Any] | Any, actor: Any = None, **options: Any) -> FeedbackGraph:
    """A plain entry before write → test."""
    graph = FeedbackGraph(Visited).add_node(first, node, **options)
    graph.add_actor("write", actor or Guesser([["wrong"], ["right"]])).add_tool("test", Check())
    return graph.set_entry(first).add_edge("write", "test").refine("test", to="write")


def visited(graph: FeedbackGraph, task: Task) -> list[str]:
    """Runs it and returns what its plain nodes noted."""
    app = graph.compile()

    async def go() -> list[str]:
        async with app.episode(task) as episode:
            state = await app.langgraph.ainvoke(app.input(episode), context=episode)
            assert state["stop_reason"] == StopReason.VERIFIED
            return state["seen"]

    return asyncio.run(go())


def undeclared(target: Any, graph: str | None = None) -> Any:
    """A jump that no look at a function's code finds."""
    kind: Any = import_module("langgraph.types").__dict__["Comm" + "and"]
    return kind(goto=target, graph=graph)


def team(*edges: tuple[str, str], **nodes: Callable[[Any], Any] | Any) -> Any:
    builder: Any = StateGraph(Noted)
    for name, node in nodes.items():
        builder.add_node(name, node)
    for source, target in edges:
        builder.add_edge(source, target)
    return builder
