"""An episode that was recorded runs again from its ledger alone: the same records, no model, no sandbox."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
from dying import dies_and_goes_on
from guessing import ANSWER, Check, Guesser, Noter

from groundwire import (
    Budget,
    Candidate,
    EpisodeResult,
    FeedbackApp,
    FeedbackGraph,
    Limits,
    Observation,
    StopReason,
    Task,
    Tree,
)
from groundwire.agents import CommandActor, LLMActor, LLMCaseWriter, LLMCritic, RuleCritic, SearchActor
from groundwire.core._contexts import Actor, Critic, Tool, ToolContext
from groundwire.core._errors import ConfigError, ModelRejected, ModelReplyInvalid, RecordNotFound, SealError
from groundwire.core._models import Completion, Message, Request
from groundwire.core._records import Intent, ModelCall, ProgramRun, Recall, ReflectionRecord, TrialEnd
from groundwire.core._seal import FileKeys
from groundwire.core._signals import Origin, Signal
from groundwire.core._tasks import Hidden
from groundwire.graphs.library._code_repair import code_repair
from groundwire.graphs.replay._replay import Replayed
from groundwire.graphs.run._resuming import task_of
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.memory._retention import drop_old
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests, ModelTests, Unittest

pytestmark = pytest.mark.slow
TOTAL = "def total(prices):\n    result = 0\n    for price in prices:\n        result -= price\n    return result\n"
RIGHT = TOTAL.replace("-=", "+=")
TEST = (
    "import unittest\nfrom price import total\n\n\nclass T(unittest.TestCase):\n"
    "    def test_none(self):\n        self.assertEqual(total([]), 0)\n\n"
    "    def test_some(self):\n        self.assertEqual(total([1, 2]), 3)\n"
)
HIDDEN = TEST.replace("[1, 2]), 3", "[4111, 4]), 4115")
WHOLE = "FILE: price.py\n```python\n{}```\n"
WRONG = [TOTAL.replace("result = 0", f"result = {n}") for n in (7, 8, 9)]
COMMAND = ("python", "-m", "unittest", "-q")


def task(name: str = "price") -> Task:
    return Task(
        id=name,
        family="shop",
        prompt="Make the tests pass.",
        tree=Tree({"price.py": TOTAL.encode(), "test_price.py": TEST.encode()}),
        command=COMMAND,
        hidden=Hidden(COMMAND, Tree({"test_hidden.py": HIDDEN.encode()})),
        limits=Limits(cpu_s=10, wall_s=60),
    )


@pytest.fixture
def store(tmp_path: Path) -> SqlStore:
    return SqlStore(f"sqlite:///{tmp_path}/ledger.db")


Make = Callable[[SqlStore], FeedbackApp]


def app_of(
    store: SqlStore, actor: Actor, critic: Critic | None = None, tool: Tool | None = None, **options: Any
) -> FeedbackApp:
    width = options.pop("width", 1)
    graph = code_repair(actor, critic or RuleCritic(), tool or Unittest(), HiddenTests(), width=width)
    return graph.compile(store=store, budget=Budget(trials=6, usd=options.pop("usd", None)))


class Unreachable(ScriptedBackend):
    """A model that nobody can ask."""

    async def complete(self, request: Request) -> NoReturn:
        raise AssertionError("a model was asked")


@pytest.fixture
def nothing_outside(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Takes away every sandbox and every process; models are taken away by `Unreachable`."""

    def refuse(*_args: Any, **_options: Any) -> NoReturn:
        raise AssertionError("something outside was reached")

    def take_away() -> None:
        monkeypatch.setattr("groundwire.sandbox.open_sandbox", refuse)
        monkeypatch.setattr(subprocess, "Popen", refuse)
        monkeypatch.setattr(os, "posix_spawn", refuse)
        monkeypatch.setattr(os, "fork", refuse)

    return take_away


async def replayed(store: SqlStore, result: EpisodeResult, make: Make) -> Replayed:
    """What another process, which knows nothing but the ledger and the graph, makes of it."""
    (known,) = [e for e in await store.episodes(result.run_id) if e.id == result.episode_id]
    return await make(store).areplay(await task_of(known, store), run_id=known.run_id, episode_id=known.id)


async def same(store: SqlStore, result: EpisodeResult, make: Make) -> list[type]:
    """Replays, finds no difference, and gives the kinds of the records that are there."""
    again = await replayed(store, result, make)
    assert (again.difference, again.is_whole, again.seals_verified) == (None, True, True)
    records = await store.records(result.episode_id)
    assert again.compared > 0
    return [type(record) for record in records]


