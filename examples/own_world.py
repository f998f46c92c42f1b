"""A world of your own: an actor loses, the world's word is remembered, and the next trial wins. No model is needed.

python examples/own_world.py
"""

from collections.abc import Sequence

from groundwire import Candidate, EpisodeResult, Signal
from groundwire.agents import StepsCritic
from groundwire.core import (
    ActorContext,
    ReflectionRecord,
    Scene,
    Status,
    attempt,
    environment_task,
    moves_so_far,
    scene_of,
    start_of,
)
from groundwire.graphs import episodic

RIDDLE = ("red", "blue", "green")


class Vault:
    """Three buttons in the right order open it; a wrong one locks it for good."""

    pressed: tuple[str, ...] = ()

    def reset(self, seed: int) -> Scene:
        self.pressed, self.order = (), RIDDLE[seed:] + RIDDLE[:seed]
        return Scene("A vault with three buttons.", actions=RIDDLE)

    def act(self, action: str) -> Scene:
        self.pressed = (*self.pressed, action)
        if self.pressed != self.order[: len(self.pressed)]:
            return Scene(f"{action} was wrong: it locks.", Status.LOST)
        won = self.pressed == self.order
        return Scene("It opens." if won else "It clicks.", Status.WON if won else Status.RUNNING, RIDDLE)

    def close(self) -> None: ...


class Presser:
    """Presses the first button that no lesson speaks against."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        done = [move.action for move in moves_so_far(context.judged, context.failing)]
        ways = [" → ".join([*done, action]) + "." for action in start_of(context.task).scene.actions]
        wrong = [way for way in ways if any(f": {way}" in lesson.text for lesson in context.lessons)]
        action = next(a for a, way in zip(RIDDLE, ways, strict=True) if way not in wrong and a not in done)
        return [attempt(context.task, context.trial, [*done, action])]


def main() -> None:
    """Plays until the vault is open."""
    task = environment_task(Vault(), id="vault", seed=1)
    for item in episodic(Presser(), StepsCritic(), Vault).compile().stream(task):
        if isinstance(item, Signal):
            print(f"trial {item.trial}: {scene_of(item).text}")
        elif isinstance(item, ReflectionRecord):
            print(f"  remembered: {item.text}")
        elif isinstance(item, EpisodeResult):
            print(item.stop_reason)


if __name__ == "__main__":
    main()
