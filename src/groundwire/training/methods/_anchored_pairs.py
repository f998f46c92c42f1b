"""Wrong answers of the first model beside right answers of later ones (arXiv 2508.06026).

As a model gets better its right and wrong answers come to look alike, and pairs of both teach less and less. So the
wrong one is always the first model's (the past anchor) and the right one a newer model's (the future anchor).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groundwire.training._answers import judged_in
from groundwire.training._grouping import PairRow, by_group, pairs_of, row_of
from groundwire.training._schema import Form, Options, Rejected, Row
from groundwire.training._trajectories import ModelRevision, Trajectory


def revisions_by_age(trajectories: Iterable[Trajectory]) -> Sequence[ModelRevision]:
    """The models that answered, in the order of their first episodes: the first is M0."""
    first: dict[ModelRevision, str] = {}
    for trajectory in trajectories:
        for model in trajectory.models:
            first[model] = min(first.get(model, trajectory.created_at), trajectory.created_at)
    return sorted(first, key=lambda model: first[model])


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row a wrong answer of M0 to which a newer model gave a right one."""
    models = revisions_by_age(trajectories)
    for episodes in by_group(trajectories):
        answers, unjudged = judged_in(episodes)
        yield from unjudged
        wrong = [a for a in answers if a.turn.model == models[0] and a.reward != 1.0]
        right = [a for a in answers if a.turn.model != models[0] and a.reward == 1.0]
        for chosen, rejected, same in pairs_of(right, wrong):
            yield row_of(chosen, rejected, same, options)
        if not right:
            yield from (Rejected("no_newer_right_answer", answer.trajectory.episode) for answer in wrong)


FORM = Form(
    name="anchored_pairs",
    row=PairRow,
    make=rows,
    about="DPO pairs: rejected from the first model, chosen from newer ones; give both runs (arXiv 2508.06026).",
)
