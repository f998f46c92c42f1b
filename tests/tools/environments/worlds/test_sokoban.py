"""Sokoban: every arrangement of every room, against rules that know the picture only."""

from __future__ import annotations

from itertools import combinations

import pytest

from groundwire.core._scenes import Status
from groundwire.tools.environments.worlds._playing import Refused, shortest
from groundwire.tools.environments.worlds._sokoban import (
    ROOMS,
    Arrangement,
    InRoom,
    Room,
    begin,
    dead_cells,
    distances,
)

BY = {"north": (-1, 0), "east": (0, 1), "south": (1, 0), "west": (0, -1)}


def arrangements(room: Room) -> list[Arrangement]:
    """All there are, won, lost or neither."""
    places = combinations(sorted(room.floor), len(room.goals))
    return [Arrangement(frozenset(boxes), at) for boxes in places for at in sorted(room.floor - set(boxes))]


def picture(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.startswith("#") and " wall" not in line)


def pushed(drawn: str, step: str) -> str:
    """The rules of Sokoban over the letters of the picture; the picture itself where the step can't be taken."""
    rows = [list(row) for row in drawn.splitlines()]
    r, c = next((r, c) for r, row in enumerate(rows) for c, mark in enumerate(row) if mark in "@+")
    down, right = BY[step]
    line = [(r + n * down, c + n * right) for n in range(3)]
    here, there = (rows[y][x] for y, x in line[:2])
    if there == "#":
        return drawn
    if there in "$*":
        y, x = line[2]
        if rows[y][x] not in " .":
            return drawn
        rows[y][x] = {" ": "$", ".": "*"}[rows[y][x]]
        there = {"$": " ", "*": "."}[there]
    rows[r][c] = {"@": " ", "+": "."}[here]
    rows[line[1][0]][line[1][1]] = {" ": "@", ".": "+"}[there]
    return "\n".join("".join(row) for row in rows)


@pytest.mark.parametrize("room", ROOMS)
def test_lost_is_what_no_pushing_can_win_and_all_else_is_as_far_as_said(room: Room) -> None:
    states = {picture(scene.text): (now, scene) for now in arrangements(room) for scene in [InRoom(room, now).scene()]}
    following = {drawn: {pushed(drawn, step) for step in BY} for drawn in states}
    far = {drawn: 0 for drawn in states if "$" not in drawn}
    steps = 0
    while True:
        steps += 1
        more = [drawn for drawn in states if drawn not in far and not following[drawn].isdisjoint(far)]
        if not more:
            break
        far.update(dict.fromkeys(more, steps))
    assert all(distances(room).get(now) == far.get(drawn) for drawn, (now, _) in states.items())
    for drawn, (now, scene) in states.items():
        expected = Status.WON if "$" not in drawn else Status.RUNNING if drawn in far else Status.LOST
        assert scene.status is expected
        if scene.status is Status.RUNNING:
            steps_on = [InRoom(room, now).after(step).scene().text for step in scene.actions]
            assert set(map(picture, steps_on)) == following[drawn] - {drawn}
        if scene.status is Status.LOST and "can't be pushed to a goal" in scene.text:
            assert now.boxes & dead_cells(room)
        if now.boxes & dead_cells(room):
            assert drawn not in far


def test_worlds_begin_some_steps_from_the_end_and_are_won_in_just_as_many() -> None:
    begun: set[str] = set()
    for seed in range(200):
        at = begin(seed)
        begun.add(at.scene().text)
        way = shortest(at)
        assert way is not None and len(way) == distances(at.room)[at.now] and 4 <= len(way) <= 16
        assert not at.now.boxes & at.room.goals
    assert len(begun) > 120, "by seed it is another world"
    assert {begin(seed).room for seed in range(200)} == set(ROOMS), (
        "and the rooms come back: what is dead in one stays so"
    )


def test_a_box_pushed_into_a_corner_is_lost_and_the_reason_names_its_place() -> None:
    room = ROOMS[0]
    at = InRoom(room, Arrangement(frozenset({(3, 2)}), (3, 3)))
    assert at.scene().status is Status.RUNNING
    planted = at.after("west").scene()
    assert planted.status is Status.LOST
    assert planted.text.endswith("The box in line 4, column 2 can't be pushed to a goal from there: it is lost.")
    with pytest.raises(Refused, match="a step is north"):
        at.after("push west")
    with pytest.raises(Refused, match="no room behind it"):
        InRoom(room, Arrangement(frozenset({(4, 2)}), (3, 2))).after("south")


def test_boxes_that_block_each_other_are_lost_though_each_alone_is_not() -> None:
    blocked = [
        InRoom(room, now)
        for room in ROOMS
        for now in arrangements(room)
        if now not in distances(room) and not now.boxes & dead_cells(room)
    ]
    assert blocked and all("in each other's way" in at.scene().text for at in blocked if len(at.room.goals) == 2)
