"""Recordings: in memory, in their file form, and of a run of our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.core import _recordings as recordings
from groundwire.core._errors import ConfigError, ModelRejected, ModelReplyInvalid, ModelRetryable, RecordingError
from groundwire.core._models import Completion, ToolCall
from groundwire.core._recordings import Failure, Recorded, Recording, read_recording, recorded_calls
from groundwire.core._records import ModelCall

A, B = "a" * 64, "b" * 64
HEAD = {"format": "groundwire.core._recordings", "version": 1, "source": "notes", "model": "m"}
FULL = Completion(
    texts=("x", "y"),
    model="gpt",
    prompt_tokens=5,
    completion_tokens=7,
    usd=0.25,
    finish_reasons=("stop", "length"),
    logprobs=((-0.5,), (-1.0, -2.0)),
    attempts=2,
    top_logprobs=(((-0.5, -1.0),), ((-0.25,),)),
    tool_calls=((ToolCall(id="c1", name="look", arguments='{"at": "x"}'),), ()),
    cached_prompt_tokens=2,
    first_token_s=0.25,
)


def write(path: Path, *lines: Any, head: Any = HEAD) -> Path:
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in (head, *lines)))
    return path


def texts(samples: Any) -> list[str]:
    return [s.recorded.texts[s.index] for s in samples]


# --- in memory


def test_samples_of_a_request_are_counted_over_its_calls() -> None:
    recording = Recording(
        [
            Recorded(request=A, completion=FULL),
            Recorded(request=B, completion=Completion(texts=("b",))),
            Recorded(request=A, completion=Completion(texts=("z",))),
            Recorded(task="t", completion=Completion(texts=("1",))),
            Recorded(task="t", completion=Completion(texts=("2",))),
        ]
    )
    assert texts(recording.of_request(A)) == ["x", "y", "z"]
    assert texts(recording.of_task("t")) == ["1", "2"]
    assert recording.of_request("c" * 64) == recording.of_task("u") == ()
    assert (set(recording.requests), set(recording.tasks), len(recording)) == ({A, B}, {"t"}, 6)


def test_a_sample_index_that_is_given_must_be_the_next() -> None:
    first = Recorded(request=A, sample=0, completion=FULL)
    assert len(Recording([first, Recorded(request=A, sample=2, completion=FULL)])) == 4
    for wrong in (0, 1, 3):
        with pytest.raises(RecordingError, match=f"Sample {wrong} of request {A} was given where sample 2 comes next"):
            Recording([first, Recorded(request=A, sample=wrong, completion=FULL)])


def test_a_recorded_call_is_an_answer_or_a_failure_of_one_request_or_task() -> None:
    failure = Failure("ModelRejected", "no")
    wrongs: list[dict[str, Any]] = [
        {},
        {"completion": FULL, "failure": failure},
        {"completion": Completion(texts=())},
        {"completion": FULL, "request": A, "task": "t"},
    ]
    for wrong in wrongs:
        with pytest.raises(ConfigError):
            Recorded(**wrong)
    assert Recorded(failure=failure).size == 1


@pytest.mark.parametrize("kind", [ModelRetryable, ModelRejected, ModelReplyInvalid])
def test_a_failure_comes_back_as_what_it_was(kind: type[Exception]) -> None:
    error = Failure(kind.__name__, "it is busy").error()  # pyright: ignore[reportArgumentType]  # each is a known name
    assert type(error) is kind and error.what == "it is busy"


# --- a run of our own


def call(request: str, completion: Completion | None = None, error: str = "") -> ModelCall:
    body = completion.model_dump_json() if completion else ""
    return ModelCall(
        intent_id="i", episode_id="e", trial=1, model="m", request_digest=request, completion=body, error=error
    )


def test_the_calls_of_a_ledger_are_a_recording() -> None:
    calls = [
        call(A, FULL),
        call(B, error="ModelReplyInvalid: it is not JSON: at $"),
        call(A, error="HiddenLeak: held back"),
        call(B, Completion(texts=("b",))),
    ]
    recording = Recording(recorded_calls(calls))
    assert [s.recorded.completion for s in recording.of_request(A)] == [FULL, FULL]
    failed, answered = recording.of_request(B)
    assert failed.recorded.failure == Failure("ModelReplyInvalid", "it is not JSON: at $")
    assert texts([answered]) == ["b"]


# --- the file form

names = st.text("ab/0", max_size=3)
completions = st.builds(
    Completion,
    texts=st.lists(st.text(st.characters(codec="utf-8"), max_size=5), min_size=1, max_size=3).map(tuple),
    model=names,
    prompt_tokens=st.integers(0, 9),
    completion_tokens=st.integers(0, 9),
    usd=st.none() | st.floats(0, 1),
    finish_reasons=st.lists(names, max_size=2).map(tuple),
    attempts=st.integers(1, 3),
)
failures = st.builds(Failure, st.sampled_from(["ModelRetryable", "ModelRejected", "ModelReplyInvalid"]), names)
keys = st.sampled_from([{"request": A}, {"request": B}, {"task": "t"}, {"task": "u"}, {}])


@st.composite
def recorded(draw: st.DrawFn) -> Recorded:
    key: Any = draw(keys)
    if draw(st.booleans()):
        return Recorded(**key, failure=draw(failures))
    return Recorded(**key, completion=draw(completions))


@given(st.lists(recorded(), min_size=1, max_size=8), names, names, st.booleans())
def test_a_recording_comes_back_from_its_lines(
    tmp_path_factory: pytest.TempPathFactory, calls: list[Recorded], source: str, model: str, structured: bool
) -> None:
    written = Recording(calls, source=source, model=model, structured=structured)
    file = tmp_path_factory.mktemp("r") / "file.jsonl"
    file.write_text("".join(f"{line}\n" for line in written.lines()))
    read = read_recording(file)
    assert (read.source, read.model, read.structured) == (source or "file.jsonl", model, structured)
    assert list(read.requests) == list(written.requests) and list(read.tasks) == list(written.tasks)
    for key in (A, B):
        assert [_told(s) for s in read.of_request(key)] == [_told(s) for s in written.of_request(key)]
    for task in ("t", "u", ""):
        assert [_told(s) for s in read.of_task(task)] == [_told(s) for s in written.of_task(task)]


def _told(sample: Any) -> tuple[Any, ...]:
    return sample.recorded.completion, sample.recorded.failure, sample.index


def test_every_field_of_a_line(tmp_path: Path) -> None:
    line = {
        "request": A,
        "sample": 0,
        "texts": ["x", "y"],
        "model": "gpt",
        "prompt_tokens": 5,
        "completion_tokens": 7,
        "usd": 0.25,
        "finish_reasons": ["stop", "length"],
        "logprobs": [[-0.5], [-1, -2.0]],
        "attempts": 2,
        "top_logprobs": [[[-0.5, -1.0]], [[-0.25]]],
        "tool_calls": [[{"id": "c1", "name": "look", "arguments": '{"at": "x"}'}], []],
        "cached_prompt_tokens": 2,
        "first_token_s": 0.25,
    }
    (sample, _) = read_recording(write(tmp_path / "r", line)).of_request(A)
    assert sample.recorded.completion == FULL


def test_what_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    (sample,) = read_recording(write(tmp_path / "r", {"task": "t", "texts": ["x"], "usd": None})).of_task("t")
    assert sample.recorded.completion == Completion(texts=("x",), usd=None)


def test_gzipped_with_the_name_of_the_file_as_source(tmp_path: Path) -> None:
    lines = [{"format": "groundwire.core._recordings", "version": 1}, {"texts": ["x"]}]
    file = tmp_path / "calls.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    recording = read_recording(str(file))
    assert recording.source == "calls.gz" and texts(recording.of_task("")) == ["x"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"task": "t"}, "has texts, or it failed"),
        ({"task": "t", "texts": []}, "has texts, or it failed"),
        ({"task": "t", "texts": ["x"], "error": {"kind": "ModelRejected", "what": "no"}}, "has texts, or it failed"),
        ({"task": "t", "request": A, "texts": ["x"]}, "by its request or by its task"),
        ({"request": "abc", "texts": ["x"]}, "request: String should match pattern"),
        ({"request": A, "texts": "x"}, "texts: Input should be a valid list"),
        ({"request": A, "texts": [1]}, "texts.0: Input should be a valid string"),
        ({"request": A, "texts": ["x"], "sample": 1}, "Sample 1 of request"),
        ({"request": A, "texts": ["x"], "sample": -1}, "sample: Input should be greater"),
        ({"request": A, "texts": ["x"], "usd": -1}, "usd: Input should be greater"),
        ({"request": A, "texts": ["x"], "prompt_tokens": "5"}, "prompt_tokens: Input should be a valid integer"),
        ({"request": A, "texts": ["x"], "tokens": 5}, "tokens: Extra inputs are not permitted"),
        ({"request": A, "error": {"kind": "KeyError", "what": "x"}}, "error.kind: Input should be"),
        ('{"request": "', "this is no JSON"),
        ("[]", "no object"),
        ('{"task": "t", "texts": ["\\ud800"]}', "half of a surrogate pair"),
    ],
)
def test_a_wrong_line_is_named_with_its_number(tmp_path: Path, line: Any, problem: str) -> None:
    file = write(tmp_path / "r", {"texts": ["fine"]}, line)
    with pytest.raises(RecordingError) as caught:
        read_recording(file)
    assert caught.value.what.startswith(f"{file}:3: ") and problem in caught.value.what
    assert caught.value.do


@pytest.mark.parametrize(
    ("head", "problem"),
    [
        ({"texts": ["x"]}, "this is no recording"),
        ({"format": "other", "version": 1}, "this is no recording"),
        ({**HEAD, "version": 2}, "version 2; this groundwire reads version 1"),
        ({**HEAD, "version": "1"}, "version '1'"),
        ({**HEAD, "models": []}, "models: Extra inputs"),
        ('"text of a script"', "no object"),
    ],
)
def test_another_form_or_version_is_refused(tmp_path: Path, head: Any, problem: str) -> None:
    with pytest.raises(RecordingError, match=":1: ") as caught:
        read_recording(write(tmp_path / "r", {"texts": ["x"]}, head=head))
    assert problem in caught.value.what


def test_an_empty_file_and_one_without_calls_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no recording"):
        read_recording(write(tmp_path / "a", head=""))
    with pytest.raises(RecordingError, match="holds no recorded call"):
        read_recording(write(tmp_path / "b"))


def test_the_texts_held_in_memory_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "MAX_CHARS", 10)
    file = write(tmp_path / "r", {"texts": ["12345"]}, {"texts": ["123456"]})
    with pytest.raises(RecordingError, match=":3: the recording holds more than"):
        read_recording(file)
