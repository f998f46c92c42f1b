"""The second act without a model: scripted answers, judged for real, and what is said of them."""

from __future__ import annotations

from contextlib import aclosing
from pathlib import Path

import pytest

from groundwire.core._errors import ModelRejected
from groundwire.core._records import EpisodeEnd, StopReason
from groundwire.core._tasks import Task
from groundwire.demo._writing import SAMPLES, WrittenFunction, function_tasks, write_functions
from groundwire.memory import SqlStore
from groundwire.models import ScriptedBackend

TASKS = {task.id: task for task in function_tasks()}
RIGHT, WRONG = "\n    return text.count(' ')\n", "\n    return len(text)\n"


async def written(tmp_path: Path, backend: ScriptedBackend, *names: str) -> list[WrittenFunction]:
    tasks: list[Task] = [TASKS[name] for name in names]
    async with aclosing(SqlStore(f"sqlite:///{tmp_path}/ledger.db")) as store:
        found = [one async for one in write_functions(tasks, backend, store)]
        kept = [await store.records(one.result.episode_id) for one in found]
    assert all(any(isinstance(record, EpisodeEnd) for record in records) for records in kept)
    return found


async def test_right_at_the_first_try(tmp_path: Path) -> None:
    backend = ScriptedBackend(lambda _request: RIGHT)
    (one,) = await written(tmp_path, backend, "count_spaces")
    assert (one.right, one.right_at_once) == (True, True)
    assert len(backend.requests) == 1


async def test_right_among_samples_that_the_tests_told_apart(tmp_path: Path) -> None:
    backend = ScriptedBackend([WRONG, WRONG, "\n    return 0\n", RIGHT, *[WRONG] * 5])
    (one,) = await written(tmp_path, backend, "count_spaces")
    assert (one.right, one.right_at_once) == (True, False)
    assert [request.n for request in backend.requests] == [1, SAMPLES]
    assert b"text.count" in one.result.patch.encode()


async def test_nothing_is_taken_where_nothing_is_right(tmp_path: Path) -> None:
    numbers = iter(range(1000))
    backend = ScriptedBackend(lambda _request: f"\n    return {next(numbers)} - 100\n")
    (one,) = await written(tmp_path, backend, "count_spaces")
    assert (one.right, one.result.patch) == (False, "")
    assert one.result.stop_reason is StopReason.BUDGET_TRIALS


async def test_an_answer_made_for_the_visible_tests_is_refused_by_the_hidden_ones(tmp_path: Path) -> None:
    by_heart = "\n    return {'a b c': 2, 'abc': 0, '  ': 2}.get(text, 9)\n"
    (one,) = await written(tmp_path, ScriptedBackend(lambda _request: by_heart), "count_spaces")
    assert (one.right, one.result.patch) == (False, "")
    assert one.result.stop_reason is StopReason.HIDDEN_FAILED


async def test_a_model_that_can_t_be_used_ends_it(tmp_path: Path) -> None:
    with pytest.raises(ModelRejected, match="no such model"):
        await written(tmp_path, ScriptedBackend([ModelRejected("no such model")]), "count_spaces")
