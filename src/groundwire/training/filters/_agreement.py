"""Rows whose answers agree: a filter where nobody can check, and a weak one (SECToR, arXiv 2309.08589).

Random errors seldom agree, so agreement removes them. An error that is always made agrees with itself, so agreement
keeps it. SECToR's two filters are the same question: its K = 5 guesses, each after one more step of simplification, are
five answers to one question; a + b and b + a are two questions with one answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundwire.core._errors import ConfigError
from groundwire.core._signals import canonical
from groundwire.core._text import lines_of
from groundwire.training._schema import Row
from groundwire.training._trajectories import Attempt, Trajectory, Turn

K = 5
"""Guesses that SECToR compares."""
NOTE = (
    "consistency ≠ verification: agreement removes errors that differ and keeps those that are always made"
    " (arXiv 2309.08589)"
)


def agreed(answers: Sequence[str | None], least: float = 1.0) -> str | None:
    """The answer that at least a share of all answers gave; None where there is none, or another has as many votes.

    Args:
        answers: normalised; None where nothing was answered, which agrees with nothing.
        least: the share, 0 to 1.
    """
    votes = Counter(answer for answer in answers if answer is not None).most_common(2)
    if not votes or votes[0][1] / len(answers) < least or (len(votes) > 1 and votes[0][1] == votes[1][1]):
        return None
    return votes[0][0]


def said(attempt: Attempt) -> str:
    """What an answer comes to, as a digest: the files that it makes, whatever their outer white space."""
    changes = [[change.path, change.deleted, (change.content or "").strip()] for change in attempt.changes]
    return hashlib.sha256(canonical(sorted(changes)).encode()).hexdigest()[:32]


def made_of(trajectory: Trajectory) -> Iterator[tuple[Attempt, Turn]]:
    """Each answer of a model, behind the candidate that it made, judged or not."""
    turns = {turn.id: turn for turn in trajectory.turns}
    for attempt in trajectory.attempts:
        for turn_id in (attempt.turn, *attempt.twins):
            if turn_id in turns:
                yield attempt, turns[turn_id]


def _question(trajectory: Trajectory, turn: Turn) -> str:
    asked = [trajectory.task, turn.prompt_digest, turn.model.name, turn.model.revision]
    return hashlib.sha256(canonical(asked).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Agreement:
    """Keeps rows whose answer most answers of the same model to the same question agree with.

    Of a row with several answers one must agree. Verdicts have no part in it.

    Args:
        least: share of the answers, 0 to 1.
        least_answers: a question with fewer answers has no agreement.
        shares: by `Turn.id`, share and number of answers.
    """

    least: float
    least_answers: int
    shares: dict[str, tuple[float, int]] = field(repr=False)
    note: str = NOTE

    @classmethod
    def of(cls, trajectories: Iterable[Trajectory], least: float, least_answers: int = K) -> Agreement:
        """Counts the answers.

        Args:
            trajectories: those that rows will be made of.
            least: see the class.
            least_answers: see the class.

        Raises:
            ConfigError: a number is out of range.
        """
        if not 0 < least <= 1 or least_answers < 2:
            raise ConfigError(
                f"Agreement of {least} among {least_answers} answers can't be asked for.",
                do="Ask for a share above 0 and up to 1, among at least 2 answers.",
            )
        votes: dict[str, Counter[str]] = {}
        given: dict[str, tuple[str, str]] = {}
        for trajectory in trajectories:
            for attempt, turn in made_of(trajectory):
                question, answer = _question(trajectory, turn), said(attempt)
                votes.setdefault(question, Counter())[answer] += 1
                given[turn.id] = question, answer
        shares = {
            turn: (votes[question][answer] / votes[question].total(), votes[question].total())
            for turn, (question, answer) in given.items()
        }
        return cls(least, least_answers, shares)

    def refuses(self, row: Row) -> str:
        """See `Filter`."""
        known = [self.shares[turn] for turn in row.provenance.turns if turn in self.shares]
        if max((n for _, n in known), default=0) < self.least_answers:
            return "too_few_answers"
        agrees = any(share >= self.least and n >= self.least_answers for share, n in known)
        return "" if agrees else "answers_disagree"


class _Same(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tasks: tuple[str, ...] = Field(min_length=2)


def read_same_answers(path: Path) -> Sequence[tuple[str, ...]]:
    """Sets of tasks that have one answer, as a + b and b + a have, out of a file of JSON lines.

    Raises:
        ConfigError: a line is none of the kind.
        RecordingError: the file can't be read.
    """
    found: list[tuple[str, ...]] = []
    for number, line in lines_of(path):
        if line.strip():
            try:
                found.append(_Same.model_validate_json(line).tasks)
            except ValidationError as error:
                raise ConfigError(
                    f"{path}:{number} names no tasks: {error.errors()[0]['msg']}.",
                    do='Write JSON lines like {"tasks": ["12+30", "30+12"]}.',
                ) from error
    return found


@dataclass(frozen=True)
class SameAnswer:
    """Keeps rows of tasks with one answer only where most answers to each of these tasks say the same as the row's.

    Rows of other tasks pass.

    Args:
        sets: tasks that have one answer.
        right: by task of a set, the answer that all of the set agree on, as `said` has it; None: there is none.
        given: by `Turn.id`, what the answer says.
    """

    sets: Sequence[tuple[str, ...]]
    right: dict[str, str | None] = field(repr=False)
    given: dict[str, str] = field(repr=False)
    note: str = NOTE

    @classmethod
    def of(cls, trajectories: Iterable[Trajectory], sets: Sequence[tuple[str, ...]]) -> SameAnswer:
        """Counts the answers."""
        votes: dict[str, list[str]] = {task: [] for tasks in sets for task in tasks}
        given: dict[str, str] = {}
        for trajectory in trajectories:
            if trajectory.task in votes:
                for attempt, turn in made_of(trajectory):
                    given[turn.id] = said(attempt)
                    votes[trajectory.task].append(given[turn.id])
        right: dict[str, str | None] = {}
        for tasks in sets:
            common = agreed([agreed(votes[task], 0.0) for task in tasks])
            for task in tasks:
                right[task] = common if right.get(task, common) == common else None
        return cls(sets, right, given)

    def refuses(self, row: Row) -> str:
        """See `Filter`."""
        task = row.provenance.task
        if task not in self.right:
            return ""
        common = self.right[task]
        agrees = common is not None and any(self.given.get(turn) == common for turn in row.provenance.turns)
        return "" if agrees else "same_answer_expected"
