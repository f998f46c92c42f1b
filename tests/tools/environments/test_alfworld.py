"""ALFWorld's games, by path: a tiny one in its form is played for real by TextWorld's PDDL support."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from household import write_game

from groundwire.core._errors import ConfigError
from groundwire.core._scenes import Status
from groundwire.tools.environments._alfworld import readable
from groundwire.tools.environments._catalogue import world

DATA = os.environ.get("ALFWORLD_DATA", "")


def test_a_game_is_played_to_its_end(tmp_path: Path) -> None:
    pytest.importorskip("fast_downward", reason="TextWorld's PDDL support is not installed: groundwire[alfworld]")
    write_game(tmp_path)
    made = world(f"alfworld:{tmp_path}").make()
    first = made.reset(0)
    assert first.text.splitlines() == [
        "You are facing the desk 1. Next to it, you see nothing.",
        "You are not carrying anything.",
        "On the desk 1, you see nothing.",
        "Goal: put the apple on a desk.",
    ]
    assert first.actions == ("examine desk 1", "go to desk 2", "go to fridge 1", "inventory", "look")
    at_fridge = made.act("go to fridge 1")
    assert at_fridge.event == "You arrive at fridge 1. The fridge 1 is closed."
    nothing = made.act("fly")
    assert (nothing.text, nothing.event) == (at_fridge.text, "Nothing happens.")
    assert (made.act("look").text, made.act("look").event) == (at_fridge.text, "")
    assert "take apple 1 from fridge 1" in made.act("open fridge 1").actions
    held = made.act("take apple 1 from fridge 1")
    assert "You are carrying: apple 1." in held.text

    other = world(f"alfworld:{next(tmp_path.rglob('game.tw-pddl'))}").make()
    assert other.reset(7) == first, "two games go on side by side"
    assert made.act("go to desk 2").status is Status.RUNNING
    won = made.act("move apple 1 to desk 2")
    assert (won.status, won.event) == (Status.WON, "You move the apple 1 to the desk 2.")
    made.close()
    other.close()


def test_a_file_that_is_no_game_says_why(tmp_path: Path) -> None:
    pytest.importorskip("fast_downward", reason="TextWorld's PDDL support is not installed: groundwire[alfworld]")
    with pytest.raises(ConfigError, match=r"no game\.tw-pddl") as caught:
        world(f"alfworld:{tmp_path}")
    assert "alfworld-download" in caught.value.do
    file = write_game(tmp_path, solvable=False)
    with pytest.raises(ValueError, match="no solution"):
        world(f"alfworld:{tmp_path}").make().reset(0)
    file.write_text('{"pddl_domain": ""}')
    with pytest.raises(ValueError, match="it lacks one of"):
        world(f"alfworld:{tmp_path}").make().reset(0)


def test_things_are_called_as_alfworld_calls_them() -> None:
    ids = ("agent1", "sink_bar_1_bar_sinkbasin", "mug_bar__minus_1", "mug_bar__plus_2", "kitchen")
    assert readable(ids) == {
        "agent1": "agent1",
        "kitchen": "kitchen",
        "mug_bar__minus_1": "mug 2",
        "mug_bar__plus_2": "mug 1",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
    }


@pytest.mark.skipif(not DATA, reason="ALFWORLD_DATA does not say where ALFWorld's data is")
def test_its_own_data_can_be_played() -> None:
    made = world(f"alfworld:{DATA}").make()
    first = made.reset(0)
    assert "Goal: " in first.text and any(hint.startswith("go to ") for hint in first.actions)
    assert made.act(next(hint for hint in first.actions if hint.startswith("go to "))).status is Status.RUNNING
    made.close()
