"""Gathering and combining as a world, its recipes and stocks by seed; lost as soon as too little is left."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Self

from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._playing import Playing, Refused

# The book of recipes, what a goal still takes, and stocks by seed that suffice for it.

Counts = tuple[tuple[str, int], ...]
"""How many there are of each thing, in alphabetical order; what there is none of is left out."""

MATERIALS = ("branch", "clay", "flint", "ore", "reed", "resin")
RECIPES: dict[str, tuple[str, str]] = {
    "cord": ("reed", "reed"),
    "spade": ("branch", "flint"),
    "torch": ("branch", "resin"),
    "brick": ("clay", "reed"),
    "pick": ("cord", "flint"),
    "kiln": ("brick", "resin"),
    "ingot": ("ore", "torch"),
    "lamp": ("cord", "torch"),
    "bell": ("cord", "ingot"),
}
"""What two parts make, parts before what is made of them. It holds under every seed, and no scene tells it."""
TOOLS = {"clay": "spade", "ore": "pick"}
"""What it takes to gather a material. Tools are not used up, and are no part of anything."""
GOALS = ("lamp", "brick", "pick", "kiln", "ingot", "bell")
SPARE = 1
"""How much there is of each material beyond what the goal takes."""
AT_HAND = 3
"""The most that is at hand in the beginning."""


@dataclass(frozen=True)
class Order:
    """A world's beginning.

    Args:
        goal: what is to be made.
        held: what one has at first.
        stock: what can be gathered.
    """

    goal: str
    held: Counts
    stock: Counts


def generate(seed: int) -> Order:
    """The world of that seed: a goal, enough of everything and one to spare, and some of it at hand.

    Worlds of one goal differ by what is at hand only, so that each is met again on the ways through the others.
    """
    chance = random.Random(f"crafting {seed}")
    goal = chance.choice(GOALS)
    needed = _lacking(goal, {})
    left = Counter({material: needed[material] + SPARE for material in MATERIALS})
    near = [material for material in MATERIALS if material not in TOOLS for _ in range(left[material])]
    held = Counter(chance.sample(near, chance.randint(0, AT_HAND)))
    return Order(goal, counted(held), counted(left - held))


def counted(things: Mapping[str, int]) -> Counts:
    """A count as a value."""
    return tuple(sorted((name, count) for name, count in things.items() if count))


def product(parts: Iterable[str]) -> str:
    """What these make; empty for nothing."""
    pair = tuple(sorted(parts))
    return next((made for made, recipe in RECIPES.items() if recipe == pair), "")


def _lacking(goal: str, held: Mapping[str, int]) -> Counter[str]:
    """What has to be made or gathered, each thing as often as that is.

    Every thing is made in one way only, so this is no choice: what is held is used before more is made, and a tool is
    wanted once, if anything has to be gathered that takes it.
    """
    tools: set[str] = set()
    while True:
        wanted, lacking = Counter({goal: 1}), Counter[str]()
        for tool in tools - {goal}:
            wanted[tool] = 1
        for thing in (*reversed(RECIPES), *MATERIALS):
            if (more := wanted[thing] - held.get(thing, 0)) > 0:
                lacking[thing] = more
                for part in RECIPES.get(thing, ()):
                    wanted[part] += more
        missing = {tool for material, tool in TOOLS.items() if lacking[material]}
        if missing <= tools:
            return lacking
        tools |= missing


def short_of(goal: str, held: Mapping[str, int], stock: Mapping[str, int]) -> list[str]:
    """Materials of which there are too few to make the goal; none where it can be made."""
    lacking = _lacking(goal, held)
    return [material for material in MATERIALS if lacking[material] > stock.get(material, 0)]


def plan(goal: str, held: Mapping[str, int], stock: Mapping[str, int]) -> list[str]:
    """The fewest actions that make the goal; none where it can't be made.

    Every one of them has to be done, so no other way is shorter; only their order may differ.
    """
    if short_of(goal, held, stock):
        return []
    lacking = _lacking(goal, held)
    easy = [material for material in MATERIALS if material not in TOOLS]
    order: list[str] = []
    for thing in (*easy, *RECIPES):
        # a tool comes before what it gathers, since the book has parts before what is made of them
        for material in [part for part in RECIPES.get(thing, ()) if part in TOOLS]:
            order += [f"gather {material}"] * lacking.pop(material, 0)
        makes = "combine {} and {}".format(*RECIPES[thing]) if thing in RECIPES else f"gather {thing}"
        order += [makes] * lacking[thing]
    return order


# Gathering and combining as a world; it is lost as soon as too little is left for the goal.


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
