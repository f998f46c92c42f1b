"""Records as rows and back. Nothing here knows a database: the in-memory store holds records to the same rules."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, cast, get_type_hints

from pydantic import ValidationError

from groundwire.core._candidates import Candidate
from groundwire.core._errors import CandidateError, StorageError
from groundwire.core._masking import Masker, strings_in
from groundwire.core._records import (
    Admission,
    Artifact,
    CandidateRecord,
    Covered,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    LessonMark,
    Link,
    Mark,
    ModelCall,
    ProgramRun,
    Recall,
    Record,
    ReflectionRecord,
    RunEnd,
    RunRecord,
    StopReason,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._signals import CaseResult, Signal, Verdict, canonical
from groundwire.core._signatures import failure_signature
from groundwire.memory._text import escape, unescape

_MAX_INT = 2**63 - 1

Row = Sequence[Any]


@dataclass(frozen=True, eq=False)
class Codec:
    """One record type as rows of one table. There is one of each, so that two are never compared field by field.

    Args:
        type: the record's class.
        table: the table's name.
        columns: the columns it fills, in order; `seq` is not among them.
        key: the columns by which a record is known: writing a known one again changes nothing. `()`: each is kept.
        encode: record → values in the order of `columns`. Raises StorageError where no database could keep a value.
        decode: values in that order → record. Raises StorageError where the row was damaged.
    """

    type: type[Record]
    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    encode: Callable[[Any], tuple[Any, ...]]
    decode: Callable[[Row], Record]


def check(record: Record) -> None:
    """Raises what writing the record to a database would raise.

    Raises:
        StorageError: a number that no database can keep.
        TypeError: not a record.
    """
    for name, convert in _numbers_of(type(record)):
        convert(getattr(record, name))


@lru_cache(maxsize=64)
def _numbers_of(kind: type[Any]) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """Fields that hold a number, each with what refuses one that can't be kept."""
    if kind is Signal:
        return ("trial", _int64), ("exit_code", _optional(_int64))
    if kind not in CODECS:
        raise TypeError(f"{kind.__name__} is not a ledger record")
    hints = get_type_hints(kind)
    return tuple((f.name, _CONVERTERS[hints[f.name]][0]) for f in fields(kind) if hints[f.name] in _NUMBERS)


def masked(record: Record, masker: Masker) -> Record | None:
    """The record as it may be kept: every secret that is recognised masked.

    Returns:
        None for a candidate's body that holds one: with a byte changed it would be another candidate's, and a patch
        made from it would write the mark into somebody's files.
    """
    if isinstance(record, Signal):
        # The mint has masked it before it sealed it; a seal that can't be kept is better lost than a secret kept.
        body = record.to_json()
        clean = masker.json(body)
        return record if clean == body else Signal.from_json(clean)
    if isinstance(record, Link):
        return record  # ids and digests; with a byte changed it would not be as it was sealed
    if isinstance(record, Artifact):
        body = record.body.decode("latin-1")
        if masker(body) == body and (record.kind != CANDIDATE or _changes_hold_none(record.body, masker)):
            return record
        return None if record.kind == CANDIDATE else replace(record, body=masker(body).encode("latin-1"))
    changed: dict[str, Any] = {}
    for name, is_json in _texts_of(type(record)):
        value = getattr(record, name)
        clean = _masked_value(value, masker, is_json=is_json)
        if clean != value:
            changed[name] = clean
    return replace(record, **changed) if changed else record


def texts_in(record: Record, row: Row) -> Iterator[str]:
    """All of what is kept of a record in which a secret could stand: where none does, `masked` would change nothing.

    Args:
        record: as it was given.
        row: the same, encoded.
    """
    if isinstance(record, Link):
        return
    if isinstance(record, Artifact):
        yield record.body.decode("latin-1")
        if record.kind == CANDIDATE:
            yield from _contents(record.body)
        return
    for place, is_json in _places_of(type(record)):
        text: str = row[place]
        if is_json and "\\" in text:
            with suppress(ValueError, RecursionError):
                yield from strings_in(json.loads(text))
                continue
        yield text


@lru_cache(maxsize=64)
def _places_of(kind: type[Any]) -> tuple[tuple[int, bool], ...]:
    """Columns that can hold a secret: (place, whether it is JSON)."""
    columns = CODECS[kind].columns
    if kind is Signal:
        return ((columns.index("body"), True),)
    hints = get_type_hints(kind)
    return tuple((columns.index(name), is_json or hints[name] is not str) for name, is_json in _texts_of(kind))


