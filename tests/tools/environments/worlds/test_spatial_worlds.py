"""What holds in mazes, Sokoban, crafting and search alike: what a scene tells, and what random play meets."""

from __future__ import annotations

import copy
import hashlib
import random
from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.core._environments import Environment
from groundwire.core._scenes import Scene, Status, tidied
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments.worlds._crafting import Order, Workshop
from groundwire.tools.environments.worlds._crafting import begin as in_workshop
from groundwire.tools.environments.worlds._maze import begin as in_maze
from groundwire.tools.environments.worlds._playing import shortest

WORLDS = {"maze": 12, "sokoban": 20, "crafting": 12, "fiction-search": 3}
"""Each with how many seeds are gone through in full, or as far as `STATES` goes."""
STATES = 150


def begun(name: str, seed: int) -> tuple[Environment, Scene]:
    played = world(name).make()
    return played, played.reset(seed)


@pytest.mark.parametrize("name", WORLDS)
def test_the_text_of_a_scene_names_the_state(name: str) -> None:
    """Where the text is the same, so are the actions and whatever they lead to: statistics may be kept by it."""
    for seed in range(WORLDS[name]):
        played, scene = begun(name, seed)
        known: dict[str, tuple[str, ...]] = {}
        waiting = deque([(played, scene)])
        seen = 0
        while waiting and seen < STATES:
            at, scene = waiting.popleft()
            seen += 1
            following: list[str] = []
            is_new = scene.text not in known
            for action in scene.actions:
                other = copy.copy(at)
                after = other.act(action)
                following.append(f"{action}\n{after.status}\n{after.text}")
                if is_new and after.status is Status.RUNNING:
                    waiting.append((other, after))
            assert known.setdefault(scene.text, tuple(following)) == tuple(following)


@pytest.mark.parametrize("name", WORLDS)
def test_random_play_never_breaks_and_every_lost_world_says_why(name: str) -> None:
    ends: set[Status] = set()
    for seed in range(-5, 60):
        chance = random.Random(seed)
        played, scene = begun(name, seed)
        for _ in range(world(name).actions):
            assert tidied(scene) == scene and 0 < len(scene.actions) <= 200
            assert len(set(scene.actions)) == len(scene.actions)
            scene = played.act(chance.choice(scene.actions))
            if scene.status is not Status.RUNNING:
                ends.add(scene.status)
                assert not scene.actions and scene.text.splitlines()[-1].endswith(".")
                assert played.act("north") == scene, "what is over stays over"
                break
        played.close()
    assert {Status.WON, Status.LOST} <= ends


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(sorted(WORLDS)), st.integers(), st.text(max_size=60))
def test_what_can_not_be_done_changes_nothing_and_the_event_says_why(name: str, seed: int, action: str) -> None:
    played, scene = begun(name, seed)
    verb = action.strip().partition(":")[0].strip().lower()
    if action not in scene.actions and verb not in ("search", "answer"):
        after = played.act(action)
        assert replace(after, event="") == scene and after.event.startswith("Not done: ")


def test_seeds_that_figures_were_published_for_mean_the_same_worlds_in_every_process() -> None:
    """Python's hashes differ by process; a generator that went by them would show here."""
    said = hashlib.sha256()
    for name in WORLDS:
        for seed in range(60):
            scene = begun(name, seed)[1]
            said.update(f"{scene.text}\n{scene.actions}\n".encode())
    assert said.hexdigest()[:16] == "2d3eb0c59ec8c025"


@pytest.mark.parametrize("name", WORLDS)
def test_a_task_can_be_made_of_it_and_is_of_its_family(name: str) -> None:
    task = world(name).task(7)
    assert (task.id, task.family) == (f"{name}-7", name)
    assert world(name.replace("-", "_")) is world(name)


def test_the_shortest_way_is_searched_for_within_a_limit() -> None:
    assert shortest(in_workshop(3)) is not None
    assert shortest(Workshop(Order("torch", (), (("branch", 1),)))) is None, "lost from the beginning"
    with pytest.raises(OverflowError, match="more than 3 positions"):
        shortest(in_maze(0), most=3)
