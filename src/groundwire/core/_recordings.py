"""Recorded completions: what a replay plays in a model's place. Their file form is described in docs/replay.md."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundwire.core._errors import (
    ConfigError,
    ModelError,
    ModelRejected,
    ModelReplyInvalid,
    ModelRetryable,
    RecordingError,
)
from groundwire.core._models import Completion, ToolCall
from groundwire.core._paths import expand_user
from groundwire.core._records import ModelCall
from groundwire.core._text import first_problem, json_lines

FORMAT = "groundwire.core._recordings"
VERSION = 1
MAX_CHARS = 256 * 1024 * 1024
"""Characters of all texts of one file together: a recording is held in memory."""

ErrorKind = Literal["ModelRetryable", "ModelRejected", "ModelReplyInvalid"]
_ERRORS: Mapping[str, type[ModelError]] = {
    "ModelRetryable": ModelRetryable,
    "ModelRejected": ModelRejected,
    "ModelReplyInvalid": ModelReplyInvalid,
}


@dataclass(frozen=True)
class Failure:
    """A model call that failed when it was recorded.

    Args:
        kind: the name of our error class.
        what: what it said.
    """

    kind: ErrorKind
    what: str

    def error(self) -> ModelError:
        """The error, to be raised again."""
        return _ERRORS[self.kind](self.what)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One recorded model call, known by its request, or by its task where the log has only answers.

    Args:
        completion: the answer; its samples are counted from `sample`. Counts and prices that are not known are 0 and
            None, as in any completion.
        failure: what came in the place of an answer; it stands for one sample.
        request: sha256 of `Request.canonical()`, as hex; empty where it is not known.
        task: the task's id; empty where that is not known, or the request is.
        sample: index of the first sample among all of this request, or task; None: it follows the one before.
    """

    completion: Completion | None = None
    failure: Failure | None = None
    request: str = ""
    task: str = ""
    sample: int | None = None

    def __post_init__(self) -> None:
        if bool(self.texts) == (self.failure is not None):
            raise ConfigError("A recorded call has either texts or a failure.", do="Give one of the two.")
        if self.request and self.task:
            raise ConfigError(
                "A recorded call is identified either by its request or by its task.", do="Give one of the two."
            )

    @property
    def texts(self) -> tuple[str, ...]:
        """Its texts; none where it failed."""
        return self.completion.texts if self.completion else ()

    @property
    def size(self) -> int:
        """How many samples it is."""
        return len(self.texts) or 1


@dataclass(frozen=True)
class Sample:
    """One answer of a recorded call.

    Args:
        recorded: the call.
        index: which of its texts.
    """

    recorded: Recorded
    index: int


@dataclass
class _Track:
    """What is recorded under one key, in order."""

    samples: list[Sample] = field(default_factory=list[Sample])

    def add(self, recorded: Recorded) -> None:
        begin = len(self.samples) if recorded.sample is None else recorded.sample
        if begin != len(self.samples):
            key = f"request {recorded.request}" if recorded.request else f"task {recorded.task!r}"
            raise RecordingError(
                f"Sample {begin} of {key} was given where sample {len(self.samples)} comes next.",
                do="Give the samples of a request in their order, each once, counted from 0.",
            )
        self.samples += [Sample(recorded, index) for index in range(recorded.size)]


class Recording:
    """Recorded calls, found by request digest and sample index, or by task and order.

    Args:
        calls: in the order in which they are played.
        source: where they come from, for people.
        model: the model that answered, where the calls don't name it.
        structured: True where that model was asked for JSON by a schema (`Request.json_schema`), so that the same
            requests are made again.
        continues: True where it wrote on where a begun answer stood (`BackendTraits.continues`), for the same reason.

    Raises:
        RecordingError: the samples of a request are not numbered in order.
    """

    def __init__(
        self,
        calls: Iterable[Recorded],
        *,
        source: str = "",
        model: str = "",
        structured: bool = False,
        continues: bool = False,
    ) -> None:
        self.source = source
        self.model = model
        self.structured = structured
        self.continues = continues
        self._requests: dict[str, _Track] = {}
        self._tasks: dict[str, _Track] = {}
        for call in calls:
            self.add(call)

    def add(self, call: Recorded) -> None:
        """Adds a call behind those that there are.

        Raises:
            RecordingError: its samples are not the next ones.
        """
        tracks = self._requests if call.request else self._tasks
        tracks.setdefault(call.request or call.task, _Track()).add(call)

    @property
    def requests(self) -> Collection[str]:
        """Digests of the requests that are known."""
        return self._requests.keys()

    @property
    def tasks(self) -> Collection[str]:
        """Ids of the tasks whose requests are not known; "" for answers of which nothing is."""
        return self._tasks.keys()

    def of_request(self, digest: str) -> Sequence[Sample]:
        """The samples of a request; empty where it was never recorded."""
        return tuple(self._requests.get(digest, _Track()).samples)

    def of_task(self, task_id: str) -> Sequence[Sample]:
        """The answers for a task, in their order; empty where there is none."""
        return tuple(self._tasks.get(task_id, _Track()).samples)

    def __len__(self) -> int:
        """Samples of all requests and tasks."""
        return sum(len(t.samples) for t in (*self._requests.values(), *self._tasks.values()))

    def lines(self) -> Iterator[str]:
        """The recording in its file form, a line at a time, without line ends. `read_recording` reads it back."""
        head = {"format": FORMAT, "version": VERSION, "source": self.source, "model": self.model}
        told = {"structured": self.structured, "continues": self.continues}
        yield _json({**head, **{name: True for name, value in told.items() if value}})
        for tracks in (self._requests, self._tasks):
            for track in tracks.values():
                yield from (_line(s.recorded, at) for at, s in enumerate(track.samples) if s.index == 0)