def search(store: SqlStore) -> FeedbackApp:
    return app_of(store, SearchActor(), width=2)


def of_model(
    replies: Sequence[Any] | None, *, samples: int = 1, reflections: Sequence[str] = ("try + not -",) * 3
) -> Make:
    """A graph with a scripted model; without replies, with one that can't be asked."""
    kind = Unreachable if replies is None else ScriptedBackend
    return lambda store: app_of(
        store, LLMActor(kind(replies or []), samples=samples), LLMCritic(kind(reflections)), width=samples
    )


async def test_a_search_over_several_trials(store: SqlStore, nothing_outside: Callable[[], None]) -> None:
    beyond = replace(task(), tree=task().tree.with_changes({"price.py": b"def total(prices):\n    return 17\n"}))
    result = await search(store).arun(beyond)
    assert result.stop_reason in (StopReason.BUDGET_TRIALS, StopReason.EXHAUSTED) and result.trials > 1
    nothing_outside()
    kinds = await same(store, result, search)
    assert {Signal, ReflectionRecord, TrialEnd} <= set(kinds)


async def test_a_model_with_reflections_several_candidates_and_hidden_tests(
    store: SqlStore, nothing_outside: Callable[[], None]
) -> None:
    texts = [WHOLE.format(text) for text in (*WRONG[:2], WRONG[2], RIGHT)]
    result = await of_model(texts, samples=2)(store).arun(task())
    assert (result.stop_reason, result.trials, result.account.hidden_accesses) == (StopReason.VERIFIED, 2, 1)
    nothing_outside()
    kinds = await same(store, result, of_model(None, samples=2))
    assert kinds.count(ModelCall) == 3 and kinds.count(ReflectionRecord) == 1


async def test_lessons_that_were_recalled_are_given_again_also_when_memory_knows_more(
    store: SqlStore, nothing_outside: Callable[[], None]
) -> None:
    texts = [WHOLE.format(text) for text in (WRONG[0], RIGHT)]
    await of_model(texts)(store).arun(task())
    second = await of_model(texts)(store).arun(task())
    await of_model(texts, reflections=["something new", "and more"])(store).arun(task())
    nothing_outside()
    kinds = await same(store, second, of_model(None))
    assert Recall in kinds


@pytest.mark.parametrize("reply", [ModelRejected("no credit"), ModelReplyInvalid("gibberish")])
async def test_a_model_that_failed_fails_again(
    store: SqlStore, nothing_outside: Callable[[], None], reply: Exception
) -> None:
    result = await of_model([WHOLE.format(WRONG[0]), reply])(store).arun(task())
    assert result.stop_reason is StopReason.MODEL_ERROR
    nothing_outside()
    await same(store, result, of_model(None))


async def test_tests_that_a_model_wrote(store: SqlStore, nothing_outside: Callable[[], None]) -> None:
    written = "```python\ndef test_some():\n    from price import total\n    assert total([1, 2]) == 3\n```"

    def make(replies: Sequence[str] | None) -> Make:
        kind = Unreachable if replies is None else ScriptedBackend
        return lambda store: app_of(
            store, LLMActor(kind(replies or [])), tool=ModelTests(LLMCaseWriter(kind([written])))
        )

    result = await make([WHOLE.format(RIGHT)])(store).arun(task())
    assert result.trials == 1, result.detail
    nothing_outside()
    await same(store, result, make(None))


async def test_programs_that_edited_the_files(
    store: SqlStore, nothing_outside: Callable[[], None], tmp_path: Path
) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(f"open('price.py', 'w').write({RIGHT!r})\n")

    def make(store: SqlStore) -> FeedbackApp:
        return app_of(store, CommandActor([sys.executable, str(agent)]))

    result = await make(store).arun(task())
    assert result.stop_reason is StopReason.VERIFIED
    agent.unlink()
    nothing_outside()
    assert ProgramRun in await same(store, result, make)


DEATHS: dict[str, Callable[[object], bool]] = {
    "a call was under way": lambda r: isinstance(r, Intent) and r.kind == "model_call" and r.trial == 2,
    "an answer had come": lambda r: isinstance(r, ModelCall) and r.purpose == "propose" and r.trial == 2,
    "a reflection was written": lambda r: isinstance(r, ReflectionRecord),
    "the hidden tests were about to judge": lambda r: isinstance(r, Intent) and r.kind == "hidden_access",
    "they had judged": lambda r: isinstance(r, Signal) and r.origin is Origin.HIDDEN_TESTS,
}


