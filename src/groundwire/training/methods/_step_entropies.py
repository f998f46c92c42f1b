"""Every step with how unsure the model was: entropy-modulated policy gradients (EMPG, arXiv 2509.09265).

H_t is the mean entropy of the tokens of one step, thought and action together. A confident step that was right is
rewarded more, one that was wrong is punished more, and a step that leads to a sure one gets a bonus. `modulated` does
that to the advantages of a batch.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Sequence

from groundwire.core._errors import ConfigError
from groundwire.training._answers import ModelAnswer, answers_of
from groundwire.training._grouping import by_group
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory


class StepEntropyRow(Row):
    """One step of one trial."""

    answers = frozenset({"step"})
    told = ("step_entropy", "reward")

    prompt: tuple[ChatMessage, ...]
    """What was asked at this step, as it was sent."""
    step: tuple[ChatMessage, ...]
    """Thought and action, letter for letter."""
    sequence: str
    """The episode and its trial: rows of one sequence belong together."""
    index: int
    """Of the step, counted from 0."""
    steps: int
    """Steps of the sequence."""
    step_entropy: float
    """H_t: mean entropy of its tokens, in nats."""
    next_entropy: float | None
    """H_(t+1); null behind the last step."""
    reward: float
    """1.0 or 0.0 of the whole trial, by executed checks alone."""
    advantage: float
    """By EMPG: the trial's reward, standardised in the group, weighed by how sure the step was, with a bonus for a sure
    next one, and centred; the steps of the group are the batch."""
    group: str
    """Episodes of one group answered the same question."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row a step of each trial all of whose steps have entropies; a group's steps are one batch."""
    for episodes in by_group(trajectories):
        batch: list[tuple[Sequence[ModelAnswer], Sequence[float]]] = []
        for trajectory in episodes:
            trials: dict[int, list[ModelAnswer]] = {}
            for answer in answers_of(trajectory):
                if isinstance(answer, Rejected):
                    yield answer
                else:
                    trials.setdefault(answer.attempt.trial, []).append(answer)
            for number, answers in trials.items():
                entropies = [answer.turn.entropy for answer in answers]
                known = [entropy for entropy in entropies if entropy is not None]
                if len(known) < len(answers):
                    yield Rejected("no_entropies", f"{trajectory.episode} trial {number}")
                else:
                    batch.append((answers, known))
        yield from _rows_of(batch, options)


def _rows_of(batch: Sequence[tuple[Sequence[ModelAnswer], Sequence[float]]], options: Options) -> Iterator[Row]:
    outcomes = [answers[-1].reward for answers, _ in batch]
    mean, spread = (statistics.fmean(outcomes), statistics.pstdev(outcomes)) if outcomes else (0.0, 0.0)
    standard = [(outcome - mean) / spread if spread else 0.0 for outcome in outcomes]
    following = [[*entropies[1:], None] for _, entropies in batch]
    weighed = iter(
        modulated(
            [advantage for advantage, (answers, _) in zip(standard, batch, strict=True) for _ in answers],
            [entropy for _, entropies in batch for entropy in entropies],
            [entropy for entropies in following for entropy in entropies],
            k=options.thresholds.empg_k,
            k_next=options.thresholds.empg_k_next,
            zeta=options.thresholds.empg_zeta,
        )
    )
    for (answers, entropies), after in zip(batch, following, strict=True):
        for index, answer in enumerate(answers):
            parts = answer.prompt_parts + answer.completion_parts("step[0]")
            yield StepEntropyRow(
                provenance=provenance_of([answer.source], parts, options, turns=[answer.turn]),
                prompt=answer.prompt,
                step=(answer.completion,),
                sequence=f"{answer.trajectory.episode}/{answer.attempt.trial}",
                index=index,
                steps=len(answers),
                step_entropy=entropies[index],
                next_entropy=after[index],
                reward=answer.reward,
                advantage=next(weighed),
                group=answer.trajectory.group,
            )


def normalised(entropies: Sequence[float]) -> list[float]:
    """Entropies of one batch between 0 and 1; all 0 where they are the same."""
    low, high = min(entropies, default=0.0), max(entropies, default=0.0)
    return [(entropy - low) / (high - low) if high > low else 0.0 for entropy in entropies]


def confidence(entropies: Sequence[float], k: float = 1.0) -> list[float]:
    """g: exp(−k·H) by the batch's normalised entropies, scaled so that its mean is 1.

    Args:
        entropies: H_t of each step of the batch.
        k: how much confidence counts; 0: nothing.

    Raises:
        ConfigError: `k` is negative or no finite number.
    """
    if not 0 <= k < math.inf:
        raise ConfigError(f"confidence can't weigh with k = {k}.", do="Give k from 0 up.")
    raw = [math.exp(-k * entropy) for entropy in normalised(entropies)]
    mean = statistics.fmean(raw) if raw else 1.0
    return [value / mean for value in raw]


def modulated(
    advantages: Sequence[float],
    entropies: Sequence[float],
    following: Sequence[float | None],
    *,
    k: float = 1.0,
    k_next: float = 1.0,
    zeta: float = 0.05,
) -> list[float]:
    """Advantages of a batch by EMPG: A·g(H_t) + ζ·exp(−k'·H_(t+1)), then centred to mean 0.

    The values of k, k' and ζ are the caller's: those of the paper differ by model.

    Args:
        advantages: of each step of the batch.
        entropies: H_t of the same steps.
        following: H_(t+1) of the same steps; None behind the last one of a sequence, which gets no bonus.
        k: see `confidence`.
        k_next: k'.
        zeta: ζ, the weight of the bonus.

    Raises:
        ConfigError: the three are not of the same length, or a number is out of range.
    """
    if not len(advantages) == len(entropies) == len(following) or not 0 <= k_next < math.inf:
        raise ConfigError("modulated got arguments that don't fit.", do="One entropy an advantage; k_next from 0 up.")
    low, high = min(entropies, default=0.0), max(entropies, default=0.0)
    span = high - low or 1.0
    bonus = [0.0 if h is None else math.exp(-k_next * min(1.0, max(0.0, (h - low) / span))) for h in following]
    weights = confidence(entropies, k)
    raw = [a * g + zeta * b for a, g, b in zip(advantages, weights, bonus, strict=True)]
    mean = statistics.fmean(raw) if raw else 0.0
    return [value - mean for value in raw]


FORM = Form(
    name="step_entropies",
    row=StepEntropyRow,
    make=rows,
    about="One row a step with its entropy H_t and the trial's outcome, for EMPG (arXiv 2509.09265).",
    repeats=True,
)
