"""Worlds answered in one go: the same checker as for those that act, line by line."""

from __future__ import annotations

import pytest

from groundwire import StopReason, Verdict
from groundwire.core._steps import first_broken
from groundwire.graphs.library._verified_steps import verified_steps
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments._one_shot import answer_task, step_rules, wrong_with
from groundwire.tools.environments.worlds import _countdown as countdown
from groundwire.tools.environments.worlds import _game24 as game24
from groundwire.tools.environments.worlds._knights_and_knaves import begin as island
from groundwire.tools.environments.worlds._knights_and_knaves import solve as who_is_what
from groundwire.tools.environments.worlds._numbers import solve, written
from groundwire.tools.environments.worlds._sudoku import begin as grid
from groundwire.tools.environments.worlds._sudoku import solutions


def answers(seed: int) -> dict[str, str]:
    """By world, a right answer in its shortest form."""
    found: dict[str, str] = {}
    for name, module in (("game24", game24), ("countdown", countdown)):
        steps = solve(module.puzzle(seed))
        assert steps is not None
        found[name] = written(module.puzzle(seed), steps)
    kinds = who_is_what(island(seed).puzzle)[0]
    claims = (f"{name} is a {'knight' if is_knight else 'knave'}" for name, is_knight in kinds.items())
    (filled,) = solutions(grid(4, seed).given)
    return {**found, "knights-and-knaves": ", ".join(claims), "sudoku": " ".join(map(str, filled))}


@pytest.mark.parametrize("seed", range(5))
def test_right_answers_are_accepted_for_their_seed_alone_and_wrong_ones_say_why(seed: int) -> None:
    for name, answer in answers(seed).items():
        found = world(name)
        assert wrong_with(found, seed, answer) == "" == wrong_with(found, seed, f"\n  {answer}\n\n")
        assert wrong_with(found, seed + 100, answer), "an answer to another puzzle"
        assert wrong_with(found, seed, "") == "there is no action in it"
        assert wrong_with(found, seed, f"Let me think.\n{answer}"), "what is no action is a step that is wrong"


async def test_no_answer_can_list_guesses() -> None:
    found = world("knights-and-knaves")
    right = answers(1)["knights-and-knaves"]
    flipped = right.replace("knight", "?").replace("knave", "knight").replace("?", "knave")
    wrong = wrong_with(found, 1, f"{flipped}\n{right}")
    assert "That can't be: " in wrong
    broken = await first_broken(step_rules(found, 1), [f"{flipped}\n", f"{right}\n"])
    assert broken is not None and broken.number == 1


async def test_a_model_that_is_corrected_by_the_world_goes_on_from_the_last_step_that_holds() -> None:
    found = world("game24")
    steps = solve(game24.puzzle(3))
    assert steps is not None
    lines = [f"{step}\n" for step in steps]
    planted = f"{steps[0].left} {steps[0].operator} {steps[0].right} = 99\n"
    backend = ScriptedBackend([planted, f"{lines[0]}7 + 1000\n", "".join(lines[1:])])
    store = InMemoryStore()
    result = await verified_steps(backend, step_rules(found, 3)).compile(store=store).arun(answer_task(found, 3))
    assert (result.verdict, result.stop_reason) == (Verdict.PASS, StopReason.VERIFIED)
    prompts = [request.messages[-1].content for request in backend.requests]
    assert len(prompts) == 3 and "Make 24 of" in prompts[0]
    assert ", and not 99" in prompts[1] and any(lines[0] in message.content for message in backend.requests[2].messages)


def test_the_task_shows_the_puzzle_and_asks_for_the_form() -> None:
    task = answer_task(world("sudoku"), 4)
    assert grid(4, 4).scene().text in task.prompt and task.prompt.endswith("and nothing else.")
    assert (task.id, task.family, task.tree.files) == ("sudoku-4-answer", "sudoku", {"answer.md": b""})
