"""kill -9 at any moment: the next process goes on, and nothing is done twice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import crashing
import pytest
from cli import python
from sqlalchemy.engine import make_url

pytestmark = pytest.mark.slow
EVERY_EFFECT = [
    "propose wrong", "tell 1", "judge wrong", "reflect 1",
    "propose worse", "tell 2", "judge worse", "reflect 2",
    "propose right", "tell 3", "judge right",
]  # fmt: skip
TRANSACTIONS = 11


LEDGER, CHECKPOINTS = "sqlite:///{folder}/ledger.db", "{folder}/checkpoints.db"


def crash(folder: Path, plans: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    done = python(Path(crashing.__file__), folder, json.dumps(plans))
    assert done.code == 0, done.err
    results: list[dict[str, Any]] = json.loads(done.out)
    for result in results:
        assert (result["killed"], result["status"]) == (-9, 0), result
        assert (result["stop_reason"], result["signals"], result["trials"], result["reflections"]) == (
            "verified", 3, 3, 2,
        )  # fmt: skip
    return results


def plans(kills: Sequence[str], saver: str, durability: str) -> list[dict[str, str]]:
    return [{"ledger": LEDGER, "saver": saver, "durability": durability, "kill": kill} for kill in kills]


def of_ours(marks: Sequence[str]) -> list[str]:
    """Effects of actors, critics and tools."""
    return [mark for mark in marks if not mark.startswith("tell")]


Crashed = Mapping[str, Sequence[dict[str, Any]]]
EVERY = [f"after {n}" for n in range(1, TRANSACTIONS + 1)]
LATE = ("after 3", "after 5", "after 8", "after 10")
CUT_OFF = ("before 4", "before 5", "before 9")


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Crashed:
    """All in one process, so that the imports are paid for once."""
    wanted = {
        "sync": plans(EVERY, CHECKPOINTS, "sync"),
        "async": plans(LATE, CHECKPOINTS, "async"),
        "exit": plans(LATE, CHECKPOINTS, "exit"),
        "no checkpointer": plans(LATE, "", "exit"),
        "cut off": plans(CUT_OFF, CHECKPOINTS, "sync"),
    }
    results = iter(crash(tmp_path_factory.mktemp("crashed"), list(chain.from_iterable(wanted.values()))))
    return {name: list(islice(results, len(asked))) for name, asked in wanted.items()}


def test_nothing_is_done_twice_after_kill_9(crashed: Crashed) -> None:
    """Killed right after any transaction: every effect of actors, critics, tools and plain nodes happened once."""
    assert [r["marks"] for r in crashed["sync"]] == [EVERY_EFFECT] * TRANSACTIONS


@pytest.mark.parametrize("how", ["async", "exit", "no checkpointer"])
def test_where_checkpoints_come_late_only_plain_nodes_run_again_after_kill_9(crashed: Crashed, how: str) -> None:
    assert [of_ours(r["marks"]) for r in crashed[how]] == [of_ours(EVERY_EFFECT)] * len(LATE)


def test_an_effect_that_was_cut_off_before_its_record_is_the_only_one_repeated(crashed: Crashed) -> None:
    twice = [sorted({m for m in r["marks"] if r["marks"].count(m) > 1}) for r in crashed["cut off"]]
    assert twice == [["reflect 1"], ["propose worse"], ["judge right"]]


@pytest.mark.postgres
def test_nothing_is_done_twice_after_kill_9_with_checkpoints_in_postgres(postgres_url: str, tmp_path: Path) -> None:
    url = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    results = crash(tmp_path, plans(LATE, url, "sync"))
    assert [r["marks"] for r in results] == [EVERY_EFFECT] * 4
