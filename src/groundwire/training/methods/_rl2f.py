"""A student and a teacher over several turns: RL from language feedback, RL²F (arXiv 2602.16066).

The teacher is the graph's critic: it was shown what judged the answer, and the student was not. It may hint, and never
answer: what it says is masked where it holds the answer, in whatever spelling, and nothing that the student wrote after
such a turn is learned. Rewards are an executed check's alone. A student may also be trained to say beforehand what the
teacher will: those turns are marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Literal

from pydantic import BaseModel, ConfigDict

from groundwire.core._toolcalls import Answer as LastStep
from groundwire.training._answers import ModelAnswer, judged_in
from groundwire.training._grouping import by_task
from groundwire.training._leaks import normal_form
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Attempt, Author, Remark, Trajectory
from groundwire.training._walks import calls_in, seen_after, steps_in

MASKED = "(withheld: it held the answer)"
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:[,_ ]\d{3})+(?:\.\d+)?(?![\w,])|(?<![\w.])\d+(?:\.\d+)?")
NUMBER_CHARS = 60
_BRACKETED = re.compile(r"\[([^\[\]]{1,400})\]")


class DialogueTurn(BaseModel):
    """One turn."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    speaker: Literal["student", "teacher", "world"]
    """Who spoke; `world`: what came back from a step, before the next one."""
    content: str
    """What was said; of a masked turn only that it is withheld."""
    privileged: bool
    """True of the teacher: it was shown what judged the answer, before it spoke."""
    saw_the_answer: bool
    """The teacher had been shown what an answer key says."""
    masked: bool
    """The teacher's words held the answer, and are not here."""
    loss: bool
    """True where the student learns to write this."""
    predict: bool
    """True where the student may be trained to say this of its own answer: what a teacher said, unmasked."""
    reward: float | None
    """Of a student's answer: 1.0 or 0.0, by executed checks alone. A teacher has none."""


class Rl2fRow(Row):
    """One dialogue."""

    answers = frozenset[str]()
    told = ("reward", "leaks")

    prompt: tuple[ChatMessage, ...]
    """What the student was asked first, as it was sent."""
    turns: tuple[DialogueTurn, ...]
    """In order: an answer, what the teacher said of it, the next answer."""
    reward: float
    """Of the last answer."""
    leaks: int
    """Turns of the teacher that are masked."""
    gold_known: bool
    """True where a right answer is known from this question's episodes, so that leaks could be looked for."""


def holds_the_answer(text: str, gold: Iterable[str]) -> bool:
    """True if a text holds one of the answers as a whole word; case, spacing and the spelling of numbers (1,000.0 for
    1000) don't count."""
    plain = _plain(text)
    # a number goes on behind a point
    return any(re.search(rf"(?<![\w.]){re.escape(form)}(?!\w|\.\d)", plain) for one in gold if (form := _plain(one)))


def _plain(text: str) -> str:
    return _NUMBER.sub(_as_number, normal_form(text))


def _as_number(match: re.Match[str]) -> str:
    digits = re.sub(r"[,_ ]", "", match[0])
    if len(digits) > NUMBER_CHARS:
        return digits
    whole = Decimal(digits)
    return f"{whole.normalize():f}"


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an episode in which a teacher spoke."""
    for episodes in by_task(trajectories):
        gold = sorted({text for trajectory in episodes for text in _right_answers(trajectory)})
        for trajectory in episodes:
            judged, rejected = judged_in([trajectory])
            yield from rejected
            answers = [answer for answer in judged if not answer.is_twin]
            remarks = [remark for remark in trajectory.remarks if remark.text.strip()]
            if not answers or not remarks:
                yield Rejected("no_teacher" if answers else "no_answer", trajectory.episode)
            else:
                yield _row_of(trajectory, answers, remarks, gold, options)


def _right_answers(trajectory: Trajectory) -> Iterator[str]:
    for attempt in trajectory.attempts:
        if attempt.reward == 1.0:
            yield from _answers_in(trajectory, attempt)


def _answers_in(trajectory: Trajectory, attempt: Attempt) -> Iterator[str]:
    steps = calls_in(trajectory, attempt)
    if steps is not None:
        if isinstance(steps.last, LastStep):
            yield steps.last.text
        return
    if path := steps_in(trajectory, attempt):
        # in a world the last action is the answer, and so is what it puts between brackets: Finish[Ulm]
        yield path[-1]
        yield from (told for told in _BRACKETED.findall(path[-1]) if told.strip())
        return
    yield from (change.content for change in attempt.changes if change.content and change.content.strip())


def _row_of(
    trajectory: Trajectory,
    answers: Sequence[ModelAnswer],
    remarks: Sequence[Remark],
    gold: Sequence[str],
    options: Options,
) -> Row:
    first = answers[0]
    parts: list[Part] = list(first.prompt_parts)
    turns: list[DialogueTurn] = []
    leaked = False
    spoken: list[ModelAnswer | Remark] = sorted([*answers, *remarks], key=lambda one: _at(one))
    for one in spoken:
        if isinstance(one, ModelAnswer):
            # what a student answered may be the answer: the tag of an actor's own words says so
            told = [(_students(one, loss=not leaked), Author.MODEL, "attempt")]
            if one.is_step and (shown := seen_after(one.attempt)):
                told.append((_worlds(shown), Author.ENV, "scene"))
        else:
            turn = _teachers(trajectory, one, gold)
            leaked = leaked or turn.masked
            told = [(turn, Author.HUMAN if turn.masked else one.author, "reflection")]
        for turn, author, tag in told:
            parts.append(written_by(author, f"turns[{len(turns)}]", turn.content, tag))
            turns.append(turn)
    return Rl2fRow(
        provenance=provenance_of(
            [(trajectory, [answer.judged for answer in answers])],
            parts,
            options,
            turns=[answer.turn for answer in answers],
        ),
        prompt=first.prompt,
        turns=tuple(turns),
        reward=answers[-1].reward,
        leaks=sum(turn.masked for turn in turns),
        gold_known=bool(gold),
    )


def _at(one: ModelAnswer | Remark) -> int:
    return one.turn.at if isinstance(one, ModelAnswer) else one.at


def _students(answer: ModelAnswer, *, loss: bool) -> DialogueTurn:
    return DialogueTurn(
        speaker="student",
        content=answer.completion.content,
        privileged=False,
        saw_the_answer=False,
        masked=False,
        loss=loss,
        predict=False,
        reward=answer.reward,
    )


def _worlds(shown: str) -> DialogueTurn:
    return DialogueTurn(
        speaker="world",
        content=shown,
        privileged=False,
        saw_the_answer=False,
        masked=False,
        loss=False,
        predict=False,
        reward=None,
    )


def _teachers(trajectory: Trajectory, remark: Remark, gold: Sequence[str]) -> DialogueTurn:
    trial = trajectory.trial(remark.trial)
    saw = any(turn.privileged for turn in trial.turns) if trial else False
    masked = holds_the_answer(remark.text, gold)
    return DialogueTurn(
        speaker="teacher",
        content=MASKED if masked else remark.text,
        privileged=True,
        saw_the_answer=saw,
        masked=masked,
        loss=False,
        predict=not masked,
        reward=None,
    )


FORM = Form(
    name="rl2f",
    row=Rl2fRow,
    make=rows,
    about="Dialogues of a student with a teacher who may not tell the answer: RL²F (arXiv 2602.16066).",
    repeats=True,
)
