"""Recorded models and recorded programs through code_repair: real tests, real sandbox, nothing taken from the log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from groundwire import Budget, EpisodeResult, StopReason, Task
from groundwire.agents import LLMActor, ReplayActor, RuleCritic
from groundwire.core._contexts import Actor
from groundwire.core._errors import RecordingMissing
from groundwire.core._models import Backend, Completion
from groundwire.core._recordings import Failure, Recorded, Recording, recorded_calls
from groundwire.core._records import ModelCall, Record
from groundwire.core._sandboxes import Limits
from groundwire.core._signals import Origin, Signal, Verdict
from groundwire.graphs.library._code_repair import code_repair
from groundwire.graphs.run._answer import Select
from groundwire.logs import function_task
from groundwire.memory import InMemoryStore
from groundwire.models import ReplayBackend, ScriptedBackend
from groundwire.tools import HiddenTests, Unittest

HEAD = 'def double(n):\n    """Twice n."""\n'
SQUARE = "def double(n):\n    return n * n\n"
TABLE = "def double(n):\n    return {1: 2, 2: 4}[n]\n"
RIGHT = "def double(n):\n    return 2 * n\n"
HIDDEN = "def check(candidate):\n    assert candidate(33333333333) == 66666666666\n"
BY_HEART = f"{RIGHT}\n# {HIDDEN.splitlines()[1].strip()}\n"


def task(*visible: str) -> Task:
    asserts = visible or ("assert double(1) == 2", "assert double(2) == 4")
    return function_task("t", HEAD, "double", visible=asserts, hidden=HIDDEN, limits=Limits(cpu_s=5, wall_s=30))


async def run(
    actor: Actor, made: Task, *, select: Select = "best", baseline: bool = False
) -> tuple[EpisodeResult, Sequence[Record]]:
    store = InMemoryStore()
    graph = code_repair(actor, RuleCritic(), Unittest(), HiddenTests(), select=select, baseline=baseline)
    result = await graph.compile(store=store, budget=Budget(trials=9)).arun(made)
    return result, await store.records(result.episode_id)


def programs(*texts: str) -> Recording:
    return Recording([Recorded(task="t", completion=Completion(texts=(t,))) for t in texts], source="a log")


def answers(*texts: str) -> list[str]:
    return [f"FILE: solution.py\n```python\n{text}```\n" for text in texts]


# --- recorded programs


async def test_a_recorded_retry_is_a_trial_that_a_visible_fail_opened() -> None:
    result, records = await run(ReplayActor(programs(SQUARE, RIGHT)), task())
    assert (result.stop_reason, result.trials, result.reflections) == (StopReason.VERIFIED, 2, 1)
    signals = [r for r in records if isinstance(r, Signal)]
    first = next(s for s in signals if s.trial == 1)
    assert (first.verdict, first.origin, first.sandbox is not None) == (Verdict.FAIL, Origin.TESTS, True)
    calls = [r for r in records if isinstance(r, ModelCall)]
    assert [json.loads(c.completion)["texts"] for c in calls] == [[SQUARE], [RIGHT]]
    assert {(c.model, c.usd, c.prompt_tokens) for c in calls} == {("replay:a log", 0.0, 0)}
    assert (result.usd, result.account.hidden_accesses, result.account.steering) == (0.0, 1, 0)


async def test_programs_that_the_log_never_needed_are_not_played() -> None:
    result, _ = await run(ReplayActor(programs(RIGHT, SQUARE)), task(), select="last")
    assert (result.stop_reason, result.trials, result.candidates) == (StopReason.VERIFIED, 1, 1)


async def test_the_last_program_is_the_answer_or_there_is_none() -> None:
    cases: list[tuple[Select, StopReason, int]] = [
        ("best", StopReason.EXHAUSTED, 0),
        ("last", StopReason.HIDDEN_FAILED, 1),
    ]
    for select, reason, accesses in cases:
        result, _ = await run(ReplayActor(programs("", SQUARE)), task(), select=select)
        assert (result.stop_reason, result.account.hidden_accesses) == (reason, accesses)


async def test_no_visible_tests_are_no_verdict_and_in_last_one_hidden_judging() -> None:
    """18 rows of LDB's MBPP log ran no tests, and all of them stand there as passing."""
    made = function_task("t", HEAD, "double", visible=[], hidden=HIDDEN)
    best, _ = await run(ReplayActor(programs(RIGHT)), made)
    assert (best.stop_reason, best.verdict, best.account.hidden_accesses) == (StopReason.NO_VERDICT, Verdict.NONE, 0)
    last, _ = await run(ReplayActor(programs(RIGHT)), made, select="last")
    assert (last.stop_reason, last.verdict, last.account.hidden_accesses) == (StopReason.VERIFIED, Verdict.PASS, 1)


