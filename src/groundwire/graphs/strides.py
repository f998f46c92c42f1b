"""Strides: a trial in one superstep, where nobody asked to see its nodes one by one.

LangGraph takes about a quarter of a millisecond of CPU for a superstep, whatever the node does. A run without a
checkpointer, an interrupt, a callback or a config of its own is the same with one superstep a trial: the same nodes, in
the same order, with the same records in the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import Command

from groundwire.graphs.calls import Node
from groundwire.graphs.episode import Episode
from groundwire.graphs.state import EpisodeState

__all__ = ["Leg", "Stride", "Way"]

Way: TypeAlias = Callable[[EpisodeState], "str | Sequence[str]"]
"""Where a node leads, read from the state that it left."""


@dataclass(frozen=True)
class Leg:
    """A node and where it leads."""

    node: Node
    way: Way


class Stride:
    """Runs nodes one after the other until the next actor, the end, or a node that is LangGraph's business.

    Args:
        start: the node that it begins with.
        legs: the nodes that it may run.
        ends_before: nodes before which it ends: one trial is one superstep, so that its limit still counts trials.
    """

    def __init__(self, start: str, legs: Mapping[str, Leg], ends_before: Collection[str]) -> None:
        self._start = start
        self._legs = legs
        self._ends_before = frozenset(ends_before)

    async def __call__(self, state: EpisodeState, runtime: Runtime[Episode]) -> Command[Any]:
        """One superstep."""
        update: dict[str, Any] = {}
        leg = self._legs[self._start]
        while True:
            changed = await leg.node(state, runtime)
            update.update(changed)
            state = state.model_copy(update=changed)  # unchecked: the values are the nodes' own
            to = leg.way(state)
            if not isinstance(to, str) or to == END or to in self._ends_before or to not in self._legs:
                return Command(update=update, goto=to)
            leg = self._legs[to]
