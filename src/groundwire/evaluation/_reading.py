"""Trials out of a ledger: one pass over an episode's records, one row a trial."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from groundwire.core._records import (
    Admission,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    ProgramRun,
    Record,
    ReflectionRecord,
    RunRecord,
    Store,
    TrialEnd,
    TrialRecord,
    episodes_with_records,
)
from groundwire.core._signals import Evidence, NoVerdict, Origin, Signal, Verdict
from groundwire.core._signatures import failure_signature
from groundwire.evaluation._allowances import Allowance, allowance_in
from groundwire.evaluation._rows import JudgedSample, TrialRow, TrialStep
from groundwire.evaluation._trials import TrialColumns, Trials
from groundwire.evaluation._wording import WORDING_CHARS, WORDING_TRIALS, code_hints, self_report, without_self_report

HELD_TO_TOKENS = ("resampling", "self_refine")
"""Controls that try as often as their tokens, or candidates, last."""
DETAIL_CHARS = 300
"""Of what failed, kept for the reader."""


@dataclass(frozen=True)
class PutAside:
    """Episodes that no number counts, since their tasks were run once more (`groundwire campaign --requeue`): a task
    of a run has one result, and the last episode's is the one.

    Args:
        episodes: how many.
        tokens: what they used; that is paid, and not in the costs of the others.
        usd: what that cost in US dollars; None where a price is not known.
    """

    episodes: int = 0
    tokens: int = 0
    usd: float | None = 0.0


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What to know about a run when reading its numbers.

    Args:
        graph: its graph's name.
        created_at: ISO 8601, UTC.
        version: groundwire's.
        grounded: False if a loop of the graph needed no outside signal.
        trust: opinions that the graph names as trusted (`human`, `other_model`).
        control_of: id of the run that this one is the control arm of: `control_of` in the run's config; else empty.
        control: what kind of control (`resampling`, `ungrounded`): `control` in the config; else empty.
        model: the model, as the config names it; empty where there is none.
        imported: the published log that it was read from, where nothing was run here; else empty.
        allowed: what each episode might use, as far as the config says.
        held_to: of a control of ours, what it was held to: `allowance`, what the run's episodes might use; `spending`,
            what they did use, as versions before this one did; else empty.
    """

    graph: str = ""
    created_at: str = ""
    version: str = ""
    grounded: bool = True
    trust: tuple[str, ...] = ()
    control_of: str = ""
    control: str = ""
    model: str = ""
    imported: str = ""
    allowed: Allowance = field(default_factory=Allowance)
    held_to: str = ""
    put_aside: PutAside = field(default_factory=PutAside)


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One side of a comparison: a run, or what somebody logged.

    Args:
        name: for people; a run's id.
        trials: all its trials.
        facts: what its numbers have to be read with.
    """

    name: str
    trials: Trials
    facts: RunFacts = field(default_factory=RunFacts)


async def read_run(store: Store, run: RunRecord) -> Arm:
    """Reads a whole run; of a task that was run once more only its last episode.

    Raises:
        StorageError: the ledger can't be read, or a row of it was damaged.
    """
    columns = TrialColumns(worded=WORDING_TRIALS)
    async for episode, records in episodes_with_records(store, run.id):
        for row in trial_rows(episode, records):
            columns.add(row)
    trials, put_aside = Trials.from_columns(**columns.told()), PutAside()
    if _has_one_result_a_task(run):
        trials, put_aside = _last_of_each_task(trials)
    return Arm(name=run.id, trials=trials, facts=_facts(run, put_aside))


def _has_one_result_a_task(run: RunRecord) -> bool:
    """True for runs of the command line, each of whose tasks has an id of its own; of a run of the library several
    episodes of one task are samples."""
    return "tasks" in json.loads(run.config).get("suite", {})


def _last_of_each_task(trials: Trials) -> tuple[Trials, PutAside]:
    tasks = trials.task.codes[trials.starts]
    last = np.full(len(trials.task.names), -1)
    last[tasks] = np.arange(len(tasks))  # of several episodes the last one stays
    counts = last[tasks] == np.arange(len(tasks))
    if counts.all():
        return trials, PutAside()
    others = trials.take(~counts[trials.number])
    usd = float(others.usd.sum())
    aside = PutAside(int((~counts).sum()), int(others.tokens.sum()), None if math.isnan(usd) else usd)
    return trials.take(counts[trials.number]), aside


def _facts(run: RunRecord, put_aside: PutAside) -> RunFacts:
    config: dict[str, Any] = json.loads(run.config)
    imported: Mapping[str, Any] = config.get("imported") or {}
    return RunFacts(
        graph=run.graph,
        created_at=run.created_at,
        version=run.version,
        grounded=bool(config.get("grounded", True)),
        trust=tuple(map(str, config.get("trust", ()))),
        control_of=str(config.get("control_of", "")),
        control=str(config.get("control", "")),
        model=str(config.get("model", "") or config.get("cli", {}).get("settings", {}).get("model") or ""),
        imported=str(imported.get("name", "")),
        allowed=allowance_in(config),
        held_to=str(config.get("held_to", "spending")) if config.get("control") in HELD_TO_TOKENS else "",
        put_aside=put_aside,
    )


def trial_rows(episode: EpisodeRecord, records: Sequence[Record]) -> Sequence[TrialRow]:
    """An episode's trials; one row without a verdict where it has none.

    Args:
        episode: the episode.
        records: all of its records, in the order in which they were written.
    """
    read = _Episode(episode, records)
    return [read.row(trial) for trial in sorted(read.trials) or [0]]


_NUMBERED = re.compile(r"reflexion_hotpotqa/\d{1,4}")


def _task_of(episode: EpisodeRecord) -> str:
    """Which task it is, in all runs. Questions that were imported before 0.2 are numbered, in the order of their
    own log, so that the same number is another question in the next; what they begin with says which one it is."""
    is_numbered = episode.base_digest and _NUMBERED.fullmatch(episode.task_id)
    return f"{episode.family}/{episode.base_digest[:12]}" if is_numbered else episode.task_id


@dataclass
class _Trial:
    """What the records say of one trial."""

    judged: list[Signal] = field(default_factory=list[Signal])
    calls: list[ModelCall] = field(default_factory=list[ModelCall])
    programs: list[ProgramRun] = field(default_factory=list[ProgramRun])
    times: list[str] = field(default_factory=list[str])
    begun: TrialRecord | None = None
    trigger: Origin | None = None
    reflections: int = 0


_WORK = (TrialRecord, Signal, ReflectionRecord, Intent, ModelCall, ProgramRun, TrialEnd)
"""Records that say that a trial took place, and when."""


class _Episode:
    def __init__(self, episode: EpisodeRecord, records: Sequence[Record]) -> None:
        self._episode = episode
        task: Mapping[str, Any] = json.loads(episode.task)
        self._has_hidden = bool(task.get("hidden"))
        self._hint = " ".join(code_hints(str(task.get("prompt", "")), episode.family))
        self._stop = ""
        self._validated = False
        self._intents: dict[str, Intent] = {}
        self._unfinished: dict[int, list[Intent]] = {}
        self._signals = {r.id: r for r in records if isinstance(r, Signal)}
        self.trials: dict[int, _Trial] = {}
        opened: Origin | None = None
        for record in records:
            if isinstance(record, EpisodeEnd):
                self._stop = str(record.stop_reason)
                continue
            trial = self._place(record)
            match record:
                case Signal() if record.origin is not Origin.RULE and trial:
                    trial.judged.append(record)
                case Admission(admitted=True, edge="refine"):
                    signal = self._signals.get(record.signal_id)
                    opened = signal.origin if signal else None
                case TrialRecord() if trial:
                    trial.begun, trial.trigger, opened = record, opened, None
                case ReflectionRecord() if trial:
                    trial.reflections += 1
                case ModelCall() if trial:
                    trial.calls.append(record)
                case ProgramRun() if trial:
                    trial.programs.append(record)
                case Intent():
                    self._intents[record.id] = record
                    self._validated |= record.kind == "model_tests" and json.loads(record.body)["validated"]
                case _:
                    pass
        self._find_unfinished()

    def _place(self, record: Record) -> _Trial | None:
        """The record's trial, where it is one that an actor had a part in or that was judged."""
        if not isinstance(record, _WORK):
            return None
        trial = self.trials.setdefault(record.trial, _Trial())
        trial.times.append(record.created_at)
        return trial

    def _find_unfinished(self) -> None:
        ended = {call.intent_id for trial in self.trials.values() for call in trial.calls}
        for intent in self._intents.values():
            if intent.kind == "model_call" and intent.id not in ended:
                self._unfinished.setdefault(intent.trial, []).append(intent)

    def row(self, number: int) -> TrialRow:
        trial = self.trials.get(number, _Trial())
        lost = self._unfinished.get(number, [])
        paid = [call for call in trial.calls if not call.reused]
        prices = [None if call.usd is None and not call.error else call.usd or 0.0 for call in paid]
        prices += [intent.usd for intent in lost]
        judged = _Judged(trial.judged, has_hidden=self._has_hidden)
        proposed = [call for call in trial.calls if call.purpose == "propose" and call.model]
        said = _said(proposed[-1]) if proposed else ""
        return TrialRow(
            run=self._episode.run_id,
            episode=self._episode.id,
            task=_task_of(self._episode),
            family=self._episode.family,
            seed=self._episode.seed,
            trial=number,
            candidate=judged.candidate,
            visible=judged.visible,
            hidden=judged.hidden,
            origin=judged.origin,
            trigger=trial.trigger,
            signature=judged.signature,
            detail=judged.detail,
            model=proposed[-1].model if proposed else "",
            wording=without_self_report(said)[:WORDING_CHARS],
            self_report=self_report(said),
            hint=self._hint,
            tokens=sum(map(_tokens, paid)) + sum(intent.tokens for intent in lost),
            critical_tokens=_critical_tokens(paid, self._intents) + sum(intent.tokens for intent in lost),
            usd=None if None in prices else sum(price for price in prices if price is not None),
            seconds=_wall_seconds(trial.times),
            calls=len(paid) + len(lost),
            judgings=len(trial.judged),
            lessons=len(trial.begun.lessons) if trial.begun else 0,
            reflections=trial.reflections,
            escalation=trial.begun.escalation if trial.begun else 0,
            oracle=self._validated or any(signal.oracle for signal in trial.judged),
            has_hidden=self._has_hidden,
            stop=self._stop,
            isolation=judged.isolation,
            samples=judged.samples,
            steps=judged.steps,
        )


