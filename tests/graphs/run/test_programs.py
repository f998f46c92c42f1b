"""An actor's programs in a loop: what the ledger holds of them, whatever becomes of them."""

from __future__ import annotations

import asyncio
import json
import sys
import textwrap
import uuid
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest
from processes import marked
from time_enough import with_time_enough

from groundwire import Budget, Task, Tree, Verdict
from groundwire.agents import CommandActor, RuleCritic
from groundwire.core._candidates import Candidate
from groundwire.core._errors import SandboxUnavailable
from groundwire.core._records import CandidateRecord, EpisodeEnd, Intent, ProgramRun, Record, StopReason
from groundwire.graphs import FeedbackApp, SandboxOptions
from groundwire.graphs.library._code_repair import code_repair
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.tools import HiddenTests, Pytest

PRICE = "shop/price.py"
FILES = {
    "shop/__init__.py": b"",
    PRICE: b"def total(prices):\n    result = 0\n    for price in prices:\n"
    b"        result -= price\n    return result\n",
    "tests/test_price.py": b"from shop.price import total\n\n\ndef test_some():\n    assert total([1, 2]) == 3\n",
}
LEARNER = """
    import json, os, pathlib
    task = json.loads(pathlib.Path(os.environ["GROUNDWIRE_TASK_FILE"]).read_text())
    print("trial", task["trial"], "told of", *(case["id"] for case in task["failing"]["cases"]))
    change = "=" if task["trial"] == 1 else "+="
    price = pathlib.Path("shop/price.py")
    price.write_text(price.read_text().replace("-=", change).replace("result = price", f"result {change} price"))
"""


def script(text: str) -> tuple[str, str, str]:
    return (sys.executable, "-c", textwrap.dedent(text))


def shop() -> Task:
    return Task(id="shop", prompt="Make the tests pass.", tree=Tree(FILES), command=("python", "-m", "pytest", "-q"))


def app(command: Sequence[str] | str, store: Any = None, *, trials: int = 5, **options: Any) -> FeedbackApp:
    width = options.get("samples", 1)
    seconds = options.pop("seconds", None)
    sandbox = options.pop("sandbox", None)
    graph = code_repair(CommandActor(command, **options), RuleCritic(), Pytest(), HiddenTests(), width=width)
    budget = Budget(trials=trials, seconds=seconds)
    return graph.compile(store=store or InMemoryStore(), budget=budget, sandbox=sandbox)


async def records(store: Any) -> Sequence[Record]:
    (run,) = await store.runs()
    (episode,) = await store.episodes(run.id)
    return await store.records(episode.id)


def runs(found: Sequence[Record]) -> list[ProgramRun]:
    return [record for record in found if isinstance(record, ProgramRun)]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[SqlStore]:
    made = SqlStore(f"sqlite:///{tmp_path}/x.db")
    yield made
    await made.aclose()


async def test_a_program_is_told_what_failed_until_it_passes(store: SqlStore) -> None:
    result = await app(script(LEARNER), store).arun(shop())
    assert (result.verdict, result.stop_reason, result.trials) == (Verdict.PASS, StopReason.VERIFIED, 2)
    assert "+        result += price" in result.patch
    found = await records(store)
    first, second = runs(found)
    assert (first.exit_code, first.sandbox, first.command) == (0, "subprocess", script(LEARNER))
    assert first.stdout == "trial 1 told of tests/test_price.py::test_some\n"
    assert second.stdout == "trial 2 told of tests/test_price.py::test_some\n"
    assert first.duration_s > 0 and not first.cut_off
    intents = {record.id: record for record in found if isinstance(record, Intent) and record.kind == "program"}
    body = json.loads(intents[first.intent_id].body)
    assert intents[first.intent_id].digest == first.request_digest
    assert body["command"] == list(first.command) and "assert -3 == 3" in body["prompt"]
    candidates = [record for record in found if isinstance(record, CandidateRecord)]
    assert [c.digest for c in candidates] == [first.candidate, second.candidate]
    assert [c.edits for c in candidates] == [(f"command.{Path(sys.executable).name.replace('.', '_')}",)] * 2
    order = [type(record).__name__ for record in found]
    assert order.index("Intent") < order.index("ProgramRun") < order.index("CandidateRecord")


async def test_the_critic_is_told_what_each_change_did() -> None:
    store = InMemoryStore()
    breaks = "import pathlib; pathlib.Path('shop/price.py').write_text('def total(prices): return 3 if prices else 1')"
    task = shop()
    more = task.tree.files["tests/test_price.py"] + b"\n\ndef test_none():\n    assert total([]) == 0\n"
    tree = task.tree.with_changes({"tests/test_price.py": more})
    await app((sys.executable, "-c", breaks), store, trials=2).arun(Task(id="t", tree=tree, command=task.command))
    (lesson,) = [lesson for lesson in await store.recall("t", "") if "this was not enough" in lesson.text]
    assert "it fixed test_some; it broke test_none" in lesson.text


