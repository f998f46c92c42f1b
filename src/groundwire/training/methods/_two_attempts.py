"""A first answer, what was said of it, and the answer after that: SCoRe (arXiv 2409.12917).

Both answers are the same model's: teaching a model to correct another's mistakes fails by the shift between the two
(the paper's Pair-SFT control), so a pair of different revisions is never exported, whatever was allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.training._answers import ModelAnswer
from groundwire.training._grouping import says_the_same
from groundwire.training._provenance import parts_of_prompt, provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory
from groundwire.training._walks import whole_answers


class TwoAttemptsRow(Row):
    """Two answers in a row."""

    answers = frozenset({"first", "second"})
    told = ("reward_first", "reward_second")

    prompt: tuple[ChatMessage, ...]
    """x: what was asked first, as it was sent."""
    first: tuple[ChatMessage, ...]
    """y1: the first answer."""
    instruction: tuple[ChatMessage, ...]
    """What was asked then, as it was sent: with the attempt, what was observed and the reflection on it."""
    second: tuple[ChatMessage, ...]
    """y2: the second answer."""
    reward_first: float
    """r1: 1.0 or 0.0, by executed checks alone."""
    reward_second: float
    """r2: likewise."""
    shaped_reward: float
    """The second attempt's with the bonus for getting better, r2 + α·(r2 − r1)."""
    model_rev: str
    """The revision that gave both answers."""
    trial: int
    """The first answer's trial."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row for each two trials in a row that a signal led from one to the other, the first of which gave one answer
    that a signal refused. Its reward is 1 where executed checks had passed it, and something else asked for another try
    all the same: tests of a model, another model, a person."""
    for trajectory in trajectories:
        by_trial = yield from whole_answers(trajectory)
        for number, answers in by_trial.items():
            later = by_trial.get(number + 1)
            if later is None:
                if number == 1:
                    yield Rejected("one_attempt_only", trajectory.episode)
                continue
            yield _row_of(trajectory, answers, later[0], options)


def _row_of(
    trajectory: Trajectory, answers: list[ModelAnswer], second: ModelAnswer, options: Options
) -> Row | Rejected:
    trial = trajectory.trial(second.attempt.trial)
    trigger = trial.trigger if trial else ""
    # of several candidates, the one whose failure was admitted
    first = next((a for a in answers if trigger in [signal.id for signal in a.attempt.signals]), None)
    where = f"{trajectory.episode} trial {second.attempt.trial}"
    if first is None:
        return Rejected("no_signal_between", where)
    if first.turn.model != second.turn.model:
        return Rejected("different_revisions", where)
    if says_the_same(first, second):
        return Rejected("same_answer_again", where)
    parts = (
        *first.prompt_parts,
        *first.completion_parts("first[0]"),
        *parts_of_prompt(second.turn.prompt[:-1] if second.begun else second.turn.prompt, "instruction"),
        *second.completion_parts("second[0]"),
    )
    return TwoAttemptsRow(
        provenance=provenance_of([first.source, second.source], parts, options, turns=[first.turn, second.turn]),
        prompt=first.prompt,
        first=(first.completion,),
        instruction=second.prompt,
        second=(second.completion,),
        reward_first=first.reward,
        reward_second=second.reward,
        shaped_reward=shaped_reward(first.reward, second.reward, options.thresholds.score_alpha),
        model_rev=first.turn.model.revision,
        trial=first.attempt.trial,
    )


def shaped_reward(first: float, second: float, alpha: float) -> float:
    """The second attempt's reward with SCoRe's bonus for getting better: r2 + α·(r2 − r1)."""
    return second + alpha * (second - first)


FORM = Form(
    name="two_attempts",
    row=TwoAttemptsRow,
    make=rows,
    about="Two answers in a row of one model, with executed rewards: on-policy data for SCoRe (arXiv 2409.12917).",
    repeats=True,
)