CANDIDATE = "candidate"
"""Kind of artifacts that hold a candidate's changes; known by the candidate's own digest."""

_MACHINE_MADE = frozenset(
    {
        "id", "run_id", "episode_id", "signal_id", "intent_id", "lesson_id", "candidate_digest", "digest",
        "base_digest", "best_candidate", "artifact", "candidate", "request_digest", "created_at", "edge", "lessons",
        "reused", "seal",
    }
)  # fmt: skip
_JSON = frozenset({"config", "task", "completion", "body"})


@lru_cache(maxsize=64)
def _texts_of(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    """Fields that can hold a secret: (name, whether it is JSON)."""
    if kind not in CODECS:
        raise TypeError(f"{kind.__name__} is not a ledger record")
    hints = get_type_hints(kind)
    return tuple(
        (field.name, field.name in _JSON)
        for field in fields(kind)
        if hints[field.name] in (str, tuple[str, ...]) and field.name not in _MACHINE_MADE
    )


def _masked_value(value: Any, masker: Masker, *, is_json: bool) -> Any:
    if isinstance(value, tuple):
        return tuple(masker(text) for text in cast("tuple[str, ...]", value))
    return masker.json(value) if is_json else masker(value)


def _changes_hold_none(body: bytes, masker: Masker) -> bool:
    return masker.finds_none(_contents(body))


def _contents(body: bytes) -> Iterator[str]:
    """The files in a candidate's body, a character a byte; none where it is no such body."""
    try:
        changes = Candidate.from_bytes(body).changes
    except CandidateError:
        return
    for content in changes.values():
        yield (content or b"").decode("latin-1")


def codec_of(record: Record) -> Codec:
    """The record's codec.

    Raises:
        TypeError: not a record.
    """
    try:
        return CODECS[type(record)]
    except KeyError:
        raise TypeError(f"{type(record).__name__} is not a ledger record") from None


def names_of(codec: Codec) -> str:
    """The codec's columns as SQL names them, in its order."""
    return ", ".join(f'"{name}"' for name in codec.columns)


def key_of(record: Record) -> str | None:
    """What the record is known by; None where every one is kept."""
    codec = codec_of(record)
    # a text, since a store that lives in memory keeps one for each record, and the garbage collector visits no text
    return f"{codec.table}{_reader_of(codec.key)(record)!r}" if codec.key else None


@lru_cache(maxsize=64)
def _reader_of(names: tuple[str, ...]) -> Callable[[Record], object]:
    return attrgetter(*names)


def covered(codec: Codec, row: Row) -> Covered:
    """What a link says of a record, from what is kept of it: the same in each database.

    Args:
        codec: the record's.
        row: the values of its columns.
    """
    values: Row = (codec.type.__name__, *row)
    said = ",".join([_AS_JSON.get(value.__class__, canonical)(value) for value in values])
    digest = hashlib.sha256(f"[{said}]".encode()).hexdigest()
    return Covered(codec.type.__name__, _key_within_episode(codec, row), digest)


def _json_of_float(value: float) -> str:
    return repr(value) if math.isfinite(value) else f'"{value}"'  # no record holds such a one, but a changed row may


_AS_JSON: dict[type[Any], Callable[[Any], str]] = {
    str: json.encoder.encode_basestring_ascii,
    int: repr,
    type(None): lambda _: "null",
    float: _json_of_float,
    bool: lambda value: "1" if value else "0",
    bytes: lambda value: f'"{hashlib.sha256(value).hexdigest()}"',
}
"""What a row can hold as `canonical` writes it: in a tenth of an encoder's calls, since a row has no depth."""


def _key_within_episode(codec: Codec, row: Row) -> str:
    return " ".join([str(row[at]) for at in _key_places(codec.type)])


@lru_cache(maxsize=64)
def _key_places(kind: type[Any]) -> tuple[int, ...]:
    codec = CODECS[kind]
    return tuple(codec.columns.index(name) for name in codec.key if name != "episode_id")


def _int64(value: int) -> int:
    if not -_MAX_INT - 1 <= value <= _MAX_INT:
        raise StorageError(
            "A record holds a whole number of more than 64 bits, which no database here can keep.",
            do="Keep seeds, counts and exit codes below 2**63.",
        )
    return int(value)


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise StorageError(
            f"A record holds {value} where a number of seconds or dollars belongs.",
            do="Give None where a price is not known.",
        )
    return float(value)


def _strings_in(value: tuple[str, ...]) -> str:
    return canonical(list(value))


def strings_out(value: str) -> tuple[str, ...]:
    """The tuple that was kept as a JSON list."""
    return tuple(json.loads(value))


def _optional(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


_NUMBERS = (int, int | None, float, float | None)
_CONVERTERS: dict[object, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    str: (escape, unescape),
    int: (_int64, int),
    int | None: (_optional(_int64), _optional(int)),
    float: (_finite, float),
    float | None: (_optional(_finite), _optional(float)),
    bool: (bool, bool),
    bytes: (bytes, bytes),
    tuple[str, ...]: (_strings_in, strings_out),
    Verdict: (str, Verdict),
    StopReason: (str, StopReason),
    Mark: (str, Mark),
}


def _dataclass_codec(kind: type[Any], table: str, key: tuple[str, ...]) -> Codec:
    hints = get_type_hints(kind)
    columns = tuple(field.name for field in fields(kind))
    into = tuple((name, _CONVERTERS[hints[name]][0]) for name in columns)
    out = tuple((name, _CONVERTERS[hints[name]][1]) for name in columns)

    def encode(record: object) -> tuple[Any, ...]:
        return tuple([convert(getattr(record, name)) for name, convert in into])

    def decode(row: Row) -> Record:
        try:
            values = {name: convert(value) for (name, convert), value in zip(out, row, strict=True)}
            return cast("Record", kind(**values))
        except (ValueError, TypeError, RecursionError) as error:
            raise _damaged(table) from error

    return Codec(kind, table, columns, key, encode, decode)


_SIGNAL_COLUMNS = (
    "id", "run_id", "episode_id", "trial", "origin", "verdict", "reason", "issuer", "candidate_digest", "exit_code",
    "n_passed", "n_failed", "signature", "partial", "oracle", "created_at", "body",
)  # fmt: skip


def _signal_in(signal: Signal) -> tuple[Any, ...]:
    results = [case.result for case in signal.evidence.cases]
    n_failed = sum(not result.ok for result in results)
    return (
        escape(signal.id),
        escape(signal.run_id),
        escape(signal.episode_id),
        _int64(signal.trial),
        str(signal.origin),
        str(signal.verdict),
        None if signal.reason is None else str(signal.reason),
        escape(signal.issuer),
        escape(signal.candidate_digest),
        None if signal.exit_code is None else _int64(signal.exit_code),
        len(results) - n_failed - results.count(CaseResult.SKIPPED),
        n_failed,
        escape(failure_signature(signal.evidence)),
        signal.partial,
        signal.oracle,
        escape(signal.created_at),
        signal.to_json(),
    )


def _signal_out(row: Row) -> Signal:
    try:
        return Signal.from_json(row[-1])
    except ValidationError as error:
        raise _damaged("signals") from error


def _damaged(table: str) -> StorageError:
    return StorageError(
        f"A row of the table {table} can't be read back: it was changed after it was written, or the disk damaged it.",
        do="Restore the database from a copy, or run the task again; what can't be read is not guessed at.",
    )


CODECS: dict[type[Any], Codec] = {
    codec.type: codec
    for codec in (
        _dataclass_codec(RunRecord, "runs", ("id",)),
        _dataclass_codec(RunEnd, "run_ends", ()),
        _dataclass_codec(EpisodeRecord, "episodes", ("id",)),
        _dataclass_codec(EpisodeEnd, "episode_ends", ()),
        _dataclass_codec(TrialRecord, "trials", ("episode_id", "trial")),
        _dataclass_codec(Recall, "recalls", ("episode_id", "trial", "lesson_id")),
        _dataclass_codec(TrialEnd, "trial_ends", ("episode_id", "trial")),
        _dataclass_codec(CandidateRecord, "candidates", ("episode_id", "digest")),
        Codec(Signal, "signals", _SIGNAL_COLUMNS, ("id",), _signal_in, _signal_out),
        _dataclass_codec(Admission, "admissions", ("episode_id", "id")),
        _dataclass_codec(ReflectionRecord, "reflections", ("id",)),
        _dataclass_codec(LessonMark, "lesson_marks", ()),
        _dataclass_codec(Intent, "intents", ("episode_id", "id")),
        _dataclass_codec(ModelCall, "model_calls", ()),
        _dataclass_codec(ProgramRun, "program_runs", ()),
        _dataclass_codec(Artifact, "artifacts", ("digest",)),
        _dataclass_codec(Link, "links", ()),
    )
}
"""By record class."""

OF_EPISODE: tuple[Codec, ...] = tuple(
    codec
    for codec in CODECS.values()
    if codec.type is not Link and (codec.type is EpisodeRecord or "episode_id" in codec.columns)
)
"""What `Store.records` returns: all that belongs to one episode, but for the links over it."""
