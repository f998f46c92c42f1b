"""Logged runs in a ledger: curves as logged, reflections word for word, every verdict marked as taken from there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from published import published
from small_logs import lay_out_worlds, questions, write_intercode, write_ldb, write_programs

from groundwire.core._candidates import Candidate
from groundwire.core._environments import actions_in, scene_of
from groundwire.core._errors import RecordingError
from groundwire.core._ids import new_id
from groundwire.core._records import ModelCall, Record, ReflectionRecord, Store, TrialRecord
from groundwire.core._seal import MemoryKeys, verify
from groundwire.core._signals import NoVerdict, Origin, Signal, Verdict
from groundwire.evaluation import Arm, read_run
from groundwire.logs.runs import LoggedRun, runs_in, write_run
from groundwire.logs.runs._writing import WrittenRun
from groundwire.memory import InMemoryStore, SqlStore

KEYS = MemoryKeys()


async def imported(store: Store, run: LoggedRun, *, trials: int = 0) -> WrittenRun:
    id = new_id()
    return await write_run(store, run, key=KEYS.create(id), run_id=id, trials=trials)


async def records_of(store: Store, run_id: str) -> Sequence[Sequence[Record]]:
    return [await store.records(episode.id) for episode in await store.episodes(run_id)]


def named(runs: Sequence[LoggedRun], name: str) -> LoggedRun:
    return next(run for run in runs if run.name.endswith(f"/{name}"))


async def test_environments_with_and_without_reflections(tmp_path: Path) -> None:
    runs = runs_in(lay_out_worlds(tmp_path / "worlds"))
    assert [(run.name, run.control) for run in runs] == [("worlds/reflexion", "worlds/base"), ("worlds/base", "")]
    store = InMemoryStore()
    written = await imported(store, runs[0])
    assert (written.episodes, written.solved) == (3, [1, 2, 2])
    assert (await imported(store, runs[1])).solved == [1, 1]

    at_once, taught, lost = await records_of(store, written.run.id)
    assert not [r for r in at_once if isinstance(r, ReflectionRecord)]
    signals = [r for r in taught if isinstance(r, Signal)]
    assert [s.verdict for s in signals] == [Verdict.FAIL, Verdict.PASS]
    assert [s.taken_from for s in signals] == ["reflexion_trial_0.json, env_1", "reflexion_trial_1.json, env_1"]
    for signal in signals:
        verify(signal, KEYS.load(written.run.id))
    said = [r for r in taught if isinstance(r, ReflectionRecord)]
    assert [(r.text, r.signal_id) for r in said] == [(" Look under the mat.", signals[0].id)]
    assert [r.lessons for r in taught if isinstance(r, TrialRecord)] == [(), (said[0].id,)]
    # the last one wrote a text for a second time: both are kept, word for word
    assert [r.text for r in lost if isinstance(r, ReflectionRecord)] == [
        " Look under the mat.",
        " The key turns left.",
        " Look under the mat.",
    ]


async def test_only_the_first_trials(tmp_path: Path) -> None:
    store = InMemoryStore()
    written = await imported(store, runs_in(lay_out_worlds(tmp_path / "worlds"))[0], trials=1)
    assert written.solved == [1]
    assert json.loads(written.run.config)["imported"]["trials"] == 1


async def test_questions_with_their_searches(tmp_path: Path) -> None:
    for arm in ("base", "reflexion"):
        (tmp_path / f"react_{arm}_2trials.txt").write_text(questions(reflects=arm == "reflexion"))
    run, control = runs_in(tmp_path)
    assert run.control == control.name
    store = InMemoryStore()
    written = await imported(store, run)
    assert (written.solved, (await imported(store, control)).solved) == ([1, 2], [1, 1])
    _, where = await records_of(store, written.run.id)
    signals = [r for r in where if isinstance(r, Signal)]
    assert [s.reason for s in signals] == [NoVerdict.GO_ON, None, NoVerdict.GO_ON, None]
    assert all(s.oracle and s.origin is Origin.ENVIRONMENT for s in signals)
    assert scene_of(signals[0]).text == "It is far.\nVery far."
    last = Candidate.from_bytes(await store.artifact(signals[-1].candidate_digest))
    assert actions_in(last) == ("Search[it]", "Finish[Ulm]")
    calls = [r for r in where if isinstance(r, ModelCall)]
    assert json.loads(calls[0].completion)["texts"] == ["Thought: I search.\nAction: Search[it]"]
    assert [r.text for r in where if isinstance(r, ReflectionRecord)] == ["I should name the town."]
    # what was given later and the gold answer are no part of what the model wrote
    assert not any("should name" in call.completion or "Correct answer" in call.completion for call in calls)


async def test_programs_of_ldb_by_visible_asserts_and_hidden_tests(tmp_path: Path) -> None:
    store = InMemoryStore()
    written = await imported(store, runs_in(write_ldb(tmp_path / "humaneval_gpt35.jsonl.gz"))[0])
    assert (written.solved, json.loads(written.run.config)["model"]) == ([0, 1], "gpt35")
    arm: Arm = await read_run(store, written.run)
    assert arm.facts.imported == f"{tmp_path.name}/humaneval_gpt35"
    solved, wrong = await records_of(store, written.run.id)
    seen = [(s.trial, s.origin, s.verdict) for s in solved if isinstance(s, Signal)]
    assert seen == [
        (1, Origin.TESTS, Verdict.FAIL),
        (2, Origin.TESTS, Verdict.PASS),
        (2, Origin.HIDDEN_TESTS, Verdict.PASS),
    ]
    assert [s.verdict for s in wrong if isinstance(s, Signal)] == [Verdict.PASS, Verdict.FAIL]


async def test_programs_of_reflexion(tmp_path: Path) -> None:
    store = InMemoryStore()
    file = write_programs(tmp_path / "reflexion_gpt4.jsonl", reflections=[[], ["Off by one."]], solved=[True, False])
    written = await imported(store, runs_in(file)[0])
    assert written.solved == [1, 1]
    first, second = await records_of(store, written.run.id)
    own = [(s.origin, s.verdict) for s in first if isinstance(s, Signal)]
    assert own == [(Origin.MODEL_TESTS, Verdict.PASS), (Origin.HIDDEN_TESTS, Verdict.PASS)]
    assert [s.verdict for s in second if isinstance(s, Signal)] == [Verdict.FAIL] * 3


async def test_turns_of_intercode(tmp_path: Path) -> None:
    store = InMemoryStore()
    file = write_intercode(tmp_path / "sql_gpt4_10turns.json", [[0.0, 0.5, 1.0], [0.0, 0.2]])
    written = await imported(store, runs_in(file)[0])
    assert (written.episodes, written.solved) == (2, [1])
    won, lost = await records_of(store, written.run.id)
    assert [s.evidence.detail for s in won if isinstance(s, Signal)] == ["reward 0", "reward 0.5", "reward 1"]
    assert [s.verdict for s in lost if isinstance(s, Signal)] == [Verdict.NONE, Verdict.FAIL]


async def test_a_log_that_is_damaged_at_its_end_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = lay_out_worlds(tmp_path / "worlds")
    (folder / "reflexion_trial_2.json").write_text('[{"name": "env_0", "memory": []}]')
    store = InMemoryStore()
    with pytest.raises(RecordingError, match=r"reflexion_trial_2\.json, row 1: .*is_success"):
        await imported(store, runs_in(folder)[0])
    assert not await store.runs()


def test_a_folder_that_holds_no_log(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("none")
    with pytest.raises(RecordingError, match="holds no log that is known here"):
        runs_in(tmp_path)
    with pytest.raises(RecordingError, match="can't be read"):
        runs_in(tmp_path / "not" / "there")


CURVES = {
    "reflexion_alfworld": {
        "base": [84, 94, 97, 98, 100, 101, 101],
        "reflexion": [84, 103, 111, 113, 117, 118, 123, 126, 128, 129, 130, 130, 131, 133, 134],
    },
    "reflexion_webshop": {"base_2": [33, 34, 34, 34], "reflexion_1": [33, 33, 34, 35]},
    "reflexion_hotpotqa": {"react_base": [34] * 5, "react_reflexion": [32, 42, 48, 50, 51, 53, 53]},
}
"""Solved after each trial, as the logs' own summaries and files say."""


