"""What an episode knows so far: a view of its ledger records, rebuilt from them after a crash."""

from __future__ import annotations

import json
from collections.abc import Iterable

from groundwire.contexts import Coverage, Judged
from groundwire.errors import RecordNotFound
from groundwire.graphs.acceptance import Case, yardstick
from groundwire.graphs.critical_path import TokensWritten
from groundwire.graphs.gate import GateKind
from groundwire.records import (
    Admission,
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    Intent,
    ModelCall,
    ProgramRun,
    Record,
    ReflectionRecord,
    TrialEnd,
    TrialRecord,
)
from groundwire.signals import NoVerdict, Origin, Signal, Verdict
from groundwire.trees import Candidate

__all__ = ["History"]

Place = tuple[int, str, str]
"""Trial, tool node and candidate: what may be looked at more than once."""


class History:
    """An index over one episode's records.

    Args:
        base: the empty candidate: the task's tree as it stands.
    """

    def __init__(self, base: Candidate) -> None:
        self.base = base
        self.candidates: dict[str, Candidate] = {base.digest: base}
        self.proposed: dict[int, list[str]] = {0: [base.digest]}
        self.steps: dict[int, list[list[str]]] = {0: [[base.digest]]}
        """The same, step by step: what was proposed after an admission to `advance` is the next step's."""
        self.signals: dict[str, Signal] = {}
        self.judged_in: dict[int, list[str]] = {}
        self.records: list[Record] = []
        """In their order, but for bodies, model calls and programs."""
        self.written: dict[str, Intent] = {}
        """The tests that a model wrote, by the tool node that asked for them."""
        self.standing: list[Intent] = []
        """Candidates that stand, whatever tests that a model wrote say of them (`graphs.standing`)."""
        self.flaky: dict[tuple[str, ...], frozenset[str]] = {}
        """Cases that ended differently on one candidate, by yardstick."""
        self.refined: dict[str, list[Signal]] = {}
        """Signals that opened `refine`, by the tool node that they come from."""
        self.improved_in: set[int] = set()
        """Trials that brought a better candidate than any before."""
        self._looks: dict[Place, list[Signal]] = {}
        self._steady: dict[Case, Place] = {}
        self.admissions: dict[str, Admission] = {}
        self.opened: set[str] = set()
        self.reflections: dict[str, ReflectionRecord] = {}
        self.lessons: dict[int, tuple[str, ...]] = {}
        self.begun_before: set[int] = set()
        """Trials that an earlier process had begun."""
        self.ended: set[int] = set()
        """Trials whose outcome is written."""
        self.models: dict[int, str] = {}
        """By trial: the model that proposed."""
        self.tokens_written = TokensWritten()
        self.answers: dict[tuple[int, str], list[ModelCall]] = {}
        self.ran: dict[tuple[int, str], list[ProgramRun]] = {}
        self.best: Judged | None = None
        self.coverage: Coverage | None = None
        self.end: EpisodeEnd | None = None

    def keep(self, candidates: Iterable[Candidate]) -> None:
        """Adds candidates' bodies."""
        for candidate in candidates:
            self.candidates.setdefault(candidate.digest, candidate)

    def add(self, record: Record) -> None:
        """Adds one record; a candidate's body must have been kept before."""
        if not _holds_texts(record):
            self.records.append(record)
        if isinstance(record, ModelCall):
            self.tokens_written.add(record)
        match record:
            case CandidateRecord():
                proposed = self.proposed.setdefault(record.trial, [])
                if record.digest not in proposed:
                    proposed.append(record.digest)
                    self.steps.setdefault(record.trial, [[]])[-1].append(record.digest)
            case Signal():
                self.signals[record.id] = record
                self.judged_in.setdefault(record.trial, []).append(record.id)
                if record.origin is not Origin.RULE:
                    self._look(record)
            case Admission():
                self.admissions[record.id] = record
                if record.admitted:
                    self.opened.add(record.signal_id)
                    if record.edge == GateKind.ADVANCE:
                        self.steps.setdefault(record.trial, [[]]).append([])
                    self._note_refinement(record)
            case ReflectionRecord():
                self.reflections[record.id] = record
            case TrialRecord():
                self.lessons.setdefault(record.trial, record.lessons)
            case TrialEnd():
                self.ended.add(record.trial)
            case ModelCall(error="") if record.purpose.partition(".")[0] == "propose":
                self.models[record.trial] = record.model
            case EpisodeEnd():
                self.end = record
            case Intent(kind="model_tests"):
                self.written[json.loads(record.body)["issuer"]] = record
            case Intent(kind="stands"):
                self.standing.append(record)
            case _:
                pass

    def _look(self, signal: Signal) -> None:
        place = (signal.trial, signal.issuer, signal.candidate_digest)
        earlier = self._looks.setdefault(place, [])
        measure = yardstick(signal)
        if signal.evidence.flaky:
            self.flaky[measure] = self.flaky.get(measure, frozenset()) | set(signal.evidence.flaky)
        for look in earlier:
            if look.verdict is Verdict.FAIL:
                for name in _failing(look) & _failing(signal):
                    self._steady.setdefault((measure, name), place)
        earlier.append(signal)

    def looks(self, trial: int, issuer: str, digest: str) -> tuple[Signal, ...]:
        """All signals of one tool node about one candidate in one trial, in order."""
        return tuple(self._looks.get((trial, issuer, digest), ()))

    def failed_before(self, signal: Signal) -> frozenset[str]:
        """The failing cases of the signal that have failed twice on one candidate before, outside of its own trial."""
        measure, place = yardstick(signal), (signal.trial, signal.issuer, signal.candidate_digest)
        return frozenset(name for name in _failing(signal) if self._steady.get((measure, name), place) != place)

    def signal(self, signal_id: str) -> Signal:
        """One signal of this episode.

        Raises:
            RecordNotFound: there is none.
        """
        try:
            return self.signals[signal_id]
        except KeyError:
            raise RecordNotFound(f"Episode has no signal {signal_id!r}.") from None

    def judged(self, signal: Signal) -> Judged:
        """A signal with the candidate it is about."""
        return Judged(self.candidates[signal.candidate_digest], signal)

    def judged_of(self, trial: int, issuer: str = "") -> tuple[Judged, ...]:
        """What a trial's candidates came to, in the order in which they were first judged.

        Of several looks at one candidate the last counts. Signals of rules are no judging.

        Args:
            trial: the trial.
            issuer: only that tool node's; without it, all but those of hidden tests.
        """
        newest: dict[tuple[str, str], Signal] = {}
        for signal in (self.signals[i] for i in self.judged_in.get(trial, ())):
            mine = signal.issuer == issuer if issuer else signal.origin is not Origin.HIDDEN_TESTS
            if mine and signal.origin is not Origin.RULE:
                newest[signal.issuer, signal.candidate_digest] = signal
        return tuple(self.judged(s) for s in newest.values())

    def rule_of(self, trial: int, issuer: str) -> Signal | None:
        """The signal by which a rule found that trial to stand still, if one did."""
        signals = (self.signals[i] for i in self.judged_in.get(trial, ()))
        return next((s for s in signals if s.origin is Origin.RULE and s.issuer == issuer), None)

    def judged_until(self, trial: int) -> tuple[Judged, ...]:
        """What the episode judged up to and with `trial`, in order, but for hidden tests."""
        return tuple(j for number in sorted(self.judged_in) if number <= trial for j in self.judged_of(number))

    def _note_refinement(self, admission: Admission) -> None:
        signal = self.signals.get(admission.signal_id)
        if signal is not None and admission.edge == GateKind.REFINE:
            self.refined.setdefault(signal.issuer, []).append(signal)

    def refined_by(self, origin: Origin) -> int:
        """How many refinements signals of that origin have opened."""
        return sum(signal.origin is origin for signals in self.refined.values() for signal in signals)

    def failures_since_go_on(self, issuer: str) -> int:
        """Candidates that a tool node failed since it last said "go on", over all trials."""
        failed: set[tuple[int, str]] = set()
        for signal in self.signals.values():
            if signal.issuer == issuer and signal.origin is not Origin.RULE:
                if signal.reason is NoVerdict.GO_ON:
                    failed.clear()
                elif signal.verdict is Verdict.FAIL:
                    failed.add((signal.trial, signal.candidate_digest))
        return len(failed)

    def reflection_on(self, signal_id: str) -> ReflectionRecord | None:
        """The reflection that a signal caused, if there is one."""
        return next((r for r in self.reflections.values() if r.signal_id == signal_id), None)

    def admission_of(self, signal_id: str) -> Admission | None:
        """The admission that a signal opened, if it did."""
        return next((a for a in self.admissions.values() if a.signal_id == signal_id and a.admitted), None)

    @property
    def base_was_judged(self) -> bool:
        """True if a tool gave a verdict on the tree as it stands."""
        return any(j.candidate.is_base and j.signal.verdict is not Verdict.NONE for j in self.judged_of(0))

    @property
    def tried(self) -> frozenset[str]:
        """Digests of every candidate proposed so far."""
        return frozenset(self.candidates)


def _failing(signal: Signal) -> frozenset[str]:
    return frozenset(case.id for case in signal.evidence.failed())


def _holds_texts(record: Record) -> bool:
    """True for prompts, answers and bodies, which nobody asks this view for."""
    if isinstance(record, Intent):
        return record.kind in ("model_call", "program")
    return isinstance(record, Artifact | ModelCall | ProgramRun)