@pytest.mark.parametrize("death", DEATHS)
async def test_a_run_that_was_killed_and_went_on(
    store: SqlStore, nothing_outside: Callable[[], None], death: str
) -> None:
    texts = [WHOLE.format(text) for text in (WRONG[0], RIGHT, RIGHT)]
    result = await dies_and_goes_on(of_model(texts)(store), task(), DEATHS[death])
    assert result.stop_reason is StopReason.VERIFIED
    nothing_outside()
    await same(store, result, of_model(None))


async def test_a_search_that_was_killed_while_it_judged_and_went_on(
    store: SqlStore, nothing_outside: Callable[[], None]
) -> None:
    result = await dies_and_goes_on(search(store), task(), lambda r: isinstance(r, Signal) and r.trial == 1)
    assert result.stop_reason is StopReason.VERIFIED
    nothing_outside()
    await same(store, result, search)


class Opinion(Check):
    """A tool that asks a model."""

    def __init__(self, backend: ScriptedBackend) -> None:
        super().__init__()
        self.backend = backend

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        said = candidate.changes[ANSWER]
        request = Request(messages=(Message(role="user", content=repr(said)),), max_tokens=9)
        await context.call(self.backend, request)
        return await super().judge(candidate, task, context)


async def test_a_tool_that_asks_a_model_asks_the_ledger() -> None:
    store, words = InMemoryStore(), Task(id="guess", tree=Tree({ANSWER: b"nothing"}))

    def make(kind: type[ScriptedBackend]) -> FeedbackApp:
        graph = FeedbackGraph(trust={Origin.OTHER_MODEL}).add_actor("write", Guesser([["wrong"], ["right"]]))
        graph.add_tool("test", Opinion(kind(["hm", "well"]))).add_critic("say", Noter())
        return graph.add_edge("write", "test").refine("test", via="say", to="write").compile(store=store)

    result = await make(ScriptedBackend).arun(words)
    assert (result.trials, result.account.opinions) == (2, ("other_model",))
    again = await make(Unreachable).areplay(words, run_id=result.run_id, episode_id=result.episode_id)
    assert again.difference is None and ModelCall in [type(r) for r in await store.records(result.episode_id)]


# --- what is not the same


def change(store: SqlStore, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(store.url.removeprefix("sqlite:///"))) as database:
        assert database.execute(statement, values).rowcount > 0
        database.commit()


@dataclass(frozen=True)
class Recorded:
    """A ledger of two episodes of one task, the second with a lesson of the first, and the keys of their runs."""

    folder: Path
    first: EpisodeResult
    second: EpisodeResult

    def copied_to(self, store: SqlStore) -> None:
        """The same in a test's own store and home, to be changed."""
        shutil.copyfile(self.folder / "ledger.db", store.url.removeprefix("sqlite:///"))
        shutil.copytree(self.folder / "state", os.environ["XDG_STATE_HOME"], ignore=shutil.ignore_patterns("*.heads"))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("recorded")
    texts = [WHOLE.format(text) for text in (WRONG[0], RIGHT)]

    async def record() -> Recorded:
        store = SqlStore(f"sqlite:///{folder}/ledger.db")
        first, second = [await of_model(texts)(store).arun(task()) for _ in range(2)]
        await store.aclose()
        return Recorded(folder, first, second)

    with pytest.MonkeyPatch.context() as homes:
        homes.setenv("XDG_STATE_HOME", str(folder / "state"))
        made = asyncio.run(record())
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        ledger.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return made


@pytest.fixture
def result(recorded: Recorded, store: SqlStore) -> EpisodeResult:
    """The second of the two episodes that `store` then holds."""
    recorded.copied_to(store)
    return recorded.second


async def test_an_answer_that_was_changed_is_found_where_it_first_shows(store: SqlStore, result: EpisodeResult) -> None:
    change(store, "UPDATE model_calls SET completion = replace(completion, 'result = 7', 'result = 6')")
    difference = (await replayed(store, result, of_model(None))).difference
    assert difference is not None
    assert (difference.kind, difference.field) == ("CandidateRecord", "artifact")
    assert difference.recorded != difference.replayed


async def test_a_prompt_that_was_changed_is_shown_at_its_place(store: SqlStore, result: EpisodeResult) -> None:
    change(store, "UPDATE intents SET body = replace(body, 'Make the tests pass', 'Break the tests')")
    difference = (await replayed(store, result, of_model(None))).difference
    assert difference is not None and difference.field.startswith("body.messages[")
    assert "Break the tests" in difference.recorded and "Make the tests pass" in difference.replayed


