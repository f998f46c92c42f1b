"""Small worlds with exact rules, for tests of what acts in them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from groundwire.core._scenes import Scene, Status

PORCH = ("look", "lift mat", "unlock door", "kick door")


@dataclass
class Porch:
    """A locked door; the key is under the mat. A kick brings the neighbours, and that is the end of it."""

    oracle = False
    seed: int = 0
    has_key: bool = False
    closed: int = 0

    def reset(self, seed: int) -> Scene:
        self.seed, self.has_key = seed, False
        return Scene(f"You are at door {seed}. There is a mat.", actions=PORCH)

    def act(self, action: str) -> Scene:
        match action:
            case "lift mat":
                self.has_key = True
                return Scene("You find a key.", actions=PORCH)
            case "unlock door":
                if self.has_key:
                    return Scene("The door opens.", Status.WON)
                return Scene("You have no key.", actions=PORCH)
            case "kick door":
                return Scene("The neighbours come running.", Status.LOST)
            case _:
                return Scene("You see a door and a mat.", actions=PORCH)

    def close(self) -> None:
        self.closed += 1


@dataclass
class Corridor:
    """An endless corridor: each step shows another number."""

    place: int = 0

    def reset(self, seed: int) -> Scene:
        self.place = 0
        return Scene("0")

    def act(self, action: str) -> Scene:
        self.place += 1
        return Scene(str(self.place))

    def close(self) -> None: ...


@dataclass
class Quiz:
    """A question; the answer is compared with the key, where there is one."""

    key: str | None = "paris"
    oracle: bool = True

    def reset(self, seed: int) -> Scene:
        return Scene("What is the capital of France? Look things up, or finish with an answer.")

    def act(self, action: str) -> Scene:
        if not action.startswith("finish "):
            return Scene(f"Nothing is known about {action}.")
        if self.key is None:
            return Scene("Thank you.", Status.ENDED)
        return Scene("", Status.WON if action.removeprefix("finish ") == self.key else Status.LOST)

    def close(self) -> None: ...


@dataclass
class Trouble:
    """Breaks in the way that the action names."""

    drift: list[int] = field(default_factory=list[int])

    def reset(self, seed: int) -> Scene:
        return Scene("Name your trouble.")

    def act(self, action: str) -> Scene:
        match action:
            case "crash":
                raise OSError("the game has ended: \x1b[31m/dev/null")
            case "exit":
                raise SystemExit(3)
            case "hang":
                time.sleep(0.4)
                return Scene("late")
            case "nonsense":
                return Scene(float("nan"))  # pyright: ignore[reportArgumentType]  what a broken world returns
            case "half won":
                return Scene("", "done")  # pyright: ignore[reportArgumentType]  what a broken world returns
            case "drift":
                self.drift.append(0)
                return Scene(f"{len(self.drift)} times")
            case "flood":
                return Scene("x" * 1_000_000 + "\x1b]0;title\x07", actions=("a\n\x00b",) * 1000)
            case _:
                return Scene(action)

    def close(self) -> None: ...


WAY = ("left", "middle", "right")


@dataclass
class Stairs:
    """Three doors on each of three floors, and one of these leads on, the same in all worlds."""

    floor: int = 0

    def reset(self, seed: int) -> Scene:
        self.floor = 0
        return self._scene()

    def act(self, action: str) -> Scene:
        self.floor = self.floor + 1 if action == WAY[self.floor] else -1
        return self._scene()

    def close(self) -> None: ...

    def _scene(self) -> Scene:
        status = {-1: Status.LOST, len(WAY): Status.WON}.get(self.floor, Status.RUNNING)
        return Scene(f"floor {self.floor}", status, tuple(sorted(WAY)))


BRIGHT = ("bright 1", "bright 2", "bright 3", "bright 4", "bright 5")
WAYS = {"hall": (*BRIGHT, "dark"), "dark": ("darker", "back"), "darker": ("out", "back")}


@dataclass
class Trap:
    """Five bright doors lead ever brighter into a dead end; the dark one leads out. A scene shows its brightness."""

    place: str = "hall"
    acted: int = 0

    def reset(self, seed: int) -> Scene:
        self.place = "hall"
        return self._scene()

    def act(self, action: str) -> Scene:
        self.acted += 1
        if action in self._actions():
            self.place = "hall" if action == "back" else action
        return self._scene()

    def close(self) -> None: ...

    def _actions(self) -> tuple[str, ...]:
        if self.place.startswith("bright"):
            return ("brightest",)
        return WAYS.get(self.place, ())

    def _scene(self) -> Scene:
        if self.place == "out":
            return Scene("out", Status.WON)
        return Scene(self.place, Status.LOST if self.place == "brightest" else Status.RUNNING, self._actions())


@dataclass
class Chain:
    """Four places in a row; a coin decides where a step leads: on, or to the loss. Won at the end."""

    place: int = 0

    def reset(self, seed: int) -> Scene:
        self.place = 0
        return self._scene()

    def act(self, action: str) -> Scene:
        self.place = -1 if action == "fall" else self.place + 1
        return self._scene()

    def close(self) -> None: ...

    def _scene(self) -> Scene:
        status = {-1: Status.LOST, 3: Status.WON}.get(self.place, Status.RUNNING)
        return Scene(f"place {self.place}", status, ("go", "fall"))
