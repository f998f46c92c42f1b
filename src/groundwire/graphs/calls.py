"""A node may call only those LangGraph graphs that the proof has seen."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, nullcontext
from typing import Any, NoReturn

from langgraph._internal._constants import CONFIG_KEY_SCRATCHPAD
from langgraph.config import get_config
from langgraph.runtime import Runtime

from groundwire.errors import GroundingError
from groundwire.graphs.episode import Episode
from groundwire.graphs.state import EpisodeState, as_kept

__all__ = ["Node", "only_seen_graphs", "watched"]

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


@contextmanager
def only_seen_graphs(name: str) -> Generator[None]:
    """A LangGraph graph that the node invokes is refused before it begins.

    LangGraph asks the running node's scratchpad for a number when a graph begins inside it; there is no public place to
    stand in the way. A graph that is invoked with a `thread_id` of its own asks nobody, and is not noticed.
    """
    configurable: dict[str, Any] = get_config().get("configurable", {})
    scratchpad = configurable.get(CONFIG_KEY_SCRATCHPAD)
    if scratchpad is None:
        yield
        return

    def refuse() -> NoReturn:
        raise GroundingError(
            f"{name} called a LangGraph graph that the proof has not seen.",
            do=f'Declare it where the node is added:  graph.add_…("{name}", …, graphs={{"helper": …}})',
        )

    configurable[CONFIG_KEY_SCRATCHPAD] = dataclasses.replace(scratchpad, subgraph_counter=refuse)
    try:
        yield
    finally:
        configurable[CONFIG_KEY_SCRATCHPAD] = scratchpad
