"""A small grid with holes to fall into: the same map for every seed, which says where one begins."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from groundwire import Task
from groundwire.core._environments import environment_task
from groundwire.core._scenes import Scene, Status

MAP = ("....", ".O.O", "...O", "O..G")
STARTS = ((0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (2, 0), (2, 1), (3, 1))
STEPS = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}


@dataclass
class Grid:
    """Won at G, lost at O; what leads over the edge leads nowhere. With `slip`, an action may go to either side."""

    slip: bool = False
    row: int = 0
    column: int = 0

    def reset(self, seed: int) -> Scene:
        self._chance = Random(seed)
        self.row, self.column = STARTS[seed % len(STARTS)]
        return self._scene()

    def act(self, action: str) -> Scene:
        names = list(STEPS)
        turn = self._chance.choice((-1, 0, 1)) if self.slip else 0
        down, right = STEPS[names[(names.index(action) + turn) % 4]]
        self.row, self.column = (min(max(at, 0), 3) for at in (self.row + down, self.column + right))
        return self._scene()

    def close(self) -> None: ...

    def _scene(self) -> Scene:
        status = {"O": Status.LOST, "G": Status.WON}.get(MAP[self.row][self.column], Status.RUNNING)
        return Scene(f"row {self.row}, column {self.column}", status, tuple(STEPS) if status == "running" else ())


def grid_task(seed: int, *, slip: bool = False) -> Task:
    """The task of one start."""
    return environment_task(Grid(slip), id=f"grid-{seed}", seed=seed, family="grid")
