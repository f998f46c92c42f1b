"""What an episode knows so far: a view of its ledger records, rebuilt from them after a crash."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence, Set

from groundwire.contexts import Coverage, Judged
from groundwire.errors import RecordNotFound
from groundwire.graphs.acceptance import Case, yardstick
from groundwire.graphs.critical_path import TokensWritten
from groundwire.graphs.gate import GateKind
from groundwire.graphs.growing import FirstKeys, JudgedSoFar
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
        self._step_at: dict[tuple[int, str], int] = {(0, base.digest): 0}
        self._numbers: dict[str, int] = {base.digest: 0}
        self._judged = JudgedSoFar()
        self._fails: dict[str, set[tuple[int, str]]] = {}
        """By tool node: what it has failed since it last said "go on"."""
        self._refinements: Counter[Origin] = Counter()
        self._reflection_on: dict[str, ReflectionRecord] = {}
        self._admission_of: dict[str, Admission] = {}
        self.acts: set[tuple[int, str, str]] = set()
        """Trial, candidate and body of judgings that were begun and can't be undone."""
        self.doubted: set[str] = set()
        """Digests of candidates that passed, and may be wrong all the same."""
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
            self._numbers.setdefault(candidate.digest, len(self._numbers))

    def add(self, record: Record) -> None:
        """Adds one record; a candidate's body must have been kept before."""
        if not _holds_texts(record):
            self.records.append(record)
        if isinstance(record, ModelCall):
            self.tokens_written.add(record)
        match record:
            case CandidateRecord():
                if (record.trial, record.digest) not in self._step_at:
                    self.proposed.setdefault(record.trial, []).append(record.digest)
                    steps = self.steps.setdefault(record.trial, [[]])
                    steps[-1].append(record.digest)
                    self._step_at[record.trial, record.digest] = len(steps) - 1
            case Signal():
                self.signals[record.id] = record
                self.judged_in.setdefault(record.trial, []).append(record.id)
                if record.origin is not Origin.RULE:
                    self._look(record)
                    self._count_failure(record)
                    if record.origin is not Origin.HIDDEN_TESTS:
                        self._judged.add(self.judged(record))
            case Admission():
                self.admissions[record.id] = record
                if record.admitted:
                    self.opened.add(record.signal_id)
                    self._admission_of.setdefault(record.signal_id, record)
                    if record.edge == GateKind.ADVANCE:
                        self.steps.setdefault(record.trial, [[]]).append([])
                    self._note_refinement(record)
            case ReflectionRecord():
                self.reflections[record.id] = record
                self._reflection_on.setdefault(record.signal_id, record)
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
            case Intent(kind="act"):
                self.acts.add((record.trial, record.digest, record.body))
            case Intent(kind="doubt"):
                self.doubted.add(record.digest)
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

    def _count_failure(self, signal: Signal) -> None:
        failed = self._fails.setdefault(signal.issuer, set())
        if signal.reason is NoVerdict.GO_ON:
            failed.clear()
        elif signal.verdict is Verdict.FAIL:
            failed.add((signal.trial, signal.candidate_digest))

    def step_with(self, trial: int, digest: str) -> Sequence[str]:
        """All that was proposed in the step of a trial that proposed this candidate; empty where none did."""
        at = self._step_at.get((trial, digest))
        return () if at is None else self.steps[trial][at]

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

    def judged_of(self, trial: int) -> Sequence[Judged]:
        """What a trial's candidates came to, in the order in which they were first judged, but for hidden tests.

        Of several looks at one candidate the last counts. Signals of rules are no judging.
        """
        return self._judged.of(trial)

    def rule_of(self, trial: int, issuer: str) -> Signal | None:
        """The signal by which a rule found that trial to stand still, if one did."""
        signals = (self.signals[i] for i in self.judged_in.get(trial, ()))
        return next((s for s in signals if s.origin is Origin.RULE and s.issuer == issuer), None)

    def judged_until(self, trial: int) -> Sequence[Judged]:
        """What the episode judged up to and with `trial`, in order, but for hidden tests."""
        return self._judged.until(trial)

    def _note_refinement(self, admission: Admission) -> None:
        signal = self.signals.get(admission.signal_id)
        if signal is not None and admission.edge == GateKind.REFINE:
            self.refined.setdefault(signal.issuer, []).append(signal)
            self._refinements[signal.origin] += 1

    def refined_by(self, origin: Origin) -> int:
        """How many refinements signals of that origin have opened."""
        return self._refinements[origin]

    def failures_since_go_on(self, issuer: str) -> int:
        """Candidates that a tool node failed since it last said "go on", over all trials."""
        return len(self._fails.get(issuer, ()))

    def reflection_on(self, signal_id: str) -> ReflectionRecord | None:
        """The reflection that a signal caused, if there is one."""
        return self._reflection_on.get(signal_id)

    def admission_of(self, signal_id: str) -> Admission | None:
        """The admission that a signal opened, if it did."""
        return self._admission_of.get(signal_id)

    @property
    def base_was_judged(self) -> bool:
        """True if a tool gave a verdict on the tree as it stands."""
        return any(j.candidate.is_base and j.signal.verdict is not Verdict.NONE for j in self.judged_of(0))

    @property
    def tried(self) -> Set[str]:
        """Digests of every candidate proposed so far."""
        return FirstKeys(self._numbers, len(self._numbers))


def _failing(signal: Signal) -> frozenset[str]:
    return frozenset(case.id for case in signal.evidence.failed())


def _holds_texts(record: Record) -> bool:
    """True for prompts, answers and bodies, which nobody asks this view for."""
    if isinstance(record, Intent):
        return record.kind in ("model_call", "program")
    return isinstance(record, Artifact | ModelCall | ProgramRun)
