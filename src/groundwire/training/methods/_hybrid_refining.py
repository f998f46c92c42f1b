"""Half the rows solve, half refine candidates: hybrid data for generative self-refinement (GSR, arXiv 2509.00084).

Training on answers alone hurts refining, and training on refinements alone hurts answering, so each right answer gives
one row of either kind. Where several models answered, the candidates are the first one's (the small model's) and the
targets the others' (the teacher's). Candidates are shown as our graph for GSR shows
them, in the words of its prompt file `synthesise_v1`.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Literal

from groundwire.training._answers import Answer, judged_in
from groundwire.training._grouping import by_group
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Author, Trajectory
from groundwire.training._turns import spans_by_tags

MOST = 10
"""Candidates in one row."""
CHARS = 17_000
"""That they may take together: 5000 tokens, as in our graph."""
ASKED = """\
These answers to the task were written before, each by itself and in no particular order. Any of them may be wrong, and\
 all of them may be wrong.

{candidates}

Compare them, find out where they differ and why, keep what holds and leave what does not. Then write a new answer of\
 your own, in the form that was asked for. It need not agree with any of them."""


class HybridRow(Row):
    """One problem with a right answer, with or without candidates to refine."""

    kind: Literal["direct", "refine"]
    """`direct`: the problem alone; `refine`: the problem and candidates."""
    prompt: tuple[ChatMessage, ...]
    """The problem, as it was sent; behind it the candidates, shuffled, without their thinking."""
    completion: tuple[ChatMessage, ...]
    """The right answer."""
    order: tuple[int, ...]
    """Of the candidates by their birth; empty in a direct row."""
    right: int
    """Candidates that are right."""


def orders(count: int, seed: str) -> Iterator[tuple[int, ...]]:
    """Orders of candidates, each drawn by the seed; none comes again before all have come."""
    draw = random.Random(seed)
    used: set[tuple[int, ...]] = set()
    while True:
        order = tuple(draw.sample(range(count), count))
        if len(used) == math.factorial(count):
            used.clear()
        if order not in used:
            used.add(order)
            yield order


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """Two rows a right answer to a question that has other answers."""
    for episodes in by_group(trajectories):
        answers, rejected = judged_in(episodes)
        yield from rejected
        questions: dict[str, list[Answer]] = {}
        for answer in answers:
            questions.setdefault(answer.turn.prompt_digest, []).append(answer)
        for digest, asked in questions.items():
            yield from _rows_of(digest, asked, options)


def _rows_of(digest: str, answers: Sequence[Answer], options: Options) -> Iterator[Row | Rejected]:
    small = answers[0].turn.model
    drawn = [answer for answer in answers if answer.turn.model == small]
    teacher = [answer for answer in answers if answer.turn.model != small]
    targets = [answer for answer in teacher or drawn if answer.reward == 1.0]
    if not targets:
        yield Rejected("no_right_answer", answers[0].trajectory.episode)
    shuffled: dict[int, Iterator[tuple[int, ...]]] = {}
    for target in targets:
        candidates = [answer for answer in drawn if answer.turn.id != target.turn.id][:MOST]
        if len(candidates) < 2:
            yield Rejected("too_few_candidates", target.trajectory.episode)
            continue
        seed = hashlib.sha256(f"{target.trajectory.task}/{digest}/{len(candidates)}".encode()).hexdigest()
        order = next(shuffled.setdefault(len(candidates), orders(len(candidates), seed)))
        yield _direct(target, options)
        yield _refine(target, candidates, order, options)


def _direct(target: Answer, options: Options) -> Row:
    parts = target.prompt_parts + target.completion_parts("completion[0]")
    return HybridRow(
        provenance=provenance_of([target.source], parts, options, turns=[target.turn]),
        kind="direct",
        prompt=target.prompt,
        completion=(target.completion,),
        order=(),
        right=0,
    )


def _refine(target: Answer, candidates: Sequence[Answer], order: Sequence[int], options: Options) -> Row:
    shown = [
        _shown(candidates[place].turn.answer, number, CHARS // len(order)) for number, place in enumerate(order, 1)
    ]
    asked = ASKED.replace("{candidates}", "\n\n".join(shown))
    place, last = len(target.prompt) - 1, target.prompt[-1]
    begin = len(last.content) + len("\n\n")
    column = f"prompt[{place}]"
    parts = [
        *target.prompt_parts,
        Part(part=column, start=begin - len("\n\n"), end=begin, origin=Author.HUMAN, what="prompt"),
        *(
            Part(part=column, start=begin + span.start, end=begin + span.end, origin=span.author, what=span.what)
            for span in spans_by_tags(asked, files=Author.MODEL)
        ),
        *target.completion_parts("completion[0]"),
    ]
    return HybridRow(
        provenance=provenance_of([target.source], parts, options, turns=[target.turn]),
        kind="refine",
        prompt=(*target.prompt[:-1], last.model_copy(update={"content": f"{last.content}\n\n{asked}"})),
        completion=(target.completion,),
        order=tuple(order),
        right=sum(answer.reward == 1.0 for answer in candidates),
    )


def _shown(text: str, number: int, limit: int) -> str:
    """A candidate as data, which can't close its tag; of a long one the middle is left out."""
    safe = escape(text.strip(), quote=False)
    if len(safe) > limit:
        half = limit // 2
        safe = f"{safe[:half]}\n[… {len(safe) - 2 * half} characters left out …]\n{safe[len(safe) - half :]}"
    return f'<candidate number="{number}">\n{safe}\n</candidate>'


FORM = Form(
    name="hybrid_refining",
    row=HybridRow,
    make=rows,
    about="Direct and refining rows, half each, to train a refiner of one's own (GSR, arXiv 2509.00084).",
    repeats=True,
)
