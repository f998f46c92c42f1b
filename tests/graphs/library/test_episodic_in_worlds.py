"""The episodic graph in the built-in worlds. Row 100: questions that nobody knows by heart are won by search alone."""

from __future__ import annotations

import re
from html import unescape

import pytest

from groundwire import Budget, EpisodeResult, StopReason, Verdict
from groundwire.agents.worlds import RandomActor, ReActActor, StepsCritic
from groundwire.core._contexts import Actor
from groundwire.core._models import Request
from groundwire.core._signals import Signal
from groundwire.graphs.library._episodic import episodic
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools.environments._catalogue import world
from groundwire.tools.environments.worlds._fiction_search import QUESTIONS

DESK = world("fiction-search")
QUESTION = re.compile(r"Question: (.+)")


async def play(name: str, actor: Actor, seed: int, *, trials: int = 1) -> tuple[EpisodeResult, list[Signal]]:
    kind, store = world(name), InMemoryStore()
    graph = episodic(actor, StepsCritic(), kind.make, actions=kind.actions)
    result = await graph.compile(store=store, budget=Budget(trials=trials)).arun(kind.task(seed))
    return result, [each for each in await store.records(result.episode_id) if isinstance(each, Signal)]


def knows_nothing(request: Request) -> str:
    """Answers at once, with what the question is about: all that a model has which neither searches nor knows."""
    asked = QUESTION.findall(unescape(request.messages[-1].content))[0]
    return f"Thought: I am sure.\nAction: answer: {asked.rstrip('?').split()[-1]}"


def searches(request: Request) -> str:
    """Searches for the question, then for every name it reads of, and opens what it finds. It takes the right answer
    from a passage that holds it, and only from there: it measures the world and the graph, and no model."""
    shown = unescape(request.messages[-1].content)
    asked = next(each for each in QUESTIONS if each.text == QUESTION.findall(shown)[0])
    if asked.answer in shown.rpartition("Read:")[2]:
        return f"Thought: there it stands.\nAction: answer: {asked.answer}"
    offered = shown.rpartition("<can_do")[2].splitlines()
    new = [line for line in offered if line.startswith(("open: ", "search: ")) and f'action="{line}"' not in shown]
    return f"Thought: go on.\nAction: {min(new, key=lambda line: not line.startswith('open: '))}"


async def test_without_search_no_question_is_answered_and_with_it_eight_of_ten_are() -> None:
    right = {"blind": 0, "search": 0}
    for seed in range(len(QUESTIONS)):
        blind, judged = await play("fiction-search", ReActActor(ScriptedBackend(knows_nothing)), seed)
        assert (blind.verdict, len(judged)) == (Verdict.FAIL, 1)
        right["blind"] += blind.verdict is Verdict.PASS
        found, judged = await play("fiction-search", ReActActor(ScriptedBackend(searches)), seed)
        right["search"] += found.stop_reason is StopReason.VERIFIED
        assert found.oracle and judged[-1].oracle, "the key was used, and every report says so"
        assert len(judged) <= DESK.actions
    assert right["blind"] == 0
    assert right["search"] >= 8


@pytest.mark.parametrize("name", ["maze", "sokoban", "crafting", "fiction-search"])
async def test_who_knows_nothing_plays_on_until_a_verdict(name: str) -> None:
    result, judged = await play(name, RandomActor(), 3, trials=2)
    ends = [signal.verdict for signal in judged if signal.verdict is not Verdict.NONE]
    assert ends and len(ends) <= 2 and result.verdict is ends[-1]
    assert all(signal.reason == "go_on" for signal in judged if signal.verdict is Verdict.NONE)
    assert result.oracle is (name == "fiction-search")
