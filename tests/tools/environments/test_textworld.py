"""TextWorld's games: made offline by seed, one text for one state, and won by TextWorld's own logic."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.core._errors import ConfigError
from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments import _textworld as games
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments._textworld import PRESETS, Recipe, TextWorldEnvironment, game_file, said


@pytest.mark.slow
def test_a_game_is_made_once_and_is_won_by_its_quest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(games, "user_cache_path", lambda name: tmp_path / name)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    made = world("textworld:rooms=1,objects=2,quest=1").make()
    first = made.reset(3)
    assert first.text.splitlines()[-1].startswith("Goal: ") and "-= " in first.text
    assert {"look", "inventory"} < set(first.actions)
    assert not list(tmp_path.rglob(".making-*")), "nothing half made is left"

    looked, odd = made.act("look"), made.act("dance")
    assert (looked.text, looked.event) == (first.text, ""), "looking changes nothing, and says nothing new"
    assert (odd.text, odd.event) == (first.text, "That's not a verb I recognise.")

    scenes: list[Scene] = []
    for action in first.actions:  # with a quest of one action, one of these is it
        assert made.reset(3) == first
        scenes.append(made.act(action))
        if scenes[-1].status is Status.WON:
            break
    assert scenes[-1].status is Status.WON and scenes[-1].actions == ()
    assert not any("\n>" in scene.shown or "***" in scene.shown for scene in scenes)
    (kept,) = (file for file in tmp_path.rglob("*.z8"))
    by_path = world(f"textworld:{kept}")
    other = by_path.make()
    assert other.reset(8) == first, "a game from a file is the same for each seed"
    other.close()
    made.close()
    with pytest.raises(ConfigError, match=r"its \.json"):
        world(f"textworld:{tmp_path / 'none.z8'}")


def test_another_process_may_be_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import textworld

    recipe, place = Recipe(1, 1, 1), tmp_path / f"{textworld.__version__}-rooms=1,objects=1,quest=1" / "5"

    def overtaken(options: textworld.GameOptions) -> None:
        place.mkdir()
        (place / "game.z8").write_bytes(b"theirs")

    monkeypatch.setattr(textworld, "make", overtaken)
    assert game_file(recipe, 5, tmp_path).read_bytes() == b"theirs"
    assert [each.name for each in place.parent.iterdir()] == ["5"]

    def full(options: textworld.GameOptions) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(textworld, "make", full)
    broken = TextWorldEnvironment(lambda seed: game_file(recipe, seed, tmp_path))
    with pytest.raises(OSError, match="No space"):
        broken.reset(6)
    broken.close()


def test_what_a_game_says_is_told_without_its_frame() -> None:
    raw = "\n You  take it.\n\n\nYour score has gone up.\n\n   *** The End ***\n\nIn 5 turns.\n>      -= Dish-Pit =-0/4"
    assert said(raw) == "You take it.\nYour score has gone up."
    assert said("\n  | $$   \\__  |\nHello\n\n>  x") == "Hello"
    assert said(None) == ""


@pytest.mark.parametrize("name", ["", "huge", "rooms=3", "rooms=0,objects=1,quest=1", "rooms=1,objects=1,quest=x"])
def test_a_game_that_can_not_be_made_says_why(name: str) -> None:
    with pytest.raises(ConfigError):
        world(f"textworld:{name}")


def test_the_presets_grow() -> None:
    worlds = [world(f"textworld:{name}") for name in PRESETS]
    assert [each.actions for each in worlds] == [30, 40, 50]
    assert [each.name for each in worlds] == ["textworld:easy", "textworld:medium", "textworld:hard"]
