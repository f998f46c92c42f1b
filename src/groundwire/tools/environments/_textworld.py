"""TextWorld's games: made here by seed, without any download, or from a file.

Source: TextWorld (arXiv 1806.11532). A game is won where its quest is done, which TextWorld tracks by logic and not by
what the game says.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from groundwire.core._errors import ConfigError
from groundwire.core._paths import at_home
from groundwire.core._scenes import Scene, Status
from groundwire.tools.environments._world import World, options_in

EXTRA = 'pip install "groundwire[environments]"'
GAME = "game.z8"
PROMPT = (
    "Reach the goal that the world tells. An action is a short command, such as `go east` or `take key from table`."
)
ACTIONS = 50
"""Of a trial in a game from a file."""
MAKING = threading.Lock()
"""The generator has state of its own for the whole process, and takes all of a core for seconds."""
PROMPT_LINE = re.compile(r"\n>[^\n]*$")
THE_END = re.compile(r"\n\s*\*\*\* .*", re.DOTALL)
ART = re.compile(r"[|\\$_]{2}")


@dataclass(frozen=True)
class Recipe:
    """What a game is made of.

    Args:
        rooms: 1 to 20.
        objects: 1 to 40.
        quest: actions that are needed, 1 to 10.

    Raises:
        ConfigError: a number is out of range.
    """

    rooms: int
    objects: int
    quest: int

    def __post_init__(self) -> None:
        for name, most in (("rooms", 20), ("objects", 40), ("quest", 10)):
            if not 1 <= getattr(self, name) <= most:
                raise ConfigError(f"A game of TextWorld has {name} from 1 to {most}, not {getattr(self, name)}.")

    @property
    def name(self) -> str:
        """As it is written."""
        return f"rooms={self.rooms},objects={self.objects},quest={self.quest}"


PRESETS = {"easy": Recipe(2, 3, 2), "medium": Recipe(4, 6, 4), "hard": Recipe(8, 10, 6)}


def textworld_world(name: str) -> World:
    """The world of games of one kind, or of one game.

    Args:
        name: `easy`, `medium`, `hard`; `rooms=3,objects=4,quest=3`, whose seed decides all else; or the path of a
            TextWorld game: a `.z8` file with its `.json` beside it, which is the same for each seed.

    Raises:
        ConfigError: TextWorld is not installed, or it is none of these.
    """
    if find_spec("textworld") is None:
        raise ConfigError("TextWorld is not installed.", do=EXTRA)
    if name.endswith(".z8"):
        file = at_home(name).resolve()
        if not file.is_file() or not file.with_suffix(".json").is_file():
            raise ConfigError(
                f"There is no TextWorld game {file} with its .json beside it.", do="`tw-make` writes both of them."
            )
        return _world(file.stem, lambda seed: file, ACTIONS)
    recipe = PRESETS.get(name) or _recipe(name)
    return _world(name, partial(game_file, recipe), min(ACTIONS, 20 + 5 * recipe.quest))


def _world(name: str, game_of: Callable[[int], Path], actions: int) -> World:
    return World(
        name=f"textworld:{name}",
        make=lambda: TextWorldEnvironment(game_of),
        prompt=PROMPT,
        actions=actions,
        about="a text adventure of TextWorld",
    )


def _recipe(text: str) -> Recipe:
    numbers = options_in(text, between=",") if "=" in text else {}
    if set(numbers) != {"rooms", "objects", "quest"} or not all(each.isdecimal() for each in numbers.values()):
        raise ConfigError(
            f"This is no game of TextWorld: {text!r:.80}.",
            do=f"Write {', '.join(PRESETS)}, rooms=3,objects=4,quest=3, or the path of a .z8 file.",
        )
    return Recipe(**{key: int(number) for key, number in numbers.items()})


def game_file(recipe: Recipe, seed: int, folder: Path | None = None) -> Path:
    """The game of a recipe and a seed. It is made once, which takes seconds, and kept in the user's cache.

    Args:
        recipe: what it is made of.
        seed: 0 or more; decides all else.
        folder: where games are kept; the user's cache unless told.
    """
    import textworld

    kept = folder or user_cache_path("groundwire") / "textworld"
    place = kept / f"{textworld.__version__}-{recipe.name}" / str(seed)
    if (place / GAME).is_file():
        return place / GAME
    options = textworld.GameOptions()
    options.nb_rooms, options.nb_objects, options.quest_length = recipe.rooms, recipe.objects, recipe.quest
    options.seeds = seed
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".making-", dir=place.parent))
    try:
        options.path = str(draft / GAME)
        with MAKING:
            textworld.make(options)
        draft.rename(place)  # all of it or nothing: a program that dies here leaves no half of a game
    except OSError:
        if not (place / GAME).is_file():  # unless another process was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return place / GAME


class TextWorldEnvironment:
    """Plays one game after the other. See `groundwire.core._environments.Environment`.

    Args:
        game_of: the file of a seed's game.
    """

    def __init__(self, game_of: Callable[[int], Path]) -> None:
        self._game_of = game_of
        self._game: Any = None

    def reset(self, seed: int) -> Scene:
        """See `Environment`."""
        from jericho import UnsupportedGameWarning
        from textworld import EnvInfos, helpers

        self.close()
        # what it warns of, a score of the game's own, TextWorld keeps by itself; it says so once, when it is imported
        warnings.filterwarnings("ignore", category=UnsupportedGameWarning)
        asked = EnvInfos(
            description=True, inventory=True, admissible_commands=True, objective=True, facts=True, won=True, lost=True
        )
        start: Callable[..., Any] = vars(helpers)["start"]  # its annotations name a builtin that is no type
        self._game = start(str(self._game_of(seed)), asked)
        return self._scene(self._game.reset(), "", is_over=False)

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
        room = said(state.description)
        # whether a door that is here is locked is part of the state, and a room says no more than "closed"
        locked = sorted(name for fact in state.facts if fact.name == "locked" for name in fact.names if name in room)
        lines = (
            room,
            said(state.inventory),
            *(f"Locked: {name}." for name in locked),
            f"Goal: {said(state.objective)}",
        )
        text = "\n".join(lines)
        status = status_of(state, is_over=is_over)
        hints = tuple(state.admissible_commands) if status is Status.RUNNING else ()
        return Scene(text, status, hints, "" if event == room else event)


def status_of(state: Any, *, is_over: bool) -> Status:
    """How a game stands. One that is over and neither won nor lost has ended without a word."""
    if state.won:
        return Status.WON
    if state.lost:
        return Status.LOST
    return Status.ENDED if is_over else Status.RUNNING


def said(text: str | None) -> str:
    """What a game says, without its prompt, its status line, its banner, empty lines and its question at the end, which
    counts the turns."""
    bare = THE_END.sub("", PROMPT_LINE.sub("", text or ""))
    lines = (" ".join(line.split()) for line in bare.splitlines())
    return "\n".join(line for line in lines if line and not ART.search(line))
