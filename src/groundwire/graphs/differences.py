"""Whether two ledgers of one episode say the same, and where they first do not.

Records are compared in a canonical form: without what differs in every run (ids, times, durations, seals), and in an
order in which what was under way side by side has a fixed place. What a process left half done when it ended, and what
the next one said again, is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby, zip_longest
from typing import Any, cast

from groundwire.records import (
    Admission,
    Artifact,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    ProgramRun,
    Record,
    TrialEnd,
)
from groundwire.signals import Signal

__all__ = ["Difference", "first_difference"]

Effect = Intent | ModelCall | ProgramRun
LEFT_OUT = frozenset({"id", "created_at", "duration_s", "seal"})
EFFECTS = ("model_call", "program")
SAID_AGAIN = ("hidden_access", "reuse")
"""Intents that a process which goes on writes again before it does again what it can't know to be done."""
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Difference:
    """The first place where a replay and the ledger differ.

    Args:
        position: of the record among those that were compared, counted from 1.
        kind: the record's, as recorded; as replayed, where nothing more was recorded.
        field: the field; `record` where there is a record on one side only, or one of another kind.
        recorded: what the ledger holds there, as JSON.
        replayed: what the replay came to.
    """

    position: int
    kind: str
    field: str
    recorded: str
    replayed: str


def first_difference(
    recorded: Sequence[Record], replayed: Sequence[Record], *, is_whole: bool
) -> tuple[int, Difference | None]:
    """Compares two ledgers of one episode.

    Args:
        recorded: what the ledger holds.
        replayed: what a replay came to.
        is_whole: False where the recorded one was ended from outside: then the replay may go on behind it.

    Returns:
        How many records are the same, and the first difference.
    """
    ours, theirs = _in_order(recorded), _in_order(replayed)
    names = {**_names(ours), **_names(theirs)}
    if not is_whole:
        ours = _without_the_end(ours)
        theirs = theirs[: len(ours)]
    for number, (one, other) in enumerate(zip_longest(ours, theirs)):
        difference = _compare(number + 1, one, other, names)
        if difference is not None:
            return number, difference
    return len(ours), None


def _compare(position: int, one: Record | None, other: Record | None, names: Mapping[str, str]) -> Difference | None:
    if one is None or other is None or type(one) is not type(other):
        kind = type(one if one is not None else other).__name__
        return Difference(position, kind, "record", *(_brief(record, names) for record in (one, other)))
    mine, theirs = _canonical(one, names), _canonical(other, names)
    for name in sorted(mine.keys() | theirs.keys()):
        if mine.get(name) != theirs.get(name):
            field, left, right = _innermost(name, mine.get(name), theirs.get(name))
            return Difference(position, type(one).__name__, field, _json(left), _json(right))
    return None


def _innermost(name: str, one: Any, other: Any) -> tuple[str, Any, Any]:
    """Follows a difference into nested values, so that what is shown is not a whole body."""
    if isinstance(one, dict) and isinstance(other, dict):
        mine, theirs = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        for key in sorted(mine.keys() | theirs.keys()):
            if mine.get(key) != theirs.get(key):
                return _innermost(f"{name}.{key}", mine.get(key), theirs.get(key))
    if isinstance(one, list) and isinstance(other, list):
        items = zip_longest(cast("list[Any]", one), cast("list[Any]", other))
        for index, (a, b) in enumerate(items):
            if a != b:
                return _innermost(f"{name}[{index}]", a, b)
    return name, cast("Any", one), cast("Any", other)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _brief(record: Record | None, names: Mapping[str, str]) -> str:
    if record is None:
        return "nothing"
    said = {k: v for k, v in _canonical(record, names).items() if isinstance(v, str | int) and len(str(v)) <= 80}
    return f"{type(record).__name__} {_json(said)}"


def _canonical(record: Record, names: Mapping[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = record.model_dump(mode="json") if isinstance(record, Signal) else asdict(record)
    return {name: _named(_read(name, value), names) for name, value in fields.items() if name not in LEFT_OUT}


def _read(name: str, value: Any) -> Any:
    """JSON that is kept as text is compared as what it says."""
    if name in ("body", "completion", "task") and isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _named(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return UUID.sub(lambda found: names.get(found[0], found[0]), value)
    if isinstance(value, list | tuple):
        return [_named(item, names) for item in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        return {key: _named(item, names) for key, item in cast("dict[str, Any]", value).items()}
    return value


def _names(records: Sequence[Record]) -> dict[str, str]:
    """What each id is called: the record's kind and its number."""
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for record in records:
        own = getattr(record, "id", None)
        if isinstance(own, str):
            kind = type(record).__name__
            counts[kind] = counts.get(kind, 0) + 1
            names[own] = f"{kind} {counts[kind]}"
        if isinstance(record, EpisodeRecord):
            names[record.run_id] = "run"
    return names


def _in_order(records: Sequence[Record]) -> list[Record]:
    ended = {r.intent_id for r in records if isinstance(r, ModelCall) or (isinstance(r, ProgramRun) and not r.cut_off)}
    kept = [r for r in records if not _was_cut_off(r, ended) and not isinstance(r, Artifact)]
    ordered: list[Record] = []
    for are_effects, grouped in groupby(_without_repeats(kept), key=_is_effect):
        group = list(grouped)
        ordered += _by_digest(group) if are_effects else group
    return ordered


def _was_cut_off(record: Record, ended: set[str]) -> bool:
    if isinstance(record, ProgramRun):
        return record.cut_off
    return isinstance(record, Intent) and record.kind in EFFECTS and record.id not in ended


def _is_effect(record: Record) -> bool:
    if isinstance(record, Intent):
        return record.kind in EFFECTS
    return isinstance(record, ModelCall | ProgramRun)


def _by_digest(effects: Iterable[Record]) -> Iterator[Record]:
    """Each intent with what came of it. Calls that were made at once have no order of their own but their requests'."""
    pairs: dict[str, list[Effect]] = {}
    for effect in effects:
        assert isinstance(effect, Intent | ModelCall | ProgramRun)
        if isinstance(effect, Intent):
            pairs.setdefault(effect.id, []).append(effect)
        else:
            key = f"{effect.intent_id} reused" if isinstance(effect, ModelCall) and effect.reused else effect.intent_id
            pairs.setdefault(key, []).append(effect)
    for pair in sorted(pairs.values(), key=lambda pair: _digest(pair[0])):
        yield from pair


def _digest(effect: Effect) -> str:
    return effect.digest if isinstance(effect, Intent) else effect.request_digest


def _without_repeats(records: Sequence[Record]) -> Iterator[Record]:
    """Leaves out an announcement that is made once more before anything has come of it."""
    announced: set[tuple[object, ...]] = set()
    for record in records:
        if isinstance(record, Intent) and record.kind in SAID_AGAIN:
            said = (record.kind, record.trial, record.digest, record.body)
            if said in announced:
                continue
            announced.add(said)
        elif isinstance(record, Signal):
            announced = {said for said in announced if said[2] != record.candidate_digest}
        yield record


def _without_the_end(records: list[Record]) -> list[Record]:
    """Without what was written because it ended, and calls of which others may have been under way."""
    kept = list(records)
    while kept and (isinstance(kept[-1], EpisodeEnd | TrialEnd) or _is_effect(kept[-1]) or _is_refused(kept[-1])):
        kept.pop()
    return kept


def _is_refused(record: Record) -> bool:
    """True for a refusal: the last one of an episode is what the clock or the run's budget came to."""
    return isinstance(record, Admission) and not record.admitted
