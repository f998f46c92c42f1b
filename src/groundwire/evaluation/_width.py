"""What many candidates bring: the best of them, the vote, what is made of them, and how much they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from groundwire.evaluation._rates import Rate
from groundwire.evaluation._rows import NONE, PASS, Bools, Floats, Ints, Labels, mean_of
from groundwire.evaluation._trials import Episodes, Trials


@dataclass(frozen=True)
class Vote:
    """The outcome of one vote.

    Args:
        answer: the plurality's; None where nobody answered.
        consensus: β, its share of the answers.
        tie: True if another answer had as many votes; the first one seen won.
    """

    answer: str | None
    consensus: float
    tie: bool


def vote(answers: Sequence[str | None], weights: Sequence[float] | None = None) -> Vote:
    """Plurality of normalised answers (self-consistency, arXiv 2203.11171); None does not vote.

    Args:
        answers: in the order in which they came.
        weights: of each one's vote; default: all the same.
    """
    cast: dict[str, float] = {}
    for answer, weight in zip(answers, weights or [1.0] * len(answers), strict=True):
        if answer is not None:
            cast[answer] = cast.get(answer, 0.0) + weight
    if not cast:
        return Vote(None, 0.0, tie=False)
    winner = max(cast, key=cast.__getitem__)
    total = sum(cast.values())
    return Vote(winner, cast[winner] / total if total else 0.0, sum(v == cast[winner] for v in cast.values()) > 1)


@dataclass(frozen=True)
class Votes:
    """One vote a trial; columns by trial.

    Args:
        right: the plurality's answer is right.
        consensus: β.
        distinct: how many different answers there are.
        entropy: of the answers, in nats.
    """

    right: Bools
    consensus: Floats
    distinct: Ints
    entropy: Floats


def votes(trials: Trials, *, weighted: bool = False) -> Votes:
    """Votes among the candidates of each trial, all at once; see `vote`."""
    row = trials.sampled.rows
    answers = trials.sample_answer
    weight = trials.sample_weight if weighted else np.ones(len(row))
    key = row * (len(answers.names) + 1) + answers.codes
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    cast = np.bincount(group, weights=weight, minlength=len(first))
    of = row[first]
    total = np.bincount(of, weights=cast, minlength=len(trials))
    part = cast / np.where(total[of] > 0, total[of], 1.0)
    entropy = np.bincount(of, weights=-part * np.log(np.where(part > 0, part, 1.0)), minlength=len(trials))
    # by row: most votes first, and of these the one that was seen first
    order = np.lexsort((first, -cast, of))
    winner = order[np.concatenate([[True], of[order][1:] != of[order][:-1]])] if len(order) else order
    right, consensus = np.zeros(len(trials), dtype=np.bool_), np.zeros(len(trials))
    right[of[winner]] = trials.sample_verdict[first[winner]] == PASS
    consensus[of[winner]] = part[winner]
    return Votes(right, consensus, np.bincount(of, minlength=len(trials)), entropy.astype(np.float64))


@dataclass(frozen=True)
class Width:
    """Several candidates at the first try, and the answer that the episode made of them.

    Args:
        groups: episodes whose first try judged at least two candidates.
        k: mean number of candidates.
        consensus: mean β, the plurality's share.
        oracle: any candidate is right: the most that choosing could reach (oracle@k).
        majority: the plurality's answer is right (maj@k, arXiv 2203.11171).
        weighted: the same with each candidate's weight (arXiv 2508.15260).
        refined: the episode's answer is right (synth@k).
        gap: refinement gap: accuracy of `refined` − accuracy of `majority`, on the same groups (arXiv 2509.00084).
        by_right: accuracy of `refined` by the number of right candidates, Nc (arXiv 2509.00084).
    """

    groups: int
    k: float | None
    consensus: float | None
    oracle: Rate
    majority: Rate
    weighted: Rate
    refined: Rate
    gap: float | None
    by_right: Mapping[int, Rate]


def width(trials: Trials) -> Width:
    """What width brought, over the groups whose candidates are all known to be right or wrong."""
    episodes = Episodes.of(trials)
    size = trials.sampled.lengths
    row = trials.sampled.rows
    unknown = np.bincount(row[trials.sample_verdict == NONE], minlength=len(trials))
    right = np.bincount(row[trials.sample_verdict == PASS], minlength=len(trials))
    first = np.maximum(episodes.first, 0)
    chosen = episodes.tried & (size[first] >= 2) & (unknown[first] == 0) if len(trials) else episodes.tried
    rows = episodes.first[chosen]
    plain, weighted = votes(trials), votes(trials, weighted=True)
    refined = episodes.final_right[chosen]
    n = len(rows)
    counts = right[rows]
    groups, solved = np.bincount(counts), np.bincount(counts, weights=refined)
    return Width(
        groups=n,
        k=mean_of(size[rows]),
        consensus=mean_of(plain.consensus[rows]),
        oracle=Rate(int((counts > 0).sum()), n),
        majority=Rate(int(plain.right[rows].sum()), n),
        weighted=Rate(int(weighted.right[rows].sum()), n),
        refined=Rate(int(refined.sum()), n),
        gap=float(refined.mean() - plain.right[rows].mean()) if n else None,
        by_right={at: Rate(int(solved[at]), int(of)) for at, of in enumerate(groups) if of},
    )


@dataclass(frozen=True)
class Diversity:
    """How much the answers of one round differ: few say sameness, many say scatter.

    Args:
        answers: how many there are.
        distinct: how many different ones.
        entropy: in nats; 0 where all are the same.
    """

    answers: int
    distinct: int
    entropy: float


def diversity(trials: Trials) -> Mapping[int, Diversity]:
    """Distinct answers and their entropy by round, mean over the trials of a round that judged any.

    Source: entropy collapse and variance inflation (methods row 30; the paper is not identified).
    """
    drawn = trials.sampled.lengths > 0
    told = votes(trials)
    found: dict[int, Diversity] = {}
    for number in np.unique(trials.trial[drawn]):
        rows = drawn & (trials.trial == number)
        found[int(number)] = Diversity(
            int(trials.sampled.lengths[rows].sum()), int(told.distinct[rows].sum()), float(told.entropy[rows].mean())
        )
    return found


def entropy_of(answers: Sequence[str]) -> Diversity:
    """The same of one list of answers."""
    _, counts = np.unique(Labels.of(answers).codes, return_counts=True)
    part = counts / max(len(answers), 1)
    return Diversity(len(answers), len(counts), float(-(part * np.log(part)).sum()))
