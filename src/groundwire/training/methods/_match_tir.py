"""Credit for each call of a tool, by the calls that were right: MatchTIR (arXiv 2601.10712).

The right calls are those of the shortest sequence of the same question that executed checks passed. Each call that was
made is matched with them, one to one, so that the sum of the similarities is the greatest there is: exactly, where the
paper's published code calls a greedy match Hungarian. Or softly, by optimal transport.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

from pydantic import BaseModel, ConfigDict

from groundwire.core._errors import ConfigError
from groundwire.core._toolcalls import Call
from groundwire.training._answers import ModelAnswer
from groundwire.training._grouping import by_task
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Attempt, Author, Trajectory
from groundwire.training._walks import calls_in

UNMATCHED = -0.5
"""Reward of a call that is matched with none."""
REGULARISATION = 0.1
"""Of the transport; the smaller, the nearer to a one-to-one match."""
ROUNDS = 200
"""Of Sinkhorn's scaling; tens are enough for matrices of this size."""


class MatchedCall(BaseModel):
    """One call, and what it earns."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    completion: ChatMessage
    """The answer that made the call."""
    call: str
    """The call, as canonical JSON."""
    failed: bool
    """True where the tool refused it."""
    hard: float
    """Similarity to the right call that it is matched with; -0.5 where it is matched with none."""
    soft: float
    """Similarity to all right calls, weighed by the transport, 0 to 1."""
    advantage: float
    """Mean of the turn's, among the group's calls at the same turn, and of the whole's; by the hard rewards."""


class MatchTirRow(Row):
    """The calls of one episode."""

    answers = frozenset({"gold"})
    told = ("reward",)

    calls: tuple[MatchedCall, ...]
    """All calls that were made, in order; failed ones too."""
    gold: tuple[str, ...]
    """The calls that were right, in order."""
    gold_episode: str
    """Whose they are."""
    reward: float
    """1.0 or 0.0 of the whole episode, by executed checks alone."""


def similarity(call: Call, gold: Call) -> float:
    """How alike two calls are, 0 to 1: 0 where the tools differ, else
    (1 + Jaccard of the parameters' names + parameters of the same value) / (2 + the right call's parameters)."""
    if call.tool != gold.tool:
        return 0.0
    names, wanted = set(call.arguments), set(gold.arguments)
    shared = names & wanted
    jaccard = len(shared) / len(names | wanted) if names | wanted else 1.0
    equal = sum(_same(call.arguments[name], gold.arguments[name]) for name in shared)
    return (1.0 + jaccard + equal) / (2 + len(wanted))


def _same(one: Any, other: Any) -> bool:
    # JSON knows one kind of number, so 1.0 is 1; True is none
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and one == other


def hard(scores: Sequence[Sequence[float]]) -> list[float]:
    """Each call's reward by the one-to-one match whose sum is the greatest.

    Args:
        scores: a row for each call, a column for each right one, 0 to 1. A pair whose score is 0 is no match.

    Raises:
        ConfigError: scipy is not installed, or the rows differ in length.
    """
    _check(scores)
    rewards = [UNMATCHED] * len(scores)
    if scores and scores[0]:
        for made, right in _best_match(scores):
            if scores[made][right] > 0:
                rewards[made] = scores[made][right]
    return rewards


def soft(scores: Sequence[Sequence[float]], *, regularisation: float = REGULARISATION) -> list[float]:
    """Each call's reward by entropic optimal transport (Sinkhorn): Σ T·S, T scaled so that a call's shares sum to 1.

    Args:
        scores: as above.
        regularisation: above 0.

    Raises:
        ConfigError: the rows differ in length, or the regularisation is not above 0.
    """
    _check(scores)
    if not regularisation > 0:
        raise ConfigError(f"A regularisation of {regularisation} is out of range.", do="Use one above 0, such as 0.1.")
    if not scores or not scores[0]:
        return [0.0] * len(scores)
    made, right = len(scores), len(scores[0])
    # the highest score of all is taken off first, so that no power is too big; the scaling makes up for it
    kernel = [[max(math.exp((score - 1.0) / regularisation), 1e-300) for score in row] for row in scores]
    left, across = [1.0] * made, [1.0] * right
    for _ in range(ROUNDS):
        left = [1 / made / sum(k * v for k, v in zip(row, across, strict=True)) for row in kernel]
        across = [1 / right / sum(kernel[i][j] * left[i] for i in range(made)) for j in range(right)]
    shares = [[k * v for k, v in zip(row, across, strict=True)] for row in kernel]
    # a call's shares are made to sum to 1 at last: the scaling comes near that, and at times slowly
    return [
        sum(share * score for share, score in zip(mine, row, strict=True)) / sum(mine)
        for mine, row in zip(shares, scores, strict=True)
    ]


def _check(scores: Sequence[Sequence[float]]) -> None:
    if len({len(row) for row in scores}) > 1:
        raise ConfigError("The rows of the scores differ in length.", do="One column for each right call.")


def _best_match(scores: Sequence[Sequence[float]]) -> Iterator[tuple[int, int]]:
    try:
        solve = import_module("scipy.optimize").linear_sum_assignment
    except ImportError as error:
        raise ConfigError("MatchTIR's match needs scipy.", do='pip install "groundwire[eval]"') from error
    made, right = solve(scores, maximize=True)
    return zip(made.tolist(), right.tolist(), strict=True)


