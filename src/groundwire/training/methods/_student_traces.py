"""Whole answers, right or wrong, with their perplexity under the model to be trained (Shape of Thought, 2512.22255).

A trace that is near the student's own distribution teaches it even where its answer is wrong, so failures stay. The
perplexity is what the given losses say, and else, where the target model wrote the answer itself, its stored log
probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from groundwire.training._answers import Answer, answers_of
from groundwire.training._losses import Losses
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory


class StudentTraceRow(Row):
    """One answer."""

    told = ("reward",)

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    completion: tuple[ChatMessage, ...]
    """The answer, with its reasoning, letter for letter."""
    reward: float
    """1.0 or 0.0, by executed checks alone."""
    ppl_under_target: float | None
    """Perplexity of the answer, given the prompt, under the model to be trained; null where it is not known."""
    ppl_from: Literal["losses", "stored"] | None
    """Where it is from: given losses, or the log probabilities with which the target model sampled it."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an answer, failed ones too."""
    for trajectory in trajectories:
        for answer in answers_of(trajectory):
            if isinstance(answer, Rejected):
                yield answer
            elif not answer.reward and options.keep_failed is False:
                yield Rejected("failed", f"{trajectory.episode} trial {answer.attempt.trial}")
            else:
                yield _row_of(answer, options)


def _row_of(answer: Answer, options: Options) -> Row:
    turn = answer.turn
    parts = answer.prompt_parts + answer.completion_parts("completion[0]")
    ppl, source = _perplexity(answer, options)
    return StudentTraceRow(
        provenance=provenance_of([answer.source], parts, options, turns=[turn]),
        prompt=answer.prompt,
        completion=(answer.completion,),
        reward=answer.reward,
        ppl_under_target=ppl,
        ppl_from=source,
    )


def _perplexity(answer: Answer, options: Options) -> tuple[float | None, Literal["losses", "stored"] | None]:
    turn = answer.turn
    if turn.id in options.losses:
        return options.losses[turn.id].ppl, "losses"
    if turn.logprobs and options.target_model in (turn.model.name, turn.model.revision):
        return Losses(turn=turn.id, logprobs=turn.logprobs).ppl, "stored"
    return None, None


FORM = Form(
    name="student_traces",
    row=StudentTraceRow,
    make=rows,
    about="Answers, failed ones too, with their perplexity under the target model (arXiv 2512.22255).",
)
