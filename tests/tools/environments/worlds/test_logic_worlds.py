"""What every logic world holds to: the same for a seed everywhere, told by its text, and never brought down."""

from __future__ import annotations

import hashlib
import random
import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire import Budget, Rules, StopReason, Verdict
from groundwire.agents.worlds import RandomActor, StepsCritic
from groundwire.core._environments import Environment
from groundwire.core._scenes import Scene, Status
from groundwire.graphs.library._episodic import episodic
from groundwire.memory import InMemoryStore
from groundwire.tools.environments._catalogue import world

NAMES = ("countdown", "game24", "knights-and-knaves", "sudoku", "sudoku-9")
NAMED = st.sampled_from(NAMES)


def played(environment: Environment, seed: int, draw: random.Random) -> list[Scene]:
    scenes = [environment.reset(seed)]
    while scenes[-1].status is Status.RUNNING:
        scenes.append(environment.act(draw.choice(scenes[-1].actions)))
    return scenes


def fingerprint() -> str:
    """What every world shows in some games."""
    shown = [
        (scene.text, scene.status, scene.actions)
        for name in NAMES
        for seed in range(4)
        for scene in played(world(name).make(), seed, random.Random(f"{name}/{seed}"))
    ]
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def test_another_process_sees_the_same_worlds_whatever_its_hashes() -> None:
    body = f"import sys; sys.path[:0] = {sys.path!r}; import test_logic_worlds as t; print(t.fingerprint())"
    folder = str(__file__).rpartition("/")[0]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {folder!r}); {body}"],
        env={"PYTHONHASHSEED": "77"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == fingerprint(), done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_random_play_always_ends_and_a_text_tells_its_position(name: str) -> None:
    found = world(name)
    environment = found.make()
    ends: set[Status] = set()
    for seed in range(3 if name == "sudoku-9" else 12):
        known: dict[str, Scene] = {}
        for attempt in range(12):
            scenes = played(environment, seed, random.Random(f"{seed}/{attempt}"))
            assert len(scenes) <= found.actions, "the limit of a trial leaves room to win"
            for scene in scenes:
                assert known.setdefault(scene.text, scene) == scene
                assert len(scene.actions) == len(set(scene.actions)) <= 200
                assert bool(scene.actions) == (scene.status is Status.RUNNING)
            assert environment.act("anything") == scenes[-1], "when it is over it stays over"
            ends.add(scenes[-1].status)
    assert Status.LOST in ends and ends <= {Status.LOST, Status.WON}
    assert name in ("sudoku-9", "game24") or Status.WON in ends, "winning is no dream"


@settings(max_examples=60)
@given(
    st.text(max_size=80) | st.text(alphabet="0123456789+-*/() ,placeknightvis", max_size=600), st.sampled_from(NAMES)
)
def test_what_is_no_action_is_refused_with_the_reason_and_the_same_scene(action: str, name: str) -> None:
    environment = world(name).make()
    first = environment.reset(5)
    scene = environment.act(action)
    if scene.event:
        assert scene == replace(first, event=scene.event) and scene.event.startswith("Not done: ")
        assert scene.event.isprintable(), "nothing of it reaches a terminal raw"
        assert environment.act(first.actions[0]).text != first.text, "and the game goes on"


async def test_the_episodic_graph_plays_a_logic_world_without_a_model() -> None:
    found = world("knights-and-knaves")
    app = episodic(RandomActor(), StepsCritic(), found.make, actions=found.actions).compile(
        store=InMemoryStore(), budget=Budget(trials=200, steps=2000), rules=Rules(repeats=None)
    )
    result = await app.arun(found.task(2))
    assert (result.verdict, result.stop_reason) == (Verdict.PASS, StopReason.VERIFIED)
    assert result.trials > 1, "guessing was told to be wrong before it was right"
