"""A world as a task that is answered in one go: one action a line, judged by the world itself.

    rules = step_rules(world("sudoku"), seed=3)
    app = verified_steps("openai/gpt-5-mini", rules).compile()
    result = app.run(answer_task(world("sudoku"), seed=3))

Graphs that write an answer (`verified_steps`, the wide ones with `StepChecker(rules)`) so meet the same checker as
those that act.
"""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.core._candidates import Tree
from groundwire.core._scene import Scene, Status
from groundwire.core._steps import StepRules
from groundwire.core._tasks import Task
from groundwire.tools.environments._world import World
from groundwire.tools.environments.worlds._playing import Playing

ANSWER = "answer.md"
FORM = "Write one action a line, from the first to the one that reaches the goal, and nothing else."
WHOLE = "Write the answer, and nothing else."
"""Where a world takes one action, which may be of several lines."""
NOTHING = "there is no action in it"


def answer_task(world: World, seed: int, *, path: str = ANSWER) -> Task:
    """The task of writing all actions at once.

    Args:
        world: whose.
        seed: which one.
        path: the file that is written.

    Raises:
        TaskError: the world can't be begun.
    """
    begun = world.task(seed)
    _, (scene,) = _played(world, seed, ())
    return Task(
        id=f"{begun.id}-answer",
        family=world.name,
        prompt=f"{world.prompt}\n\n{scene.text}\n\n{WHOLE if world.actions == 1 else FORM}",
        tree=Tree({path: b""}),
        editable=(path,),
    )


def step_rules(world: World, seed: int) -> StepRules:
    """What an answer must hold to: each line is an action that the world takes, and the last one wins.

    A line that loses, or that the rules refuse, is the step that is wrong; so no answer can list guesses. Empty lines
    are none, and what stands behind the line that wins is not read.
    """

    def check(steps: Sequence[str]) -> str:
        return _played(world, seed, steps)[0]

    def accept(text: str) -> str:
        return wrong_with(world, seed, text)

    if world.actions == 1:
        return StepRules(check=check, split=lambda text: [], accept=accept)
    return StepRules(check=check, accept=accept)


def wrong_with(world: World, seed: int, answer: str) -> str:
    """What is wrong with an answer, in words; empty where it wins. For `AnswerCheck`, too.

    Args:
        world: whose.
        seed: which one.
        answer: one action a line.
    """
    wrong, scenes = _played(world, seed, [answer] if world.actions == 1 else answer.split("\n"))
    if wrong or scenes[-1].status is Status.WON:
        return wrong
    return f"the goal is not reached. {scenes[-1].text}" if len(scenes) > 1 else NOTHING


def _played(world: World, seed: int, lines: Sequence[str]) -> tuple[str, list[Scene]]:
    """What is wrong with the first line that is; and every scene up to there."""
    environment = world.make()
    try:
        scenes = [environment.reset(seed)]
        for action in filter(None, (line.strip() for line in lines)):
            scenes.append(environment.act(action))
            if isinstance(environment, Playing) and environment.refused:
                return environment.refused, scenes
            if scenes[-1].status is not Status.RUNNING:
                break
    finally:
        environment.close()
    lost = scenes[-1].status is not Status.RUNNING and scenes[-1].status is not Status.WON
    return (scenes[-1].text if lost else ""), scenes
