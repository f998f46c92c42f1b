"""An episode run again from its ledger alone, and where two ledgers of one episode first differ.

Records are compared in a canonical form: without what differs in every run (ids, times, durations, seals), and in an
order in which what was under way side by side has a fixed place. What a process left half done when it ended, and what
the next one said again, is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, NoReturn, cast

from groundwire.core._candidates import Tree
from groundwire.core._contexts import Lesson
from groundwire.core._errors import ConfigError, KeyMissing, RecordNotFound, SandboxUnavailable
from groundwire.core._ids import SeedRule
from groundwire.core._records import (
    Admission,
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    ProgramRun,
    Recall,
    Record,
    StopReason,
    Store,
    TrialEnd,
)
from groundwire.core._sandboxes import Limits, Sandbox, SandboxInfo
from groundwire.core._seal import Keys, MemoryKeys, Mint, verify
from groundwire.core._signals import Signal, canonical
from groundwire.core._tasks import Task
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.replay._recorded import Recordings
from groundwire.graphs.run._budget import Budget, Meter
from groundwire.graphs.run._driver import OnError
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._runs import config_of
from groundwire.memory import InMemoryStore

# Whether two ledgers of one episode say the same, and where they first do not.

Effect = Intent | ModelCall | ProgramRun
LEFT_OUT = frozenset({"id", "created_at", "duration_s", "seal"})
EFFECTS = ("model_call", "program")
SAID_AGAIN = ("hidden_access", "reuse")
"""Intents that a process which goes on writes again before it does again what it can't know to be done."""
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class ReplayDifference:
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
) -> tuple[int, ReplayDifference | None]:
    """Compares two ledgers of one episode.

    Args:
        recorded: what the ledger holds.
        replayed: what a replay came to.
        is_whole: False where the recorded one was ended from outside: then the replay may go on behind it.

    Returns:
        How many records are the same, and the first difference.
    """
    recorded, reopened = _as_if_in_one_go(recorded)
    replayed = [r for r in replayed if not (isinstance(r, TrialEnd) and r.trial in reopened)]
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


def _as_if_in_one_go(records: Sequence[Record]) -> tuple[Sequence[Record], Set[int]]:
    """Without the ends of an episode that was gone on with, and the trials that had been closed by them."""
    kept: list[Record] = []
    reopened: set[int] = set()
    last = max((n for n, record in enumerate(records) if isinstance(record, EpisodeEnd)), default=-1)
    for number, record in enumerate(records):
        if not isinstance(record, EpisodeEnd) or number == last:
            kept.append(record)
            continue
        while kept and (isinstance(kept[-1], TrialEnd) or _is_refused(kept[-1])):
            closed = kept.pop()
            reopened |= {closed.trial} if isinstance(closed, TrialEnd) else set()
    return [r for r in kept if not (isinstance(r, TrialEnd) and r.trial in reopened)], reopened


def _compare(
    position: int, one: Record | None, other: Record | None, names: Mapping[str, str]
) -> ReplayDifference | None:
    if one is None or other is None or type(one) is not type(other):
        kind = type(one if one is not None else other).__name__
        return ReplayDifference(position, kind, "record", *(_brief(record, names) for record in (one, other)))
    mine, theirs = _canonical(one, names), _canonical(other, names)
    for name in sorted(mine.keys() | theirs.keys()):
        if mine.get(name) != theirs.get(name):
            field, left, right = _innermost(name, mine.get(name), theirs.get(name))
            return ReplayDifference(position, type(one).__name__, field, _json(left), _json(right))
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


# An episode run again from its ledger alone: no model is asked, no program run, no sandbox opened.

FROM_OUTSIDE = frozenset(
    {
        StopReason.BUDGET_SECONDS,
        StopReason.BUDGET_RUN,
        StopReason.HIDDEN_LEAK,
        StopReason.STORAGE_ERROR,
        StopReason.INTERNAL_ERROR,
    }
)
"""Ends for reasons that no record of the episode holds: the clock, other episodes' spending, a hidden text, the disk,
an error in a user's own code. A replay may go on behind them."""


@dataclass(frozen=True)
class Replayed:
    """What came of a replay.

    Args:
        episode_id: the episode.
        task_id: its task.
        compared: records that are the same.
        difference: the first difference; None where there is none.
        is_whole: False where the recorded episode was ended by what no record holds; up to there it was compared.
        seals_verified: False where the run's key is not here.
    """

    episode_id: str
    task_id: str
    compared: int
    difference: ReplayDifference | None
    is_whole: bool
    seals_verified: bool


