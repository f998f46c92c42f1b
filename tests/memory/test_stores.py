"""One suite for every store: what `groundwire.core._records.Store` promises."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from groundwire.core._contexts import EditStatistics
from groundwire.core._errors import RecordNotFound, StorageBusy, StorageError
from groundwire.core._records import (
    Admission,
    Artifact,
    BatchStore,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    Record,
    ReflectionRecord,
    RunEnd,
    RunRecord,
    StopReason,
    Store,
    TrialEnd,
    TrialRecord,
    episodes_with_records,
)
from groundwire.core._seal import Mint
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, Origin, Signal, Verdict

SignalOf = Callable[..., Signal]


def digest_of(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def candidate_of(episode: EpisodeRecord, name: str, *edits: str) -> CandidateRecord:
    return CandidateRecord(episode_id=episode.id, trial=1, digest=digest_of(name), actor="write", edits=edits)


def admission_of(signal: Signal, *, admitted: bool = True) -> Admission:
    return Admission(
        episode_id=signal.episode_id,
        trial=signal.trial,
        signal_id=signal.id,
        candidate_digest=signal.candidate_digest,
        edge="refine",
        admitted=admitted,
        reason="" if admitted else "stale",
    )


def reflection_of(signal: Signal, text: str, *, task: str = "task", family: str = "family") -> ReflectionRecord:
    return ReflectionRecord(
        episode_id=signal.episode_id,
        trial=signal.trial,
        signal_id=signal.id,
        candidate_digest=signal.candidate_digest,
        task_id=task,
        family=family,
        text=text,
        by="rule",
    )


def whole_episode(episode: EpisodeRecord, signal: Signal) -> list[Record]:
    intent = Intent(episode_id=episode.id, trial=1, kind="model_call", digest=digest_of("request"), body='{"n":1}')
    candidate = replace(candidate_of(episode, "candidate", "compare.boundary", "literal.off"), note="≤ instead of <")
    records: list[Record] = [
        episode,
        TrialRecord(episode_id=episode.id, trial=1, lessons=("a", "b"), escalation=2),
        intent,
        ModelCall(
            intent_id=intent.id,
            episode_id=episode.id,
            trial=1,
            model="scripted",
            request_digest=intent.digest,
            completion='{"texts":["x"]}',
            prompt_tokens=3,
            usd=0.125,
            duration_s=1.5,
        ),
        candidate,
        signal,
        admission_of(signal),
        reflection_of(signal, "The bound is exclusive.\n\n\tSecond line \u2014 \U0001f9ea"),
        EpisodeEnd(
            episode_id=episode.id, verdict=Verdict.PASS, stop_reason=StopReason.VERIFIED, best_candidate=digest_of("c")
        ),
    ]
    return records


async def test_an_episode_comes_back_as_it_was_written(
    store: Store, run: RunRecord, episode: EpisodeRecord, signal_of: SignalOf, mint: Mint
) -> None:
    written = whole_episode(episode, signal_of())
    await store.append(run, *written[:4])
    for record in written[4:]:
        await store.append(record)
    await store.append(RunEnd(run_id=run.id))

    assert await store.records(episode.id) == written
    for record in await store.records(episode.id):
        if isinstance(record, Signal):
            mint.verify(record)


async def test_order_is_kept_across_tables_within_one_append(
    store: Store, episode: EpisodeRecord, signal_of: SignalOf
) -> None:
    records: list[Record] = [episode]
    for number in range(20):
        name = f"candidate {number}"
        records += [candidate_of(episode, name), signal_of(name), TrialRecord(episode_id=episode.id, trial=number)]
    await store.append(*records)
    assert await store.records(episode.id) == records


async def test_episodes_do_not_mix(store: Store, episode: EpisodeRecord, signal_of: SignalOf) -> None:
    other = EpisodeRecord(run_id=episode.run_id, task_id="other")
    await store.append(episode, other, TrialRecord(episode_id=other.id, trial=1), signal_of())
    assert [type(record) for record in await store.records(other.id)] == [EpisodeRecord, TrialRecord]
    assert await store.episodes(episode.run_id) == [episode, other]
    assert await store.episodes("nobody") == []
    assert await store.records("nobody") == []


async def test_a_runs_episodes_come_in_pages(store: Store, episode: EpisodeRecord) -> None:
    more = [replace(episode, id=f"episode-{9 - number}") for number in range(5)]
    await store.append(*more, replace(episode, id="elsewhere", run_id="another"))
    whole = await store.episodes(episode.run_id)
    assert [one.id for one in whole[-5:]] == [one.id for one in more], "in the order in which they were written"
    first = await store.episodes(episode.run_id, most=2)
    rest = await store.episodes(episode.run_id, after=first[-1].id, most=100)
    assert [*first, *rest] == [*whole] and len(first) == 2
    assert not await store.episodes(episode.run_id, after=whole[-1].id, most=2)
    assert not await store.episodes(episode.run_id, after="not there"), "never from the beginning again"


async def test_a_runs_episodes_come_with_their_records_a_few_at_a_time(
    store: Store, episode: EpisodeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many at once as there is room for: of long episodes one, of short ones up to sixteen."""
    asked: list[int] = []
    many = [replace(episode, id=f"ep\x00{number:02}") for number in range(40)]
    lengths = [300 if number in (20, 21) else 3 for number in range(40)]
    for each, length in zip(many, lengths, strict=True):
        written = [candidate_of(each, f"{each.id} {number}") for number in range(length - 1)]
        await store.append(each, *written)
    if isinstance(store, BatchStore):
        reading = store.records_of_each

        async def counted(ids: Sequence[str]) -> Sequence[Sequence[Record]]:
            asked.append(len(ids))
            return await reading(ids)

        monkeypatch.setattr(store, "records_of_each", counted)
    monkeypatch.setattr("groundwire.core._records.RECORDS_AT_ONCE", 200)
    told = [(one, records) async for one, records in episodes_with_records(store, episode.run_id)]
    assert [one for one, _ in told] == many
    assert [len(records) for _, records in told] == lengths
    whose = [{getattr(record, "episode_id", one.id) for record in records} for one, records in told]
    assert whose == [{one.id} for one in many]
    if isinstance(store, BatchStore):
        assert asked == [1, 16, 16, 4, 3], "behind the long ones it asks for fewer"