class _Judged:
    """What the signals of one trial come to."""

    def __init__(self, signals: Sequence[Signal], *, has_hidden: bool) -> None:
        self._has_hidden = has_hidden
        hidden = [s for s in signals if s.origin is Origin.HIDDEN_TESTS]
        steering = [s for s in signals if s.origin is not Origin.HIDDEN_TESTS]
        # the last look at a candidate by a tool is what was acted on
        last = {(s.candidate_digest, s.issuer): s for s in steering if s.reason is not NoVerdict.GO_ON}
        self._by_candidate: dict[str, list[Signal]] = {}
        for (digest, _), signal in last.items():
            self._by_candidate.setdefault(digest, []).append(signal)
        self._hidden: Mapping[str, Verdict] = {s.candidate_digest: s.verdict for s in hidden}
        verdicts = {digest: _together(signals) for digest, signals in self._by_candidate.items()}
        verdicts |= {digest: Verdict.NONE for digest in self._hidden if digest not in verdicts}
        passed = [digest for digest, verdict in verdicts.items() if verdict is Verdict.PASS]
        judged_hidden = [digest for digest in verdicts if digest in self._hidden]
        right = [digest for digest in judged_hidden if self._hidden[digest] is Verdict.PASS]
        said = [digest for digest, verdict in verdicts.items() if verdict is not Verdict.NONE]
        self.candidate = next(reversed(right[:1] or judged_hidden or passed[:1] or said or list(verdicts)), "")
        self.visible = verdicts.get(self.candidate, Verdict.NONE)
        looks = [s for s in signals if s.candidate_digest == self.candidate and s.sandbox is not None]
        self.isolation = str(looks[-1].isolation) if looks else ""
        self.hidden = self._hidden.get(self.candidate, Verdict.NONE)
        decided = [s for s in self._by_candidate.get(self.candidate, ()) if s.verdict is self.visible]
        self.origin = decided[0].origin if decided else None
        self.signature = failure_signature(decided[0].evidence) if self.visible is Verdict.FAIL and decided else ""
        self.detail = _headline(decided[0].evidence) if decided and self.visible is not Verdict.PASS else ""
        self.samples = tuple(JudgedSample(digest, self._truth(digest, verdict)) for digest, verdict in verdicts.items())
        self.steps = tuple(_steps(steering))

    def _truth(self, digest: str, verdict: Verdict) -> Verdict:
        believed = Verdict.NONE if self._has_hidden and verdict is Verdict.PASS else verdict
        return self._hidden.get(digest, believed)


