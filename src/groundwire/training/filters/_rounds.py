"""Rounds of self-training side by side: what was right, what was kept, and how much the answers differ.

A loop that trains on what it kept goes wrong in two ways: it keeps more and more of what is wrong (error avalanching,
arXiv 2309.08589), or all its answers become the same. Both show here before the model does.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from groundwire.training._answers import Answer, answers_of
from groundwire.training._schema import Row
from groundwire.training._trajectories import Trajectory
from groundwire.training.filters._agreement import said


def answer_entropy(votes: Counter[str]) -> float:
    """Entropy of the answers to one question, in nats; 0 where all are the same."""
    total = votes.total()
    return math.fsum(-count / total * math.log(count / total) for count in votes.values() if count)


@dataclass(frozen=True)
class Round:
    """One round.

    Args:
        run: its run.
        answers: that executed checks judged.
        accuracy: share of these that are right.
        acceptance: share of these that a written row is made of.
        disagreement: share that is not what most answers to its question say.
        distinct: different answers, of all questions together.
        entropy: of the answers to one question, in nats, mean over the questions.
        token_entropy: mean over the answers' tokens, in nats; None where none are stored.
    """

    run: str
    answers: int
    accuracy: float
    acceptance: float
    disagreement: float
    distinct: int
    entropy: float
    token_entropy: float | None


@dataclass
class _Count:
    right: int = 0
    turns: set[str] = field(default_factory=set[str])
    kept: set[str] = field(default_factory=set[str])
    votes: dict[str, Counter[str]] = field(default_factory=dict[str, Counter[str]])
    entropies: list[float] = field(default_factory=list[float])

    def take(self, answer: Answer) -> None:
        self.turns.add(answer.turn.id)
        self.right += answer.reward == 1.0
        self.votes.setdefault(answer.group, Counter())[said(answer.attempt)] += 1
        if answer.turn.entropy is not None:
            self.entropies.append(answer.turn.entropy)


class Rounds:
    """Refuses no row, and counts; put it behind all other filters.

    Args:
        trajectories: of all rounds.
        runs: the rounds' runs, in their order.
    """

    note = ""

    def __init__(self, trajectories: Iterable[Trajectory], runs: Sequence[str]) -> None:
        self._counts = {run: _Count() for run in runs}
        self._run_of: dict[str, str] = {}
        for trajectory in trajectories:
            for answer in answers_of(trajectory):
                if isinstance(answer, Answer) and trajectory.run in self._counts:
                    self._counts[trajectory.run].take(answer)
                    self._run_of[answer.turn.id] = trajectory.run

    def refuses(self, row: Row) -> str:
        """See `Filter`."""
        for turn in row.provenance.turns:
            if turn in self._run_of:
                self._counts[self._run_of[turn]].kept.add(turn)
        return ""

    def told(self) -> Sequence[Round]:
        """What each round came to; a round without judged answers ends the list."""
        found: list[Round] = []
        for run, count in self._counts.items():
            n = len(count.turns)
            if not n:
                break
            most = sum(max(votes.values()) for votes in count.votes.values())
            found.append(
                Round(
                    run=run,
                    answers=n,
                    accuracy=count.right / n,
                    acceptance=len(count.kept) / n,
                    disagreement=1 - most / n,
                    distinct=len({(q, a) for q, votes in count.votes.items() for a in votes}),
                    entropy=statistics.fmean(map(answer_entropy, count.votes.values())),
                    token_entropy=statistics.fmean(count.entropies) if count.entropies else None,
                )
            )
        return found