async def test_a_signal_reads_back_identical(store: Store, signal_of: SignalOf, mint: Mint) -> None:
    signal = signal_of()
    await store.append(signal)
    found = await store.signal(signal.id)
    assert found == signal
    assert found.to_json() == signal.to_json()
    mint.verify(found)


async def test_what_is_not_there_says_so(store: Store) -> None:
    with pytest.raises(RecordNotFound, match="no signal 'nothing'"):
        await store.signal("nothing")
    with pytest.raises(RecordNotFound, match="no artifact 'nothing'"):
        await store.artifact("nothing")
    assert await store.admitted("nothing") is None


async def test_known_records_change_nothing(store: Store, run: RunRecord, episode: EpisodeRecord) -> None:
    trial = TrialRecord(episode_id=episode.id, trial=1, escalation=1)
    candidate = candidate_of(episode, "candidate", "first")
    await store.append(run, episode, trial, candidate, Artifact(digest="d", kind="changes", body=b"\x00first\xff"))
    await store.append(
        run,
        episode,
        replace(trial, escalation=9),
        replace(candidate, edits=("second",), trial=2),
        Artifact(digest="d", kind="changes", body=b"second"),
    )
    assert await store.records(episode.id) == [episode, trial, candidate]
    assert await store.artifact("d") == b"\x00first\xff"
    assert await store.runs() == [run]


async def test_ends_and_calls_are_all_kept(store: Store, episode: EpisodeRecord) -> None:
    cut = EpisodeEnd(episode_id=episode.id, verdict=Verdict.NONE, stop_reason=StopReason.INTERRUPTED)
    done = replace(cut, verdict=Verdict.PASS, stop_reason=StopReason.VERIFIED)
    await store.append(episode, cut, done, done)
    assert await store.records(episode.id) == [episode, cut, done, done]


async def test_the_gate_opens_once_for_a_signal(store: Store, episode: EpisodeRecord, signal_of: SignalOf) -> None:
    signal = signal_of()
    first = admission_of(signal)
    refused = admission_of(signal, admitted=False)
    await store.append(signal, refused, first)
    assert await store.admitted(signal.id) == first

    with pytest.raises(StorageError, match="admitted before can't be admitted again") as caught:
        await store.append(TrialRecord(episode_id=episode.id, trial=5), admission_of(signal))
    assert not isinstance(caught.value, StorageBusy | RecordNotFound)
    assert caught.value.do
    assert await store.records(episode.id) == [signal, refused, first], "the whole append is undone"

    await store.append(first, admission_of(signal, admitted=False))
    assert await store.admitted(signal.id) == first


async def test_two_admissions_in_one_append_are_refused(store: Store, signal_of: SignalOf) -> None:
    signal = signal_of()
    with pytest.raises(StorageError, match="admitted again"):
        await store.append(signal, admission_of(signal), admission_of(signal))
    with pytest.raises(RecordNotFound):
        await store.signal(signal.id)
    same = admission_of(signal)
    await store.append(signal, same, same)
    assert await store.admitted(signal.id) == same


async def test_of_many_at_once_one_admission_wins(store: Store, signal_of: SignalOf) -> None:
    signal = signal_of()
    await store.append(signal)
    answers = await asyncio.gather(*(store.append(admission_of(signal)) for _ in range(12)), return_exceptions=True)
    assert [answer for answer in answers if answer is None] == [None]
    assert all(type(answer) is StorageError for answer in answers if answer is not None)


