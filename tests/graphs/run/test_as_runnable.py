"""A compiled graph beside LangChain's runnables: invoke, ainvoke and batch, with their config."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from groundwire import ActorContext, EpisodeResult, FeedbackGraph, Task, Verdict
from groundwire.agents import LLMActor
from groundwire.core._errors import CandidateError, ConfigError
from groundwire.graphs.run._resuming import task_of
from groundwire.memory import SqlStore
from groundwire.models import ScriptedBackend


def app(most: list[int] | None = None) -> Any:
    under_way: list[int] = []

    async def write(context: ActorContext) -> str:
        under_way.append(1)
        if most is not None:
            most.append(len(under_way))
        await asyncio.sleep(0.2 if most is not None else 0)  # time for the others to come
        under_way.pop()
        return context.task.prompt.upper()

    return FeedbackGraph.loop(write, lambda candidate: candidate.text.isupper()).compile()


def text(result: EpisodeResult) -> str:
    return result.text


def test_it_stands_in_a_chain_sync_and_async() -> None:
    loop = app()
    chain: Any = RunnableLambda(Task.of) | RunnableLambda(loop.invoke, loop.ainvoke) | text
    assert chain.invoke("hello") == "HELLO"
    assert asyncio.run(chain.ainvoke("hello")) == "HELLO"
    assert chain.batch(["a", "b"]) == ["A", "B"]


def test_a_batch_takes_how_many_run_at_once_from_the_config() -> None:
    for at_once in (1, 3):
        most: list[int] = []
        results = app(most).batch([Task.of(c) for c in "abcdef"], {"max_concurrency": at_once, "tags": ["ignored"]})
        assert [text(r) for r in results] == list("ABCDEF")
        assert max(most) == at_once


def test_options_of_run_go_through() -> None:
    seen: list[object] = []
    result = app().invoke(Task.of("x"), {"recursion_limit": 50}, observers=[seen.append], seed=3)
    assert result.verdict is Verdict.PASS and seen


async def test_inside_a_running_loop_the_async_twin_is_named() -> None:
    with pytest.raises(ConfigError, match=r"await app\.ainvoke"):
        app().invoke(Task.of("x"))


async def test_what_a_model_was_told_is_replayed_from_the_ledger_alone(tmp_path: Path) -> None:
    """The kind of a task decides which prompt is sent, so the ledger has to know it."""
    store = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    backend = ScriptedBackend(["two words", "one"])
    loop = FeedbackGraph.loop(LLMActor(backend), lambda candidate: len(candidate.text.split()) == 1).compile(
        store=store
    )
    result = await loop.arun(Task.of("One word."))
    (record,) = await store.episodes(result.run_id)
    recorded = await task_of(record, store)
    assert recorded.kind == "write"
    replayed = await loop.areplay(recorded, run_id=result.run_id, episode_id=result.episode_id)
    assert replayed.difference is None and len(backend.requests) == 2
    await store.aclose()


async def test_what_did_not_pass_has_no_text() -> None:
    loop = FeedbackGraph.loop(lambda context: "no", lambda candidate: False).compile()
    result = await loop.arun(Task.of("x"))
    assert (result.verdict, result.text) == (Verdict.FAIL, "")
    assert result.best and result.best.candidate.text == "no"
    several = FeedbackGraph.loop(lambda context: {"a": "1", "b": "2"}, lambda candidate: True).compile()
    with pytest.raises(CandidateError, match="writes 2 files"):
        _ = (await several.arun(Task.of("x", files={"a": "", "b": ""}))).text
