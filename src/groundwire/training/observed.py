"""What was observed and said about candidates: signals, rewards, reflections, and who was shown these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from groundwire.core.records import ReflectionRecord
from groundwire.core.signals import NoVerdict, Signal, Verdict
from groundwire.training.trajectories import Author, Remark, Seal, Seen, Trial, Turn

__all__ = ["remark_of", "rewarded", "seen_of", "with_visibility"]


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