async def test_a_program_that_quotes_a_hidden_test_was_written_by_a_model_that_knew_it_by_heart() -> None:
    result, _ = await run(ReplayActor(programs(BY_HEART)), task())
    assert (result.stop_reason, result.lines_known_by_heart) == (StopReason.VERIFIED, 1)


# --- recorded models


async def of_model(backend: Backend) -> tuple[EpisodeResult, Sequence[Record]]:
    return await run(LLMActor(backend), task(), baseline=True)


def told(records: Sequence[Record]) -> list[Any]:
    """What of a ledger must be the same when a run is replayed: all but ids, times and seals."""
    calls = [(c.model, c.request_digest, c.completion, c.error, c.usd) for c in records if isinstance(c, ModelCall)]
    signals = [
        (s.trial, s.issuer, s.candidate_digest, s.verdict, [(c.id, c.result) for c in s.evidence.cases])
        for s in records
        if isinstance(s, Signal)
    ]
    return [calls, signals]


async def test_a_run_of_our_own_is_played_again_from_its_ledger_alone() -> None:
    result, records = await of_model(ScriptedBackend(["no edit at all", *answers(SQUARE, TABLE, RIGHT)]))
    assert result.stop_reason is StopReason.HIDDEN_FAILED, "the table passes the visible tests and is wrong"
    recording = Recording(recorded_calls(r for r in records if isinstance(r, ModelCall)))
    assert len(recording) == len(recording.requests) == 3
    again, played = await of_model(ReplayBackend(recording, as_recorded=True))
    assert told(played) == told(records) and again.stop_reason is result.stop_reason


async def test_a_request_that_was_never_recorded_ends_the_episode_with_the_reason() -> None:
    _, records = await of_model(ScriptedBackend(answers(SQUARE, RIGHT)))
    calls = [r for r in records if isinstance(r, ModelCall)]
    result, _ = await of_model(ReplayBackend(Recording(recorded_calls(calls[:1]))))
    assert (result.stop_reason, result.trials, result.exit_code) == (StopReason.MODEL_ERROR, 1, 5)
    assert isinstance(result.error, RecordingMissing) and "Nobody else was asked" in result.detail


async def test_a_recording_that_is_played_to_its_end_leaves_the_actor_with_nothing_more() -> None:
    recording = Recording([Recorded(task="t", completion=Completion(texts=(a,))) for a in answers(SQUARE)])
    result, _ = await of_model(ReplayBackend(recording))
    assert (result.stop_reason, result.error, result.trials) == (StopReason.EXHAUSTED, None, 1)
    assert "played all 1 answers that it holds for task t" in result.detail


async def test_a_recorded_failure_ends_the_episode_as_it_did_then() -> None:
    recording = Recording([Recorded(task="t", failure=Failure("ModelRejected", "no credit"))])
    result, _ = await of_model(ReplayBackend(recording))
    assert (result.stop_reason, result.detail) == (StopReason.MODEL_ERROR, "no credit")
