"""Answers over several turns, with the four filters of RISE (Recursive Introspection, arXiv 2407.18219).

The turns of an episode are its trials; of a turn with several answers the best one speaks (best-of-n). Each row says
which of the filters keep it, so that one export serves all four:

    all      every turn
    better   a turn that is better than the one before it; the first one is
    best     a turn that no earlier one is better than: of equal ones all
    success  a turn that is right

Nothing that follows the first right answer is a row, and of turns that say the same only the first is one. The paper's
evaluation tells the model "incorrect" on every turn; here each prompt is what the graph really sent, after a signal
that an executed check gave.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from groundwire.core._errors import ConfigError
from groundwire.training._answers import ModelAnswer
from groundwire.training._leaks import normal_form
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory
from groundwire.training._walks import whole_answers

MOST_POWER = 700.0
"""Of e, that a float can hold."""
Filter = Literal["all", "better", "best", "success"]


class RiseRow(Row):
    """The answer of one turn."""

    told = ("reward",)

    prompt: tuple[ChatMessage, ...]
    """What was asked in this turn, as it was sent: from the second on with the attempt before and what was observed."""
    completion: tuple[ChatMessage, ...]
    """The answer."""
    turn: int
    """Counted from 1."""
    turns: int
    """Of the episode, up to its first right answer."""
    of: int
    """Answers among which it is the best of its turn."""
    reward: float
    """1.0 or 0.0, by executed checks alone."""
    weight: float
    """exp(reward / τ), the weight of a reward-weighted regression as the published code has it: not scaled."""
    kept_by: tuple[Filter, ...]
    """The filters that keep this turn."""


def filters_of(rewards: Sequence[float]) -> list[tuple[Filter, ...]]:
    """Which filters keep each turn, ties as in the published code (`workflow_convert.py` of cmu-mind/RISE).

    Args:
        rewards: of the turns, in order, without what follows the first that is right.
    """
    kept: list[tuple[Filter, ...]] = []
    for turn, reward in enumerate(rewards):
        before = rewards[:turn]
        told: dict[Filter, bool] = {
            "all": True,
            "better": not before or reward > before[-1],
            "best": all(reward >= earlier for earlier in before),
            "success": reward == 1.0,
        }
        kept.append(tuple(name for name, holds in told.items() if holds))
    return kept


def regression_weights(rewards: Sequence[float], temperature: float = 1.0) -> list[float]:
    """Weights of a reward-weighted regression, exp(r/τ), scaled to a mean of 1.

    Args:
        rewards: of the rows that are learned from.
        temperature: τ, above 0; the smaller, the more the best rows count.

    Raises:
        ConfigError: τ is not above 0.
    """
    if not temperature > 0:
        raise ConfigError(f"A temperature of {temperature} gives no weights.", do="Use one above 0.")
    # the highest one is taken off first: no power is too big then, and the scale is lost anyway
    powers = [math.exp((reward - max(rewards)) / temperature) for reward in rewards]
    return [power * len(powers) / sum(powers) for power in powers]


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row a turn of each episode."""
    for trajectory in trajectories:
        by_trial = yield from whole_answers(trajectory)
        taken: list[tuple[int, ModelAnswer, int]] = []
        said: set[str] = set()
        for turn, answers in enumerate(by_trial.values(), 1):
            best = max(answers, key=lambda answer: answer.reward)
            where = f"{trajectory.episode} trial {best.attempt.trial}"
            form = normal_form(best.completion.model_dump_json())
            if taken and taken[-1][1].reward == 1.0:
                yield Rejected("after_the_first_right_answer", where)
            elif form in said:
                yield Rejected("said_before", where)
            else:
                said.add(form)
                taken.append((turn, best, len(answers)))
        yield from _rows_of(taken, options)


def _rows_of(taken: Sequence[tuple[int, ModelAnswer, int]], options: Options) -> Iterator[Row]:
    filters = filters_of([answer.reward for _, answer, _ in taken])
    for (turn, answer, of), kept_by in zip(taken, filters, strict=True):
        parts = (*answer.prompt_parts, *answer.completion_parts("completion[0]"))
        yield RiseRow(
            provenance=provenance_of([answer.source], parts, options, turns=[answer.turn]),
            prompt=answer.prompt,
            completion=(answer.completion,),
            turn=turn,
            turns=taken[-1][0],
            of=of,
            reward=answer.reward,
            weight=math.exp(min(answer.reward / options.thresholds.rise_tau, MOST_POWER)),
            kept_by=kept_by,
        )


FORM = Form(
    name="rise",
    row=RiseRow,
    make=rows,
    about="One row a turn, with the filters that keep it (all, better, best, success): RISE (arXiv 2407.18219).",
)
