"""Stores of every kind, each test with an empty one of its own, and signals from a real mint."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import make_url

from groundwire.ids import new_id
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.mint import Mint
from groundwire.records import EpisodeRecord, RunRecord, Store
from groundwire.signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Signal, Verdict

KEY = b"k" * 32
DURABLE = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@pytest.fixture(scope="session")
def postgres_server() -> str:
    url = os.environ.get("GROUNDWIRE_TEST_POSTGRES")
    if not url:
        pytest.skip("GROUNDWIRE_TEST_POSTGRES is not set: export it from .ci/start-postgres.sh")
    return url


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A schema of its own on the test server."""
    schema = f"test_{new_id().replace('-', '')}"
    url = make_url(postgres_server).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    try:
        of_schema = url.update_query_dict({"options": f"-csearch_path={schema}"})
        yield of_schema.render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
        engine.dispose()


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
