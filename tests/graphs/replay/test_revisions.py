"""An actor that proposes otherwise than before: what it proposed then is replayed, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from guessing import Check, Guesser, loop
from wide import QUESTION

from groundwire import Budget, FeedbackApp, StopReason, Task
from groundwire.agents import ConfidentVote, TextAnswer
from groundwire.core._models import Request
from groundwire.core._traits import ActorTraits
from groundwire.graphs import confident_vote
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend

pytestmark = pytest.mark.asyncio


def app(store: InMemoryStore, answers: Sequence[str], *, revision: int) -> FeedbackApp:
    actor: Any = Guesser([[answer] for answer in answers])
    actor.traits = ActorTraits(revision=revision)
    return loop(actor, Check()).compile(store=store)


async def test_the_candidates_of_another_revision_are_taken_from_the_ledger(task: Task) -> None:
    store = InMemoryStore()
    before = app(store, ["wrong", "right"], revision=2)
    run_id = await before.start_run()
    ended = await before.arun(task, run_id=run_id)
    assert ended.stop_reason is StopReason.VERIFIED
    (run,) = await store.runs()
    assert json.loads(run.config)["revisions"] == {"write": 2}
    episode = {"run_id": run_id, "episode_id": ended.episode_id}

    another = await app(store, ["something else", "right"], revision=3).areplay(task, **episode)
    assert (another.difference, another.is_whole) == (None, True)
    same = await app(store, ["something else", "right"], revision=2).areplay(task, **episode)
    assert same.difference is not None, "one that says it is the same must propose the same"


async def test_a_run_that_names_none_was_made_by_the_first(task: Task) -> None:
    store = InMemoryStore()
    first = app(store, ["right"], revision=1)
    run_id = await first.start_run()
    ended = await first.arun(task, run_id=run_id)
    assert "revisions" not in json.loads((await store.runs())[0].config)
    later = await app(store, ["something else"], revision=2).areplay(task, run_id=run_id, episode_id=ended.episode_id)
    assert later.difference is None


class Earlier(ConfidentVote):
    """As of an earlier revision: other samples, other questions."""

    traits = replace(ConfidentVote.traits, revision=1)


SAID: dict[str, Callable[[Request], str]] = {
    "verified": lambda r: "ANSWER: right",
    "repeated": lambda r: "ANSWER: wrong",
    "new once it is warmer": lambda r: f"ANSWER: {'wrong' if r.temperature < 0.8 else 'right'}",
    "no answer": lambda r: "I can't.",
    "several trials": lambda r: f"ANSWER: wrong {r.seed}",
}


@pytest.mark.parametrize("said", SAID.values(), ids=SAID.keys())
async def test_what_another_revision_asked_a_model_is_asked_of_the_ledger_and_it_ends_as_it_ended(
    said: Callable[[Request], str],
) -> None:
    store, check = InMemoryStore(), Check(["right"])

    def wide(actor: ConfidentVote) -> FeedbackApp:
        return confident_vote(actor, check).compile(store=store, budget=Budget(trials=3))

    before = wide(Earlier(ScriptedBackend(said), TextAnswer(), samples=2))
    run_id = await before.start_run()
    ended = await before.arun(QUESTION, run_id=run_id)
    now = wide(ConfidentVote(ScriptedBackend(lambda _request: "ANSWER: now"), TextAnswer(), samples=5))
    replayed = await now.areplay(QUESTION, run_id=run_id, episode_id=ended.episode_id)
    assert (replayed.difference, replayed.is_whole, replayed.seals_verified) == (None, True, True)
