"""Stores of every kind, each test with an empty one of its own, and signals from a real mint."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from groundwire.core._records import EpisodeRecord, RunRecord, Store
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Signal, Verdict
from groundwire.memory import InMemoryStore, SqlStore

KEY = b"k" * 32
DURABLE = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(params=DURABLE)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty durable database."""
    if request.param == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/ledger.db"


@pytest.fixture(params=["memory", *DURABLE])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store of each kind."""
    if request.param == "memory":
        made: Store = InMemoryStore()
    elif request.param == "sqlite":
        made = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    else:
        made = SqlStore(request.getfixturevalue("postgres_url"))
    yield made
    await made.aclose()


@pytest.fixture
def run() -> RunRecord:
    return RunRecord(graph="code_repair", config='{"trials":3}', version="0.1.0")


@pytest.fixture
def episode(run: RunRecord) -> EpisodeRecord:
    return EpisodeRecord(run_id=run.id, task_id="task", family="family", base_digest=digest_of("base"), seed=7)


@pytest.fixture
def mint(run: RunRecord) -> Mint:
    return Mint(run.id, KEY)


@pytest.fixture
def signal_of(mint: Mint, episode: EpisodeRecord) -> Callable[..., Signal]:
    """Mints a signal about a candidate; FAIL by the user's tests unless told."""

    def make(
        candidate: str = "candidate",
        *,
        verdict: Verdict = Verdict.FAIL,
        origin: Origin = Origin.TESTS,
        trial: int = 1,
        evidence: Evidence | None = None,
        **fields: Any,
    ) -> Signal:
        cases = (
            CaseOutcome(id="test_a", result=CaseResult.FAILED, message="assert 1 == 2 \u2713", duration_s=0.25),
            CaseOutcome(id="test_b", result=CaseResult.PASSED),
            CaseOutcome(id="test_c", result=CaseResult.SKIPPED),
        )
        observation = Observation(
            verdict=verdict,
            origin=origin,
            reason=NoVerdict.SANDBOX if verdict is Verdict.NONE else None,
            command=("pytest", "-q"),
            exit_code=1,
            evidence=evidence or Evidence(cases=cases, collected=3, stdout="out\x00put"),
        )
        place: dict[str, Any] = {
            "episode_id": episode.id,
            "trial": trial,
            "issuer": "test",
            "candidate_digest": digest_of(candidate),
        }
        return mint.signal(observation, **{**place, **fields})

    return make


def digest_of(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()
