"""Answers in groups, with rewards: for group-relative policy optimisation (GRPO) and its kin.

Each row says what a length-aware reward needs of its group: how many answers, how many of them right, and how long
they are (GRPO-λ, arXiv 2505.18086).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from groundwire.core._errors import ConfigError
from groundwire.training._answers import ModelAnswer, judged_in
from groundwire.training._grouping import by_group
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory


class GrpoRow(Row):
    """One answer of a group."""

    told = ("reward", "correct_ratio")

    prompt: tuple[ChatMessage, ...]
    """What was asked; the same in the whole group."""
    completion: tuple[ChatMessage, ...]
    """The answer, with its reasoning, letter for letter."""
    reward: float
    """1.0 or 0.0, by executed checks alone."""
    group: str
    """Of the task, what was asked, and the model's revision."""
    n: int
    """Answers in the group."""
    correct_ratio: float
    """Share of these that are right."""
    length: int
    """Of the answer."""
    lengths: tuple[int, ...]
    """Of all answers of the group, this one among them."""
    length_unit: str
    """`tokens` where all of the group are known, else `characters`."""
    token_logprobs: tuple[float, ...] | None
    """Of each token of the answer, in nats, as it was sampled; null where none are stored."""
    token_entropies: tuple[float, ...] | None
    """Of each token, in nats, from the stored likeliest tokens; what these leave over counts as one outcome more."""
    top_logprobs: tuple[tuple[float, ...], ...] | None
    """What the entropies were computed from."""
    step_entropy: float | None
    """Mean of `token_entropies`."""
    temperature: float
    """That it was sampled at."""
    lambda_reward: float
    """The reward with GRPO-λ's switch: where most of the group are right, length has a price."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an answer, in groups of `least_group` or more."""
    for episodes in by_group(trajectories):
        answers, rejected = judged_in(episodes)
        yield from rejected
        groups: dict[str, list[ModelAnswer]] = {}
        for answer in answers:
            groups.setdefault(answer.group, []).append(answer)
        for group, members in groups.items():
            if len(members) < options.least_group:
                yield from (Rejected("group_too_small", one.trajectory.episode) for one in members)
                continue
            yield from _rows_of(group, members, options)


def _rows_of(group: str, answers: Sequence[ModelAnswer], options: Options) -> Iterator[Row]:
    tokens = [_tokens(answer) for answer in answers]
    known = [count for count in tokens if count is not None]
    counted = len(known) == len(tokens)
    lengths = tuple(known) if counted else tuple(len(answer.turn.text) for answer in answers)
    ratio = sum(answer.reward for answer in answers) / len(answers)
    priced = switched_rewards(
        [answer.reward for answer in answers],
        lengths,
        ratio=options.thresholds.lambda_ratio,
        alpha=options.thresholds.lambda_alpha,
    )
    for answer, length, with_price in zip(answers, lengths, priced, strict=True):
        turn = answer.turn
        parts = answer.prompt_parts + answer.completion_parts("completion[0]")
        yield GrpoRow(
            provenance=provenance_of([answer.source], parts, options, turns=[turn]),
            prompt=answer.prompt,
            completion=(answer.completion,),
            reward=answer.reward,
            group=group,
            n=len(answers),
            correct_ratio=ratio,
            length=length,
            lengths=lengths,
            length_unit="tokens" if counted else "characters",
            token_logprobs=turn.logprobs,
            token_entropies=turn.entropies,
            top_logprobs=turn.top_logprobs,
            step_entropy=turn.entropy,
            temperature=turn.temperature,
            lambda_reward=with_price,
        )


def _tokens(answer: ModelAnswer) -> int | None:
    turn = answer.turn
    if turn.logprobs is not None:
        return len(turn.logprobs)
    return turn.completion_tokens if turn.samples == 1 and turn.completion_tokens else None


def switched_rewards(
    rewards: Sequence[float], lengths: Sequence[int], *, ratio: float = 0.5, alpha: float = 0.2
) -> tuple[float, ...]:
    """A group's rewards with GRPO-λ's switch: a price on length only where most answers are right already.

    At or above `ratio`, a right answer gets 1 − α·σ(z) with z its length's standard score among the group's right
    answers, a wrong one 0; below it, each keeps its plain 0 or 1, so that a group that still learns to be right is not
    taught to be short. Source: arXiv 2505.18086; the threshold is the caller's, since the abstract names none.

    Args:
        rewards: 1.0 or 0.0 of each answer of one group.
        lengths: of the same answers.
        ratio: share of right answers from which length has a price, 0 to 1.
        alpha: the price, 0 to 1.

    Raises:
        ConfigError: the two are not of the same length, or a number is out of range.
    """
    if len(rewards) != len(lengths) or not (0 <= ratio <= 1 and 0 <= alpha <= 1):
        raise ConfigError("switched_rewards got arguments that don't fit.", do="One length a reward; ratio, alpha ≤ 1.")
    right = [length for reward, length in zip(rewards, lengths, strict=True) if reward == 1.0]
    if not right or len(right) / len(rewards) < ratio:
        return tuple(rewards)
    mean, spread = statistics.fmean(right), statistics.pstdev(right)
    scores = [(length - mean) / spread if spread else 0.0 for length in lengths]
    return tuple(
        1.0 - alpha / (1.0 + math.exp(-max(-60.0, min(60.0, score)))) if reward == 1.0 else 0.0
        for reward, score in zip(rewards, scores, strict=True)
    )


FORM = Form(
    name="grpo",
    row=GrpoRow,
    make=rows,
    about="Groups of answers with executed rewards, lengths, log probabilities and entropies, for GRPO and its kin.",
    repeats=True,
)
