"""The book of recipes, what a goal still takes, and stocks by seed that suffice for it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = [
    "GOALS",
    "MATERIALS",
    "RECIPES",
    "TOOLS",
    "Counts",
    "Order",
    "counted",
    "generate",
    "plan",
    "product",
    "short_of",
]

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