async def test_changing_only_tests_ends_the_episode_with_the_reason(store: SqlStore) -> None:
    result = await app("sed -i s/3/-3/ tests/test_price.py", store).arun(shop())
    assert (result.verdict, result.stop_reason) == (Verdict.FAIL, StopReason.EXHAUSTED)
    assert "refused: tests: tests/test_price.py" in result.detail
    (run,) = runs(await records(store))
    assert run.refused == ("tests: tests/test_price.py",) and run.candidate == ""


async def test_nothing_changed_ends_the_episode() -> None:
    result = await app("true").arun(shop())
    assert (result.stop_reason, result.candidates) == (StopReason.EXHAUSTED, 0)


async def test_the_same_change_again_is_stuck_after_bounded_runs(store: SqlStore) -> None:
    result = await app("sed -i s/-=/=/ shop/price.py", store, start="base").arun(shop())
    assert result.stop_reason is StopReason.STUCK
    assert [run.trial for run in runs(await records(store))] == [1, 2, 2, 2], "asked three times, escalated"


async def test_a_program_that_runs_out_of_time_is_in_the_ledger() -> None:
    program = script("print('thinking', flush=True)\nwhile True: pass")

    async def within(seconds: float) -> tuple[StopReason, str, ProgramRun]:
        store = InMemoryStore()
        result = await app(program, store, timeout_s=seconds).arun(shop())
        (run,) = runs(await records(store))
        return result.stop_reason, result.detail, run

    reason, detail, run = await with_time_enough(1, within, lambda ended: bool(ended[2].stdout))
    assert reason is StopReason.EXHAUSTED and "ended by wall_s" in detail
    assert (run.ended_by, run.exit_code, run.stdout) == ("wall_s", None, "thinking\n")


async def test_the_time_budget_is_the_program_s_too() -> None:
    """The budget's end comes as a cancellation: what was begun is written, and nothing is left running."""
    mark = uuid.uuid4().hex
    program = script(f"import os; print(os.getpid(), flush=True)\nwhile True: pass  # {mark}")

    async def within(seconds: float) -> tuple[StopReason, list[ProgramRun]]:
        store = InMemoryStore()
        result = await app(program, store, seconds=seconds).arun(shop())
        return result.stop_reason, runs(await records(store))

    reason, (run,) = await with_time_enough(5, within, lambda ended: bool(ended[1]))
    assert reason in (StopReason.BUDGET_SECONDS, StopReason.EXHAUSTED)
    assert run.cut_off or run.ended_by == "wall_s"
    assert marked(mark) == []


async def test_what_had_finished_is_not_run_again(store: SqlStore, tmp_path: Path) -> None:
    """Cut off between two of three runs: the first one's result comes from the ledger."""
    count = tmp_path / "count"
    program = script(f"""
        import os, pathlib, time
        attempt = os.environ["GROUNDWIRE_ATTEMPT"]
        with open("{count}", "a") as file:
            file.write(attempt)
        if attempt == "1" and not pathlib.Path("{tmp_path}/go").exists():
            while True:
                time.sleep(1)
        change = "+=" if attempt == "2" else "= " + attempt + " +"
        price = pathlib.Path("shop/price.py")
        price.write_text(price.read_text().replace("-=", change))
    """)
    repair = app(program, store, samples=3)
    run_id = await repair.start_run()
    task = shop()
    running = asyncio.create_task(repair.arun(task, run_id=run_id))
    while not count.exists() or count.read_text() != "01":
        assert not running.done()
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (episode,) = await store.episodes(run_id)
    first, second = runs(await store.records(episode.id))
    assert (first.exit_code, second.cut_off, second.error) == (0, True, "CancelledError")
    assert Candidate.from_bytes(await store.artifact(first.candidate)).changes[PRICE]
    (tmp_path / "go").touch()
    result = await repair.arun(task, run_id=run_id, episode_id=episode.id)
    assert result.stop_reason is StopReason.VERIFIED and result.candidates == 3
    assert count.read_text() == "0112"


async def test_isolated_needs_a_sandbox_that_isolates() -> None:
    options = SandboxOptions(kind="subprocess")
    with pytest.raises(SandboxUnavailable, match="isolates nothing"):
        await app("true", isolated=True, sandbox=options).arun(shop())
    store = InMemoryStore()
    result = await app("sed -i s/-=/+=/ shop/price.py", store, isolated=True).arun(shop())
    assert result.stop_reason is StopReason.VERIFIED
    (run,) = runs(await records(store))
    assert run.sandbox == "bubblewrap"


async def test_an_episode_s_end_is_there_for_every_outcome(store: SqlStore) -> None:
    await app("false", store).arun(shop())
    (end,) = [record for record in await records(store) if isinstance(record, EpisodeEnd)]
    assert end.stop_reason is StopReason.EXHAUSTED and "exit status 1" in end.detail
