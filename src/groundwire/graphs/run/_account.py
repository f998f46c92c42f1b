"""An account of an episode: what its ledger says about how well its verdicts were founded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from groundwire.core._records import Admission, CandidateRecord, EpisodeEnd, Intent, Record, ReflectionRecord
from groundwire.core._signals import NoVerdict, Origin, Signal, Verdict
from groundwire.graphs.run._acceptance import Ladder, TradeOff
from groundwire.graphs.run._gate import NAMED_ONLY

R = TypeVar("R")


@dataclass(frozen=True)
class WrittenTests:
    """Tests that a model wrote.

    Args:
        kept: how many judge.
        dropped: how many don't: they do not parse, say nothing, or fail on the reference.
        validated: True if a reference solution was run against them.
    """

    kept: int = 0
    dropped: int = 0
    validated: bool = False


@dataclass(frozen=True)
class Controlled:
    """Whether the checks could have failed that a PASS rests on, counted in cases (`core._signals.Controls`).

    Args:
        by: the tool node that gave the PASS.
        any: False where it has no controls: a plain command, or a PASS that nobody confirmed.
        changed_value: failed, as they had to, where an assertion expected another value.
        negation: failed where an assertion was negated: weaker.
        uncontrolled: nothing of theirs could be turned round.
        left_out: can't fail on the base tree either.
        passed: passed though they had to fail.
        cannot_fail: ids of the last two; hidden ones are never named.
    """

    by: str
    any: bool = False
    changed_value: int = 0
    negation: int = 0
    uncontrolled: int = 0
    left_out: int = 0
    passed: int = 0
    cannot_fail: tuple[str, ...] = ()


@dataclass(frozen=True)
class OwnWord:
    """How much of a PASS in two boxes is the candidate's own word (`core._signals.Crossings`).

    Args:
        by: the tool node that gave the PASS.
        own_equality: cases in which a comparison that the candidate's own code made decided something.
        of: all cases.
        cases: ids of the first; hidden ones are never named.
        classes: of the candidate, whose objects the assertions asked.
    """

    by: str
    own_equality: int
    of: int
    cases: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class VerdictAccount:
    """What an episode's verdicts rest on.

    Args:
        retries: judgings repeated because something around the candidate broke.
        rejudged: judgings repeated to find out whether a verdict holds.
        rejudged_s: wall seconds that these took.
        flaky: ids of cases that ended differently on the same candidate.
        non_discriminating: commands that never gave both verdicts.
        trade_offs: candidates that fix some cases and break others; none of them was accepted.
        standstill: why the loop was found not to move, each time.
        hidden_accesses: times the hidden tests were laid out.
        steering: of these, times after which something was still proposed or reflected on. More than 0 would mean that
            hidden tests steered.
        oracle: True if a signal used the answer key, or tests that a model wrote were checked against it.
        opinions: origins that count only where the graph names them (`human`, `other_model`) and that gave signals.
        written: tests that a model wrote, if any.
        disagrees: what these said of the candidate that is handed out all the same, since the user's tests passed it
            (`graphs.run.answer`); "" where they were content.
        isolated: False if anything was judged where it could reach the host's files.
        notes: how candidates were judged, where that was out of the ordinary.
        controls: of what was handed out, whether the checks that it passed could have failed.
        own_words: of what was handed out, where its own code had a say.
    """

    retries: int = 0
    rejudged: int = 0
    rejudged_s: float = 0.0
    flaky: tuple[str, ...] = ()
    non_discriminating: tuple[str, ...] = ()
    trade_offs: tuple[TradeOff, ...] = ()
    standstill: tuple[str, ...] = ()
    hidden_accesses: int = 0
    steering: int = 0
    oracle: bool = False
    opinions: tuple[str, ...] = ()
    written: WrittenTests | None = None
    disagrees: str = ""
    isolated: bool = True
    notes: tuple[str, ...] = ()
    controls: tuple[Controlled, ...] = ()
    own_words: tuple[OwnWord, ...] = ()


def account_of(records: Iterable[Record], trade_offs: Sequence[TradeOff] | None = None) -> VerdictAccount:
    """Draws up the account.

    Args:
        records: an episode's, in the order in which they were written.
        trade_offs: what its ladder found, where that is at hand.
    """
    told = list(records)
    # each is asked for its kind once
    signals, intents, ends = _of_kind(told, Signal), _of_kind(told, Intent), _of_kind(told, EpisodeEnd)
    judgings = [s for s in signals if s.origin is not Origin.RULE]
    again, after_none = _repeated(judgings)
    written = _written(intents)
    return VerdictAccount(
        retries=len(after_none),
        rejudged=len(again),
        rejudged_s=sum(s.duration_s for s in again),
        flaky=tuple(sorted({name for s in judgings for name in s.evidence.flaky})),
        non_discriminating=non_discriminating(judgings),
        trade_offs=_trade_offs(judgings) if trade_offs is None else tuple(trade_offs),
        standstill=tuple(s.evidence.detail for s in signals if s.origin is Origin.RULE),
        hidden_accesses=(accesses := sum(intent.kind == "hidden_access" for intent in intents)),
        steering=_steering(told) if accesses else 0,
        oracle=any(s.oracle for s in judgings) or bool(written and written.validated),
        opinions=tuple(sorted({str(s.origin) for s in judgings if s.origin in NAMED_ONLY})),
        written=written,
        disagrees=_disagreeing(judgings, intents, ends),
        isolated=all(s.sandbox.isolated for s in judgings if s.sandbox),
        notes=tuple(dict.fromkeys(s.evidence.note for s in judgings if s.evidence.note)),
        controls=_controlled(signals, ends),
        own_words=_own_words(signals, ends),
    )


def _of_kind(records: Sequence[Record], kind: type[R]) -> list[R]:
    return [record for record in records if isinstance(record, kind)]


class VerdictsGiven:
    """What commands have said, signal by signal: one that never gave both verdicts told nothing apart.

    Hidden tests judge only what passes the visible ones, so nothing follows from theirs.
    """

    def __init__(self) -> None:
        self._seen: dict[str, set[Verdict]] = {}

    def take(self, signals: Iterable[Signal]) -> None:
        """Looks at some more."""
        for signal in signals:
            if signal.verdict is not Verdict.NONE and signal.origin not in (Origin.HIDDEN_TESTS, Origin.RULE):
                self._seen.setdefault(" ".join(signal.command) or signal.issuer, set()).add(signal.verdict)

    @property
    def non_discriminating(self) -> tuple[str, ...]:
        """Commands that never gave both verdicts."""
        return tuple(sorted(command for command, verdicts in self._seen.items() if len(verdicts) == 1))


def non_discriminating(signals: Iterable[Signal]) -> tuple[str, ...]:
    """Commands that never gave both verdicts, so that their signals told nothing apart."""
    given = VerdictsGiven()
    given.take(signals)
    return given.non_discriminating


def _repeated(signals: Sequence[Signal]) -> tuple[list[Signal], list[Signal]]:
    """Signals about what had been judged in the same trial already: after a verdict, and after none."""
    last: dict[tuple[int, str, str], Signal] = {}
    after_verdict: list[Signal] = []
    after_none: list[Signal] = []
    for signal in signals:
        place = (signal.trial, signal.issuer, signal.candidate_digest)
        before = last.get(place)
        if before is not None:
            gave = before.verdict is not Verdict.NONE or before.reason is NoVerdict.FLAKY
            (after_verdict if gave else after_none).append(signal)
        last[place] = signal
    return after_verdict, after_none


def _trade_offs(signals: Iterable[Signal]) -> tuple[TradeOff, ...]:
    ladder = Ladder()
    for signal in signals:
        ladder.take(signal)
    return ladder.trade_offs


def _is_access(record: Record) -> bool:
    return isinstance(record, Intent) and record.kind == "hidden_access"


def _steering(records: Sequence[Record]) -> int:
    """Accesses to the hidden tests with a proposal, a reflection or an opened gate behind them."""
    steered = 0
    later = False
    for record in reversed(records):
        if _is_access(record):
            steered += later
        elif isinstance(record, CandidateRecord | ReflectionRecord):
            later = True
        elif isinstance(record, Admission):
            later = later or record.admitted
    return steered


def _disagreeing(judgings: Sequence[Signal], intents: Sequence[Intent], ends: Sequence[EpisodeEnd]) -> str:
    """What the tests that a model wrote said of what was handed out; the last word on it counts."""
    passed = [end for end in ends if end.verdict is Verdict.PASS]
    given = passed[-1].best_candidate if passed else ""
    kept = [intent for intent in intents if intent.kind == "stands" and intent.digest == given]
    if not given or not kept:
        return ""
    weaker = json.loads(kept[-1].body)["issuer"]
    about = [s for s in judgings if (s.trial, s.issuer, s.candidate_digest) == (kept[-1].trial, weaker, given)]
    return about[-1].evidence.detail if about and about[-1].verdict is Verdict.FAIL else ""


def _handed_out(ends: Sequence[EpisodeEnd]) -> str:
    """Digest of the candidate that passed in the end; empty where none did."""
    return next((e.best_candidate for e in reversed(ends) if e.best_candidate and e.verdict is Verdict.PASS), "")


def _controlled(signals: Sequence[Signal], ends: Sequence[EpisodeEnd]) -> tuple[Controlled, ...]:
    """The controls of what was handed out, by the tools that it passed; and of what was refused for want of them."""
    given = _handed_out(ends)
    found: dict[str, Controlled] = {}
    for signal in signals:
        controls = signal.evidence.controls
        if controls is not None and given in ("", signal.candidate_digest):
            found[signal.issuer] = Controlled(signal.issuer, any=True, **controls.model_dump())
        elif signal.candidate_digest == given and signal.verdict is Verdict.PASS:
            found.setdefault(signal.issuer, Controlled(signal.issuer))
    return tuple(found.values())


def _own_words(signals: Sequence[Signal], ends: Sequence[EpisodeEnd]) -> tuple[OwnWord, ...]:
    """Of what was handed out, by the tools that it passed; the last look counts."""
    given = _handed_out(ends)
    passes = [s for s in signals if s.verdict is Verdict.PASS and s.candidate_digest == given]
    last = {signal.issuer: signal for signal in passes}
    return tuple(
        OwnWord(by, **signal.evidence.crossings.model_dump(), of=len(signal.evidence.cases))
        for by, signal in last.items()
        if signal.evidence.crossings is not None
    )


def _written(intents: Iterable[Intent]) -> WrittenTests | None:
    bodies = [json.loads(intent.body) for intent in intents if intent.kind == "model_tests"]
    if not bodies:
        return None
    return WrittenTests(
        kept=sum(len(b["cases"]) for b in bodies),
        dropped=sum(len(b["dropped"]) for b in bodies),
        validated=any(b["validated"] for b in bodies),
    )
