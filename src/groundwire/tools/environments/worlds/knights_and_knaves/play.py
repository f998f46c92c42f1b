"""Playing knights and knaves: one is said to be this or that at a time, or all at once."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

from groundwire.environments import Scene, Status
from groundwire.tools.environments.world import World
from groundwire.tools.environments.worlds.knights_and_knaves.puzzle import Puzzle, contradiction, generate
from groundwire.tools.environments.worlds.knights_and_knaves.statements import Kind, kind
from groundwire.tools.environments.worlds.playing import Playing, Refused

__all__ = ["WORLD", "IslandPosition", "begin"]

CLAIM = re.compile(r"([A-Za-z]+)\s+is\s+(?:an?\s+)?(knight|knave)", re.IGNORECASE)
BETWEEN = re.compile(r"(?:[\s,;.]|\band\b)*", re.IGNORECASE)


@dataclass(frozen=True)
class IslandPosition:
    """Who has been said to be what.

    Args:
        puzzle: the islanders and their words.
        said: those of whom it was said, in the order of the islanders; what was said stays.
    """

    puzzle: Puzzle
    said: tuple[Kind, ...] = ()

    def scene(self) -> Scene:
        """See `Position`."""
        kinds = {one.person: one.is_knight for one in self.said}
        claims = (str(one) for one in self.said)
        lines = [*(f"{name}: {statement}." for name, statement in self.puzzle.statements), ""]
        lines.append(f"You say: {', '.join(claims) or 'nothing yet'}.")
        if found := contradiction(self.puzzle, kinds):
            speaker, statement = found
            did = "lied" if kinds[speaker] else "told the truth"
            lines.append(f"That can't be: {speaker}, {kind(kinds[speaker])}, would have {did}, saying: {statement}.")
            return Scene("\n".join(lines), Status.LOST)
        open_names = [name for name in self.puzzle.people if name not in kinds]
        if not open_names:
            return Scene("\n".join([*lines, "Everybody's words agree with that."]), Status.WON)
        hints = tuple(str(Kind(name, is_knight)) for name in open_names for is_knight in (True, False))
        return Scene("\n".join(lines), Status.RUNNING, hints)

    def after(self, action: str) -> Self:
        """See `Position`."""
        claims = CLAIM.findall(action)
        if not claims or not BETWEEN.fullmatch(CLAIM.sub("", action)):
            example = Kind(self.puzzle.people[0], True)
            raise Refused(f"say who is what, one or several: {example}, and so on.")
        kinds = {one.person: one.is_knight for one in self.said}
        names = {name.casefold(): name for name in self.puzzle.people}
        for written, word in claims:
            name = names.get(written.casefold())
            if name is None:
                raise Refused(f"nobody here is called {written}.")
            if name in kinds:
                raise Refused(f"you have said already that {Kind(name, kinds[name])}.")
            kinds[name] = word.casefold() == "knight"
        return replace(self, said=tuple(Kind(name, kinds[name]) for name in self.puzzle.people if name in kinds))


@lru_cache(maxsize=256)
def begin(seed: int) -> IslandPosition:
    """The first position of a seed; positions never change, so that all may share it."""
    return IslandPosition(generate(random.Random(f"knights-and-knaves/{seed}")))


WORLD = World(
    name="knights-and-knaves",
    make=lambda: Playing(begin),
    prompt=(
        "On this island everybody is either a knight, who only says what is true, or a knave, who only says what is"
        " false. Find out who is what. An action says it of one islander, for example: Ada is a knight. Or of all at"
        " once: Ada is a knight, Bram is a knave. What has been said stays."
    ),
    actions=12,
    about="islanders who always lie or never do; exactly one solution",
)
