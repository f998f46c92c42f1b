"""What an episode knows so far: a view of its ledger records, rebuilt from them after a crash."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import islice
from typing import TypeVar, cast, overload

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Coverage, Judged
from groundwire.core._errors import RecordNotFound
from groundwire.core._records import (
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
from groundwire.core._signals import NoVerdict, Origin, Signal, Verdict
from groundwire.graphs.run._acceptance import Case, judged_by
from groundwire.graphs.run._gate import GateKind

# How many of the tokens that models wrote had to wait for one another: B_seq beside B_total (arXiv 2510.01123).


class TokensWritten:
    """Completion tokens of one episode, counted from its ledger.

    Calls of one trial whose purpose names the same phase (`propose.2`) were made side by side; all others one after
    another, which is the most that their waiting can have come to. Answers taken from an earlier record count nothing.

    Args:
        records: the episode's; others can be added.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.total = 0
        """Of all calls together, which is what is paid for."""
        self._alone = 0
        self._longest: dict[tuple[int, str], int] = {}
        for record in records:
            if isinstance(record, ModelCall):
                self.add(record)

    @property
    def critical(self) -> int:
        """Of calls that wait for one another, which is what is waited for."""
        return self._alone + sum(self._longest.values())

    def add(self, call: ModelCall) -> None:
        """Counts one more call."""
        self.total += call.completion_tokens
        if "." in call.purpose:
            phase = (call.trial, call.purpose)
            self._longest[phase] = max(self._longest.get(phase, 0), call.completion_tokens)
        else:
            self._alone += call.completion_tokens


# What grows by one with each step, handed out as it is now: nothing is copied, and nobody's view of it changes.

T = TypeVar("T")


class ListSlice(Sequence[T]):
    """A part of a list that only ever grows at its end.

    Args:
        whole: the list.
        start: index of the first item.
        stop: index behind the last one.
    """

    __slots__ = ("_start", "_stop", "_whole")

    def __init__(self, whole: Sequence[T], start: int, stop: int) -> None:
        self._whole = whole
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...

    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        places = range(self._start, self._stop)[index]
        return self._whole[places] if isinstance(places, int) else tuple([self._whole[i] for i in places])

    def __iter__(self) -> Iterator[T]:
        return map(self._whole.__getitem__, range(self._start, self._stop))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(cast("Sequence[object]", other))

    def __repr__(self) -> str:
        return repr(tuple(self))

    __hash__ = None  # pyright: ignore[reportAssignmentType]  as a list: two that are equal may be told apart later


class FirstKeys(Set[str]):
    """The first keys of a mapping that only ever gets new ones.

    Args:
        numbers: each key's number, in the order in which they came.
        count: how many there are now.
    """

    __slots__ = ("_count", "_numbers")

    def __init__(self, numbers: Mapping[str, int], count: int) -> None:
        self._numbers = numbers
        self._count = count

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._numbers.get(key, self._count) < self._count

    def __iter__(self) -> Iterator[str]:
        # at once: others may come before the last of them is looked at
        return iter(tuple(islice(self._numbers, self._count)))

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return repr(set(self))

    @classmethod
    def _from_iterable(cls, it: Iterable[str]) -> frozenset[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return frozenset(it)


class JudgedSoFar:
    """What was judged, in order, trial by trial; of several looks of one tool at one candidate the last counts."""

    def __init__(self) -> None:
        self._all: list[Judged] = []
        self._places: dict[tuple[int, str, str], int] = {}
        self._ends: dict[int, tuple[int, int]] = {}
        """By trial: where it begins and ends."""
        self._last = 0

    def add(self, judged: Judged) -> None:
        """One more signal with its candidate."""
        signal = judged.signal
        key = (signal.trial, signal.issuer, signal.candidate_digest)
        place = self._places.get(key)
        if place is not None:
            # those who hold a part keep what they were given
            self._all = [*self._all[:place], judged, *self._all[place + 1 :]]
            return
        if signal.trial < self._last:
            self._insert(judged)
            return
        begin, _ = self._ends.get(signal.trial, (len(self._all), 0))
        self._places[key] = len(self._all)
        self._all.append(judged)
        self._ends[signal.trial] = (begin, len(self._all))
        self._last = signal.trial

    def of(self, trial: int) -> Sequence[Judged]:
        """One trial's."""
        return ListSlice(self._all, *self._ends.get(trial, (0, 0)))

    def until(self, trial: int) -> Sequence[Judged]:
        """Those of all trials up to and with that one."""
        if trial >= self._last:
            return ListSlice(self._all, 0, len(self._all))
        return ListSlice(
            self._all, 0, max((end for known, (_, end) in self._ends.items() if known <= trial), default=0)
        )

    def _insert(self, judged: Judged) -> None:
        """A trial before the last one is judged once more, by a tool that has the last word."""
        everything = sorted([*self._all, judged], key=lambda j: j.signal.trial)
        self._all, self._places, self._ends, self._last = [], {}, {}, 0
        for each in everything:
            self.add(each)


# What an episode knows so far: a view of its ledger records, rebuilt from them after a crash.

LookKey = tuple[int, str, str]
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
        self.passes_on_record: list[Intent] = []
        """Candidates that stand, whatever tests that a model wrote say of them (`graphs.run.answer`)."""
        self.flaky: dict[tuple[str, ...], frozenset[str]] = {}
        """Cases that ended differently on one candidate, by what judged them."""
        self.refined: dict[str, list[Signal]] = {}
        """Signals that opened `refine`, by the tool node that they come from."""
        self.improved_in: set[int] = set()
        """Trials that brought a better candidate than any before."""
        self._looks: dict[LookKey, list[Signal]] = {}
        self._steady: dict[Case, LookKey] = {}
        self.admissions: dict[str, Admission] = {}
        self.opened: set[str] = set()
        self.reflections: dict[str, ReflectionRecord] = {}
        self.lessons: dict[int, tuple[str, ...]] = {}
        self.begun_before: set[int] = set()
        """Trials that an earlier process had begun."""
        self.contradictions: dict[int, Intent] = {}
        """By trial: what an actor said of a test in the place of candidates."""
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
                self.passes_on_record.append(record)
            case Intent(kind="contradiction"):
                self.contradictions[record.trial] = record
            case Intent(kind="act"):
                self.acts.add((record.trial, record.digest, record.body))
            case Intent(kind="doubt"):
                self.doubted.add(record.digest)
            case _:
                pass

    def _look(self, signal: Signal) -> None:
        place = (signal.trial, signal.issuer, signal.candidate_digest)
        earlier = self._looks.setdefault(place, [])
        measure = judged_by(signal)
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
        measure, place = judged_by(signal), (signal.trial, signal.issuer, signal.candidate_digest)
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

    def judged_hidden(self, trial: int) -> frozenset[str]:
        """The digests of a trial's candidates that hidden tests judged."""
        signals = (self.signals[i] for i in self.judged_in.get(trial, ()))
        return frozenset(s.candidate_digest for s in signals if s.origin is Origin.HIDDEN_TESTS)

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


_TEXTS = (Artifact, ModelCall, ProgramRun)


def _holds_texts(record: Record) -> bool:
    """True for prompts, answers and bodies, which nobody asks this view for."""
    if isinstance(record, Intent):
        return record.kind in ("model_call", "program")
    return isinstance(record, _TEXTS)
