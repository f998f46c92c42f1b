"""A task in versions that change nothing: solve each, undo the change in the answer, vote (HRM, arXiv 2601.10679)."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from groundwire.agents.width._options import named_option, options_in
from groundwire.agents.width._sampling import (
    REVISED,
    Asking,
    Question,
    SampledAnswer,
    Sampler,
    drawn,
    in_order,
    named,
    ranked,
)
from groundwire.agents.width._voting import majority
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend

_DIGIT = re.compile(r"[1-9]")
_MOVES_NOT = re.compile(
    r"\b(?:all|none|both|neither|any|some|each)[ ]of[ ](?:the|these|them|those)\b|\b(?:above|below|previous)\b"
    r"|[(\[]?\b[A-Z][)\]]?[ ]?(?:,|and|or|&|/)[ ][(\[]?[A-Z]\b|\A[\W]*(?:both|neither|only)\b",
    re.IGNORECASE,
)
"""An option that speaks of others, or of its own place: it stays where it is."""
_CELL = r"[0-9.*_?xX]"
_ROW = re.compile(rf"[\s|\[\],;:]*(?:{_CELL}[\s|\[\],;:]*){{4,256}}")
_RULE = re.compile(r"[\s|+=:-]*")
SIZES = {4: 2, 9: 3, 16: 4}
"""Cells of a row, and rows of a band."""
TRIES = 20
"""Versions that are drawn at most for one that differs from those before."""


@dataclass(frozen=True)
class Perturbed:
    """One version of a task.

    Args:
        prompt: the changed text.
        undo: brings an answer to it back to one of the task as it was.
    """

    prompt: str
    undo: Callable[[str], str]


class Perturbation(Protocol):
    """Rewrites a task so that its answer stays the same, except for how it is written."""

    def __call__(self, prompt: str, rng: random.Random) -> Perturbed:
        """One version, by the generator; the text as it was where there is nothing to change."""
        ...


def relabelled_digits(prompt: str, rng: random.Random) -> Perturbed:
    """A Sudoku, or whatever its digits 1 to 9 are only names in: each digit becomes another one, all through the text.

    Give the puzzle alone as the task's prompt: digits that count something would be renamed too.
    """
    digits = list("123456789")
    names = rng.sample(digits, len(digits))
    there, back = dict(zip(digits, names, strict=True)), dict(zip(names, digits, strict=True))
    return Perturbed(
        _DIGIT.sub(lambda found: there[found[0]], prompt), lambda text: _DIGIT.sub(lambda found: back[found[0]], text)
    )


def shuffled_options(prompt: str, rng: random.Random) -> Perturbed:
    """Choices change places, in whatever form they are listed (`options_in`), and an answer's label is mapped back.

    Options that speak of others ("none of the above", "both A and B") keep their place; the others move around them.
    """
    options = options_in(prompt)
    moving = [place for place, option in enumerate(options) if not _MOVES_NOT.search(option.text)]
    if len(moving) < 2:
        return Perturbed(prompt, lambda text: text)
    order = dict(zip(moving, rng.sample(moving, len(moving)), strict=True))
    came_from = [order.get(place, place) for place in range(len(options))]
    pieces, at = list[str](), 0
    for place, option in enumerate(options):
        pieces += prompt[at : option.start], options[came_from[place]].text
        at = option.end
    shuffled = "".join((*pieces, prompt[at:]))
    back = {option.label.casefold(): options[came_from[place]].label for place, option in enumerate(options)}
    listed = options_in(shuffled)

    def undo(text: str) -> str:
        named = named_option(text, listed)
        if named is None:
            return text
        label, rest = named[0].label, named[1]
        begins = text[: len(text.rstrip()) - len(rest.rstrip())] if rest.strip() else text
        return (
            re.sub(rf"\b{re.escape(label)}\b", back[label.casefold()], begins, count=1, flags=re.IGNORECASE)
            + (text[len(begins) :])
        )

    return Perturbed(shuffled, undo)


def swapped_lines(prompt: str, rng: random.Random) -> Perturbed:
    """A Sudoku of 4, 9 or 16: rows change places within their band, bands among themselves, and columns likewise.

    The grid stands in the task row by row, or in one line; what parts its cells stays as it is, and so in the answer,
    whose grid is put back. Text that holds no grid is left alone.
    """
    cells = _grid(prompt)
    size = math.isqrt(len(cells))
    if size not in SIZES:
        return Perturbed(prompt, lambda text: text)
    rows, columns = _swapped(size, rng), _swapped(size, rng)
    came_from = [size * row + column for row in rows for column in columns]

    def undo(text: str) -> str:
        found = _grid(text)
        if len(found) != len(came_from):
            return text
        goes_to = {origin: place for place, origin in enumerate(came_from)}
        return _filled(text, found, [text[found[goes_to[cell]]] for cell in range(len(found))])

    return Perturbed(_filled(prompt, cells, [prompt[cells[origin]] for origin in came_from]), undo)


def _swapped(size: int, rng: random.Random) -> list[int]:
    """Lines in an order that keeps each band's together."""
    high = SIZES[size]
    bands = rng.sample(range(size // high), size // high)
    return [band * high + line for band in bands for line in rng.sample(range(high), high)]


def _grid(text: str) -> list[int]:
    """Where the cells of the first square grid in a text are, row by row; nothing where there is none."""
    rows: list[list[int]] = []
    for start, line in _lines(text):
        cells = [start + found.start() for found in re.finditer(_CELL, line)] if _ROW.fullmatch(line) else []
        is_square = math.isqrt(len(cells)) in SIZES and len(cells) == math.isqrt(len(cells)) ** 2
        if is_square and not rows and not (len(cells) in SIZES and _is_row(text, start, len(cells))):
            return cells
        if cells and (not rows or len(cells) == len(rows[0])):
            rows.append(cells)
            if len(rows) == len(rows[0]) and len(rows) in SIZES:
                return [cell for row in rows for cell in row]
        elif rows and not _RULE.fullmatch(line):
            rows = [cells] if cells else []
    return []


def _is_row(text: str, start: int, cells: int) -> bool:
    """True if as many rows of as many cells stand there: 16 cells are a row of 16, or four rows of 4 in one line."""
    following = [line for _, line in _lines(text[start:]) if not _RULE.fullmatch(line) or re.search(_CELL, line)]
    return len(following) >= cells and all(len(re.findall(_CELL, line)) == cells for line in following[:cells])


def _lines(text: str) -> list[tuple[int, str]]:
    places, at = list[tuple[int, str]](), 0
    for line in text.split("\n"):
        places.append((at, line))
        at += len(line) + 1
    return places


def _filled(text: str, cells: Sequence[int], values: Sequence[str]) -> str:
    letters = list(text)
    for place, value in zip(cells, values, strict=True):
        letters[place] = value
    return "".join(letters)


class PerturbVote:
    """Solves the task as it is and `versions` changed ones, undoes each change, and votes.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read; of text answers.
        perturbation: what changes nothing: `relabelled_digits`, `swapped_lines`, `shuffled_options`, or one of your
            own. Where it finds nothing to change in a task, that is warned of and in the candidate's note: the task is
            then asked once, since a vote among equal questions would only look like one.
        versions: changed ones, each other than the task and those before where there are so many.
        temperature: of answers.
        max_tokens: of each.

    Raises:
        ConfigError: an argument is out of range.
    """

    traits = REVISED

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        perturbation: Perturbation,
        *,
        versions: int = 9,
        temperature: float = 0.0,
        max_tokens: int = 2048,
    ) -> None:
        if versions < 1:
            raise ConfigError(f"PerturbVote was asked for {versions} versions.", do="Use 1 or more.")
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        self._asking = asking
        self._perturbation = perturbation
        self._versions = versions

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: the answer that most versions came to, then the others.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        versions = self._drawn(context, drawn(self._versions, context, n))
        questions = [self._question(context, version) for version in versions]
        drafts = await self._sampler.drafts(context, self._asking, questions, phase=0)
        undone = [
            replace(draft, answer=self._undone(draft.answer, version, context))
            for draft, version in zip(drafts, versions, strict=True)
        ]
        vote = majority([d.key for d in undone])
        note = f"vote over {len(versions)} versions: {vote}"
        if len(versions) == 1:
            note = "nothing was changed: the perturbation finds nothing in this task that it could"
            warnings.warn(f"PerturbVote, task {context.task.id}: {note}.", UserWarning, stacklevel=2)
        candidates = [named(a, "vote.perturbed", note) for a in in_order(undone, vote.ranking)]
        return ranked(candidates, context, n, self._asking, drafts)

    def _drawn(self, context: ActorContext, wanted: int) -> list[Perturbed]:
        """The task as it is and changed ones, each once."""
        rng = random.Random(seed_in(context, "shuffle"))
        prompt = context.task.prompt
        versions = {prompt: Perturbed(prompt, lambda text: text)}
        for _ in range(wanted * TRIES):
            version = self._perturbation(prompt, rng)
            versions.setdefault(version.prompt, version)
            if len(versions) > wanted:
                break
        return list(versions.values())

    def _question(self, context: ActorContext, version: Perturbed) -> Question:
        # what failed is told in the words of the task as it was, which a changed one does not know
        told = version.prompt == context.task.prompt
        changed = replace(context, task=replace(context.task, prompt=version.prompt))
        return self._asking.question(changed, told=told)

    def _undone(self, answer: SampledAnswer | None, version: Perturbed, context: ActorContext) -> SampledAnswer | None:
        return self._asking.read(f"ANSWER: {version.undo(answer.text)}", context) if answer else None