@pytest.mark.slow
@pytest.mark.parametrize("log", CURVES)
async def test_the_published_curves_come_back_from_the_ledger(log: str, tmp_path: Path) -> None:
    runs = runs_in(published(log))
    store = SqlStore(f"sqlite:///{tmp_path}/ledger.db")
    begins: dict[str, set[str]] = {}
    for name, curve in CURVES[log].items():
        written = await imported(store, named(runs, name))
        for episode in await store.episodes(written.run.id):
            begins.setdefault(episode.task_id, set()).add(episode.base_digest)
        assert written.solved == curve
        rows = list((await read_run(store, written.run)).trials.rows())
        won = [row.trial for row in rows if row.visible is Verdict.PASS]
        assert [sum(trial <= last for trial in won) for last in range(1, len(curve) + 1)] == curve
    assert len(begins) in (100, 134) and all(len(told) == 1 for told in begins.values()), "one id, one task"
    await store.aclose()


COUNTS = {
    "ldb": {"humaneval_gpt35": 136, "humaneval_codellama": 91, "humaneval_starcoder": 65, "humaneval_gpt4seed": 147},
    "intercode": {"sql_gpt35_1turn": 109, "python_gpt4_7turns": 70, "bash_gpt4_10turns_fs1": 25},
    "reflexion_humaneval": {"reflexion_gpt4": 101, "simple_gpt4": 91},
}
"""Solved at the end, as each log's own fields say."""


@pytest.mark.slow
@pytest.mark.parametrize("log", COUNTS)
async def test_published_counts(log: str) -> None:
    runs = runs_in(published(log))
    for name, solved in COUNTS[log].items():
        assert (await imported(InMemoryStore(), named(runs, name))).solved[-1] == solved