class Replay:
    """One recorded episode, ready to be run again. Made by `Replay.read`."""

    def __init__(
        self, known: EpisodeRecord, records: Sequence[Record], recordings: Recordings, *, seals_verified: bool
    ) -> None:
        self._known = known
        self._records = records
        self._recordings = recordings
        self._seals_verified = seals_verified
        self._store = InMemoryStore()

    @classmethod
    async def read(cls, source: Store, known: EpisodeRecord, keys: Keys) -> Replay:
        """Reads an episode from a ledger.

        Args:
            source: the ledger.
            known: the episode's record.
            keys: where the run's key is; without it no seal is verified.

        Raises:
            ConfigError: it has not ended.
            SealError: a signal is not what was minted.
            RecordNotFound: what it asked or was told was dropped since.
        """
        records = await source.records(known.id)
        if not any(isinstance(record, EpisodeEnd) for record in records):
            raise ConfigError(
                f"Episode {known.id} has not ended: it was interrupted, or goes on in another process.",
                do=f"Let it end first:  groundwire resume {known.run_id[:13]}",
            )
        _check_bodies(known, records)
        revisions: dict[str, int] = (await config_of(source, known.run_id)).get("revisions", {})
        recordings = Recordings(records, source, await _lessons(source, known, records), revisions)
        return cls(known, records, recordings, seals_verified=_verify(known.run_id, records, keys))

    def episode(self, task: Task, budget: Budget, rules: Rules, seed_rule: SeedRule) -> Episode:
        """The episode to be run again, with a ledger of its own. Time is no limit, and nothing outside is reached."""
        run_id = self._known.run_id
        return Episode(
            run_id=run_id,
            id=self._known.id,
            task=task,
            store=self._store,
            mint=Mint(run_id, MemoryKeys().create(run_id)),
            meter=Meter(budget.model_copy(update={"seconds": None})),
            sandbox=_no_sandbox,
            program_sandbox=_no_sandbox,
            seed=self._known.seed,
            seed_rule=seed_rule,
            rules=rules,
            recordings=self._recordings,
        )

    @property
    def on_error(self) -> OnError:
        """What an error of a part comes to: it ends the replay where it may have ended what is replayed."""
        ends = {record.stop_reason for record in self._records if isinstance(record, EpisodeEnd)}
        return "end" if StopReason.INTERNAL_ERROR in ends else "raise"

    async def compared(self) -> Replayed:
        """What the run came to, against what is recorded."""
        end = [record for record in self._records if isinstance(record, EpisodeEnd)][-1]
        is_whole = end.stop_reason not in FROM_OUTSIDE
        replayed = await self._store.records(self._known.id)
        same, difference = first_difference(_until_its_end(self._records), replayed, is_whole=is_whole)
        known = self._known
        return Replayed(known.id, known.task_id, same, difference, is_whole, self._seals_verified)


def _until_its_end(records: Sequence[Record]) -> Sequence[Record]:
    """Without what came after the last end: a reflection that somebody outside of the graph wrote."""
    ends = [number for number, record in enumerate(records) if isinstance(record, EpisodeEnd)]
    return records[: ends[-1] + 1]


async def rules_then(store: Store, run_id: str, rules: Rules) -> Rules:
    """The rules as they were when the run began: a version that lacked one did not follow it."""
    recorded: dict[str, Any] = (await config_of(store, run_id)).get("rules", {})
    return rules if "steady" in recorded else rules.model_copy(update={"steady": 1})


async def check_same(store: Store, run_id: str, mine: Mapping[str, Any]) -> None:
    """Refuses to replay a run with what did not run it.

    Args:
        store: the ledger.
        run_id: the run.
        mine: what the app at hand would write of itself.

    Raises:
        ConfigError: the run's graph, budget or rules were others.
    """
    recorded = await config_of(store, run_id)
    known: dict[str, Any] = json.loads(canonical(mine))
    for name in ("nodes", "gates", "budget", "rules", "trust"):
        if name == "rules" and name in recorded:
            recorded[name] = {**known[name], **recorded[name]}  # of an older version, which had fewer
        if name in recorded and recorded[name] != known[name]:
            raise ConfigError(
                f"Run {run_id} was not run by this graph: its {name} were others.",
                do="Replay it with the graph, the budget and the rules that it was run with.",
            )


def without_traces(langgraph: Any) -> Any:
    """A compiled graph without its checkpointer and its pauses: a replay leaves nothing behind."""
    return langgraph.copy({"checkpointer": None, "interrupt_before_nodes": [], "interrupt_after_nodes": []})


async def _lessons(source: Store, known: EpisodeRecord, records: Sequence[Record]) -> dict[str, Lesson]:
    wanted = list(dict.fromkeys(r.lesson_id for r in records if isinstance(r, Recall)))
    lessons = {lesson.id: lesson for lesson in await source.lessons(wanted)}
    gone = [lesson_id for lesson_id in wanted if lesson_id not in lessons]
    if gone:
        raise RecordNotFound(
            f"Episode {known.id} was given lesson {gone[0]}, which has been forgotten, so it can't be replayed."
        )
    return lessons


def _check_bodies(known: EpisodeRecord, records: Sequence[Record]) -> None:
    intents = {r.id for r in records if isinstance(r, Intent)}
    calls = [r for r in records if hasattr(r, "intent_id") and not getattr(r, "reused", "")]
    judged = any(isinstance(r, Signal) for r in records)
    # of answers none of which could be used there was nothing to judge
    useless = bool(calls) and not any(isinstance(r, CandidateRecord) for r in records)
    if not (judged or useless) or any(getattr(call, "intent_id", "") not in intents for call in calls):
        raise RecordNotFound(
            f"Episode {known.id} can't be replayed: its ledger no longer holds what was asked or seen.",
            do="A retention rule has dropped it (groundwire memory vacuum).",
        )


def _verify(run_id: str, records: Sequence[Record], keys: Keys) -> bool:
    try:
        key = keys.load(run_id)
    except KeyMissing:
        return False
    for record in records:
        if isinstance(record, Signal):
            verify(record, key)
    return True


class _NoSandbox:
    """Where a program would run; in a replay none does. See `groundwire.core._sandboxes.Sandbox`."""

    info = SandboxInfo(kind="none", version="", enforcement={})
    python = Path("python")

    async def run(self, command: Sequence[str], tree: Tree, limits: Limits, **_options: Any) -> NoReturn:
        raise SandboxUnavailable("A replay runs nothing: what it asks for is not in the ledger.")

    async def warm(self, tree: Tree, **_options: Any) -> NoReturn:
        raise SandboxUnavailable("A replay runs nothing: what it asks for is not in the ledger.")

    async def aclose(self) -> None:
        """Nothing is open."""


async def _no_sandbox(*, isolated: bool = True) -> Sandbox:
    return _NoSandbox()
