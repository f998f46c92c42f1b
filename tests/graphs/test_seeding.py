"""The seeds that a run's episodes ask with: apart from one another, and the same again in whatever process."""

from __future__ import annotations

import json
import sqlite3
from contextlib import aclosing, closing
from dataclasses import replace
from pathlib import Path

import pytest
from guessing import Check

from groundwire import Budget, FeedbackApp, FeedbackGraph, Task, Tree
from groundwire.agents import LLMActor, LLMCritic
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_for
from groundwire.core._models import Request
from groundwire.core._records import Intent, Store
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.models import ScriptedBackend

FILES = Task(id="guess", prompt="Say the right word.", tree=Tree({"word.py": b"word = 0\n"}))


def app_of(store: Store, *, samples: int = 1) -> FeedbackApp:
    """Asks a model that is wrong in another way each time, and a critic."""

    def says(request: Request) -> str:
        return (
            "Try again." if request.purpose == "reflect" else f"FILE: word.py\n```python\nword = {request.seed}\n```\n"
        )

    model = ScriptedBackend(says)
    graph = FeedbackGraph().add_actor("write", LLMActor(model, samples=samples), width=samples)
    graph.add_tool("test", Check()).add_critic("reflect", LLMCritic(model)).add_edge("write", "test")
    return graph.refine("test", via="reflect", to="write").compile(store=store, budget=Budget(trials=2))


async def seeds_of(store: Store, episode_id: str) -> list[tuple[str, int]]:
    """Purposes and seeds of all that an episode asked, in order."""
    bodies = [json.loads(r.body) for r in await store.records(episode_id) if isinstance(r, Intent)]
    return [(body["purpose"], body["seed"]) for body in bodies]


def edit_config(database: Path, run_id: str, seeds: str | None) -> None:
    """Leaves the run's record as another version would have written it."""
    with closing(sqlite3.connect(database)) as connection:
        (config,) = connection.execute("SELECT config FROM runs WHERE id = ?", (run_id,)).fetchone()
        known = {key: value for key, value in json.loads(config).items() if key != "seeds"}
        known |= {"seeds": seeds} if seeds else {}
        connection.execute("UPDATE runs SET config = ? WHERE id = ?", (json.dumps(known), run_id))
        connection.commit()


async def test_four_episodes_of_eight_samples_ask_with_32_seeds() -> None:
    store = InMemoryStore()
    results = await app_of(store, samples=8).abatch([FILES], times=4)
    asked = [r for result in results for r in await store.records(result.episode_id) if isinstance(r, Intent)]
    proposals = [Request.model_validate_json(r.body) for r in asked if r.trial == 1]
    drawn = [(r.seed or 0) + sample for r in proposals if r.purpose == "propose" for sample in range(r.n)]
    assert len(drawn) == 4 * 8 and len(set(drawn)) == len(drawn)


async def test_all_tasks_of_a_run_draw_by_the_same_numbers_and_episodes_of_one_task_do_not() -> None:
    store = InMemoryStore()
    other = replace(FILES, id="other", prompt="Say another word.")
    results = await app_of(store).abatch([FILES, other], times=2, at_once=4)
    first, again, same, _ = [await seeds_of(store, result.episode_id) for result in results]
    assert first == same and not set(first) & set(again)


async def test_a_critic_s_seed_is_its_episode_s_too() -> None:
    store = InMemoryStore()
    results = await app_of(store).abatch([FILES], times=2)
    reflected = [dict(await seeds_of(store, result.episode_id))["reflect"] for result in results]
    assert reflected == [seed_for(0, 1, "reflect"), seed_for(1, 1, "reflect")]


async def test_a_new_run_names_its_rule_and_replays(tmp_path: Path) -> None:
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/ledger.db")) as store:
        result = await app_of(store).arun(FILES, seed=3)
        (run,) = await store.runs()
        assert json.loads(run.config)["seeds"] == "hashed"
        asked = await seeds_of(store, result.episode_id)
        assert asked[:2] == [("propose", seed_for(3, 1, "propose")), ("reflect", seed_for(3, 1, "reflect"))]
        replayed = await app_of(store).areplay(FILES, run_id=run.id, episode_id=result.episode_id)
        assert replayed.difference is None


async def test_a_run_that_names_no_rule_goes_on_and_replays_by_the_sums_of_its_time(tmp_path: Path) -> None:
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/ledger.db")) as store:
        run_id = await app_of(store).start_run()
        edit_config(tmp_path / "ledger.db", run_id, None)
    # another process opens it
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/ledger.db")) as store:
        result = await app_of(store).arun(FILES, run_id=run_id, seed=3)
        asked = await seeds_of(store, result.episode_id)
        assert asked == [("propose", 3 + 4096), ("reflect", 4096), ("propose", 3 + 8192)]
        replayed = await app_of(store).areplay(FILES, run_id=run_id, episode_id=result.episode_id)
        assert replayed.difference is None


async def test_a_rule_of_a_later_version_is_refused(tmp_path: Path) -> None:
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/ledger.db")) as store:
        run_id = await app_of(store).start_run()
        edit_config(tmp_path / "ledger.db", run_id, "drawn from a hat")
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/ledger.db")) as store:
        with pytest.raises(ConfigError, match="does not know: 'drawn from a hat'"):
            await app_of(store).arun(FILES, run_id=run_id)
