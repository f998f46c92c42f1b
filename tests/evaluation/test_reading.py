"""Trials as they are read from real ledgers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest
from guessing import ANSWER, Check, Guesser, Noter, answer, loop, no_verdict
from reported import guessed

from groundwire import Task
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ActorContext
from groundwire.core._models import Message, Request
from groundwire.core._records import EpisodeRecord, Store
from groundwire.core._signals import NoVerdict, Origin, Verdict
from groundwire.core._tasks import Hidden
from groundwire.evaluation import JudgedSample, TrialRow, Trials, TrialStep, read_run, report_on, trial_rows
from groundwire.evaluation._trials import TrialColumns
from groundwire.graphs import FeedbackGraph
from groundwire.graphs.library._code_repair import code_repair
from groundwire.memory import InMemoryStore
from groundwire.models import ScriptedBackend
from groundwire.tools import HiddenTests
from groundwire.tools._every_test import EveryTest


async def run_of(store: Store, graph: FeedbackGraph, task: Task, **config: object) -> str:
    app = graph.compile(store=store)
    run_id = await app.start_run(config)
    await app.arun(task, run_id=run_id, seed=7)
    return run_id


async def test_a_loop_that_fails_twice_and_passes(task: Task) -> None:
    store = InMemoryStore()
    actor = Guesser([["wrong"], ["worse", "wrong"], ["right"]])
    run_id = await run_of(store, loop(actor, Check(), Noter(), width=2), task, control_of="earlier", control="blind")
    (run,) = await store.runs(prefix=run_id)
    arm = await read_run(store, run)
    first, second, third = arm.trials.rows()
    assert (arm.name, arm.facts.grounded, arm.facts.control_of, arm.facts.control) == (run_id, True, "earlier", "blind")
    assert [(r.trial, r.visible, r.hidden, r.trigger) for r in (first, second, third)] == [
        (1, Verdict.FAIL, Verdict.NONE, None),
        (2, Verdict.FAIL, Verdict.NONE, Origin.VERIFIER),
        (3, Verdict.PASS, Verdict.NONE, Origin.VERIFIER),
    ]
    assert {(r.run, r.task, r.family, r.seed, r.stop) for r in (first, second, third)} == {
        (run_id, "guess", "words", 7, "verified")
    }
    assert (first.reflections, second.lessons, third.lessons, third.reflections) == (1, 1, 1, 0)
    assert [s.verdict for s in second.samples] == [Verdict.FAIL], "what was tried is not judged again"
    assert third.candidate == third.samples[0].answer != first.candidate
    assert arm.trials.truth.tolist() == [0, 0, 1]
    assert all(row.seconds > 0 for row in (first, second, third))


class Asking:
    """An actor that answers with what the model says."""

    def __init__(self, backend: ScriptedBackend) -> None:
        self.backend = backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        request = Request(messages=(Message(role="user", content=context.task.prompt),), purpose="propose")
        completion = await context.call(self.backend, request)
        return [answer(context.task, text) for text in completion.texts]


async def test_what_models_cost_is_told_by_trial(task: Task) -> None:
    store = InMemoryStore()
    backend = ScriptedBackend(["wrong", "right"])
    graph = FeedbackGraph()
    graph.add_actor("write", Asking(backend))
    graph.add_tool("test", Check(origin=Origin.MODEL_TESTS))
    graph.add_edge("write", "test").refine("test", to="write")
    run_id = await run_of(store, graph, task)
    (run,) = await store.runs(prefix=run_id)
    trials = (await read_run(store, run)).trials
    assert trials.trial.tolist() == [1, 2]
    assert trials.calls.tolist() == [1, 1]
    assert (trials.tokens > 0).all()
    assert np.array_equal(trials.tokens, trials.critical_tokens)
    assert trials.usd.tolist() == [0.0, 0.0]
    assert [row.origin for row in trials.rows()] == [Origin.MODEL_TESTS] * 2
    assert trials.visible.tolist() == [0, 1]
    assert trials.truth.tolist() == [-1, -1], "tests that a model wrote know no truth"
    assert trials.model.names == (backend.model,)


@pytest.mark.parametrize(("has_hidden", "right"), [(True, -1), (False, 1)])
async def test_a_pass_whose_hidden_tests_came_to_no_verdict_has_no_truth(has_hidden: bool, right: int) -> None:
    """A run with small limits: the command line says 0 verified, and so must the report."""
    store = InMemoryStore()
    cut_off = no_verdict(NoVerdict.LIMIT_HIT, Origin.HIDDEN_TESTS)
    broken = Check(origin=Origin.HIDDEN_TESTS, override=lambda _text: cut_off)
    secret = broken if has_hidden else HiddenTests()
    actor = Guesser([["wrong"], ["right", "right too"]])
    graph = code_repair(actor, Noter(), Check(origin=Origin.TESTS), secret, width=2, baseline=False)
    hidden = Hidden(("pytest",), Tree({"secret.py": b"assert True\n"})) if has_hidden else None
    task = Task(id="guess", tree=Tree({ANSWER: b"nothing"}), hidden=hidden)
    run_id = await run_of(store, graph, task)
    (run,) = await store.runs(prefix=run_id)
    arm = await read_run(store, run)
    assert arm.trials.truth.tolist() == [0, right]
    assert {s.verdict for s in arm.trials.row(1).samples} == {Verdict.NONE if has_hidden else Verdict.PASS}
    (told,) = report_on([arm]).arms
    assert (told.measured.outcome.final.part, told.measured.outcome.unjudged.part) == ((0, 1) if has_hidden else (1, 0))


async def test_samples_that_only_hidden_tests_judged_count_beside_those_that_visible_ones_refuted() -> None:
    store = InMemoryStore()
    graph = FeedbackGraph()
    graph.add_actor("write", Guesser([["wrong", "right", "right and deep", "right still", "bad"]]), width=5)
    every = EveryTest(Check(origin=Origin.TESTS), Check(("right", "deep"), Origin.HIDDEN_TESTS))
    graph.add_tool("judge", every).add_edge("write", "judge")
    task = Task(id="guess", tree=Tree({ANSWER: b""}), hidden=Hidden(("pytest",), Tree({"secret.py": b"assert True\n"})))
    run_id = await run_of(store, graph, task)
    (run,) = await store.runs(prefix=run_id)
    (row,) = (await read_run(store, run)).trials.rows()
    told = [sample.verdict for sample in row.samples]
    assert (told.count(Verdict.FAIL), told.count(Verdict.PASS)) == (4, 1)
    assert (row.visible, row.hidden) == (Verdict.NONE, Verdict.PASS), "the one that is handed out"


def test_an_episode_that_never_began_is_one_row_without_a_verdict() -> None:
    numbered = EpisodeRecord(
        run_id="r", task_id="reflexion_hotpotqa/7", family="reflexion_hotpotqa", base_digest="ab" * 32
    )
    assert [row.task for row in trial_rows(numbered, [])] == ["reflexion_hotpotqa/abababababab"]
    bare = EpisodeRecord(run_id="r", task_id="reflexion_hotpotqa/7", family="reflexion_hotpotqa")
    assert [row.task for row in trial_rows(bare, [])] == ["reflexion_hotpotqa/7"]
    (row,) = trial_rows(EpisodeRecord(run_id="r", task_id="t"), [])
    assert (row.trial, row.visible, row.candidate, row.tokens) == (0, Verdict.NONE, "", 0)


ROWS = [
    TrialRow(episode="b", task="t2", trial=1, visible=Verdict.PASS, hidden=Verdict.FAIL, origin=Origin.TESTS),
    TrialRow(
        episode="a",
        task="t1",
        trial=2,
        usd=None,
        seconds=1.5,
        trigger=Origin.TESTS,
        samples=(JudgedSample("x", Verdict.FAIL), JudgedSample("y", Verdict.PASS, 0.5)),
        steps=(TrialStep("go", ok=True), TrialStep("stop", ok=False)),
    ),
    TrialRow(
        episode="a", task="t1", trial=1, visible=Verdict.FAIL, samples=(JudgedSample("x", Verdict.FAIL),), oracle=True
    ),
]


def test_rows_become_columns_and_come_back_in_order() -> None:
    trials = Trials.of(ROWS)
    assert list(trials.rows()) == [ROWS[0], ROWS[2], ROWS[1]]
    assert (trials.starts.tolist(), trials.ends.tolist(), trials.number.tolist()) == ([0, 1], [0, 2], [0, 1, 1])
    assert list(trials.take(np.array([False, False, True])).rows()) == [ROWS[1]]
    again = Trials.from_columns(**{f.name: getattr(trials, f.name) for f in dataclasses.fields(trials)})
    assert list(again.rows()) == list(trials.rows())
    empty = Trials.of([])
    assert (len(empty), empty.starts.tolist(), empty.ends.tolist()) == (0, [], [])


class _ByPage(InMemoryStore):
    """A ledger that never hands out all episodes of a run at once."""

    async def episodes(self, run_id: str, *, after: str = "", most: int | None = None) -> Sequence[EpisodeRecord]:
        assert most is not None, "the whole run would be in memory"
        return await super().episodes(run_id, after=after, most=min(most, 2))


async def test_a_run_is_read_a_page_at_a_time() -> None:
    store = _ByPage()
    run_id = await guessed(store, [(f"task{n}", ["no", "right"]) for n in range(5)])
    (run,) = await store.runs(prefix=run_id)
    trials = (await read_run(store, run)).trials
    assert [trials.task[int(row)] for row in trials.starts] == [f"task{n}" for n in range(5)] and len(trials) == 10


async def test_of_a_run_of_the_library_each_episode_of_a_task_counts() -> None:
    store = InMemoryStore()
    run_id = await guessed(store, [("a", ["no", "right"]), ("a", ["right"])])
    (run,) = await store.runs(prefix=run_id)
    arm = await read_run(store, run)
    assert len(arm.trials.starts) == 2 and not arm.facts.put_aside.episodes


def test_the_words_of_the_latest_trials_that_are_known_to_be_right_or_wrong_are_kept() -> None:
    columns = TrialColumns(worded=2)
    for number, visible in enumerate([Verdict.FAIL, Verdict.PASS, Verdict.NONE, Verdict.FAIL, Verdict.PASS], 1):
        columns.add(TrialRow(episode="e", task="t", trial=number, visible=visible, wording=f"word {number}"))
    unseen = TrialRow(episode="e", task="t", trial=6, visible=Verdict.PASS, has_hidden=True, wording="word 6")
    opinion = TrialRow(episode="e", task="t", trial=7, visible=Verdict.PASS, origin=Origin.HUMAN, wording="word 7")
    columns.add(unseen)
    columns.add(opinion)
    trials = Trials.from_columns(**columns.told())
    assert [row.wording for row in trials.rows()] == ["", "", "", "word 4", "word 5", "", ""]
    assert np.flatnonzero(trials.truth != -1)[-2:].tolist() == [3, 4], "those that the predictor looks at"


def test_columns_that_do_not_fit_are_refused() -> None:
    trials = Trials.of(ROWS)
    with pytest.raises(ValueError, match="episode and task"):
        Trials.from_columns(task=trials.task)
    with pytest.raises(ValueError, match="trial has 1 rows, not 3"):
        Trials.from_columns(episode=trials.episode, task=trials.task, trial=np.array([1]))
    defaulted = Trials.from_columns(episode=trials.episode, task=trials.task)
    assert [(r.trial, r.visible, r.usd, r.samples) for r in defaulted.rows()] == [(1, Verdict.NONE, 0.0, ())] * 3