def recorded_calls(calls: Iterable[ModelCall]) -> Iterator[Recorded]:
    """A ledger's model calls as recorded ones: what replays a run of our own.

    Args:
        calls: in the order in which they were made. One that failed fails again; one whose answer was held back, or
            which never ended, is left out.
    """
    for call in calls:
        if call.completion:
            yield Recorded(request=call.request_digest, completion=Completion.model_validate_json(call.completion))
        else:
            kind, _, what = call.error.partition(": ")
            if kind in _ERRORS:
                yield Recorded(request=call.request_digest, failure=Failure(cast("ErrorKind", kind), what))


def read_recording(path: str | Path) -> Recording:
    """Reads a file of recorded calls, plain or gzipped.

    Raises:
        RecordingError: it can't be read, is of another form or version, or a line is wrong; with the line's number.
    """
    file = expand_user(path)
    lines = json_lines(file)
    nothing: tuple[int, dict[str, object]] = (1, {})
    number, first = next(lines, nothing)
    head = _head(first, f"{file}:{number}")
    source = head.source or file.name
    recording = Recording((), source=source, model=head.model, structured=head.structured, continues=head.continues)
    chars = 0
    for number, fields in lines:
        where = f"{file}:{number}"
        try:
            call = _Line.model_validate(fields).recorded()
            recording.add(call)
        except ValidationError as error:
            raise RecordingError(f"{where}: {first_problem(error)}", do="See docs/replay.md for the form.") from None
        except (ConfigError, RecordingError) as error:
            raise RecordingError(f"{where}: {error.what}", do=error.do) from None
        chars += sum(map(len, call.texts))
        if chars > MAX_CHARS:
            raise RecordingError(
                f"{where}: the recording holds more than {MAX_CHARS >> 20} MiB of text.", do="Split it by run."
            )
    if not len(recording):
        raise RecordingError(f"{file} holds no recorded call.", do="See docs/replay.md for the form.")
    return recording


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class _Head(_Strict):
    format: Literal["groundwire.core._recordings"]
    version: int
    source: str = ""
    model: str = ""
    structured: bool = False
    continues: bool = False


class _Error(_Strict):
    kind: ErrorKind
    what: str


Count = Annotated[int, Field(ge=0)]


class _Line(_Strict):
    """One line of a file; unknown fields are refused, since a replay that drops one would not be the same."""

    request: str = Field(default="", pattern="^([0-9a-f]{64})?$")
    task: str = ""
    sample: Count | None = None
    texts: list[str] = []
    model: str = ""
    asked: str = ""
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    usd: Annotated[float, Field(ge=0)] | None = None
    finish_reasons: list[str] = []
    logprobs: list[list[float]] | None = None
    attempts: Count = 1
    top_logprobs: list[list[list[float]]] | None = None
    tool_calls: list[list[ToolCall]] = []
    cached_prompt_tokens: Count = 0
    first_token_s: Annotated[float, Field(ge=0)] | None = None
    error: _Error | None = None

    def recorded(self) -> Recorded:
        return Recorded(
            completion=self._completion() if self.texts else None,
            failure=Failure(self.error.kind, self.error.what) if self.error else None,
            request=self.request,
            task=self.task,
            sample=self.sample,
        )

    def _completion(self) -> Completion:
        about = {"request", "task", "sample", "error"}
        return Completion.model_validate(self.model_dump(exclude=about, exclude_unset=True))


def _head(fields: dict[str, object], where: str) -> _Head:
    if fields.get("format") != FORMAT:
        raise RecordingError(
            f'{where}: this is not a recording: its first line has no "format": "{FORMAT}".',
            do="See docs/replay.md for the form; for texts alone there is scripted:FILE.",
        )
    version = fields.get("version")
    if version != VERSION:
        raise RecordingError(
            f"{where}: the recording has version {version!r}; this groundwire reads version {VERSION}.",
            do="Use the version of groundwire that wrote it, or a newer one.",
        )
    try:
        return _Head.model_validate(fields)
    except ValidationError as error:
        raise RecordingError(f"{where}: {first_problem(error)}", do="See docs/replay.md for the form.") from None


def _line(recorded: Recorded, sample: int) -> str:
    fields = {"request": recorded.request} if recorded.request else {"task": recorded.task} if recorded.task else {}
    if recorded.failure is not None:
        error = {"kind": recorded.failure.kind, "what": recorded.failure.what}
        return _json({**fields, "sample": sample, "error": error})
    answer = recorded.completion.model_dump(mode="json", exclude_defaults=True) if recorded.completion else {}
    return _json({**fields, "sample": sample, **answer})


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
