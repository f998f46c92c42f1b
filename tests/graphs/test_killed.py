"""kill -9 at any moment: the next process goes on, and nothing is done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import crashing
import pytest
from sqlalchemy.engine import make_url

EVERY_EFFECT = [
    "propose wrong", "tell 1", "judge wrong", "reflect 1",
    "propose worse", "tell 2", "judge worse", "reflect 2",
    "propose right", "tell 3", "judge right",
]  # fmt: skip
TRANSACTIONS = 11


LEDGER, CHECKPOINTS = "sqlite:///{folder}/ledger.db", "{folder}/checkpoints.db"


def crash(folder: Path, plans: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, crashing.__file__, str(folder), json.dumps(plans)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(crashing.__file__).parent)},
    )
    assert done.returncode == 0, done.stderr
    results: list[dict[str, Any]] = json.loads(done.stdout)
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


LATE = ("after 3", "after 5", "after 8", "after 10")
CUT_OFF = ("before 4", "before 5", "before 9")


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """All in one process, so that the imports are paid for once."""
    wanted = [*plans(LATE, CHECKPOINTS, "sync"), *plans(LATE, "", "exit"), *plans(CUT_OFF, CHECKPOINTS, "sync")]
    return crash(tmp_path_factory.mktemp("crashed"), wanted)


def test_nothing_is_done_twice_after_kill_9(crashed: list[dict[str, Any]]) -> None:
    """Killed right after a transaction: every effect of actors, critics, tools and plain nodes happened once."""
    assert [r["marks"] for r in crashed[:4]] == [EVERY_EFFECT] * 4


def test_without_a_checkpointer_only_plain_nodes_run_again_after_kill_9(crashed: list[dict[str, Any]]) -> None:
    assert [of_ours(r["marks"]) for r in crashed[4:8]] == [of_ours(EVERY_EFFECT)] * 4


def test_an_effect_that_was_cut_off_before_its_record_is_the_only_one_repeated(crashed: list[dict[str, Any]]) -> None:
    twice = [sorted({m for m in r["marks"] if r["marks"].count(m) > 1}) for r in crashed[8:]]
    assert twice == [["reflect 1"], ["propose worse"], ["judge right"]]


@pytest.mark.postgres
def test_nothing_is_done_twice_after_kill_9_with_checkpoints_in_postgres(postgres_url: str, tmp_path: Path) -> None:
    url = make_url(postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)
    results = crash(tmp_path, plans(LATE, url, "sync"))
    assert [r["marks"] for r in results] == [EVERY_EFFECT] * 4


@pytest.mark.slow
def test_kill_9_at_every_transaction(tmp_path: Path) -> None:
    kills = [f"after {n}" for n in range(1, TRANSACTIONS + 1)]
    results = crash(tmp_path, [p for d in ("sync", "async", "exit") for p in plans(kills, CHECKPOINTS, d)])
    assert [of_ours(r["marks"]) for r in results] == [of_ours(EVERY_EFFECT)] * 3 * TRANSACTIONS
    assert [r["marks"] for r in results[:TRANSACTIONS]] == [EVERY_EFFECT] * TRANSACTIONS