def _headline(evidence: Evidence) -> str:
    failed = evidence.failed()
    return (f"{failed[0].id}: {failed[0].message}" if failed else evidence.detail)[:DETAIL_CHARS]


def _together(signals: Sequence[Signal]) -> Verdict:
    """One candidate's verdict by all tools that judged it."""
    verdicts = {signal.verdict for signal in signals}
    if Verdict.FAIL in verdicts:
        return Verdict.FAIL
    return Verdict.PASS if verdicts == {Verdict.PASS} else Verdict.NONE


_STEPPED = (Origin.ENVIRONMENT, Origin.TOOL_ERROR, Origin.VERIFIER, Origin.EXECUTION)


def _steps(signals: Sequence[Signal]) -> Iterator[TrialStep]:
    """Steps in an environment and tool calls: there, each signal of a trial is about one more of them."""
    told = [s for s in signals if s.origin in _STEPPED]
    if any(s.reason is NoVerdict.GO_ON for s in told) or any(s.origin is Origin.TOOL_ERROR for s in told):
        for signal in told:
            yield TrialStep(signal.candidate_digest, signal.verdict is not Verdict.FAIL)


def _said(call: ModelCall) -> str:
    """The first answer of a call, without its reasoning."""
    texts = json.loads(call.completion or "{}").get("texts") or [""]
    return str(texts[0])


def _tokens(call: ModelCall) -> int:
    return call.prompt_tokens + call.completion_tokens


def _critical_tokens(calls: Sequence[ModelCall], intents: Mapping[str, Intent]) -> int:
    """Tokens that were waited for: of calls that ran at the same time, those of the longest."""
    spans = sorted(
        (intents[c.intent_id].created_at if c.intent_id in intents else c.created_at, c.created_at, _tokens(c))
        for c in calls
    )
    total, longest, until = 0, 0, ""
    for begun, ended, used in spans:
        if begun >= until:
            total, longest = total + longest, 0
        longest, until = max(longest, used), max(until, ended)
    return total + longest


def _wall_seconds(times: Sequence[str]) -> float:
    if len(times) < 2:
        return 0.0
    return (datetime.fromisoformat(max(times)) - datetime.fromisoformat(min(times))).total_seconds()
