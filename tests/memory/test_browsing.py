"""Pages of runs and episodes, and the search in what was said, on SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from groundwire.core._records import (
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    ReflectionRecord,
    RunEnd,
    RunRecord,
    StopReason,
    TrialRecord,
)
from groundwire.core._signals import Verdict
from groundwire.memory import SqlStore
from groundwire.memory._browsing import LedgerBrowser
from groundwire.memory._browsing_sql import RunSort, Sort

RUN, OTHER = "run-a", "run-b"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[SqlStore]:
    if request.param == "postgres":
        url = request.getfixturevalue("postgres_url")
    else:
        url = f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.db'}"
    made = SqlStore(url)
    yield made
    await made.aclose()


async def _filled(store: SqlStore) -> LedgerBrowser:
    """Six episodes of a run: two passed, two failed, one gave no verdict, one goes on; and a run beside it."""
    verdicts = [Verdict.PASS, Verdict.FAIL, Verdict.NONE, Verdict.PASS, Verdict.FAIL, None]
    await store.append(RunRecord(id=RUN, graph="code_repair", config='{"control_of":"run-b"}'))
    await store.append(RunRecord(id=OTHER, graph="episodic"), RunEnd(run_id=OTHER))
    for number, verdict in enumerate(verdicts):
        name = f"e{number}"
        await store.append(EpisodeRecord(id=name, run_id=RUN, task_id=f"Task/{number}", family="sums", seed=number))
        for trial in range(number + 1):
            await store.append(TrialRecord(episode_id=name, trial=trial))
        await store.append(
            ModelCall(
                intent_id=f"i{number}", episode_id=name, trial=1, model="m", request_digest="d",
                prompt_tokens=10 * number, completion_tokens=1, usd=0.01 * (6 - number),
            )
        )  # fmt: skip
        if verdict is not None:
            reason = StopReason.VERIFIED if verdict is Verdict.PASS else StopReason.BUDGET_TRIALS
            # a resumed episode has two ends, of which the last counts
            await store.append(EpisodeEnd(episode_id=name, verdict=Verdict.NONE, stop_reason=StopReason.INTERRUPTED))
            await store.append(EpisodeEnd(episode_id=name, verdict=verdict, stop_reason=reason, detail="why"))
    return LedgerBrowser(store)


async def test_a_run_is_summed_up(store: SqlStore) -> None:
    browser = await _filled(store)
    page = await browser.runs()
    assert [run.id for run in page.rows] == [OTHER, RUN]
    assert page.total == 2
    run = page.rows[1]
    assert run.verdicts == {"pass": 2, "fail": 2, "none": 1, "open": 1}
    assert (run.episodes, run.tasks, run.tokens, run.control_of) == (6, 6, 156, "run-b")
    assert run.usd == pytest.approx(0.21)
    assert run.ended_at == "" and page.rows[0].ended_at
    assert (await browser.run(RUN)) == run
    assert await browser.run("no such run") is None


@pytest.mark.parametrize(
    ("sort", "first", "last"),
    [
        (Sort.NEWEST, "e5", "e0"),
        (Sort.OLDEST, "e0", "e5"),
        (Sort.TASK, "e0", "e5"),
        (Sort.VERDICT, "e1", "e3"),
        (Sort.TRIALS, "e5", "e0"),
        (Sort.TOKENS, "e5", "e0"),
        (Sort.COST, "e0", "e5"),
        (Sort.STOP, "e5", "e3"),
        (Sort.SEED, "e0", "e5"),
    ],
)
async def test_episodes_are_sorted_over_all_pages(store: SqlStore, sort: Sort, first: str, last: str) -> None:
    browser = await _filled(store)
    pages = [await browser.episodes(run_id=RUN, sort=sort, page=number, size=2) for number in (1, 2, 3)]
    ids = [row.id for page in pages for row in page.rows]
    assert sorted(ids) == [f"e{number}" for number in range(6)]
    assert (ids[0], ids[-1]) == (first, last)
    assert {(page.total, page.pages) for page in pages} == {(6, 3)}
    assert not (await browser.episodes(run_id=RUN, sort=sort, page=4, size=2)).rows
    # the other way round: as often as values differ the first becomes the last
    back = await browser.episodes(run_id=RUN, sort=sort, descends=not sort.descends)
    if sort not in (Sort.VERDICT, Sort.STOP):
        assert [row.id for row in back.rows] == ids[::-1]
    assert [row.verdict for row in back.rows if row.id == "e4"] == ["fail"]


@pytest.mark.parametrize(
    ("sort", "up"),
    [
        (RunSort.NEWEST, [RUN, OTHER]),
        (RunSort.RUN, [RUN, OTHER]),
        (RunSort.GRAPH, [RUN, OTHER]),
        (RunSort.PASSED, [OTHER, RUN]),
        (RunSort.TASKS, [OTHER, RUN]),
        (RunSort.TOKENS, [OTHER, RUN]),
        (RunSort.COST, [OTHER, RUN]),
        (RunSort.ENDED, [RUN, OTHER]),
    ],
)
async def test_runs_are_sorted_by_each_column_both_ways(store: SqlStore, sort: RunSort, up: list[str]) -> None:
    browser = await _filled(store)
    for descends in (False, True):
        pages = [await browser.runs(sort=sort, descends=descends, page=number, size=1) for number in (1, 2)]
        assert [row.id for page in pages for row in page.rows] == (up[::-1] if descends else up)


async def test_runs_of_several_namespaces_make_one_list(store: SqlStore) -> None:
    await _filled(store)
    arm = SqlStore(_url(store), namespace="without memory")
    try:
        await arm.append(RunRecord(id="arm", graph="zero"), EpisodeRecord(id="x", run_id="arm", task_id="t"))
        both = ["", "without memory"]
        pages = [await LedgerBrowser(arm).runs(namespaces=both, page=number, size=2) for number in (1, 2)]
        assert [row.id for page in pages for row in page.rows] == ["arm", OTHER, RUN]
        assert [row.namespace for row in pages[0].rows] == ["without memory", ""]
        assert pages[0].rows[0].episodes == 1 and pages[0].total == 3
    finally:
        await arm.aclose()


async def test_filters_go_together(store: SqlStore) -> None:
    browser = await _filled(store)

    async def found(**asked: str) -> list[str]:
        return [row.id for row in (await browser.episodes(run_id=RUN, sort=Sort.OLDEST, **asked)).rows]  # pyright: ignore[reportArgumentType]

    assert await found(verdict="fail") == ["e1", "e4"]
    assert await found(verdict="open") == ["e5"]
    assert await found(stop="verified") == ["e0", "e3"]
    assert await found(text="tASK/4", verdict="fail") == ["e4"]
    assert await found(text="%") == []
    assert await found(family="others") == []
    episode = (await browser.episodes(run_id=RUN, text="Task/3")).rows[0]
    assert (episode.trials, episode.tokens, episode.detail, episode.seed) == (3, 31, "why", 3)
    assert await browser.stop_reasons(RUN) in (
        {"budget_trials": 3, "verified": 2},
        {"budget_trials": 2, "verified": 2, "none": 1},
    )


async def test_a_run_of_one_task_and_one_model_names_them(store: SqlStore) -> None:
    browser = await _filled(store)
    several = await browser.run(RUN)
    assert several is not None and (several.tasks, several.task, several.model) == (6, "", "m")
    await store.append(EpisodeRecord(id="o", run_id=OTHER, task_id="Maze/1"))
    alone = await browser.run(OTHER)
    assert alone is not None and (alone.tasks, alone.task, alone.model) == (1, "Maze/1", "")
    for model in ("b", "a"):
        await store.append(ModelCall(intent_id=model, episode_id="o", trial=1, model=model, request_digest="d"))
    mixed = await browser.run(OTHER)
    assert mixed is not None and mixed.model == "a and others"
    assert await browser.names_of("o") == (OTHER, "Maze/1")


async def test_runs_are_found_by_a_task_of_theirs(store: SqlStore) -> None:
    browser = await _filled(store)
    assert [run.id for run in (await browser.runs(text="task/2")).rows] == [RUN]
    assert [run.id for run in (await browser.runs(text="EPISODIC")).rows] == [OTHER]
    assert (await browser.runs(text="'; DROP TABLE runs; --")).total == 0
    assert (await browser.runs()).total == 2


@pytest.mark.parametrize("text", ['say "hi"', "zwei\nZeilen", "größer", "50% of_it", "back\\slash", "日本"])
async def test_a_text_is_found_however_it_is_kept(store: SqlStore, text: str) -> None:
    from groundwire.core._models import Completion, Message, Request

    browser = await _filled(store)
    request = Request(messages=(Message(role="user", content=f"before {text} behind"),))
    completion = Completion(texts=(f"answer: {text}!",))
    await store.append(
        Intent(id="x", episode_id="e2", trial=1, kind="model_call", digest="d", body=request.canonical()),
        ModelCall(
            intent_id="x", episode_id="e2", trial=1, model="m", request_digest="d",
            completion=completion.model_dump_json(),
        ),
        CandidateRecord(episode_id="e2", trial=1, digest="c", note=f"note {text}"),
        ReflectionRecord(
            episode_id="e2", trial=1, signal_id="s", candidate_digest="c", task_id="Task/2", text=f"learned {text}"
        ),
    )  # fmt: skip
    hits = await browser.search(text)
    assert {hit.kind for hit in hits} == {"prompt", "answer", "candidate", "reflection"}
    assert {(hit.episode_id, hit.run_id, hit.task_id, hit.trial) for hit in hits} == {("e2", RUN, "Task/2", 1)}
    # each as it was said, however it is kept, and with what names the row
    assert all(text in hit.excerpt for hit in hits)
    assert {hit.kind: hit.place for hit in hits if hit.kind != "reflection"} == {
        "prompt": "x",
        "answer": "x",
        "candidate": "c",
    }
    assert len(await browser.search(text, run_id=RUN)) == 4
    assert not await browser.search(text, run_id=OTHER)
    assert not await browser.search("nowhere to be found")
    assert not await browser.search("  ")


async def test_another_namespace_sees_nothing(store: SqlStore) -> None:
    await _filled(store)
    other = SqlStore(_url(store), namespace="tenant")
    try:
        browser = LedgerBrowser(other)
        assert (await browser.runs()).total == 0
        assert (await browser.episodes()).total == 0
        assert await browser.run(RUN) is None
        assert await browser.names_of("e1") == ("", "")
        assert not await browser.search("Task")
    finally:
        await other.aclose()


async def test_the_newest_number_grows_with_whatever_is_written(store: SqlStore) -> None:
    browser = await _filled(store)
    before = await browser.newest()
    await store.append(TrialRecord(episode_id="e5", trial=9))
    assert await browser.newest() > before


def _url(store: SqlStore) -> str:
    from groundwire.memory._sql_store import SqlStore as _

    assert isinstance(store, _)
    return store._place.url.render_as_string(hide_password=False)  # pyright: ignore[reportPrivateUsage]
