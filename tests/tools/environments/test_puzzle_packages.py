"""Puzzles and games of other packages (extra `worlds`): won by their own word, the same under the same seed."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import pytest

from groundwire.core._errors import ConfigError
from groundwire.core._scene import Scene, Status
from groundwire.tools import answer_task, step_rules
from groundwire.tools.environments._catalogue import world

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::SyntaxWarning"),
]


@pytest.fixture
def gym() -> Any:
    return pytest.importorskip("reasoning_gym", reason="Reasoning Gym is not installed: groundwire[worlds]")


@pytest.fixture
def arena() -> Any:
    return pytest.importorskip("textarena", reason="TextArena is not installed: groundwire[worlds]")


def test_a_zebra_puzzle_is_won_by_its_answer_and_lost_by_any_other(gym: Any) -> None:
    zebra = world("reasoning-gym:zebra_puzzles?num_people=3&num_characteristics=3")
    key = gym.create_dataset("zebra_puzzles", seed=5, size=1, num_people=3, num_characteristics=3)[0]["answer"]
    made: Any = zebra.make()
    begun = made.reset(5)
    assert begun == zebra.make().reset(5) and "There are 3 houses" in begun.text and made.oracle
    assert made.act(f" {key}\n").status is Status.WON
    made.reset(5)
    assert made.act("nobody").status is Status.LOST
    with pytest.raises(RuntimeError):
        made.act(key)


def test_an_answer_of_several_lines_is_one_action(gym: Any) -> None:
    puzzle = "mini_sudoku"
    asked, key = world(f"reasoning-gym:{puzzle}"), gym.create_dataset(puzzle, seed=2, size=1)[0]["answer"]
    assert "\n" in key and "Write the answer, and nothing else." in answer_task(asked, 2).prompt
    rules = step_rules(asked, 2)
    assert rules.accept(key) == "" and rules.accept("1 2\n3 4") != "" and not rules.split(key)


def play(game: Any, choose: Callable[[Scene], str], seed: int) -> tuple[list[str], Scene]:
    scene = game.reset(seed)
    texts = [scene.text]
    while scene.status is Status.RUNNING and len(texts) < 400:
        scene = game.act(choose(scene))
        texts.append(scene.text)
    return texts, scene


def test_2048_is_the_same_under_its_seed_whatever_else_draws(arena: Any) -> None:
    easy = world("textarena:2048-v0-ultra-easy")
    assert "tile" in easy.prompt and easy.make().reset(1).actions == ("Up", "Down", "Left", "Right")

    ways: list[list[str]] = []
    for _ in range(2):
        turns = cycle(range(4))

        def turning(scene: Scene, turns: Iterator[int] = turns) -> str:
            random.random()  # somebody else draws in between
            return scene.actions[next(turns)]

        texts, end = play(easy.make(), turning, 7)
        ways.append(texts)
        assert end.status in (Status.WON, Status.LOST) and end.event
    assert ways[0] == ways[1] and play(easy.make(), lambda s: s.actions[0], 8)[0][0] != ways[0][0]


def test_tic_tac_toe_is_played_against_random_moves_and_a_draw_is_no_win(arena: Any) -> None:
    board = world("textarena:TicTacToe-v0")
    ends = {play(board.make(), lambda s: s.actions[-1], seed)[1].status for seed in range(12)}
    assert ends == {Status.WON, Status.LOST}
    made = board.make()
    made.reset(0)
    told = made.act("9")
    assert told.status is Status.RUNNING and "invalid" in told.event.casefold()


def test_games_beside_each_other_do_not_disturb_each_other(arena: Any) -> None:
    board = world("textarena:TicTacToe-v0")
    alone = play(board.make(), lambda s: s.actions[0], 3)[0]
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append(play(board.make(), lambda s: s.actions[0], 3)[0]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 4


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("reasoning-gym:zebra_puzzle", "zebra_puzzles"),
        ("reasoning-gym:zebra_puzzles?num_people=99", "can't be made with these options"),
        ("textarena:2049-v0", "2048-v0"),
    ],
)
def test_what_is_not_there_is_told_what_is_near(gym: Any, arena: Any, name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        world(name)
    assert said in caught.value.what + caught.value.do
