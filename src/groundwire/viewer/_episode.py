"""An episode as it is looked at: its records in the order of the loop, trial by trial, with what belongs together put
together. Everything here is data; pages and the programs' interface are made of the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundwire.core._candidates import Candidate
from groundwire.core._environments import ACTIONS
from groundwire.core._records import (
    Admission,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    ProgramRun,
    Recall,
    Record,
    ReflectionRecord,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._signals import Origin, Signal
from groundwire.graphs.run._account import VerdictAccount, account_of
from groundwire.viewer._case_matrix import Matrix, matrix_of
from groundwire.viewer._flame import FlameBlock, TimeSpan, flame_of_time, flame_of_tokens, seconds_at, spans_of
from groundwire.viewer._model_calls import call_of
from groundwire.viewer._trials import (
    CandidateView,
    Given,
    ReflectionView,
    SignalView,
    TrialView,
    program_of,
    remark_of,
    scenes_of,
    signal_of,
)


@dataclass(frozen=True)
class EpisodeView:
    """An episode.

    Args:
        id: its id.
        run_id: its run.
        task_id: its task.
        family: of the task.
        seed: its seed.
        created_at: when it began.
        task: what `Task.describe` says.
        base_digest: digest of the base tree.
        verdict: what it came to; `open` where it has not ended.
        stop_reason: why it ended.
        detail: the same for people.
        ended_at: when.
        best_candidate: digest of what was handed out; empty where nothing was.
        trials: the baseline, if there was one, and the trials.
        matrix: cases by trials.
        spans: what took time, in order.
        account: what its verdicts rest on.
        tokens: of all model calls.
        usd: what these cost, as far as the price is known; None where none is known and something was used.
        is_world: True where the actor acted in a world.
    """

    id: str
    run_id: str
    task_id: str
    family: str
    seed: int
    created_at: str
    task: Mapping[str, Any]
    base_digest: str
    verdict: str
    stop_reason: str
    detail: str
    ended_at: str
    best_candidate: str
    trials: Sequence[TrialView]
    matrix: Matrix
    spans: Sequence[TimeSpan]
    account: VerdictAccount
    tokens: int
    usd: float | None
    is_world: bool

    @property
    def calls(self) -> int:
        """Model calls."""
        return sum(len(trial.calls) for trial in self.trials)

    @property
    def isolation(self) -> str:
        """How assertions were kept from what they judge, where it was the same each time; else empty."""
        kinds = {s.isolation for t in self.trials for c in t.candidates for s in c.signals if s.isolation}
        return kinds.pop() if len(kinds) == 1 else ""

    @property
    def flames(self) -> Mapping[str, Sequence[FlameBlock]]:
        """Flame views of `time` and `tokens`; without what is not known."""
        both = {"time": flame_of_time(self.spans), "tokens": flame_of_tokens(self.spans)}
        return {name: blocks for name, blocks in both.items() if blocks}

    @property
    def seconds(self) -> float:
        """Wall seconds from its beginning to its end, or to what was written last."""
        last = max((self.ended_at, *(trial.began_at for trial in self.trials)))
        return max(0.0, seconds_at(last) - seconds_at(self.created_at)) if last else 0.0


def view_of(
    records: Sequence[Record], *, lessons: Mapping[str, str], bodies: Mapping[str, Candidate] | None = None
) -> EpisodeView:
    """Puts an episode's records together.

    Args:
        records: the episode's, in the order in which they were written.
        lessons: texts of the lessons that it was given, by id, as far as they are there.
        bodies: candidates by digest; needed for the steps of a world alone.

    Raises:
        ValueError: they hold no beginning of an episode.
    """
    episode = next((r for r in records if isinstance(r, EpisodeRecord)), None)
    if episode is None:
        raise ValueError("these records hold no beginning of an episode")
    end = next((r for r in reversed(records) if isinstance(r, EpisodeEnd)), None)
    trials: dict[int, TrialView] = {}
    calls = {r.intent_id: r for r in records if isinstance(r, ModelCall)}
    gates = {r.signal_id: r for r in records if isinstance(r, Admission)}
    whys = {(r.trial, r.lesson_id): r for r in records if isinstance(r, Recall)}
    signals: dict[str, list[SignalView]] = {}
    for record in records:
        if isinstance(record, Signal) and record.origin is not Origin.RULE:
            signals.setdefault(record.candidate_digest, []).append(signal_of(record, gates.get(record.id)))
    for record in records:
        number = getattr(record, "trial", None)
        if not isinstance(number, int):
            continue
        trial = trials.setdefault(number, TrialView(number))
        match record:
            case TrialRecord():
                trial.began_at, trial.escalation = record.created_at, record.escalation
                for rank, lesson in enumerate(record.lessons, 1):
                    recall = whys.get((number, lesson)) or Recall(
                        episode_id=episode.id, trial=number, lesson_id=lesson, rank=rank
                    )
                    trial.lessons.append(Given(lesson, recall.rank, recall.why, lessons.get(lesson, "")))
            case TrialEnd():
                trial.verdict = str(record.verdict)
            case CandidateRecord():
                is_best = bool(end and end.best_candidate == record.digest)
                trial.candidates.append(
                    CandidateView(
                        record.digest, number, record.actor, record.note, record.edits, is_best,
                        signals.get(record.digest, ()),
                    )
                )  # fmt: skip
            case Signal(origin=Origin.RULE):
                trial.rules.append(record.evidence.detail)
            case Intent(kind="model_call"):
                trial.calls.append(call_of(record, calls.get(record.id)))
            case Intent() if said := remark_of(record):
                trial.notes.append(said)
            case ProgramRun():
                trial.programs.append(program_of(record))
            case ReflectionRecord():
                trial.reflections.append(
                    ReflectionView(record.id, record.signal_id, record.by, record.text, record.raw)
                )
            case _:
                pass
    known = {c.digest for trial in trials.values() for c in trial.candidates}
    for digest, seen in signals.items():  # the base tree is judged, and nobody proposed it
        if digest not in known:
            first = next(r for r in records if isinstance(r, Signal) and r.candidate_digest == digest)
            trial = trials.setdefault(first.trial, TrialView(first.trial))
            trial.candidates.insert(0, CandidateView(digest, first.trial, "", "the task as it stands", (), False, seen))
    ordered = [trials[number] for number in sorted(trials)]
    worlds = {r.id: r for r in records if isinstance(r, Signal) and r.origin is Origin.ENVIRONMENT}
    is_world = bool(worlds) and ACTIONS in json.loads(episode.task or "{}").get("editable", ())
    if is_world:
        for trial in ordered:
            trial.scenes = list(scenes_of(trial, worlds, bodies or {}))
    made = [r for r in records if isinstance(r, ModelCall)]
    used = sum(call.prompt_tokens + call.completion_tokens for call in made)
    is_priced = not used or any(call.usd is not None for call in made)
    return EpisodeView(
        id=episode.id,
        run_id=episode.run_id,
        task_id=episode.task_id,
        family=episode.family,
        seed=episode.seed,
        created_at=episode.created_at,
        task=json.loads(episode.task or "{}"),
        base_digest=episode.base_digest,
        verdict=str(end.verdict) if end else "open",
        stop_reason=str(end.stop_reason) if end else "",
        detail=end.detail if end else "",
        ended_at=end.created_at if end else "",
        best_candidate=end.best_candidate if end else "",
        trials=ordered,
        matrix=matrix_of(ordered, {r.id: r for r in records if isinstance(r, Signal)}),
        spans=list(spans_of(records, episode.created_at)),
        account=account_of(records),
        tokens=used,
        usd=sum(call.usd or 0.0 for call in made) if is_priced else None,
        is_world=is_world,
    )


def candidates_to_read(records: Sequence[Record]) -> Mapping[str, str]:
    """Digest → artifact of the candidates that a world's steps are read from: the last one of each trial."""
    if not any(isinstance(r, Signal) and r.origin is Origin.ENVIRONMENT for r in records):
        return {}
    last = {r.trial: r for r in records if isinstance(r, CandidateRecord) and r.artifact}
    return {r.digest: r.artifact for r in last.values()}
