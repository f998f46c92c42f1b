"""Questions with what verifies an answer: for reinforcement learning with verifiable rewards. No answer is in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groundwire.core._signals import Origin
from groundwire.training._answers import Answer, judged_in
from groundwire.training._grouping import by_group
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Trajectory


class RlvrRow(Row):
    """One question."""

    told = ("correct_ratio",)

    prompt: tuple[ChatMessage, ...]
    """What the actor was asked first."""
    task: str
    """The task's id."""
    family: str
    """Tasks that belong together."""
    command: tuple[str, ...]
    """What judges an answer, as the task names it; never for a shell."""
    base_digest: str
    """sha256 of the files that an answer changes."""
    issuers: tuple[str, ...]
    """The tool nodes that gave the verdicts."""
    verified_by: tuple[Origin, ...]
    """Of what kind these were."""
    n: int
    """Answers of the first trial that were judged."""
    correct_ratio: float
    """Share of these that are right: how hard it is for the model that was asked."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row a question that executed checks have judged an answer to."""
    for episodes in by_group(trajectories):
        judged, rejected = judged_in(episodes)
        yield from rejected
        answers = [answer for answer in judged if answer.turn.prompt_digest == judged[0].turn.prompt_digest]
        if answers:
            yield _row_of(answers, options)


def _row_of(answers: Sequence[Answer], options: Options) -> Row:
    first = answers[0]
    by = {signal_id for answer in answers for signal_id in answer.judged.rewarded_by}
    signals = [signal for answer in answers for signal in answer.judged.signals if signal.id in by]
    return RlvrRow(
        # no answer of a model is learned from here
        provenance=provenance_of([answer.source for answer in answers], first.prompt_parts, options),
        prompt=first.prompt,
        task=first.trajectory.task,
        family=first.trajectory.family,
        command=first.trajectory.command,
        base_digest=first.trajectory.base_digest,
        issuers=tuple(dict.fromkeys(signal.issuer for signal in signals)),
        verified_by=tuple(dict.fromkeys(signal.origin for signal in signals)),
        n=len(answers),
        correct_ratio=sum(answer.reward for answer in answers) / len(answers),
    )


FORM = Form(
    name="rlvr",
    row=RlvrRow,
    make=rows,
    about="Verifiable rewards: prompts with what judges their answers, and how often these were right. No answer.",
)