async def test_a_record_too_many_is_a_difference(store: SqlStore, result: EpisodeResult) -> None:
    change(store, "DELETE FROM trial_ends WHERE trial = 2")
    difference = (await replayed(store, result, of_model(None))).difference
    assert difference is not None
    assert (difference.kind, difference.field) == ("EpisodeEnd", "record")


async def test_a_signal_that_was_changed_is_no_replay_but_an_error(store: SqlStore, result: EpisodeResult) -> None:
    change(store, 'UPDATE signals SET body = replace(body, \'"verdict":"fail"\', \'"verdict":"pass"\')')
    with pytest.raises(SealError, match="does not match"):
        await replayed(store, result, of_model(None))


async def test_files_that_were_changed_in_the_ledger_are_an_error(store: SqlStore, result: EpisodeResult) -> None:
    change(store, "UPDATE artifacts SET body = x'00' WHERE kind = 'tree'")
    with pytest.raises(SealError, match="not those that the ledger names"):
        await replayed(store, result, of_model(None))


async def test_without_the_key_it_is_compared_and_said(store: SqlStore, result: EpisodeResult, tmp_path: Path) -> None:
    app = of_model(None)(store)
    app._runs.keys = FileKeys(tmp_path / "other")  # pyright: ignore[reportPrivateUsage]  another machine
    again = await app.areplay(task(), run_id=result.run_id, episode_id=result.episode_id)
    assert (again.difference, again.seals_verified) == (None, False)


async def test_another_graph_is_refused(store: SqlStore, result: EpisodeResult) -> None:
    with pytest.raises(ConfigError, match="its budget were others"):
        await replayed(store, result, lambda store: app_of(store, LLMActor(Unreachable([])), usd=3.0))


async def test_an_episode_that_has_not_ended_is_refused(store: SqlStore) -> None:
    app = of_model(None)(store)
    async with app.episode(task()) as episode:
        pass
    with pytest.raises(ConfigError, match="has not ended"):
        await app.areplay(task(), run_id=episode.run_id, episode_id=episode.id)


async def test_files_that_are_gone_are_named(store: SqlStore, result: EpisodeResult) -> None:
    change(store, "DELETE FROM artifacts WHERE kind = 'tree'")
    with pytest.raises(RecordNotFound, match="began from are gone"):
        await replayed(store, result, of_model(None))


async def test_a_run_whose_bodies_were_dropped_says_so(store: SqlStore, result: EpisodeResult) -> None:
    change(store, "DELETE FROM intents")
    with pytest.raises(RecordNotFound, match="no longer holds"):
        await replayed(store, result, of_model(None))


async def test_a_lesson_that_was_forgotten_says_so(store: SqlStore, result: EpisodeResult) -> None:
    change(store, "DELETE FROM reflections")
    change(store, "DELETE FROM lessons")
    with pytest.raises(RecordNotFound, match="forgotten"):
        await replayed(store, result, of_model(None))


async def test_retention_drops_the_files_with_the_last_episode_that_began_from_them(
    store: SqlStore, recorded: Recorded
) -> None:
    recorded.copied_to(store)
    first, second = recorded.first, recorded.second
    change(store, "UPDATE episode_ends SET created_at = '2020' WHERE episode_id = ?", first.episode_id)
    await drop_old(store, days=1)
    assert (await replayed(store, second, of_model(None))).difference is None
    change(store, "UPDATE episode_ends SET created_at = '2020'")
    dropped = await drop_old(store, days=1)
    assert dropped["artifacts"] > 0
    with pytest.raises(RecordNotFound):
        await store.artifact(f"tree-{task().tree.digest}")
    with pytest.raises(RecordNotFound, match="began from are gone"):
        await replayed(store, second, of_model(None))


async def test_a_run_that_time_ended_is_compared_up_to_there(store: SqlStore, result: EpisodeResult) -> None:
    change(store, "UPDATE episode_ends SET stop_reason = 'budget_seconds', verdict = 'fail'")
    change(store, "DELETE FROM signals WHERE trial = 2")
    change(store, "DELETE FROM intents WHERE kind = 'hidden_access'")
    again = await replayed(store, result, of_model(None))
    assert (again.difference, again.is_whole) == (None, False)


def test_a_completion_knows_whom_it_was_asked_of() -> None:
    assert Completion(texts=("a",)).asked == ""
