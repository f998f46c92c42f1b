"""Answers to imitate: TRL's conversational prompt-completion form, in which the loss is on the completion alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groundwire.training._answers import answers_of
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory


class SftRow(Row):
    """One answer."""

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    completion: tuple[ChatMessage, ...]
    """The answer, with its reasoning, letter for letter."""
    loss_mask: tuple[bool, ...]
    """Of each message of prompt and completion together: true where it is learned."""
    reward: float
    """1.0 or 0.0, by executed checks alone."""
    trial: int
    """The trial it belongs to: above 1 it was given after feedback."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an answer that passed; with `keep_failed`, of those that failed too."""
    for trajectory in trajectories:
        for answer in answers_of(trajectory):
            if isinstance(answer, Rejected):
                yield answer
                continue
            if not answer.reward and not options.keep_failed:
                yield Rejected("failed", f"{trajectory.episode} trial {answer.attempt.trial}")
                continue
            parts = answer.prompt_parts + answer.completion_parts("completion[0]")
            yield SftRow(
                provenance=provenance_of([answer.source], parts, options, turns=[answer.turn]),
                prompt=answer.prompt,
                completion=(answer.completion,),
                loss_mask=(False,) * len(answer.prompt) + (True,),
                reward=answer.reward,
                trial=answer.attempt.trial,
            )


FORM = Form(
    name="sft",
    row=SftRow,
    make=rows,
    about="Supervised fine-tuning: prompt and completion as messages, for TRL's SFTTrainer. Answers that passed.",
)
