"""Mazes: the shortest way out, by rules that know the picture only, and keys that must not be tried."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import pytest

from groundwire.core._scenes import Status
from groundwire.tools.environments.worlds._maze import FITS, METALS, WORLD, begin, generate
from groundwire.tools.environments.worlds._playing import Refused, shortest

SEEDS = range(200)
Place = tuple[int, int]


class Picture:
    """A maze as its letters tell it, a cell every second character."""

    def __init__(self, text: str) -> None:
        self.rows = [line for line in text.splitlines() if line.startswith("#") and " wall" not in line]
        self.marks = {mark: (r, c) for r, row in enumerate(self.rows) for c, mark in enumerate(row) if mark not in "# "}
        self.colour = next(colour for colour in FITS if f"The {colour} door" in text)

    def reached(self, start: Place, walls: str) -> set[Place]:
        seen, waiting = {start}, deque([start])
        while waiting:
            for place in self.free(waiting.popleft(), walls):
                if place not in seen:
                    seen.add(place)
                    waiting.append(place)
        return seen

    def free(self, at: Place, walls: str) -> list[Place]:
        around = [(at[0] + down, at[1] + right) for down, right in ((-1, 0), (0, 1), (1, 0), (0, -1))]
        return [(r, c) for r, c in around if self.rows[r][c] not in walls]

    def walks(self, at: Place, stops: set[Place], walls: str) -> set[Place]:
        """Where one comes to from a cell, character by character, until there is something to see or to decide."""
        ends: set[Place] = set()
        for first in self.free(at, walls):
            came, place = at, first
            while True:
                is_cell = place[0] % 2 == 1 and place[1] % 2 == 1
                onward = [each for each in self.free(place, walls) if each != came]
                if is_cell and (place in stops or len(onward) != 1):
                    break
                came, place = place, onward[0]
            ends.add(place)
        return ends

    def fewest(self) -> int | None:
        """Actions that the way out takes with the one key that fits."""
        key = FITS[self.colour][0]
        lies = frozenset(place for mark, place in self.marks.items() if mark in "cgs")
        door = self.free(self.marks["D"], "#")
        seen = {(self.marks["@"], lies, False): 0}
        waiting = deque(seen)
        while waiting:
            state = waiting.popleft()
            at, keys, is_open = state
            if at == self.marks["X"]:
                return seen[state]
            walls = "#" if is_open else "#D"
            stops = {self.marks["X"], *door, *keys}
            following = [(place, keys, is_open) for place in self.walks(at, stops, walls)]
            following += [(at, keys - {at}, is_open)] if at in keys else []
            following += [(at, keys, True)] if at in door and self.marks[key] not in keys and not is_open else []
            for each in following:
                if each not in seen:
                    seen[each] = seen[state] + 1
                    waiting.append(each)
        return None


def test_the_way_out_is_as_long_as_the_picture_says() -> None:
    for seed in SEEDS:
        way = shortest(begin(seed))
        assert way is not None
        played = WORLD.make()
        scene = played.reset(seed)
        assert len(way) == Picture(scene.text).fewest() and len(way) <= WORLD.actions // 2, scene.text
        for action in way:
            assert scene.status is Status.RUNNING and action in scene.actions
            scene = played.act(action)
        assert scene.status is Status.WON


def test_no_way_leads_around_the_door_and_all_keys_lie_before_it() -> None:
    loops: set[int] = set()
    for seed in SEEDS:
        picture = Picture(begin(seed).scene().text)
        at = picture.marks
        before = picture.reached(at["@"], "#D")
        assert all(at[metal[0]] in before for metal in METALS) and at["X"] not in before
        assert at["X"] in picture.reached(at["@"], "#")
        maze = generate(seed)
        loops.add(len(maze.passages) - len(maze.cells) + 1)
    assert loops == {0, 1, 2}, "perfect mazes, and some with loops"


def test_a_wrong_key_breaks_and_which_one_is_right_is_a_matter_of_colour_under_every_seed() -> None:
    for seed in SEEDS:
        at = begin(seed)
        colour = at.maze.colour
        at_door = replace(at, at=at.maze.door[0], keys=(), held=METALS)
        tries = [action for action in at_door.scene().actions if action.startswith("unlock")]
        assert tries == [f"unlock {colour} door with {metal} key" for metal in METALS]
        for metal, action in zip(METALS, tries, strict=True):
            after = at_door.after(action).scene()
            if metal == FITS[colour]:
                assert after.status is Status.RUNNING and "door is open" in after.text
                continue
            assert after.status is Status.LOST and not after.actions
            assert f"The {metal} key broke off in the {colour} door" in after.text


def test_walls_the_locked_door_and_absent_keys_are_no_way() -> None:
    played = WORLD.make()
    for seed in range(40):
        scene = played.reset(seed)
        for wrong in {"north", "east", "south", "west"} - set(scene.actions):
            after = played.act(wrong)
            assert after.event.startswith(f"Not done: {wrong} of you is ") and replace(after, event="") == scene
        for wrong in ("take gold key", "unlock red door with silver key", "unlock blue door with gold key", ""):
            assert replace(played.act(wrong), event="") == scene
    beside = replace(begin(0), at=generate(0).door[0])
    with pytest.raises(Refused, match="north of you is the locked door"):
        beside.after("north")
    with pytest.raises(Refused, match="can't be done here"):
        beside.after("unlock green door with copper key")


def test_what_lies_underfoot_and_what_is_held_can_be_read() -> None:
    at = begin(0)
    (metal, place), *_ = at.keys
    there = replace(at, at=place)
    assert there.scene().text.endswith(f"You hold no key. Here lies the {metal} key.")
    taken = there.after(f"take {metal} key")
    assert taken.scene().text.endswith(f"You hold the {metal} key.") and metal in taken.held
    assert metal not in dict(taken.keys)
