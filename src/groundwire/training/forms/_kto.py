"""Answers with a label each: TRL's unpaired preference form (KTO, arXiv 2402.01306)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.training._answers import judged_in
from groundwire.training._grouping import by_group, under_both_labels
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory


class KtoRow(Row):
    """One answer, right or wrong."""

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    completion: tuple[ChatMessage, ...]
    """The answer, with its reasoning, letter for letter."""
    label: bool
    """True where executed checks passed it."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an answer, failed ones too."""
    for episodes in by_group(trajectories):
        answers, unjudged = judged_in(episodes)
        yield from unjudged
        both = under_both_labels(answers)
        for answer in answers:
            if answer.turn.id in both:
                yield Rejected("right_and_wrong", f"{answer.trajectory.episode} trial {answer.attempt.trial}")
                continue
            if not answer.reward and options.keep_failed is False:
                yield Rejected("failed", f"{answer.trajectory.episode} trial {answer.attempt.trial}")
                continue
            parts = answer.prompt_parts + answer.completion_parts("completion[0]")
            yield KtoRow(
                provenance=provenance_of([answer.source], parts, options, turns=[answer.turn]),
                prompt=answer.prompt,
                completion=(answer.completion,),
                label=answer.reward == 1.0,
            )


FORM = Form(name="kto", row=KtoRow, make=rows, about="KTO: prompt, completion and label, for TRL's KTOTrainer.")
