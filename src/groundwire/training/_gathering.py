"""From an episode's records to its trials: what each says, what was observed, which answer a candidate was made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any

from pydantic import ValidationError

from groundwire.core._environments import shown_in
from groundwire.core._errors import SealError
from groundwire.core._models import ToolCall, samples_in
from groundwire.core._records import (
    Admission,
    CandidateRecord,
    EpisodeEnd,
    EpisodeRecord,
    Intent,
    ModelCall,
    Record,
    ReflectionRecord,
    RunRecord,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._seal import Keys, verify
from groundwire.core._signals import NoVerdict, Origin, Signal, Verdict, canonical
from groundwire.core._signing import ED25519, PublicKey, signer
from groundwire.training._trajectories import (
    Attempt,
    Author,
    Change,
    Flaw,
    Problem,
    Remark,
    Seal,
    Seen,
    Trajectory,
    Trial,
    Turn,
)
from groundwire.training._turns import LedgerText, turns_of

# What was observed and said about candidates: signals, rewards, reflections, and who was shown these.


def seen_of(signal: Signal, at: int, seal: Seal) -> Seen:
    """What a signal says.

    Args:
        signal: the signal.
        at: its place among the episode's records.
        seal: what became of its seal.
    """
    stdout, stderr = signal.evidence.output
    return Seen(
        id=signal.id,
        at=at,
        trial=signal.trial,
        issuer=signal.issuer,
        origin=signal.origin,
        verdict=signal.verdict,
        reason=signal.reason,
        candidate=signal.candidate_digest,
        seal=seal,
        oracle=signal.oracle,
        partial=signal.partial,
        passed=len(signal.evidence.passed()),
        failed=tuple((case.id, case.message) for case in signal.evidence.failed()),
        detail=signal.evidence.detail,
        stdout=stdout,
        stderr=stderr,
        exit_code=signal.exit_code,
        isolation=signal.isolation,
        taken_from=signal.taken_from,
        created_at=signal.created_at,
    )


def remark_of(record: ReflectionRecord, at: int, *, by_a_model: bool) -> Remark:
    """What a reflection says; a person's where it is kept verbatim and no model distilled it, else a rule's.

    Args:
        record: the reflection.
        at: its place among the episode's records.
        by_a_model: True if the critic asked a model.
    """
    author = Author.MODEL if by_a_model else Author.HUMAN if record.raw else Author.ENV
    return Remark(
        id=record.id,
        at=at,
        trial=record.trial,
        signal=record.signal_id,
        candidate=record.candidate_digest,
        text=record.text,
        raw=record.raw,
        by=record.by,
        author=author,
    )


def rewarded(signals: Sequence[Seen]) -> tuple[float | None, tuple[str, ...]]:
    """A candidate's reward, and the ids of the signals that it rests on.

    Of several looks of one tool the last counts. Hidden tests, where they gave a verdict, decide alone; else any FAIL
    gives 0 and only a PASS of every tool gives 1. Opinions, rules and tests that a model wrote have no part in it.

    Args:
        signals: all that were minted about the candidate in one trial, in order.
    """
    last = {signal.issuer: signal for signal in signals if signal.executed and signal.reason is not NoVerdict.GO_ON}
    told = [signal for signal in last.values() if signal.verdict is not Verdict.NONE]
    deciding = [signal for signal in told if signal.hidden] or told
    if any(signal.verdict is Verdict.FAIL for signal in deciding):
        failed = tuple(signal.id for signal in deciding if signal.verdict is Verdict.FAIL)
        return 0.0, failed
    unsaid = any(signal.verdict is Verdict.NONE for signal in last.values() if not signal.hidden)
    if not deciding or (unsaid and not deciding[0].hidden):
        return None, ()
    return 1.0, tuple(signal.id for signal in deciding)


def with_visibility(trials: Sequence[Trial]) -> Iterator[Trial]:
    """The trials with what others than the actor wrote marked visible where an actor was shown it later."""
    shown = [
        (turn.at, "\n".join(message.content for message in turn.prompt))
        for trial in trials
        for turn in trial.turns
        if turn.part == "actor"
    ]
    for trial in trials:
        turns = tuple(
            turn
            if turn.part == "actor"
            else turn.model_copy(update={"visible": _was_shown(turn, trial.remarks, shown)})
            for turn in trial.turns
        )
        yield trial.model_copy(update={"turns": turns})


def _was_shown(turn: Turn, remarks: Sequence[Remark], shown: Sequence[tuple[int, str]]) -> bool:
    said = [remark.text for remark in remarks if remark.text.strip() and remark.text.strip() in turn.text]
    forms = {form for text in said for form in (text, escape(text, quote=False))}
    return any(at > turn.at and form in prompt for form in forms for at, prompt in shown)


# Which answer a candidate was made of. The ledger does not say it, so it is told by their order and their texts.

SHORTEST_LINE = 3
"""Characters; shorter lines say nothing."""


def linked(turns: Sequence[Turn], attempts: Sequence[Attempt]) -> Mapping[str, tuple[str, ...]]:
    """Digest of each attempt of one trial to the ids of the turns that it was made of, where that can be told.

    Where the actor said which samples of its call they are, those (`core._models.samples_in`). Else the answers since
    the candidates before are those in question; answers that say the same make the same candidate. As many different
    ones as candidates: in their order. Else one candidate is the last answer's, and several are those of the answers
    whose text holds most of their lines.
    """
    found: dict[str, tuple[str, ...]] = {}
    spoken = [turn for turn in turns if turn.loss]
    since = -1
    for batch in _batches(spoken, attempts):
        named = {attempt.digest: samples_in(attempt.note) for attempt in batch}
        if all(named.values()):
            call = [turn for turn in spoken if since < turn.at < batch[0].at]
            since = batch[0].at
            found |= {
                digest: tuple(call[sample].id for sample in samples if sample < len(call))
                for digest, samples in named.items()
            }
            continue
        asked = _together(turn for turn in spoken if since < turn.at < batch[0].at)
        since = batch[0].at
        last = [same for same in asked if asked[-1][-1].at == same[-1].at]
        made = next((answers for answers in (asked, last) if len(answers) == len(batch)), None)
        if made is not None:
            found |= {a.digest: tuple(turn.id for turn in same) for a, same in zip(batch, made, strict=True)}
        elif asked:
            found |= _by_text(asked, batch)
    return found


def _together(turns: Iterable[Turn]) -> list[list[Turn]]:
    """Answers that say the same, in the order in which each came first."""
    same: dict[tuple[str, tuple[ToolCall, ...]], list[Turn]] = {}
    for turn in turns:
        same.setdefault((turn.answer.strip(), turn.tool_calls), []).append(turn)
    return list(same.values())


def _batches(turns: Sequence[Turn], attempts: Sequence[Attempt]) -> list[list[Attempt]]:
    """Candidates that were proposed together: no answer came between them."""
    batches: list[list[Attempt]] = []
    for attempt in sorted((a for a in attempts if not a.base), key=lambda a: a.at):
        before = batches[-1][0].at if batches else -1
        if batches and not any(before < turn.at < attempt.at for turn in turns):
            batches[-1].append(attempt)
        else:
            batches.append([attempt])
    return batches


def _by_text(answers: Sequence[Sequence[Turn]], batch: Sequence[Attempt]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for attempt in batch:
        lines = {
            line.strip()
            for change in attempt.changes
            for line in (change.content or "").splitlines()
            if len(line.strip()) >= SHORTEST_LINE
        }
        shares = [sum(line in same[0].text for line in lines) for same in answers]
        best = max(shares)
        # two answers that fit as well can't be told apart
        if best and shares.count(best) == 1:
            found[attempt.digest] = tuple(turn.id for turn in answers[shares.index(best)])
    return found


# One pass over an episode's records: what each says of a trial, and what is missing or not as it was sealed.

FIRST_TRIAL = 1


@dataclass
class _Trial:
    """What the records say of one trial."""

    turns: list[Turn] = field(default_factory=list[Turn])
    proposed: dict[str, tuple[int, CandidateRecord | None]] = field(
        default_factory=dict[str, tuple[int, CandidateRecord | None]]
    )
    seen: dict[str, list[Seen]] = field(default_factory=dict[str, list[Seen]])
    remarks: list[Remark] = field(default_factory=list[Remark])
    begun: TrialRecord | None = None
    trigger: str = ""
    verdict: Verdict = Verdict.NONE


class Gathered:
    """One pass over an episode's records.

    Args:
        run: its run.
        episode: the episode.
        records: all of its records, in the order in which they were written.
        keys: where the run's key is.
    """

    def __init__(self, run: RunRecord, episode: EpisodeRecord, records: Sequence[Record], keys: Keys) -> None:
        self._run = run
        self._episode = episode
        self._config: dict[str, Any] = json.loads(run.config)
        self._problems: list[Problem] = []
        self._key = self._load(keys)
        self._trials: dict[int, _Trial] = {}
        self._known: list[LedgerText] = []
        self._intents: dict[str, Intent] = {}
        self._signals: dict[str, Seen] = {}
        self._candidates: dict[str, CandidateRecord] = {}
        self._base: set[str] = set()
        self._end: EpisodeEnd | None = None
        opened = ""
        for at, record in enumerate(records):
            match record:
                case TrialRecord():
                    trial = self._trial(record.trial)
                    trial.begun, trial.trigger, opened = record, opened, ""
                case Intent():
                    self._intents[record.id] = record
                case ModelCall():
                    self._call(record, at)
                case CandidateRecord():
                    self._candidates[record.digest] = record
                    self._trial(record.trial).proposed[record.digest] = (at, record)
                case Signal() if record.origin is not Origin.RULE:
                    self._signal(record, at)
                case Admission(admitted=True, edge="refine"):
                    opened = record.signal_id
                    if record.signal_id not in self._signals:
                        self.lacks(f"signal {record.signal_id}, which a gate admitted")
                case ReflectionRecord():
                    self._remark(record, at)
                case TrialEnd():
                    self._trial(record.trial).verdict = record.verdict
                case EpisodeEnd():
                    self._end = record
                case _:
                    pass

    # --- what is wrong

    def lacks(self, what: str) -> None:
        """A record names another one that is not there."""
        self._problems.append(Problem(flaw=Flaw.TRUNCATED, detail=f"the ledger lacks {what}"))

    def broken(self, why: str) -> None:
        """Something is not as it was sealed."""
        self._problems.append(Problem(flaw=Flaw.BROKEN_SEAL, detail=why))

    def _load(self, keys: Keys) -> bytes | None:
        try:
            return keys.load(self._run.id)
        except SealError as error:
            self._problems.append(Problem(flaw=Flaw.UNVERIFIED, detail=error.what))
            return None

    @cached_property
    def _public(self) -> PublicKey:
        """The run's public key, derived once: that takes as long as to verify a seal."""
        assert self._key is not None, "without a key nothing is verified"
        return signer(self._run.id, self._key).run

    def _seal(self, signal: Signal) -> Seal:
        if self._key is None:
            return Seal.UNVERIFIED
        try:
            verify(signal, self._public if signal.seal.startswith(ED25519) else self._key)
        except SealError as error:
            self.broken(error.what)
            return Seal.BROKEN
        return Seal.VERIFIED

    def _check_whole(self, trials: Sequence[Trial]) -> None:
        if self._end is None:
            self._problems.append(Problem(flaw=Flaw.TRUNCATED, detail="the episode has no end"))
        elif self._end.best_candidate and self._end.best_candidate not in self._candidates:
            self.lacks(f"candidate {self._end.best_candidate[:12]}…, which was the best")
        tried = [attempt for trial in trials for attempt in trial.attempts if not attempt.base]
        if all(attempt.reward is None and not attempt.failed for attempt in tried):
            detail = "no executed check gave a verdict on anything that was tried"
            self._problems.append(Problem(flaw=Flaw.NO_VERDICT, detail=detail))
        wrote = dict.fromkeys(turn.model for trial in trials for turn in trial.turns if turn.loss)
        if len(wrote) > 1:
            named = ", ".join(f"{model.name} ({model.revision})" for model in wrote)
            self._problems.append(Problem(flaw=Flaw.MIXED_REVISIONS, detail=f"more than one model wrote it: {named}"))

    # --- record by record

    def _trial(self, number: int) -> _Trial:
        return self._trials.setdefault(number, _Trial())

    def _call(self, call: ModelCall, at: int) -> None:
        intent = self._intents.get(call.intent_id)
        if intent is None and call.reused:
            # the request is with the call that was answered first, under another episode's intent
            intent = next((i for i in self._intents.values() if i.digest == call.request_digest), None)
        if intent is None:
            self.lacks(f"the request of model call {call.intent_id}")
            return
        files = Author.MODEL if self._candidates else Author.HUMAN
        revision = str(self._config.get("model_revision", ""))
        try:
            turns = list(turns_of(call, intent, at, known=self._known, files=files, revision=revision))
        except ValidationError:
            self.broken(f"Model call {call.intent_id} can't be read.")
            return
        oracle = any(seen.oracle for seen in self._signals.values())
        for turn in turns:
            self._know(turn.text, Author.MODEL, turn.part)
            privileged = turn.part != "actor" and oracle
            self._trial(call.trial).turns.append(turn.model_copy(update={"privileged": privileged}))

    def _signal(self, signal: Signal, at: int) -> None:
        seen = seen_of(signal, at, self._seal(signal))
        self._signals[signal.id] = seen
        trial = self._trial(signal.trial)
        trial.seen.setdefault(signal.candidate_digest, []).append(seen)
        record = self._candidates.get(signal.candidate_digest)
        if record is None:
            if signal.trial >= FIRST_TRIAL and signal.candidate_digest not in self._base:
                self.lacks(f"candidate {signal.candidate_digest[:12]}…, which was judged")
            else:
                self._base.add(signal.candidate_digest)
        trial.proposed.setdefault(signal.candidate_digest, (at, record))
        for text in (
            seen.detail,
            seen.stdout,
            shown_in(seen.stdout),
            seen.stderr,
            *(message for _, message in seen.failed),
        ):
            self._know(text, Author.ENV, "evidence")

    def _remark(self, record: ReflectionRecord, at: int) -> None:
        if record.signal_id not in self._signals:
            self.lacks(f"signal {record.signal_id}, which caused a reflection")
        asked = any(turn.part == "critic" and not turn.error for turn in self._trial(record.trial).turns)
        remark = remark_of(record, at, by_a_model=asked)
        self._trial(record.trial).remarks.append(remark)
        self._know(record.text, remark.author, "reflection")

    def _know(self, text: str, author: Author, what: str) -> None:
        if text:
            self._known.append(LedgerText(text, author, what))

    # --- all of it

    def bodies(self) -> Iterator[tuple[str, str]]:
        """Digests of the candidates that have a body, and of the artifact that it is in."""
        return ((record.digest, record.artifact) for record in self._candidates.values() if record.artifact)

    def trajectory(self, bodies: Mapping[str, Sequence[Change]]) -> Trajectory:
        """The whole, with the bodies of its candidates."""
        trials = tuple(with_visibility([self._finished(number, bodies) for number in sorted(self._trials)]))
        self._check_whole(trials)
        told: dict[str, Any] = json.loads(self._episode.task)
        first = next((t.prompt_digest for trial in trials for t in trial.turns if t.part == "actor"), "")
        asked = [self._episode.task_id, first or [told.get("prompt", ""), self._episode.base_digest]]
        config = self._config
        imported: dict[str, Any] = config.get("imported") or {}
        return Trajectory(
            run=self._run.id,
            graph=self._run.graph,
            version=self._run.version,
            episode=self._episode.id,
            task=self._episode.task_id,
            family=self._episode.family,
            prompt=str(told.get("prompt", "")),
            command=tuple(map(str, told.get("command", ()))),
            base_digest=self._episode.base_digest,
            seed=self._episode.seed,
            created_at=self._episode.created_at,
            group=hashlib.sha256(canonical(asked).encode()).hexdigest()[:32],
            trials=trials,
            verdict=self._end.verdict if self._end else Verdict.NONE,
            stop_reason=self._end.stop_reason if self._end else None,
            best=self._end.best_candidate if self._end else "",
            grounded=bool(config.get("grounded", True)),
            trust=tuple(map(str, config.get("trust", ()))),
            control=str(config.get("control", "")),
            imported=str(imported.get("name", "")),
            problems=tuple(dict.fromkeys(self._problems)),
        )

    def _finished(self, number: int, bodies: Mapping[str, Sequence[Change]]) -> Trial:
        trial = self._trials[number]
        attempts = [
            self._attempt(digest, at, number, record, trial.seen.get(digest, ()), bodies)
            for digest, (at, record) in trial.proposed.items()
        ]
        by = linked(trial.turns, attempts)
        return Trial(
            number=number,
            turns=tuple(trial.turns),
            attempts=tuple(_made_of(attempt, by.get(attempt.digest, ())) for attempt in attempts),
            remarks=tuple(trial.remarks),
            trigger=trial.trigger,
            lessons=trial.begun.lessons if trial.begun else (),
            escalation=trial.begun.escalation if trial.begun else 0,
            verdict=trial.verdict,
        )

    def _attempt(
        self,
        digest: str,
        at: int,
        number: int,
        record: CandidateRecord | None,
        seen: Sequence[Seen],
        bodies: Mapping[str, Sequence[Change]],
    ) -> Attempt:
        # the same candidate in another trial is as right or wrong: hidden tests judge it once in an episode
        elsewhere = [one.seen.get(digest, ()) for other, one in self._trials.items() if other != number]
        hidden = [signal for signals in elsewhere for signal in signals if signal.hidden]
        signals = (*seen, *hidden)
        reward, by = rewarded(signals)
        return Attempt(
            digest=digest,
            at=at,
            trial=number,
            base=record is None,
            actor=record.actor if record else "",
            edits=record.edits if record else (),
            note=record.note if record else "",
            changes=tuple(bodies.get(digest, ())),
            signals=signals,
            reward=reward,
            rewarded_by=by,
        )


def _made_of(attempt: Attempt, turns: Sequence[str]) -> Attempt:
    return attempt.model_copy(update={"turn": turns[0], "twins": tuple(turns[1:])}) if turns else attempt
