"""Crafting: what the count of materials says, against a search through everything that can be done."""

from __future__ import annotations

import random
from collections import Counter, deque

import pytest

from groundwire.core._scenes import Status
from groundwire.tools.environments.worlds._crafting import (
    GOALS,
    MATERIALS,
    RECIPES,
    TOOLS,
    WORLD,
    Order,
    Workshop,
    begin,
    counted,
    generate,
    plan,
    product,
    short_of,
)
from groundwire.tools.environments.worlds._playing import Refused, shortest


def can_be_made(order: Order) -> bool:
    """Tries everything that could help; spoiling parts never does."""
    begun = (order.held, order.stock)
    seen, waiting = {begun}, deque([begun])
    while waiting:
        held, stock = (Counter(dict(counts)) for counts in waiting.popleft())
        if held[order.goal]:
            return True
        following = [
            (held + Counter([name]), stock - Counter([name]))
            for name in stock
            if name not in TOOLS or held[TOOLS[name]]
        ]
        following += [
            (held - Counter(parts) + Counter([made]), stock)
            for made, parts in RECIPES.items()
            if not Counter(parts) - held
        ]
        for pair in following:
            state = (counted(pair[0]), counted(pair[1]))
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return False


def test_the_plan_wins_and_none_is_shorter() -> None:
    by_search: Counter[str] = Counter()
    for seed in range(300):
        order = generate(seed)
        way = plan(order.goal, dict(order.held), dict(order.stock))
        assert 2 <= len(way) <= 14 <= WORLD.actions
        played = WORLD.make()
        scene = played.reset(seed)
        for action in way:
            assert scene.status is Status.RUNNING and action in scene.actions, (seed, way, action, scene)
            scene = played.act(action)
        assert scene.status is Status.WON
        if len(way) <= 5:
            by_search[order.goal] += 1
            assert len(shortest(begin(seed)) or ()) == len(way)
    assert by_search.total() >= 100 and len(by_search) >= 3


def test_it_is_lost_where_nothing_that_is_left_can_make_the_goal_and_nowhere_else() -> None:
    ends: Counter[Status] = Counter()
    for seed in range(250):
        chance = random.Random(seed)
        few = {material: chance.randint(0, 2) for material in MATERIALS}
        held = dict.fromkeys(chance.sample([*RECIPES, *MATERIALS], 3), 1)
        order = Order(chance.choice(GOALS), counted(held), counted(few))
        status = Workshop(order).scene().status
        ends[status] += 1
        assert (status is not Status.LOST) == can_be_made(order), order
        is_short = bool(short_of(order.goal, held, few))
        assert is_short == (status is Status.LOST)
        assert bool(plan(order.goal, held, few)) == (status is Status.RUNNING)
    assert min(ends[status] for status in Status if status is not Status.ENDED) > 20


def test_a_wrong_pair_spoils_both_and_the_last_of_a_material_loses_the_world() -> None:
    order = Order("torch", counted({"branch": 1, "resin": 1}), counted({"reed": 1}))
    assert Workshop(order).after("combine branch and resin").scene().status is Status.WON
    held = Workshop(order).after("gather reed")
    assert held.scene().text == "To make: torch.\nYou hold: 1 branch, 1 reed, 1 resin.\nTo be gathered: nothing."
    planted = held.after("combine branch and reed").scene()
    assert planted.status is Status.LOST
    assert planted.text.endswith("The torch can't be made any more: too little branch is left.")
    spare = Workshop(Order("torch", counted({"branch": 2, "reed": 1, "resin": 1}), ()))
    assert spare.after("combine branch and reed").scene().status is Status.RUNNING


def test_materials_that_take_a_tool_stay_where_they_are_without_it() -> None:
    order = Order("brick", counted({"reed": 1}), counted({"branch": 1, "clay": 1, "flint": 1}))
    at = Workshop(order)
    assert "gather clay" in at.scene().actions
    with pytest.raises(Refused, match="clay takes a tool"):
        at.after("gather clay")
    with pytest.raises(Refused, match="you don't have what it takes"):
        at.after("combine reed and reed")
    for action in ("gather branch", "gather flint", "combine flint and branch", "gather clay"):
        at = at.after(action)
    assert dict(at.order.held) == {"clay": 1, "reed": 1, "spade": 1}
    assert not any("spade" in action for action in at.scene().actions), "a tool is no part of anything"


def test_the_book_has_one_way_to_make_a_thing_parts_first_and_every_goal_is_asked_for() -> None:
    order = [*MATERIALS, *RECIPES]
    for made, parts in RECIPES.items():
        assert list(parts) == sorted(parts) and product(reversed(parts)) == made
        assert all(order.index(part) < order.index(made) for part in parts)
        assert all(order.index(TOOLS[part]) < order.index(made) for part in parts if part in TOOLS)
    assert len(set(RECIPES.values())) == len(RECIPES)
    assert {generate(seed).goal for seed in range(100)} == set(GOALS)
