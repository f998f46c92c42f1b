"""A plan in a world that is known in part: what each place is worth, if what is not known yet may be good."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping

from groundwire.agents.learning.places import LOST, WON, Places

__all__ = ["Plan"]

DISCOUNT = 0.999
"""Of one action: small, so that a long way that surely wins is worth more than a near place that nobody knows."""
UNKNOWN = 0.9
"""What an action that was never tried is thought to be worth: nearly a win (R-MAX)."""
TRIES = 10
"""What is tried so often is known, in a world with chance in it; in one without, a single try is enough."""
LEAST = 1e-4
"""Changes of a value that are worth going after."""


class Plan:
    """The value of every place that can be reached from one, for the best that can be done (value iteration).

    Args:
        places: what is known.
        start: where one is.
        has_chance: True if an action may lead to several places from one.
    """

    def __init__(self, places: Places, start: str, *, has_chance: bool) -> None:
        self._places = places
        self._has_chance = has_chance
        self.values: dict[str, float] = {WON: 1.0, LOST: 0.0}
        self._into: dict[str, list[tuple[str, Mapping[str, float]]]] = {}
        for place in self._reached(start):
            self.values[place] = self._hope(place)
            for ways in places.led.get(place, {}).values():
                for to in ways:
                    self._into.setdefault(to, []).append((place, ways))
        self._raise()

    def _reached(self, start: str) -> Iterable[str]:
        found = {start: None}
        waiting = [start]
        while waiting:
            for ways in self._places.led.get(waiting.pop(), {}).values():
                for to in ways:
                    if to not in found and to not in (WON, LOST):
                        found[to] = None
                        waiting.append(to)
        return found

    def _hope(self, place: str) -> float:
        """What it is worth that something was never tried there."""
        untried = self._places.choices.get(place, 0) > len(self._places.led.get(place, {}))
        return DISCOUNT * UNKNOWN if untried else 0.0

    def _raise(self) -> None:
        """Values only ever grow, from what is sure on, the highest first: in a world without chance each place is
        reached once, as in Dijkstra's algorithm; with chance it is prioritized sweeping (Moore & Atkeson 1993)."""
        queue = [(-value, place) for place, value in self.values.items()]
        heapq.heapify(queue)
        while queue:
            low, place = heapq.heappop(queue)
            if -low < self.values[place]:
                continue
            for before, ways in self._into.get(place, ()):
                worth = self._worth(ways)
                if worth > self.values[before] + LEAST:
                    self.values[before] = worth
                    heapq.heappush(queue, (-worth, before))

    def _worth(self, ways: Mapping[str, float]) -> float:
        total = sum(ways.values())
        if self._has_chance and total < TRIES:
            return DISCOUNT * UNKNOWN
        if not self._has_chance and len(ways) > 1:
            # without chance, what leads somewhere does not lose as well: the trial's time had run out
            likeliest = max(ways, key=lambda to: (ways[to], to not in (WON, LOST)))
            return DISCOUNT * self.values[likeliest]
        return DISCOUNT * sum(self.values[to] * times for to, times in ways.items()) / total

    def worth(self, place: str, action: str) -> float:
        """What it is worth to do that there."""
        ways = self._places.led.get(place, {}).get(action)
        return self._worth(ways) if ways else DISCOUNT * UNKNOWN