async def test_runs_are_found_by_prefix_newest_first(store: Store) -> None:
    runs = [RunRecord(id=f"01{middle}%_{number}") for middle in "abA" for number in range(3)]
    for run in runs:
        await store.append(run)
    assert await store.runs() == runs[::-1]
    assert await store.runs(limit=2) == runs[::-1][:2]
    assert await store.runs(limit=0) == []
    assert await store.runs(prefix="01a") == runs[2::-1], "exact case"
    assert await store.runs(prefix="01a%_1") == [runs[1]], "no wildcard"
    assert await store.runs(prefix="%") == []


async def test_recall_prefers_the_task_then_its_family(store: Store, signal_of: SignalOf) -> None:
    signal = signal_of()
    await store.append(signal)
    for number in range(4):
        await store.append(reflection_of(signal, f"own {number}"))
        await store.append(reflection_of(signal, f"family {number}", task=f"other {number}"))
        await store.append(reflection_of(signal, f"stranger {number}", task="stranger", family="strange"))

    async def texts(task: str, family: str, window: int = 3) -> list[str]:
        return [lesson.text for lesson in await store.recall(task, family, window=window)]

    assert await texts("task", "family") == ["own 3", "own 2", "own 1"]
    assert await texts("task", "family", 6) == ["own 3", "own 2", "own 1", "own 0", "family 3", "family 2"]
    assert await texts("new", "family") == ["family 3", "own 3", "family 2"]
    assert await texts("new", "") == [], "no family shares nothing"
    assert await texts("task", "family", 0) == []
    assert await texts("nobody", "nobody") == []


async def test_lessons_come_back_verbatim(store: Store, signal_of: SignalOf) -> None:
    signal = signal_of()
    text = "NUL \x00, SUB \x1a, \x1a0;, lone \ud800, quote ' \" \\ % , e\u0301 \u00e9,\r\n tab\t \U0010ffff"
    reflection = reflection_of(signal, text, task="t\x00ask")
    await store.append(signal, reflection)
    (lesson,) = await store.recall("t\x00ask", "")
    assert lesson.text == text
    assert (lesson.id, lesson.task_id, lesson.family) == (reflection.id, "t\x00ask", "family")
    assert (lesson.signal_id, lesson.created_at) == (signal.id, reflection.created_at)


async def test_recalled_text_written_again_is_no_new_lesson(store: Store, signal_of: SignalOf) -> None:
    """cases.md 34."""
    signal = signal_of()
    await store.append(signal, reflection_of(signal, "old"), reflection_of(signal, "lesson"))
    for _ in range(30):
        for lesson in await store.recall("task", "family"):
            await store.append(reflection_of(signal, lesson.text))
    assert sorted(lesson.text for lesson in await store.recall("task", "family", window=10)) == ["lesson", "old"]


async def test_repeats_do_not_hide_older_lessons(store: Store, signal_of: SignalOf) -> None:
    signal = signal_of()
    await store.append(signal, reflection_of(signal, "older"))
    await store.append(*(reflection_of(signal, "same") for _ in range(250)))
    assert [lesson.text for lesson in await store.recall("task", "family")] == ["same", "older"]


async def test_text_that_no_signal_stands_behind_is_no_lesson(store: Store, signal_of: SignalOf) -> None:
    """cases.md 34."""
    unknown = signal_of()
    await store.append(reflection_of(unknown, "I think I did well."))
    assert await store.recall("task", "family") == []
    await store.append(unknown, reflection_of(unknown, "The bound is off by one."))
    assert [lesson.text for lesson in await store.recall("task", "family")] == ["The bound is off by one."]


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": Verdict.PASS},
        {"verdict": Verdict.NONE},
        {"origin": Origin.HIDDEN_TESTS},
        {"origin": Origin.RULE},
    ],
)
async def test_only_a_failure_seen_from_outside_stands_behind_a_lesson(
    store: Store, signal_of: SignalOf, fields: dict[str, Any]
) -> None:
    signal = signal_of(**fields)
    await store.append(signal, reflection_of(signal, "a thought"))
    assert await store.recall("task", "family") == []


