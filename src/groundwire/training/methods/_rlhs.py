"""Ratings that were given after the outcome was known: RLHS, hindsight feedback (arXiv 2501.08617).

Who rates an answer before seeing what comes of it rates how well it reads. So a rating is taken only once the outcome
is set, and carries both times:

    asked = Hindsight()
    asked.rate(True, at=now(), by="anna")        refused: nobody knows yet what came of it
    asked.set_outcome(0.0, at=now(), by="test")
    asked.rate(False, at=now(), by="anna")       Rated(label=False, outcome=0.0, outcome_at=…, rated_at=…)

The outcome here is what executed checks said of a candidate; a rating is a person's or another model's verdict on the
same one (`tools.Person`, reviewers), and one that was given first is no row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from groundwire.core._errors import ConfigError
from groundwire.core._signals import Origin, Verdict
from groundwire.training._answers import Answer, answers_of
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Seal, Seen, Trajectory

RATERS = frozenset({Origin.HUMAN, Origin.OTHER_MODEL})


@dataclass(frozen=True)
class Rated:
    """A rating in hindsight.

    Args:
        label: what was said: good or not.
        by: who said it.
        rated_at: when, ISO 8601.
        outcome: what had come of it by then, 0 to 1.
        outcome_by: who or what told that.
        outcome_at: when, ISO 8601; not after `rated_at`.
    """

    label: bool
    by: str
    rated_at: str
    outcome: float
    outcome_by: str
    outcome_at: str


@dataclass(frozen=True)
class _Outcome:
    value: float
    at: str
    by: str


class Hindsight:
    """Takes ratings of one answer, and none before its outcome is set."""

    def __init__(self) -> None:
        self._outcome: _Outcome | None = None

    def set_outcome(self, value: float, *, at: str, by: str) -> None:
        """Says what came of the answer, once.

        Args:
            value: 0 to 1.
            at: when that was known, ISO 8601 with its offset from UTC.
            by: who or what told it.

        Raises:
            ConfigError: it is set already, out of range, or the time can't be read.
        """
        if self._outcome is not None:
            raise ConfigError("The outcome is set already.", do="Make a new Hindsight for another answer.")
        if not 0 <= value <= 1:
            raise ConfigError(f"An outcome of {value} is out of range.", do="Use a number from 0 to 1.")
        _time(at)
        self._outcome = _Outcome(value, at, by)

    def rate(self, label: bool, *, at: str, by: str) -> Rated:
        """Takes a rating.

        Args:
            label: good or not.
            at: when it was given, ISO 8601 with its offset from UTC.
            by: who gives it.

        Raises:
            ConfigError: the outcome is not set, or was known only after the rating; or the time can't be read.
        """
        outcome = self._outcome
        if outcome is None:
            raise ConfigError("No rating is taken before the outcome is known.", do="Call set_outcome(…) first.")
        if _time(at) < _time(outcome.at):
            raise ConfigError(
                f"This rating is of {at}, and the outcome was known only at {outcome.at}.", do="Ask for it again."
            )
        return Rated(label, by, at, outcome.value, outcome.by, outcome.at)


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"This is no time: {text!r:.60}.", do="Write it as 2026-01-31T12:00:00+00:00.") from error
    if time.tzinfo is None:
        raise ConfigError(f"This time has no offset from UTC: {text}.", do="Write it as 2026-01-31T12:00:00+00:00.")
    return time


class RlhsRow(Row):
    """One rating."""

    told = ("label", "agrees")

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    completion: tuple[ChatMessage, ...]
    """The answer."""
    label: bool
    """What was said of it in hindsight."""
    rated_by: str
    """The node that asked whoever rated."""
    rater: Origin
    """`human` or `other_model`."""
    rating: str
    """Id of the sealed signal that is the rating."""
    rated_at: str
    """When it was given, ISO 8601."""
    outcome: float
    """What had come of the answer: 1.0 or 0.0, by executed checks alone."""
    outcome_by: str
    """The nodes that told it."""
    outcome_at: str
    """When the last of them had, ISO 8601; not after `rated_at`."""
    agrees: bool
    """True where the rating says what the outcome says."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row for each rating that was given after the outcome was known."""
    for trajectory in trajectories:
        for answer in answers_of(trajectory):
            if isinstance(answer, Rejected):
                yield answer
                continue
            where = f"{trajectory.episode} trial {answer.attempt.trial}"
            ratings = [signal for signal in answer.attempt.signals if _is_rating(signal)]
            if not ratings:
                yield Rejected("not_rated", where)
            for rating in ratings:
                yield _row_of(answer, rating, where, options)


def _is_rating(signal: Seen) -> bool:
    return signal.origin in RATERS and signal.verdict is not Verdict.NONE and signal.seal is not Seal.BROKEN


def _row_of(answer: Answer, rating: Seen, where: str, options: Options) -> Row | Rejected:
    known = [signal for signal in answer.judged.signals if signal.id in answer.judged.rewarded_by]
    last = max(known, key=lambda signal: signal.at)
    asked = Hindsight()
    asked.set_outcome(answer.reward, at=last.created_at, by=", ".join(dict.fromkeys(signal.issuer for signal in known)))
    # of two signals of the same millisecond the ledger's order tells which came first
    if rating.at < last.at:
        return Rejected("rated_before_the_outcome", where)
    try:
        rated = asked.rate(rating.verdict is Verdict.PASS, at=rating.created_at, by=rating.issuer)
    except ConfigError:
        return Rejected("rated_before_the_outcome", where)
    parts = (*answer.prompt_parts, *answer.completion_parts("completion[0]"))
    return RlhsRow(
        provenance=provenance_of([answer.source], parts, options, turns=[answer.turn]),
        prompt=answer.prompt,
        completion=(answer.completion,),
        label=rated.label,
        rated_by=rated.by,
        rater=rating.origin,
        rating=rating.id,
        rated_at=rated.rated_at,
        outcome=rated.outcome,
        outcome_by=rated.outcome_by,
        outcome_at=rated.outcome_at,
        agrees=rated.label == (rated.outcome == 1.0),
    )


FORM = Form(
    name="rlhs",
    row=RlhsRow,
    make=rows,
    about="Ratings that were given after the outcome was known, with both times: RLHS (arXiv 2501.08617).",
)
