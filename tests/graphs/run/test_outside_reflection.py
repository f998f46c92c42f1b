"""A reflection from outside passes the gate: a sealed FAIL that has ended, once, and nothing else."""

from __future__ import annotations

import pytest

from groundwire import EpisodeResult, FeedbackGraph, Task
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import GroundingError, RecordNotFound
from groundwire.core._records import Admission, EpisodeRecord, ReflectionRecord
from groundwire.core._signals import Origin, Signal, Verdict
from groundwire.graphs.run._outside_reflection import reflect_from_outside
from groundwire.memory import InMemoryStore
from groundwire.tools import Check

TASK = Task.of("A number above 3.", id="number")


def answer(_context: ActorContext) -> str:
    return "2"


async def judged(store: InMemoryStore, *, least: int) -> tuple[EpisodeResult, Signal]:
    graph = FeedbackGraph()
    graph.add_actor("write", answer).add_tool("check", Check(lambda c: int(c.text) >= least)).add_edge("write", "check")
    result = await graph.compile(store=store).arun(TASK)
    records = await store.records(result.episode_id)
    return result, next(record for record in records if isinstance(record, Signal))


async def test_a_sealed_fail_lets_one_reflection_in_and_makes_a_lesson_of_it() -> None:
    store = InMemoryStore()
    result, signal = await judged(store, least=3)
    written = await reflect_from_outside(store, signal.id, "2 is not above 3.", by="an agent")
    with pytest.raises(GroundingError, match="one failure, one reflection"):
        await reflect_from_outside(store, signal.id, "Well done.", by="an agent")
    records = await store.records(result.episode_id)
    assert [r.id for r in records if isinstance(r, ReflectionRecord)] == [written.id]
    assert [(r.edge, r.admitted, r.reason) for r in records if isinstance(r, Admission)] == [
        ("refine", True, ""),
        ("refine", False, "reused"),
    ], "what was refused is in the ledger too"
    (lesson,) = await store.recall("number", "")
    assert lesson.text == "2 is not above 3."


async def test_a_pass_lets_nothing_in() -> None:
    store = InMemoryStore()
    _, signal = await judged(store, least=2)
    with pytest.raises(GroundingError, match="no FAIL"):
        await reflect_from_outside(store, signal.id, "I am great.", by="an agent")
    assert not await store.recall("number", "")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"verdict": Verdict.FAIL, "id": "forged"}, "seal does not match"),
        ({"origin": Origin.HIDDEN_TESTS, "id": "hidden"}, "seal does not match"),
    ],
)
async def test_what_was_not_minted_lets_nothing_in(change: dict[str, object], why: str) -> None:
    store = InMemoryStore()
    _, signal = await judged(store, least=2)
    forged = signal.model_copy(update=change)
    await store.append(forged)
    with pytest.raises(GroundingError, match=why):
        await reflect_from_outside(store, forged.id, "It failed, believe me.", by="an agent")


async def test_an_episode_that_goes_on_and_one_that_is_not_there_let_nothing_in() -> None:
    store = InMemoryStore()
    _, signal = await judged(store, least=3)
    await store.append(EpisodeRecord(id="open", run_id=signal.run_id, task_id="number"))
    await store.append(signal.model_copy(update={"id": "early", "episode_id": "open"}))
    with pytest.raises(GroundingError, match="has not ended"):
        await reflect_from_outside(store, "early", "x", by="an agent")
    await store.append(signal.model_copy(update={"id": "lost", "episode_id": "nowhere"}))
    with pytest.raises(RecordNotFound):
        await reflect_from_outside(store, "lost", "x", by="an agent")