async def test_edit_statistics_count_candidates(store: Store, episode: EpisodeRecord, signal_of: SignalOf) -> None:
    other = EpisodeRecord(run_id=episode.run_id, task_id="other", family="elsewhere")
    await store.append(episode, other)
    plan: list[tuple[str, tuple[str, ...], list[tuple[Verdict, Origin]]]] = [
        ("passed", ("a", "b"), [(Verdict.FAIL, Origin.TESTS), (Verdict.PASS, Origin.EXECUTION)]),
        ("failed", ("a", "a"), [(Verdict.FAIL, Origin.TESTS), (Verdict.FAIL, Origin.TESTS)]),
        ("not judged", ("a",), []),
        ("no verdict", ("a",), [(Verdict.NONE, Origin.TESTS)]),
        ("only hidden", ("a",), [(Verdict.PASS, Origin.HIDDEN_TESTS)]),
        ("a model's tests", ("b",), [(Verdict.PASS, Origin.MODEL_TESTS)]),
        ("a model's word", ("b",), [(Verdict.PASS, Origin.OTHER_MODEL), (Verdict.FAIL, Origin.TESTS)]),
        ("the base", (), [(Verdict.FAIL, Origin.TESTS)]),
    ]
    for name, edits, signals in plan:
        await store.append(candidate_of(episode, name, *edits))
        await store.append(*(signal_of(name, verdict=verdict, origin=origin) for verdict, origin in signals))
    # The same change in another episode is another candidate.
    await store.append(candidate_of(other, "passed", "a"), signal_of("passed", episode_id=other.id))
    assert await store.edit_statistics("family", "") == EditStatistics(), "a trial counts once it has ended"
    for where, verdict in ((episode, Verdict.PASS), (other, Verdict.FAIL)):
        end = TrialEnd(episode_id=where.id, trial=1, verdict=verdict)
        await store.append(end, end)
        await store.append(end)

    overall = {"a": (3, 1), "b": (2, 1)}
    assert await store.edit_statistics("family", "") == EditStatistics({}, {"a": (2, 1), "b": (2, 1)}, overall)
    assert await store.edit_statistics("elsewhere", "") == EditStatistics({}, {"a": (1, 0)}, overall)
    assert await store.edit_statistics("nobody", "nothing") == EditStatistics({}, {}, overall)
    assert await store.edit_statistics("", "") == EditStatistics(overall=overall)


async def test_edit_statistics_of_failures_alike(store: Store, episode: EpisodeRecord, signal_of: SignalOf) -> None:
    """Alike is what the baseline failed with; how a later candidate failed does not count."""
    other = EpisodeRecord(run_id=episode.run_id, task_id="other", family="elsewhere")
    await store.append(episode, other)
    off = Evidence(cases=(CaseOutcome(id="t", result=CaseResult.FAILED, message="AssertionError: assert 2 == 3"),))
    lost = Evidence(cases=(CaseOutcome(id="t", result=CaseResult.FAILED, message="KeyError: 'x'"),))
    for where, evidence, edit in ((episode, off, "const.off_by_one"), (other, lost, "name.swap")):
        await store.append(
            signal_of("base", episode_id=where.id, trial=0, evidence=evidence),
            candidate_of(where, "fixed", edit),
            signal_of("fixed", episode_id=where.id, verdict=Verdict.PASS),
            candidate_of(where, "worse", edit),
            signal_of("worse", episode_id=where.id, evidence=lost),
            TrialEnd(episode_id=where.id, trial=1, verdict=Verdict.PASS),
        )

    async def alike(signature: str) -> Mapping[str, tuple[int, int]]:
        return (await store.edit_statistics("", signature)).alike

    assert await alike("AssertionError: int one too small") == {"const.off_by_one": (2, 1)}
    assert await alike("KeyError: '…'") == {"name.swap": (2, 1)}
    assert await alike("KeyError") == {}


async def test_numbers_no_database_can_keep_are_refused(store: Store, episode: EpisodeRecord) -> None:
    call = ModelCall(intent_id="i", episode_id=episode.id, trial=1, model="m", request_digest="d")
    too_large = replace(episode, seed=2**63)
    no_price = replace(call, usd=float("nan"))
    endless = replace(call, duration_s=float("inf"))
    bad: list[Record] = [too_large, no_price, endless]
    for record in bad:
        with pytest.raises(StorageError) as caught:
            await store.append(TrialRecord(episode_id=episode.id, trial=1), record)
        assert caught.value.do
    assert await store.records(episode.id) == []
    await store.append(replace(episode, seed=-(2**63)), replace(call, prompt_tokens=2**63 - 1, usd=1e300))
    assert len(await store.records(episode.id)) == 2


async def test_what_is_not_a_record_is_refused(store: Store) -> None:
    with pytest.raises(TypeError, match="str is not a ledger record"):
        await store.append("text")  # pyright: ignore[reportArgumentType]


async def test_an_empty_append_does_nothing(store: Store) -> None:
    await store.append()
    assert await store.runs() == []


async def test_it_says_where_it_is_and_whether_it_lasts(store: Store, request: pytest.FixtureRequest) -> None:
    assert store.durable == (not request.node.callspec.id.startswith("memory"))
    assert store.url.split(":")[0] in ("memory", "sqlite", "postgresql")
