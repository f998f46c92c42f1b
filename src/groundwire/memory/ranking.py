"""The order in which lessons come back.

Four tiers, each before the next: what failed in the same way on the same task, then in its family, then the task's own,
then its family's. A task's own come newest first, as in Reflexion (arXiv 2303.11366). A family's are ranked by
reciprocal-rank fusion (Cormack et al., SIGIR 2009) of how new they are, of their words, their meaning and their frames
against what fails now, and of what they did for trials before. A lesson that no trial has gained from for long sinks,
since its place among the new ones is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

from groundwire.masking import mask
from groundwire.memory.policy import tokens_of
from groundwire.memory.usefulness import Standing
from groundwire.memory.words import terms_of

__all__ = ["Candidate", "Chooser", "Chosen", "Question", "fuse", "rank_family"]

FUSION = 60
"""Added to each rank before its reciprocal is taken; the value of the paper."""


@dataclass(frozen=True)
class Question:
    """What is asked of memory; see `groundwire.records.Store.recall`."""

    task_id: str
    family: str
    signature: str = ""
    frames: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    text: str = ""
    window: int = 3
    max_tokens: int = 2000

    @classmethod
    def of(
        cls,
        task_id: str,
        family: str,
        signature: str,
        frames: Sequence[str],
        text: str,
        window: int,
        max_tokens: int,
    ) -> Self:
        """The question, its keys masked as they were when they were written."""
        return cls(
            mask(task_id),
            mask(family),
            mask(signature),
            tuple(frames),
            terms_of(text),
            text,
            window,
            max_tokens,
        )

    @property
    def by_meaning(self) -> bool:
        """True where there is something to compare the meaning of."""
        return bool(self.family and self.text.strip())


@dataclass(frozen=True)
class Candidate:
    """A lesson that may come back.

    Args:
        number: its place in the ledger.
        id: its id.
        root: the first lesson that says the same.
        task_id: where it was learned.
        text: verbatim.
        fresh: place in the ledger of the last sign that it is worth something.
        frames: where the failure was that caused it.
        standing: what it did for trials.
    """

    number: int
    id: str
    root: str
    task_id: str
    text: str
    fresh: int
    frames: tuple[str, ...] = ()
    standing: Standing = field(default_factory=Standing)


@dataclass(frozen=True)
class Chosen:
    """A lesson that comes back, and why."""

    id: str
    number: int
    why: str


class Chooser:
    """Takes lessons, best first, until the window or the tokens are used up; what says the same is taken once.

    Args:
        question: the window and the tokens.
    """

    def __init__(self, question: Question) -> None:
        self.chosen: list[Chosen] = []
        self._window = question.window
        self._tokens = float(question.max_tokens)
        self._roots: set[str] = set()

    @property
    def full(self) -> bool:
        """True where no more is wanted."""
        return len(self.chosen) >= self._window

    def offer(self, candidates: Iterable[Candidate], why: Callable[[Candidate], str]) -> None:
        """Takes those that are new and fit, in their order, until full."""
        for candidate in candidates:
            if self.full:
                return
            tokens = tokens_of(candidate.text)
            if candidate.root in self._roots or tokens > self._tokens:
                continue
            self._roots.add(candidate.root)
            self._tokens -= tokens
            self.chosen.append(Chosen(candidate.id, candidate.number, why(candidate)))


def rank_family(
    candidates: Sequence[Candidate], question: Question, by_words: Sequence[int], by_meaning: Sequence[int]
) -> tuple[list[Candidate], Callable[[Candidate], str]]:
    """Candidates of one family, best first, and what to say of each.

    Args:
        candidates: in any order.
        question: what is asked.
        by_words: numbers of those that share words with the question, best first.
        by_meaning: numbers of those that have a vector, nearest first.
    """
    lists: dict[str, Mapping[int, int]] = {
        "new": _ranks(candidates, lambda c: c.fresh),
        "words": {number: rank for rank, number in enumerate(by_words, 1)},
        "meaning": {number: rank for rank, number in enumerate(by_meaning, 1)},
    }
    if question.frames:
        lists["frames"] = _ranks((c for c in candidates if _shared(c, question)), lambda c: _shared(c, question))
    if any(c.standing.trials for c in candidates):
        lists["useful"] = _ranks(candidates, lambda c: c.standing.effect)
    scores = fuse(lists.values())
    ordered = sorted(candidates, key=lambda c: (-scores[c.number], -c.fresh, -c.number))

    def why(candidate: Candidate) -> str:
        ranks = (f"{name} {ranks[candidate.number]}" for name, ranks in lists.items() if candidate.number in ranks)
        return ", ".join(ranks)

    return ordered, why


def fuse(lists: Iterable[Mapping[int, int]]) -> dict[int, float]:
    """Reciprocal-rank fusion.

    Args:
        lists: number → rank, counted from 1, of each ranking; a number may be missing from some.

    Returns:
        Number → score; higher is better.
    """
    scores: dict[int, float] = {}
    for ranks in lists:
        for number, rank in ranks.items():
            scores[number] = scores.get(number, 0.0) + 1.0 / (FUSION + rank)
    return scores


def _ranks(candidates: Iterable[Candidate], worth: Callable[[Candidate], float]) -> dict[int, int]:
    """Rank by worth, higher first; equal worth, equal rank."""
    ranks: dict[int, int] = {}
    rank, last = 0, None
    for place, candidate in enumerate(sorted(candidates, key=worth, reverse=True), 1):
        value = worth(candidate)
        if value != last:
            rank, last = place, value
        ranks[candidate.number] = rank
    return ranks


def _shared(candidate: Candidate, question: Question) -> float:
    """Share of the frames that both failures went through."""
    mine, theirs = set(candidate.frames), set(question.frames)
    return len(mine & theirs) / len(mine | theirs) if mine and theirs else 0.0
