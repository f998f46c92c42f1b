"""Worlds by name: the user's own are found where they say, and what is not there says what is close."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from gymnasium import registry

from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._scene import Status
from groundwire.tools.environments._catalogue import BUILT_IN, world

OWN = '''
"""Worlds of a user's own."""
from __future__ import annotations
from dataclasses import dataclass
import gymnasium
from groundwire.core._environments import Scene, Status
from groundwire.tools.environments._world import World

@dataclass
class Lamp:
    """A lamp with a switch.

    More of it."""
    on: bool = False
    def reset(self, seed): return Scene("It is dark.", actions=("switch",))
    def act(self, action): return Scene("Light.", Status.WON)
    def close(self): ...

LAMPS = World("lamps", Lamp, "Switch it on.", 3)
NUMBER = 7

class Half:
    def reset(self, seed): ...

def broken():
    raise OSError("no licence")

class Stuck(Lamp):
    def close(self): raise OSError("the door is stuck")

class Coin(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None): return 0, {}
    def step(self, action): return int(action), 0.0, True, False, {"is_success": action == 1}

if "MyCoin-v0" not in gymnasium.registry:  # each world(…) of a file runs it
    gymnasium.register("MyCoin-v0", Coin)
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_worlds.py").write_text(OWN)
    (tmp_path / "crooked.py").write_text("1 / 0")
    yield tmp_path
    sys.modules.pop("my_worlds", None)
    registry.pop("MyCoin-v0", None)


def test_ones_own_world_is_a_class_a_world_or_an_env_of_gymnasium(own: Path) -> None:
    by_file, by_module = world(f"{own / 'my_worlds.py'}:Lamp"), world("my_worlds:Lamp")
    for lamp in (by_file, by_module):
        assert (lamp.name, lamp.about) == ("my_worlds:Lamp", "A lamp with a switch.")
        assert lamp.task(1).family == "my_worlds:Lamp" and lamp.make().act("switch").status is Status.WON
    lamps = world("my_worlds.py:LAMPS")
    assert (lamps.name, lamps.prompt, lamps.actions) == ("lamps", "Switch it on.", 3)
    coin = world("my_worlds.py:Coin").make()
    assert coin.reset(0).actions == ("0", "1")
    assert coin.act("1").status is Status.WON
    registered = world("my_worlds:MyCoin-v0?max_episode_steps=9&won_if=terminated")
    assert registered.actions == 9
    made = registered.make()
    made.reset(0)
    assert made.act("0").status is Status.WON
    assert sys.path[-1] == str(own), "last, so that nothing there stands in for an installed module"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("my_worlds.py:Lamb", "Did you mean Lamp?"),
        ("my_worlds.py:NUMBER", "is not a world: it is of type int"),
        ("my_worlds.py:Half", "it has no act and no close"),
        ("my_worlds.py:broken", "can't be made: OSError: no licence"),
        ("my_worlds.py:Stuck", "can't be made: OSError: the door is stuck"),
        ("gymnasium:crooked:Maze-v0", "can't be imported: ZeroDivisionError"),
        ("crooked.py:World", "can't be imported: ZeroDivisionError"),
        ("nowhere.py:World", "There is no file nowhere.py"),
        ("no_such_module:World", "No module named 'no_such_module'"),
        ("textworld:eesy", "Write easy, medium, hard"),
        ("frozenlake", "Did you mean FrozenLake-v1"),
        ("../etc/passwd", "FILE.py:NAME for your own"),
        ("", "FILE.py:NAME for your own"),
        ("ftp://example.org", "There is no world called"),
    ],
)
def test_what_is_not_there_says_what_is(name: str, said: str, own: Path) -> None:
    with pytest.raises((ConfigError, TaskError)) as caught:
        world(name)
    assert said in f"{caught.value.what} {caught.value.do}"
    assert "crooked" not in sys.modules


def test_each_built_in_world_is_found_by_its_name() -> None:
    for module in BUILT_IN:
        assert world(module.replace("_", "-")).task(0).id


LINE = '''
"""A line to walk along."""
import gymnasium
from goal_of_the_line import GOAL

class Line(gymnasium.Env):
    """Walk right."""
    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Discrete(GOAL + 1)
    def reset(self, *, seed=None, options=None):
        self.at = 1
        return self.at, {}
    def step(self, action):
        self.at += 1 if action else -1
        return self.at, float(self.at == GOAL), self.at in (0, GOAL), False, {}

def short():
    return gymnasium.wrappers.TimeLimit(Line(), max_episode_steps=1)
'''


@pytest.fixture
def line(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "goal_of_the_line.py").write_text("GOAL = 2\n")
    (tmp_path / "line.py").write_text(LINE)
    yield f"{tmp_path / 'line.py'}"
    sys.modules.pop("goal_of_the_line", None)
    sys.modules.pop("line", None)


def test_ones_own_env_finds_what_lies_beside_it_and_is_won_by_the_rule_that_is_given(line: str) -> None:
    unsaid = world(f"{line}:Line").make()
    unsaid.reset(0)
    assert unsaid.act("1").status is Status.ENDED
    for name in ("Line", "short"):
        ruled = world(f"{line}:{name}?won_if=reward>=1").make()
        ruled.reset(0)
        assert ruled.act("1").status is Status.WON, name
        ruled.reset(0)
        assert ruled.act("0").status is Status.LOST


@pytest.mark.parametrize(
    ("name", "said"),
    [("Line?won_if=luck", "not a rule for winning"), ("Line?size=3", "takes no option 'size'")],
)
def test_a_rule_that_is_none_is_refused_at_once(line: str, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        world(f"{line}:{name}")


def test_what_says_itself_when_it_is_won_is_given_no_rule(own: Path) -> None:
    with pytest.raises(ConfigError, match="says itself when it is won"):
        world(f"{own / 'my_worlds.py'}:Lamp?won_if=terminated")
