"""ALFWorld's household games, by the path of its data (`game.tw-pddl`), played by TextWorld's own PDDL support.

Source: ALFWorld (arXiv 2010.03768). ALFWorld itself is needed to download its data, not to play it.

A game is code: TextWorld evaluates the expressions of its grammar as Python. Play only data that you trust.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from groundwire.core._errors import ConfigError
from groundwire.core._paths import at_home
from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._textworld import said, status_of
from groundwire.tools.environments._world import World

EXTRA = 'pip install "groundwire[alfworld]"'
GAME = "game.tw-pddl"
PARTS = ("pddl_domain", "grammar", "pddl_problem")
MOST_BYTES = 16 * 2**20
ACTIONS = 50
LOADING = threading.Lock()
"""The translator of PDDL keeps what it reads in its module; worlds of several trials are on several threads."""
TASK = re.compile(r"Your task is to:\s*([^\n]+)")
DATA = (
    "`pip install alfworld && alfworld-download` fetches it; name the folder json_2.1.1/valid_unseen in it, or a game."
)


def alfworld_world(path: str) -> World:
    """The world of all games under a folder; a seed takes one of them, in the order of their paths.

    Args:
        path: a folder that holds `game.tw-pddl` files at any depth, or one such file.

    Raises:
        ConfigError: there is none, or TextWorld's PDDL support is not installed.
    """
    place = at_home(path)
    games = (place,) if place.is_file() else tuple(sorted(place.rglob(GAME)))
    if not games:
        raise ConfigError(f"There is no {GAME} in {place}.", do=DATA)
    if not all(map(find_spec, ("textworld", "fast_downward"))):
        raise ConfigError("TextWorld's PDDL support is not installed.", do=EXTRA)
    return World(
        name=f"alfworld:{place.name}",
        make=lambda: ALFWorldEnvironment(games),
        prompt="Do the household task that the world tells. An action is a command in its words, as in the hints.",
        actions=ACTIONS,
        about=f"{len(games)} household games of ALFWorld",
    )


class ALFWorldEnvironment:
    """Plays one game after the other. See `groundwire.core._environments.Environment`.

    A scene's text is what `look`, `inventory` and `examine` say, which cost nothing there; what the action itself
    brought about is the event.

    Args:
        games: the files; a seed takes one of them.
    """

    def __init__(self, games: tuple[Path, ...]) -> None:
        self._games = games
        self._game: Any = None
        self._task = ""

    def reset(self, seed: int) -> Scene:
        """See `Environment`.

        Raises:
            ValueError: the file is no game, or one that is known to have no solution.
        """
        import textworld
        from textworld.envs import PddlEnv

        self.close()
        data = _read(self._games[seed % len(self._games)])
        self._game = PddlEnv(textworld.EnvInfos(won=True, admissible_commands=True))
        with LOADING:
            self._game.load(data)
        infos = self._game._entity_infos
        names = readable(infos)
        for info in infos.values():
            info.name = names[info.id]
        with LOADING:
            state = self._game.reset()
        told = TASK.search(state.feedback)
        self._task = said(told[1]) if told else said(state.feedback)
        return self._scene(state, "", is_over=False)

    def act(self, action: str) -> Scene:
        """See `Environment`."""
        state, _, is_over = self._game.step(" ".join(action.split()))
        return self._scene(state, said(state.feedback), is_over=bool(is_over))

    def close(self) -> None:
        """See `Environment`."""
        if self._game is not None:
            self._game.close()
            self._game = None

    def _scene(self, state: Any, event: str, *, is_over: bool) -> Scene:
        status, hints = status_of(state, is_over=is_over), tuple(state.admissible_commands)
        seen = [self._ask(command) for command in ("look", "inventory") if command in hints]
        around = "\n".join(seen)
        for command in hints:
            thing = command.removeprefix("examine ")
            if thing != command and re.search(rf"\b{re.escape(thing)}\b", around):
                seen.append(self._ask(command))
        text = "\n".join((*dict.fromkeys(seen), f"Goal: {self._task}"))
        return Scene(text, status, hints if status is Status.RUNNING else (), "" if event in seen else event)

    def _ask(self, command: str) -> str:
        return said(self._game.step(command)[0].feedback)


def _read(file: Path) -> dict[str, Any]:
    if file.stat().st_size > MOST_BYTES:
        raise ValueError(f"{file} is larger than any game")
    data: Any = json.loads(file.read_text("utf-8"))
    if not isinstance(data, dict) or not all(isinstance(data.get(part), str) for part in PARTS):  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f"{file} is no game: it lacks one of {', '.join(PARTS)}")
    if data.get("solvable") is False:  # pyright: ignore[reportUnknownMemberType]
        raise ValueError(f"{file} is known to have no solution: choose another seed")
    return data  # pyright: ignore[reportUnknownVariableType]


def readable(ids: Iterable[str]) -> dict[str, str]:
    """The names that ALFWorld shows for the ids of its scenes: `desk_bar__minus_01…` is `desk 1`.

    Things of one kind are numbered as ALFWorld does, from the last id to the first.
    """
    kinds = {each: _kind(each) for each in ids}
    left = Counter(kinds.values())
    names: dict[str, str] = {}
    for each in sorted(kinds):
        kind = kinds[each]
        names[each] = f"{kind} {left[kind]}" if "_bar_" in each else each
        left[kind] -= 1
    return names


def _kind(id: str) -> str:
    name, bar, _ = id.partition("_bar_")
    return f"{name}basin" if bar and "basin" in id and "basin" not in name else name
