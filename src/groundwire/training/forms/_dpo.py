"""Pairs of a right and a wrong answer: TRL's preference form (DPO, arXiv 2305.18290)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.training._answers import ModelAnswer, judged_in
from groundwire.training._grouping import PairRow, by_group, pairs_of, row_of, under_both_labels
from groundwire.training._schema import Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row a wrong answer, with a right answer to the same question of the same model's revision."""
    for episodes in by_group(trajectories):
        answers, unjudged = judged_in(episodes)
        yield from unjudged
        told: dict[str, list[ModelAnswer]] = {}
        both = under_both_labels(answers)
        for answer in answers:
            if answer.turn.id in both:
                yield Rejected("right_and_wrong", answer.trajectory.episode)
                continue
            told.setdefault(answer.turn.model.revision, []).append(answer)
        for of_one in told.values():
            right = [answer for answer in of_one if answer.reward == 1.0]
            wrong = [answer for answer in of_one if answer.reward != 1.0]
            paired: set[str] = set()
            for chosen, rejected, same in pairs_of(right, wrong):
                paired.add(rejected.turn.id)
                yield row_of(chosen, rejected, same, options)
            alone = (answer for answer in wrong if answer.turn.id not in paired)
            yield from (Rejected("no_right_answer", answer.trajectory.episode) for answer in alone)


FORM = Form(
    name="dpo",
    row=PairRow,
    make=rows,
    about="DPO: prompt, chosen and rejected as messages, for TRL's DPOTrainer. A wrong answer and a right one.",
)
