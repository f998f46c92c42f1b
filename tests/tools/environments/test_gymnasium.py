"""Gymnasium's environments: words in, text out, and won only where the environment's own goal is reached."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from groundwire.core._environments import start_of
from groundwire.core._errors import ConfigError
from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments.gymnasium import End, GymnasiumEnvironment, rule_of
from groundwire.tools.environments.gymnasium._spaces import action_words, observation_as_text


def play(name: str, *actions: str, seed: int = 0) -> list[Scene]:
    """The scenes of a trial until it is over, the first one among them."""
    made = world(name).make()
    scenes = [made.reset(seed)]
    for action in actions:
        if scenes[-1].status is Status.RUNNING:
            scenes.append(made.act(action))
    made.close()
    return scenes


def test_a_lake_is_won_on_the_goal_and_lost_in_a_hole() -> None:
    dry = "gymnasium:FrozenLake-v1?is_slippery=False"
    way = play(dry, "down", "DOWN", "right", "1", "south", "right")
    assert [scene.status for scene in way[:-1]] == [Status.RUNNING] * 6 and "row 3, column 1" in way[-2].text
    assert way[-1].status is Status.RUNNING, "a plain step"
    assert play(dry, "down", "down", "right", "down", "right", "right")[-1] == Scene(
        "A frozen lake of 4 × 4. You are at row 3, column 3: the goal.", Status.WON, event="Reward: 1."
    )
    lost = play(dry, "down", "right")[-1]
    assert (lost.status, lost.text) == (
        Status.LOST,
        "A frozen lake of 4 × 4. You are at row 1, column 1: a hole.",
    )
    assert play("FrozenLake-v1", *["right"] * 5, seed=3) == play("FrozenLake-v1", *["right"] * 5, seed=3)


def test_the_step_limit_is_a_loss_and_says_so_and_what_is_over_stays_over() -> None:
    made = world("FrozenLake-v1?is_slippery=False&max_episode_steps=2").make()
    made.reset(0)
    assert made.act("left").status is Status.RUNNING
    unknown = made.act("fly")
    assert (unknown.status, "no such action" in unknown.event) == (Status.RUNNING, True)
    assert unknown.text == made.act("left").text, "what is no action changes nothing"
    with pytest.raises(RuntimeError, match="it is over"):
        made.act("left")
    over = play("FrozenLake-v1?is_slippery=False&max_episode_steps=2", "left", "left")[-1]
    assert (over.status, over.event) == (Status.LOST, "The step limit is reached.")
    limit = world("CliffWalking-v1")
    assert play("CliffWalking-v1", *["left"] * limit.actions)[-1].event.endswith("The step limit is reached.")


def test_a_cliff_is_no_end_and_a_walk_around_it_wins() -> None:
    fall, *_, last = play("CliffWalking-v1", "right", "up", *["right"] * 11, "down")[1:]
    assert (fall.status, fall.text) == (Status.RUNNING, "A field of 4 × 12. You are at row 3, column 0.")
    assert fall.event == "You fell off the cliff: -100. You are back at the start."
    assert (last.status, last.event) == (Status.WON, "")


def test_a_taxi_names_its_state_hints_what_changes_it_and_is_won_by_setting_down() -> None:
    made = world("Taxi-v4").make()
    first = made.reset(3)
    assert first.text == (
        "The taxi is at row 0, column 2. The passenger waits at Red (row 0, column 0). "
        "The destination is Yellow (row 4, column 0)."
    )
    assert first.actions == ("south", "east"), "its own mask"
    refused = made.act("pick up")
    assert (refused.text, refused.event) == (first.text, "That was not allowed here: -10.")
    way = ["south", "south", "west", "west", "north", "north", "pickup", *["south"] * 4, "Drop off"]
    scenes = [made.act(action) for action in way]
    assert "in the taxi" in scenes[6].text
    assert {scene.status for scene in scenes[:-1]} == {Status.RUNNING} and scenes[-1].status is Status.WON


def test_blackjack_is_won_by_the_reward_and_a_draw_is_no_win() -> None:
    seen = {float(seed): play("Blackjack-v1", "stick", seed=seed)[-1] for seed in range(40)}
    assert {scene.status for scene in seen.values()} == {Status.WON, Status.LOST}
    for scene in seen.values():
        assert (scene.status is Status.WON) == (scene.event == "Reward: 1.")
    assert any(not scene.event for scene in seen.values()), "a draw was among them"


def test_what_is_no_table_is_told_by_rounded_numbers() -> None:
    pole = play("CartPole-v1", *["left"] * 12, seed=1)
    assert pole[0].text.startswith("[") and len(pole[0].text) < 40 and pole[-1].status is Status.LOST
    assert play("CartPole-v1?max_episode_steps=5", *["left", "right"] * 2, "left", seed=1)[-1].status is Status.WON
    told = play("CartPole-v1?max_episode_steps=5&won_if=return>=6", *["left", "right"] * 2, "left", seed=1)[-1]
    assert told.status is Status.LOST, "the user's rule goes first"


Answer = tuple[Any, float, bool, bool, dict[str, Any]]


def seen_the_one(end: End) -> bool:
    return end.observation == 1


class Odd(gymnasium.Env[Any, Any]):
    """Answers with what it is given."""

    action_space = spaces.Discrete(3)
    observation_space = spaces.Discrete(2)

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        return 0, {}

    def step(self, action: Any) -> Answer:
        return self.answer


ENDS: list[tuple[Answer, str | Callable[[End], bool] | None, Status]] = [
    ((1, 5.0, True, False, {}), None, Status.ENDED),
    ((1, 0.0, False, True, {}), None, Status.LOST),
    ((1, 0.0, True, False, {"is_success": np.True_}), None, Status.WON),
    ((1, 9.0, True, False, {"is_success": False}), None, Status.LOST),
    ((1, 0.5, True, False, {}), "reward>=0.5", Status.WON),
    ((1, 0.5, True, False, {}), "return > 0.5", Status.LOST),
    ((1, 0.0, True, False, {"done_well": 1}), "info.done_well", Status.WON),
    ((1, 0.0, False, True, {}), "terminated", Status.LOST),
    ((1, 0.0, True, False, {}), seen_the_one, Status.WON),
    ((1, 9.0, False, False, {"is_success": True}), "reward>=1", Status.RUNNING),
]


@pytest.mark.parametrize(("answer", "won_if", "status"), ENDS)
def test_done_is_not_won(answer: Answer, won_if: str | Callable[[End], bool] | None, status: Status) -> None:
    made = GymnasiumEnvironment(lambda: Odd(answer), won_if=won_if)
    made.reset(0)
    assert made.act("1").status is status


def test_numbers_that_are_none_and_a_space_that_changes_break_the_world() -> None:
    broken: list[Answer] = [(0, math.nan, False, False, {}), (np.array([0.0, np.nan]), 0.0, False, False, {})]
    for odd in map(Odd, broken):
        made = GymnasiumEnvironment(lambda odd=odd: odd)
        made.reset(0)
        with pytest.raises(ValueError, match="nan"):
            made.act("0")
    odd = Odd((0, 0.0, False, False, {}))
    made = GymnasiumEnvironment(lambda: odd)
    made.reset(0)
    odd.action_space = spaces.Discrete(4)
    with pytest.raises(RuntimeError, match="changed its action space"):
        made.act("0")


def test_spaces_in_words() -> None:
    many = action_words(spaces.MultiDiscrete([2, 3]))
    assert many.hints == ("0 0", "0 1", "0 2", "1 0", "1 1", "1 2")
    assert [int(n) for n in many.read("1, 2")] == [1, 2]
    shifted = action_words(spaces.Discrete(3, start=-1))
    assert (shifted.hints, shifted.read("-1")) == (("-1", "0", "1"), -1)
    wide = action_words(spaces.Discrete(1000))
    assert (wide.hints, wide.form, wide.read("999")) == ((), "a number from 0 to 999", 999)
    text = action_words(spaces.Text(5, charset="abc"))
    assert text.read("cab") == "cab"
    for words, wrong in ((many, "1"), (many, "2 0"), (shifted, "2"), (wide, "x"), (text, "d"), (text, "aaaaaa")):
        with pytest.raises(ValueError):
            words.read(wrong)
    with pytest.raises(ConfigError, match="only discrete ones and texts"):
        action_words(spaces.Box(0.0, 1.0))


def test_observations_in_words() -> None:
    nested = {"b": np.array([[1.23456, -0.00001]], dtype=np.float32), "a": (np.int64(3), True, "x")}
    assert observation_as_text(nested) == '{"a":[3,true,"x"],"b":[[1.235,0]]}'
    assert observation_as_text("a room") == "a room"
    with pytest.raises(ValueError, match="too much"):
        observation_as_text(np.zeros((84, 84)))
    with pytest.raises(TypeError):
        observation_as_text(object())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("FrozenLak-v1", "Did you mean FrozenLake-v1"),
        ("FrozenLake-v1?is_slipery=1", "unexpected keyword argument 'is_slipery'"),
        ("FrozenLake-v1?slippery", "name=value"),
        ("Taxi-v4?max_episode_steps=1&max_episode_steps=2", "given twice"),
        ("Taxi-v4?won_if=always", "no rule of what is won"),
        ("Pendulum-v1", "can't be acted in by words"),
        ("no_such_package:Maze-v0", "No module named 'no_such_package'"),
    ],
)
def test_what_can_not_be_had_says_why(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        world(name)
    assert said in f"{caught.value.what} {caught.value.do}"


def test_a_rule_is_checked_when_it_is_given() -> None:
    with pytest.raises(ConfigError, match="no rule"):
        rule_of("reward>=__import__('os')")


def test_a_task_begins_with_the_scene_of_its_seed() -> None:
    taxi = world("Taxi-v4")
    assert start_of(taxi.task(3)).scene == taxi.make().reset(3)
    assert (taxi.actions, taxi.repeats, taxi.task(3).id, taxi.task(3).family) == (200, 3, "Taxi-v4-3", "Taxi-v4")
