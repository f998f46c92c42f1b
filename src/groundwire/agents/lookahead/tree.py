"""The tree of what might come: each way down is one imagined trajectory, and its value is backed up to the root."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from groundwire.environments import Scene

__all__ = ["Node"]


@dataclass
class Node:
    """A place.

    Args:
        scene: what is seen there, or thought to be.
        value: what the model of the world says that it is worth; None where it says nothing.
        visits: trajectories that came through.
        total: the sum of their values.
        children: by action, in the order in which the actions were proposed; None before they were.
    """

    scene: Scene
    value: float | None = None
    visits: int = 0
    total: float = 0.0
    children: dict[str, Node | None] | None = field(default=None)

    @property
    def mean(self) -> float:
        """The mean value of the trajectories that came through; 0 where none did."""
        return self.total / self.visits if self.visits else 0.0

    def choose(self, explore: float) -> str:
        """The action to look into next: one that was never looked into, in order, else by UCB1 (Auer et al. 2002)."""
        actions = self.children or {}
        for action, child in actions.items():
            if child is None or not child.visits:
                return action
        return max(actions, key=lambda action: self._ucb(actions[action], explore))

    def _ucb(self, child: Node | None, explore: float) -> float:
        if child is None or not child.visits:
            return math.inf
        return child.mean + explore * math.sqrt(math.log(self.visits) / child.visits)

    def best(self) -> str:
        """The action with the best mean value, the first where several are equal; empty where nothing is known."""
        known: Mapping[str, float] = {a: child.mean for a, child in (self.children or {}).items() if child is not None}
        return max(known, key=lambda action: known[action]) if known else ""
