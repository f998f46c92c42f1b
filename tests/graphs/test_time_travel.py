"""Old checkpoints, states written by hand and edited rows: the ledger rules, and every seal is verified again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from guessing import Check, Guesser, Noter, answer, loop
from langgraph.types import Command
from savers import checkpoints, opened

from groundwire import (
    Budget,
    FeedbackApp,
    StopReason,
    Task,
)
from groundwire.core._errors import GroundingError, SealError
from groundwire.core._signals import Evidence
from groundwire.memory import InMemoryStore, SqlStore


async def test_a_fork_from_any_checkpoint_follows_the_ledger_and_uses_no_signal_again(
    saver_url: str, task: Task
) -> None:
    async with opened(saver_url) as saver:
        store = InMemoryStore()
        actor, check, critic = Guesser([["wrong"], ["worse"], ["right"]]), Check(), Noter()
        app = loop(actor, check, critic).compile(store=store, checkpointer=saver, durability="sync")
        run_id = await app.start_run()
        first = await app.arun(task, run_id=run_id)
        before = await store.records(first.episode_id)
        for snapshot in await checkpoints(app, first.episode_id):
            async with app.episode(task, run_id=run_id, episode_id=first.episode_id) as episode:
                state = await app.langgraph.ainvoke(None, snapshot.config, context=episode)
            assert state["stop_reason"] == StopReason.VERIFIED
            assert state["candidate"] == answer(task, "right").digest
        assert await store.records(first.episode_id) == before
        assert (len(actor.seen), check.judged, len(critic.seen)) == (3, ["wrong", "worse", "right"], 2)


async def test_a_fork_goes_on_where_the_ledger_ends(saver_url: str, task: Task) -> None:
    """An episode that its budget ended is taken up again from an early checkpoint, with more to spend."""
    async with opened(saver_url) as saver:
        store, check = InMemoryStore(), Check()
        graph = loop(Guesser([["wrong"], ["worse"], ["right"]]), check)
        app = graph.compile(store=store, checkpointer=saver, durability="sync", budget=Budget(trials=2))
        run_id = await app.start_run()
        first = await app.arun(task, run_id=run_id)
        assert first.stop_reason is StopReason.BUDGET_TRIALS
        early = (await checkpoints(app, first.episode_id))[1]
        more = graph.compile(store=store, checkpointer=saver, durability="sync", budget=Budget(trials=3))
        async with more.episode(task, run_id=run_id, episode_id=first.episode_id) as episode:
            state = await more.langgraph.ainvoke(None, early.config, context=episode)
        assert state["stop_reason"] == StopReason.VERIFIED
        assert check.judged == ["wrong", "worse", "right"]


@pytest.mark.parametrize(
    "forged",
    [
        {"admission": "made up"},
        {"candidate": "made up"},
        {"trial": 2},
        {"admission": ""},
    ],
)
async def test_a_state_written_by_hand_opens_nothing(task: Task, forged: dict[str, Any]) -> None:
    async with opened("memory") as saver:
        app = loop(Guesser([["wrong"], ["right"]]), Check(), Noter()).compile(checkpointer=saver, durability="sync")
        run_id = await app.start_run()
        first = await app.arun(task, run_id=run_id)
        let_in = next(s for s in await checkpoints(app, first.episode_id) if s.next == ("reflect",))
        config = await app.langgraph.aupdate_state(let_in.config, forged, as_node="test")
        async with app.episode(task, run_id=run_id, episode_id=first.episode_id) as episode:
            with pytest.raises(GroundingError):
                await app.langgraph.ainvoke(None, config, context=episode)


async def test_a_jump_by_hand_opens_nothing(task: Task) -> None:
    async with opened("memory") as saver:
        app = loop(Guesser([["wrong"], ["right"]]), Check()).compile(checkpointer=saver, durability="sync")
        run_id = await app.start_run()
        first = await app.arun(task, run_id=run_id)
        config = {"configurable": {"thread_id": first.episode_id}}
        async with app.episode(task, run_id=run_id, episode_id=first.episode_id) as episode:
            with pytest.raises(GroundingError, match="no signal has opened the way"):
                await app.langgraph.ainvoke(Command(goto="write"), config, context=episode)


async def test_a_signal_that_was_edited_while_a_person_thought_about_it_opens_nothing(
    saver_url: str, task: Task
) -> None:
    """The checkpoint holds an id; the body is verified again when it is used."""
    async with opened(saver_url) as saver:
        graph = loop(Guesser([["wrong"], ["right"]]), Check(), Noter())
        app = graph.compile(checkpointer=saver, interrupt_before=["reflect"])
        async with app.episode(task) as episode:
            config = {"configurable": {"thread_id": "t"}}
            await app.langgraph.ainvoke(app.input(episode), config, context=episode)
            (signal,) = episode.history.signals.values()
            episode.history.signals[signal.id] = signal.model_copy(update={"evidence": Evidence(detail="edited")})
            with pytest.raises(SealError, match="does not match its content"):
                await app.langgraph.ainvoke(None, config, context=episode)


async def test_a_row_that_was_edited_or_a_key_that_is_another_stops_the_next_process(
    task: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sqlite3

    path = tmp_path / "ledger.db"

    def app() -> FeedbackApp:
        return loop(Guesser([["wrong"]]), Check()).compile(store=SqlStore(f"sqlite:///{path}"))

    first = app()
    run_id = await first.start_run()
    result = await first.arun(task, run_id=run_id)
    await first.store.aclose()
    other = app()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(SealError, match="no key for run"):
        await app().arun(task, run_id=run_id, episode_id=result.episode_id)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE signals SET body = replace(body, '\"fail\"', '\"pass\"')")
    database.close()
    with pytest.raises(SealError, match="does not match its content"):
        await other.arun(task, run_id=run_id, episode_id=result.episode_id)
    await other.store.aclose()
