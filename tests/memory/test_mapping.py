"""Every record type survives every store, whatever text, bytes and numbers it holds."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from groundwire.core._errors import StorageError
from groundwire.core._ids import new_id
from groundwire.core._records import (
    Admission,
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    LessonMark,
    Mark,
    ModelCall,
    OpenLink,
    ProgramRun,
    Recall,
    Record,
    ReflectionRecord,
    RunEnd,
    RunRecord,
    StopReason,
    Store,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._seal import Mint
from groundwire.core._signals import (
    CaseOutcome,
    CaseResult,
    Evidence,
    Isolation,
    NoVerdict,
    Observation,
    Origin,
    Signal,
    Verdict,
    canonical,
)
from groundwire.memory import InMemoryStore, SqlStore
from groundwire.memory._mapping import CODECS, OF_EPISODE, check, codec_of, covered
from groundwire.memory._statements import NAMED
from groundwire.memory._tables import TABLES
from groundwire.memory._text import escape

RUN = RunRecord()
MINT = Mint(RUN.id, b"k" * 32)

text = st.text(st.characters(exclude_categories=()), max_size=40)
unicode_text = st.text(max_size=40)
name = st.text(st.characters(exclude_categories=()), min_size=1, max_size=8)
whole = st.integers(-(2**63), 2**63 - 1)
real = st.floats(allow_nan=False, allow_infinity=False)
texts = st.lists(text, max_size=3).map(tuple)
small = st.integers(0, 3)


def signals(episode_id: str) -> st.SearchStrategy[Signal]:
    cases = st.builds(
        CaseOutcome, id=unicode_text, result=st.sampled_from(CaseResult), message=unicode_text, duration_s=real
    )
    evidence = st.builds(
        Evidence, cases=st.lists(cases, max_size=3).map(tuple), stdout=unicode_text, stderr=unicode_text
    )
    observations = st.sampled_from(Verdict).flatmap(
        lambda verdict: st.builds(
            Observation,
            verdict=st.just(verdict),
            origin=st.sampled_from(Origin),
            reason=st.sampled_from(NoVerdict) if verdict is Verdict.NONE else st.none(),
            command=st.lists(unicode_text, max_size=3).map(tuple),
            exit_code=st.none() | whole,
            duration_s=real,
            evidence=evidence,
            partial=st.booleans(),
            oracle=st.booleans(),
            isolation=st.sampled_from(Isolation),
        )
    )
    return st.builds(
        MINT.signal,
        observations,
        episode_id=st.just(episode_id),
        trial=small,
        issuer=unicode_text,
        candidate_digest=st.sampled_from("abc"),
    )


@st.composite
def histories(draw: st.DrawFn) -> tuple[EpisodeRecord, list[list[Record]]]:
    """An episode, and appends of any records of it, with keys that repeat."""
    episode = draw(st.builds(EpisodeRecord, run_id=name, task_id=name, family=text, task=text, seed=whole))
    mine: dict[str, Any] = {"episode_id": st.just(episode.id)}
    signal = draw(signals(episode.id))
    reference = st.sampled_from([signal.id, "unknown"])
    lesson = ReflectionRecord(
        episode_id=episode.id,
        trial=1,
        signal_id=signal.id,
        candidate_digest="a",
        task_id=episode.task_id,
        family=episode.family,
        text=draw(text | st.just("same")),
        signature="KeyError",
    )
    strategies: list[st.SearchStrategy[Any]] = [
        st.just(RUN),
        st.builds(RunEnd, run_id=text),
        st.just(episode),
        st.builds(
            EpisodeEnd,
            **mine,
            verdict=st.sampled_from(Verdict),
            stop_reason=st.sampled_from(StopReason),
            best_candidate=text,
            detail=text,
        ),
        st.builds(TrialRecord, **mine, trial=small, lessons=texts, escalation=whole),
        st.builds(
            CandidateRecord,
            **mine,
            trial=small,
            digest=st.sampled_from("abc"),
            actor=text,
            edits=texts,
            note=text,
            artifact=text,
        ),
        st.just(signal),
        signals(episode.id),
        st.builds(
            Admission,
            **mine,
            trial=small,
            signal_id=text,
            candidate_digest=text,
            edge=text,
            admitted=st.just(False),
            reason=text,
            created_at=text,
        ),
        st.builds(
            ReflectionRecord,
            **mine,
            trial=small,
            signal_id=reference,
            candidate_digest=text,
            task_id=st.just(episode.task_id) | name,
            family=st.sampled_from([episode.family, ""]),
            text=text | st.sampled_from(["same", "other"]),
            raw=text,
            by=text,
            model=text,
            signature=st.sampled_from(["", "KeyError"]),
            frames=texts,
        ),
        st.just(lesson),
        st.builds(Recall, **mine, trial=small, lesson_id=st.just(lesson.id), rank=whole, why=text),
        st.builds(TrialEnd, **mine, trial=small, verdict=st.sampled_from(Verdict), signal_id=text),
        st.builds(LessonMark, lesson_id=st.just(lesson.id), mark=st.sampled_from(Mark), reason=text, by=text),
        st.builds(Intent, **mine, trial=small, kind=text, digest=text, body=text, usd=st.none() | real, tokens=whole),
        st.builds(
            ModelCall,
            **mine,
            intent_id=text,
            trial=small,
            model=text,
            purpose=text,
            request_digest=text,
            completion=text,
            error=text,
            prompt_tokens=whole,
            completion_tokens=whole,
            usd=st.none() | real,
            duration_s=real,
            reused=text,
        ),
        st.builds(
            ProgramRun,
            **mine,
            intent_id=text,
            trial=small,
            request_digest=text,
            command=texts,
            exit_code=st.none() | whole,
            stdout=text,
            stdout_cut=whole,
            refused=texts,
            cut_off=st.booleans(),
            duration_s=real,
        ),
        st.builds(Artifact, digest=st.just(f"{episode.id} body"), kind=text, body=st.binary(max_size=60)),
    ]
    return episode, draw(st.lists(st.lists(st.one_of(strategies), max_size=6), min_size=1, max_size=4))


async def answers(store: Store, episode: EpisodeRecord, appends: list[list[Record]]) -> list[object]:
    for records in appends:
        await store.append(*records)
    kept = await store.records(episode.id)
    artifact = None
    if any(isinstance(record, Artifact) for records in appends for record in records):
        artifact = await store.artifact(f"{episode.id} body")
    return [
        kept,
        [record.to_json() for record in kept if isinstance(record, Signal)],
        [record for record in await store.episodes(episode.run_id) if record.id == episode.id],
        artifact,
        await store.recall(episode.task_id, "", window=5),
        await store.recall(episode.task_id, "", window=5, signature="KeyError"),
    ]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SqlStore]:
    if request.param == "postgres":
        store = SqlStore(request.getfixturevalue("postgres_url"))
    else:
        store = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    yield store
    asyncio.run(store.aclose())


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(history=histories())
def test_a_database_answers_as_memory_does(
    durable: SqlStore, history: tuple[EpisodeRecord, list[list[Record]]]
) -> None:
    episode, appends = history
    # Names repeat between examples, but the in-memory store is fresh: each example has a task and family of its own.
    renamed = {"task_id": f"{new_id()} {episode.task_id}"}
    if episode.family:
        renamed["family"] = f"{new_id()} {episode.family}"
    episode = _with(episode, renamed)
    appends = [[_renamed(record, history[0], episode) for record in records] for records in appends]
    expected = asyncio.run(answers(InMemoryStore(), episode, appends))
    assert asyncio.run(answers(durable, episode, appends)) == expected
    for record in asyncio.run(durable.records(episode.id)):
        if isinstance(record, Signal):
            MINT.verify(record)


def _with(record: Any, changes: dict[str, Any]) -> Any:
    return type(record)(**{**{field.name: getattr(record, field.name) for field in fields(record)}, **changes})


def _renamed(record: Record, old: EpisodeRecord, new: EpisodeRecord) -> Record:
    if isinstance(record, EpisodeRecord):
        return new
    if not isinstance(record, ReflectionRecord):
        return record
    task_id = new.task_id if record.task_id == old.task_id else record.task_id
    return _with(record, {"task_id": task_id, "family": new.family if record.family else ""})


def test_every_record_has_a_codec_and_its_table_the_columns() -> None:
    assert set(CODECS) == set(get_args(Record)) - {OpenLink}
    assert {codec.table for codec in CODECS.values()} == set(TABLES)
    for codec in CODECS.values():
        stamped = ("namespace",) if codec in NAMED else ()
        assert tuple(TABLES[codec.table].columns.keys()) == ("seq", *codec.columns, *stamped)
        assert set(codec.key) <= set(codec.columns)
        if is_dataclass(codec.type):
            assert codec.columns == tuple(field.name for field in fields(codec.type))
    assert {codec.table for codec in CODECS.values()} - {codec.table for codec in OF_EPISODE} == {
        "runs",
        "run_ends",
        "artifacts",
        "lesson_marks",
        "links",
    }


def test_columns_beside_a_signal_say_what_it_says() -> None:
    cases = [CaseOutcome(id=str(number), result=result) for number, result in enumerate(CaseResult)]
    observation = Observation(
        verdict=Verdict.NONE,
        origin=Origin.TESTS,
        reason=NoVerdict.FLAKY,
        exit_code=3,
        evidence=Evidence(cases=tuple(cases)),
        oracle=True,
    )
    signal = MINT.signal(observation, episode_id="e", trial=2, issuer="test", candidate_digest="d")
    codec = codec_of(signal)
    row = dict(zip(codec.columns, codec.encode(signal), strict=True))
    assert (row["n_passed"], row["n_failed"]) == (3, 2), "skipped counts as neither"
    assert (row["verdict"], row["origin"], row["reason"]) == ("none", "tests", "flaky")
    assert (row["exit_code"], row["trial"], row["partial"], row["oracle"]) == (3, 2, False, True)
    assert row["body"] == signal.to_json()


@pytest.mark.parametrize("table", ["signals", "episode_ends", "trials"])
def test_a_damaged_row_is_an_error_that_names_its_table(table: str) -> None:
    codec = next(codec for codec in CODECS.values() if codec.table == table)
    with pytest.raises(StorageError, match=f"table {table} can't be read back"):
        codec.decode(["{not json"] * len(codec.columns))


def test_a_signal_with_a_number_too_large_is_refused_by_every_store() -> None:
    observation = Observation(verdict=Verdict.FAIL, origin=Origin.TESTS, exit_code=2**63)
    signal = MINT.signal(observation, episode_id="e", trial=1, issuer="test", candidate_digest="d")
    with pytest.raises(StorageError, match="64 bits"):
        check(signal)
    with pytest.raises(StorageError, match="64 bits"):
        codec_of(signal).encode(signal)


cells = st.one_of(
    text.map(escape),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.none(),
    st.binary(max_size=20),
)


@given(st.lists(cells, max_size=8))
def test_what_a_link_says_of_a_row_is_the_digest_of_its_canonical_json(row: list[Any]) -> None:
    def plain(value: Any) -> Any:
        if isinstance(value, bytes):
            return hashlib.sha256(value).hexdigest()
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        return int(value) if isinstance(value, bool) else value

    codec = codec_of(RunEnd(run_id="r"))
    body = canonical(["RunEnd", *map(plain, row)])
    assert covered(codec, row).digest == hashlib.sha256(body.encode()).hexdigest()