def advantages(
    rewards: Sequence[Sequence[float]], outcomes: Sequence[float], *, discount: float = 0.9
) -> list[list[float]]:
    """The advantage of each call: the mean of its own and of its whole episode's.

    Its own: the discounted rewards from it on, standardised among the group's calls at the same turn. The episode's:
    its outcome, standardised in the group.

    Args:
        rewards: of the calls of each episode of one group.
        outcomes: of the same episodes.
        discount: of the rewards of later calls, 0 to 1; 0.9 is published.

    Raises:
        ConfigError: the two are not as many, or the discount is out of range.
    """
    if len(rewards) != len(outcomes) or not 0 <= discount <= 1:
        raise ConfigError(
            "advantages got arguments that don't fit.", do="One outcome an episode; a discount of 0 to 1."
        )
    to_come: list[list[float]] = []
    for episode in rewards:
        sums: list[float] = []
        for reward in reversed(episode):
            sums.append(reward + discount * (sums[-1] if sums else 0.0))
        to_come.append(sums[::-1])
    whole = _standard(outcomes)
    at_turn = [
        iter(_standard([sums[turn] for sums in to_come if turn < len(sums)]))
        for turn in range(max(map(len, to_come), default=0))
    ]
    return [
        [(next(at_turn[turn]) + of_all) / 2 for turn in range(len(sums))]
        for sums, of_all in zip(to_come, whole, strict=True)
    ]


def _standard(values: Sequence[float]) -> list[float]:
    spread = statistics.pstdev(values) if values else 0.0
    mean = statistics.fmean(values) if values else 0.0
    return [(value - mean) / spread if spread else 0.0 for value in values]


_Made = tuple[Trajectory, list[tuple[Attempt, Call]]]


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an episode in which tools were called, where the right calls of its question are known."""
    for episodes in by_task(trajectories):
        gold = min((found for t in episodes if (found := _gold_of(t))), key=lambda found: len(found[1]), default=None)
        made: list[_Made] = []
        for trajectory in episodes:
            calls = list(_calls_of(trajectory))
            if not calls:
                yield Rejected("no_call", trajectory.episode)
            elif gold is None:
                yield Rejected("no_right_calls_known", trajectory.episode)
            elif trajectory.reward is None:
                yield Rejected("no_executed_verdict", trajectory.episode)
            else:
                made.append((trajectory, calls))
        if gold is not None:
            yield from _rows_of(made, gold, options)


def _gold_of(trajectory: Trajectory) -> tuple[Trajectory, tuple[Call, ...]] | None:
    """The calls of the sequence that was passed."""
    for attempt in trajectory.attempts:
        steps = calls_in(trajectory, attempt) if attempt.reward == 1.0 else None
        if steps is not None and steps.calls:
            return trajectory, steps.calls
    return None


def _calls_of(trajectory: Trajectory) -> Iterator[tuple[Attempt, Call]]:
    """Each call that a model made, in order."""
    for attempt in trajectory.attempts:
        steps = calls_in(trajectory, attempt)
        if steps is not None and isinstance(steps.last, Call) and trajectory.turn(attempt.turn) is not None:
            yield attempt, steps.last


def _rows_of(made: Sequence[_Made], gold: tuple[Trajectory, tuple[Call, ...]], options: Options) -> Iterator[Row]:
    scores = [[[similarity(call, right) for right in gold[1]] for _, call in calls] for _, calls in made]
    firm = [hard(one) for one in scores]
    outcomes = [trajectory.reward or 0.0 for trajectory, _ in made]
    told = advantages(firm, outcomes, discount=options.thresholds.match_tir_discount)
    for number, (trajectory, calls) in enumerate(made):
        weighed = zip(calls, firm[number], soft(scores[number]), told[number], strict=True)
        answers = [
            ModelAnswer(trajectory, a, turn, a) for a, _ in calls if (turn := trajectory.turn(a.turn)) is not None
        ]
        matched = tuple(
            MatchedCall(
                prompt=answer.prompt,
                completion=answer.completion,
                call=call.line,
                failed=attempt.failed,
                hard=firmly,
                soft=softly,
                advantage=advantage,
            )
            for answer, ((attempt, call), firmly, softly, advantage) in zip(answers, weighed, strict=True)
        )
        parts = [
            *(
                part.model_copy(update={"part": f"calls[{place}].{part.part}"})
                for place, answer in enumerate(answers)
                for part in answer.prompt_parts
            ),
            *(
                written_by(Author.MODEL, f"calls[{place}].{column}", text, "call")
                for place, one in enumerate(matched)
                for column, text in (("completion", one.completion.content), ("call", one.call))
            ),
        ]
        judged = [attempt for attempt in trajectory.attempts if attempt.reward is not None]
        yield MatchTirRow(
            provenance=provenance_of(
                [(trajectory, judged), (gold[0], [])], parts, options, turns=[answer.turn for answer in answers]
            ),
            calls=matched,
            gold=tuple(call.line for call in gold[1]),
            gold_episode=gold[0].episode,
            reward=trajectory.reward or 0.0,
        )


FORM = Form(
    name="match_tir",
    row=MatchTirRow,
    make=rows,
    about="Each call of a tool with its credit by the calls that were right, matched exactly: MatchTIR (2601.10712).",
    repeats=True,
)
