"""Gathering and combining as a world; it is lost as soon as too little is left for the goal."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Self

from groundwire.environments import Scene, Status
from groundwire.tools.environments.world import World
from groundwire.tools.environments.worlds.crafting.puzzle import TOOLS, Order, counted, generate, product, short_of
from groundwire.tools.environments.worlds.playing import Playing, Refused

__all__ = ["WORLD", "Workshop", "begin"]


@dataclass(frozen=True)
class Workshop:
    """What there is (`Position`).

    Args:
        order: the goal, what is held, and what can be gathered.
    """

    order: Order

    def scene(self) -> Scene:
        """See `Position`."""
        order = self.order
        held, stock = dict(order.held), dict(order.stock)
        if order.goal in held:
            return Scene(f"You have made the {order.goal}.", Status.WON)
        short = short_of(order.goal, held, stock)
        told = f"To make: {order.goal}.\nYou hold: {_listed(held)}.\nTo be gathered: {_listed(stock)}."
        if short:
            why = f"The {order.goal} can't be made any more: too little {' and '.join(short)} is left."
            return Scene(f"{told}\n{why}", Status.LOST)
        return Scene(told, actions=self._actions())

    def after(self, action: str) -> Self:
        """See `Position`."""
        verb, _, what = action.partition(" ")
        parts = sorted(what.split(" and "))
        if f"{verb} {' and '.join(parts)}" not in self._actions():
            raise Refused("you don't have what it takes, or it can't be done at all.")
        held, stock = Counter(dict(self.order.held)), Counter(dict(self.order.stock))
        if verb == "gather":
            if what in TOOLS and TOOLS[what] not in held:
                raise Refused(f"to gather {what} takes a tool that you don't have.")
            stock[what] -= 1
            held[what] += 1
        else:
            held.subtract(parts)
            if made := product(parts):
                held[made] += 1
        return replace(self, order=replace(self.order, held=counted(held), stock=counted(stock)))

    def _actions(self) -> tuple[str, ...]:
        """All that can be tried; what comes of it is another matter."""
        parts = [(name, count) for name, count in self.order.held if name not in TOOLS.values()]
        pairs = combinations_with_replacement(parts, 2)
        tries = [f"combine {a} and {b}" for (a, count), (b, _) in pairs if a != b or count > 1]
        return (*(f"gather {name}" for name, _ in self.order.stock), *tries)


def _listed(things: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in things.items()) or "nothing"


def begin(seed: int) -> Workshop:
    """How the world of that seed begins."""
    return Workshop(generate(seed))


WORLD = World(
    name="crafting",
    make=lambda: Playing(begin),
    prompt="Make the thing that is asked for. Gather materials; some can only be gathered with a tool. Combine two"
    " parts: what two parts make is the same in all worlds of this kind, and nobody tells it; if they make nothing,"
    " both are spoilt. An action: `gather reed`, `combine branch and flint`.",
    actions=40,
    about="materials, tools and recipes that have to be found out; the recipes are the same under every seed",
)
