"""The replay backend: plays what was recorded, and never asks anybody else."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from groundwire.core._errors import (
    ModelRejected,
    ModelReplyInvalid,
    RecordingError,
    RecordingExhausted,
    RecordingMissing,
)
from groundwire.core._models import Backend, Completion, Message, Request
from groundwire.core._recordings import Failure, Recorded, Recording
from groundwire.models import backend_for
from groundwire.models._replay import ReplayBackend

ANSWER = Completion(
    texts=("one", "two"),
    model="gpt-4",
    prompt_tokens=10,
    completion_tokens=6,
    usd=0.5,
    finish_reasons=("stop", "length"),
    logprobs=((-1.0,), (-2.0,)),
    attempts=3,
)


def ask(text: str = "hello", **fields: Any) -> Request:
    return Request(messages=(Message(role="user", content=text),), **fields)


def digest(request: Request) -> str:
    return hashlib.sha256(request.canonical().encode()).hexdigest()


def known(request: Request, *answers: Completion | Failure, **fields: Any) -> Recording:
    calls = [
        Recorded(request=digest(request), failure=a) if isinstance(a, Failure) else
        Recorded(request=digest(request), completion=a)
        for a in answers
    ]  # fmt: skip
    return Recording(calls, source="notes", **fields)


def of_tasks(**answers: list[str]) -> Recording:
    calls = [Recorded(task=task, completion=Completion(texts=(t,))) for task, ts in answers.items() for t in ts]
    return Recording(calls, source="log", model="gpt-3.5")


# --- by request


async def test_a_recorded_request_gets_its_answer_free_and_under_a_name_that_says_so() -> None:
    request = ask(n=2)
    backend: Backend = ReplayBackend(known(request, ANSWER))
    assert backend.price(request) == 0.0
    answer = await backend.complete(request)
    assert (answer.texts, answer.finish_reasons, answer.logprobs) == (
        ("one", "two"),
        ANSWER.finish_reasons,
        ANSWER.logprobs,
    )
    assert (answer.prompt_tokens, answer.completion_tokens) == (10, 6)
    assert (answer.usd, answer.model, backend.model) == (0.0, "replay:gpt-4", "replay:notes")


async def test_as_recorded_it_is_the_same_completion() -> None:
    request = ask(n=2)
    backend = ReplayBackend(known(request, ANSWER), as_recorded=True)
    assert backend.price(request) == 0.5
    assert await backend.complete(request) == ANSWER
    assert backend.price(request) == 0.0
    unknown = ReplayBackend(known(request, ANSWER.model_copy(update={"usd": None})), as_recorded=True)
    assert unknown.price(request) is None and unknown.price(ask("other")) == 0.0


async def test_the_same_request_again_gets_the_next_samples() -> None:
    request = ask(n=2)
    later = Completion(texts=("three", "four", "five"), prompt_tokens=10, completion_tokens=9)
    backend = ReplayBackend(known(request, ANSWER, later))
    assert [(await backend.complete(request)).texts for _ in range(3)] == [("one", "two"), ("three", "four"), ("five",)]
    with pytest.raises(RecordingExhausted, match="played all 5 answers that it holds for request"):
        await backend.complete(request)


async def test_each_recorded_call_is_counted_once_however_its_samples_are_played() -> None:
    request = ask(n=3)
    later = Completion(texts=("three", "four"), prompt_tokens=20, completion_tokens=8, usd=0.25)
    backend = ReplayBackend(known(request, ANSWER, later), as_recorded=True)
    first, second = await backend.complete(request), await backend.complete(request)
    assert (first.texts, second.texts) == (("one", "two", "three"), ("four",))
    assert (first.prompt_tokens, first.completion_tokens, first.usd) == (30, 14, 0.75)
    assert (second.prompt_tokens, second.completion_tokens, second.usd) == (0, 0, 0)
    assert first.logprobs is None and first.finish_reasons == ("stop", "length")


async def test_other_requests_are_refused_and_not_worth_another_try() -> None:
    recorded, other = ask(n=2), ask("other", purpose="propose", seed=7)
    backend = ReplayBackend(known(recorded, ANSWER))
    with pytest.raises(RecordingMissing) as caught:
        await backend.complete(other)
    error = caught.value
    assert f"request {digest(other)[:12]}… (propose, seed 7)" in error.what and "only for 1 others" in error.what
    assert "record anew" in error.do and isinstance(error, ModelRejected) and not error.retryable
    assert (await backend.complete(recorded)).texts == ("one", "two")


async def test_what_is_not_sent_is_no_part_of_a_request_s_key_only_where_it_says_so() -> None:
    """The digest covers all of a request: another temperature or seed is another request."""
    backend = ReplayBackend(known(ask(), ANSWER))
    for other in (ask(temperature=0.1), ask(seed=1), ask(n=2), ask(max_tokens=1), ask(stop=("x",))):
        with pytest.raises(RecordingMissing):
            await backend.complete(other)


async def test_a_failure_fails_again_and_what_follows_is_played() -> None:
    request = ask(n=2)
    backend = ReplayBackend(known(request, Failure("ModelReplyInvalid", "it is not JSON"), ANSWER))
    with pytest.raises(ModelReplyInvalid, match="it is not JSON"):
        await backend.complete(request)
    assert (await backend.complete(request)).texts == ("one", "two")


async def test_samples_before_a_failure_are_played_first() -> None:
    request = ask(n=3)
    backend = ReplayBackend(known(request, ANSWER, Failure("ModelRejected", "no")))
    assert (await backend.complete(request)).texts == ("one", "two")
    with pytest.raises(ModelRejected, match="no"):
        await backend.complete(request)


# --- by task


async def test_the_only_task_s_answers_are_played_in_order_whatever_is_asked() -> None:
    backend = ReplayBackend(of_tasks(a=["1", "2", "3"]))
    assert (await backend.complete(ask("x"))).texts == ("1",)
    answer = await backend.complete(ask("y", n=5))
    assert (answer.texts, answer.model, answer.prompt_tokens) == (("2", "3"), "replay:gpt-3.5", 0)
    with pytest.raises(RecordingExhausted, match="all 3 answers that it holds for task a"):
        await backend.complete(ask("z"))


async def test_one_of_several_tasks_has_to_be_named() -> None:
    recording = of_tasks(a=["1"], b=["2", "3"])
    assert (await ReplayBackend(recording, task="b", start=1).complete(ask())).texts == ("3",)
    with pytest.raises(RecordingMissing, match="answers are those of 2 tasks, of which none is named") as caught:
        await ReplayBackend(recording).complete(ask())
    assert "replay:FILE#a" in caught.value.do
    with pytest.raises(RecordingMissing, match="nor for task 'c'"):
        await ReplayBackend(recording, task="c").complete(ask())


async def test_stop_sequences_and_schemas_hold_for_recorded_answers_too() -> None:
    assert (await ReplayBackend(of_tasks(a=["one END two"])).complete(ask(stop=("END",)))).texts == ("one ",)
    schema = {"type": "object"}
    answers = of_tasks(a=["no JSON", "{}"])
    assert (await ReplayBackend(answers).complete(ask(n=2, json_schema=schema))).texts == ("{}",)
    with pytest.raises(ModelReplyInvalid):
        await ReplayBackend(answers).complete(ask(json_schema=schema))


async def test_many_requests_are_answered_in_their_order() -> None:
    backend = ReplayBackend(of_tasks(a=["1", "2", "3"]))
    answers = await backend.complete_many([ask("x"), ask("y"), ask("z")])
    assert [a.texts[0] for a in answers] == ["1", "2", "3"]


# --- as a model's name


def file_of(path: Path, recording: Recording) -> Path:
    path.write_text("".join(f"{line}\n" for line in recording.lines()))
    return path


async def test_a_file_is_named_by_replay_and_needs_no_leave_to_call_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROUNDWIRE_MODEL_CALLS", "refuse")
    file = file_of(tmp_path / "my calls.jsonl", of_tasks(a=["1"], **{"HumanEval/4": ["2"]}))
    backend = backend_for(f"replay:{file}#HumanEval/4")
    assert isinstance(backend, ReplayBackend) and backend.model == "replay:log"
    assert (await backend.complete(ask())).texts == ("2",)


async def test_a_sharp_in_a_file_s_own_name_is_a_part_of_it(tmp_path: Path) -> None:
    file = file_of(tmp_path / "run#3.jsonl", of_tasks(a=["1"]))
    assert (await backend_for(f"replay:{file}").complete(ask())).texts == ("1",)
    assert (await backend_for(f"replay:{file}#a").complete(ask())).texts == ("1",)


def test_a_file_that_can_t_be_read_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").write_text(json.dumps("a text") + "\n")
    for spec in ("replay:", f"replay:{tmp_path / 'nothing'}", f"replay:{tmp_path / 'script.jsonl'}"):
        with pytest.raises(RecordingError):
            backend_for(spec)


def test_a_recording_says_whether_its_model_was_asked_by_schema() -> None:
    assert ReplayBackend(known(ask(), ANSWER, structured=True)).structured
    assert not ReplayBackend(known(ask(), ANSWER)).structured
