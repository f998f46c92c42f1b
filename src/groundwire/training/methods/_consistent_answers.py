"""Answers without their thoughts that a model's own answers agree on: self-taught steps (SECToR, arXiv 2309.08589).

A model that thinks solves what is a little harder than what it solves at once; where its answers agree, it is trained
to give them at once, and the next round is harder still. Agreement keeps a row here, and no verdict: so a row's origin
is `model`, and what executed checks said of it (`reward`) measures the filter and is no part of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from groundwire.training._answers import ModelAnswer
from groundwire.training._grouping import by_group
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Author, Trajectory
from groundwire.training.filters._agreement import NOTE, agreed, made_of, said


class ConsistentAnswerRow(Row):
    """One question, and the answer that most answers agree with."""

    told = ("agreement", "reward")

    prompt: tuple[ChatMessage, ...]
    """What was asked, as it was sent."""
    completion: tuple[ChatMessage, ...]
    """The answer without its reasoning."""
    agreement: float
    """Share of the answers that say the same."""
    n: int
    """Answers to the question."""
    reward: float | None
    """1.0 or 0.0, by executed checks, where they judged the answer: what the filter let through, and not why."""


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row a question whose answers agree, judged or not. Only independent samples vote: an answer that was taken
    from an earlier call, or came again without a temperature, is the same draw once more."""
    for episodes in by_group(trajectories):
        questions: dict[str, list[tuple[ModelAnswer, str]]] = {}
        seen: set[tuple[str, str]] = set()
        for trajectory in episodes:
            for attempt, turn in made_of(trajectory):
                answer = ModelAnswer(trajectory, attempt, turn, judged=attempt)
                if turn.reused or (not turn.temperature and (answer.group, turn.answer) in seen):
                    yield Rejected("not_an_independent_sample", f"{trajectory.episode} trial {attempt.trial}")
                    continue
                seen.add((answer.group, turn.answer))
                questions.setdefault(answer.group, []).append((answer, said(attempt)))
        for answers in questions.values():
            yield _row_of(answers, options)


def _row_of(answers: Sequence[tuple[ModelAnswer, str]], options: Options) -> Row | Rejected:
    where = answers[0][0].trajectory.episode
    if len(answers) < options.least_answers:
        return Rejected("too_few_answers", where)
    common = agreed([text for _, text in answers], options.agreement)
    same = [answer for answer, text in answers if text == common]
    if not same:
        return Rejected("answers_disagree", where)
    first = same[0]
    text = first.turn.answer
    parts = (*first.prompt_parts, written_by(Author.MODEL, "completion[0]", text, "answer"))
    return ConsistentAnswerRow(
        # no attempt is named: nothing that was executed stands behind the choice
        provenance=provenance_of([(first.trajectory, ())], parts, options, turns=[first.turn]),
        prompt=first.prompt,
        completion=(ChatMessage(role="assistant", content=text),),
        agreement=len(same) / len(answers),
        n=len(answers),
        reward=first.attempt.reward,
    )


FORM = Form(
    name="consistent_answers",
    row=ConsistentAnswerRow,
    make=rows,
    about="Answers without thoughts that most samples agree on; needs --keep-model-only (SECToR, arXiv 2309.08589).",
    note=NOTE,
)
