"""Mazes: the shortest way out, reckoned from the picture alone, and a key that must not be tried."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

from groundwire.environments import Scene, Status
from groundwire.tools.environments.stateful import shortest
from groundwire.tools.environments.worlds.maze.puzzle import FITS, generate
from groundwire.tools.environments.worlds.maze.world import WORLD, begin

SEEDS = range(200)
Place = tuple[int, int]


def marks(text: str) -> dict[str, Place]:
    """Where each mark of a picture stands; of those that stand once."""
    rows = [line for line in text.splitlines() if line.startswith("#") and " wall" not in line]
    return {mark: (r, c) for r, row in enumerate(rows) for c, mark in enumerate(row)}


def steps(text: str, start: str, *, door: bool = False) -> dict[Place, int]:
    """Cells from a mark to every place of the picture, in cells; through the door only if told so."""
    rows = [line for line in text.splitlines() if line.startswith("#") and " wall" not in line]
    closed = "#" if door else "#D"
    far = {marks(text)[start]: 0}
    waiting = deque(far)
    while waiting:
        r, c = waiting.popleft()
        for place in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            if place not in far and rows[place[0]][place[1]] not in closed:
                far[place] = far[(r, c)] + 1
                waiting.append(place)
    return far


def fewest(scene: Scene) -> int:
    """Actions that the picture asks for: to the right key, take it, to the door, unlock it, out."""
    text, at = scene.text, marks(scene.text)
    colour = next(colour for colour in FITS if f"The {colour} door" in text)
    key = FITS[colour][0]
    doorstep = min(steps(text, key)[place] for place in beside(at["D"]) if place in steps(text, key))
    way = steps(text, "@")[at[key]] + doorstep + 1
    rest = min(steps(text, "X")[place] for place in beside(at["D"]) if place in steps(text, "X"))
    # the door lies between two cells; each cell is two characters on
    return (way - 1) // 2 + 1 + 1 + (rest + 1) // 2 + 1


def beside(place: Place) -> list[Place]:
    return [(place[0] + down, place[1] + right) for down, right in ((0, 1), (1, 0), (0, -1), (-1, 0))]


def test_the_way_out_is_as_long_as_the_picture_says() -> None:
    for seed in SEEDS:
        way = shortest(begin(seed))
        assert way is not None
        played = WORLD.make()
        scene = played.reset(seed)
        assert len(way) == fewest(scene), scene.text
        for action in way:
            assert scene.status is Status.RUNNING and action in scene.actions
            scene = played.act(action)
        assert scene.status is Status.WON
        assert len(way) <= 30 < WORLD.actions


def test_no_way_leads_around_the_door_and_all_keys_lie_before_it() -> None:
    loops: set[int] = set()
    for seed in SEEDS:
        text = begin(seed).scene.text
        before, at = steps(text, "@"), marks(text)
        assert all(at[key] in before for key in "cgs") and at["X"] not in before
        assert at["X"] in steps(text, "@", door=True)
        maze = generate(seed)
        loops.add(len(maze.passages) - len(maze.cells) + 1)
    assert loops == {0, 1, 2}, "perfect mazes, and some with loops"


def test_a_wrong_key_breaks_and_which_one_is_right_is_a_matter_of_colour_under_every_seed() -> None:
    for seed in SEEDS:
        at = begin(seed)
        colour = at.maze.colour
        for metal, _ in at.keys:
            rest = tuple(key for key in at.keys if key[0] != metal)
            before = replace(at, at=at.maze.door[0], keys=rest, hand=metal)
            after = before.after(f"unlock {colour} door with {metal} key").scene
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
            assert played.act(wrong) == scene
        for wrong in ("take gold key", "unlock red door with silver key", "unlock blue door with gold key", ""):
            assert played.act(wrong) == scene


def test_a_key_in_the_hand_is_left_where_the_next_one_is_taken() -> None:
    at = begin(0)
    (metal, _), (other, second), _ = at.keys
    rest = tuple(key for key in at.keys if key[0] != metal)
    swapped = replace(at, at=second, keys=rest, hand=metal).after(f"take {other} key")
    assert swapped.hand == other and dict(swapped.keys)[metal] == second
    assert f"Here lies the {metal} key." in swapped.scene.text
