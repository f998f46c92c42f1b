"""What a set of questions is: published rows, each read as one question with its key; and the file of its passages."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Protocol

from groundwire.benchmarks._base import Item
from groundwire.benchmarks.answers._key import Compare, question_task
from groundwire.benchmarks.answers._rows import rows_of
from groundwire.core._candidates import Tree
from groundwire.core._tasks import Task
from groundwire.logs._rows import LogRow

PASSAGES = "passages.txt"
"""What an item brings to be searched in, an empty line between two passages; in a task's tree."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ASKS_LETTER = "Write the letter of the right choice alone into answer.txt."
ASKS_WORDS = "Write the answer alone, in as few words as it takes, into answer.txt."


@dataclass(frozen=True)
class PublishedQuestion:
    """One question of a set.

    Args:
        id: within the set.
        text: as it is asked, choices included.
        answers: any of these is right.
        compare: see `question_task`.
        asks: the form of an answer.
        split: the part of the set.
        passages: what the item brings to be searched in.
    """

    id: str
    text: str
    answers: tuple[str, ...]
    compare: Compare = "value"
    asks: str = ""
    split: str = "test"
    passages: tuple[str, ...] = ()

    def task(self, family: str) -> Task:
        """As a task of that family."""
        task = question_task(
            f"{family}/{self.id}", self.text, self.answers, compare=self.compare, family=family, asks=self.asks
        )
        if not self.passages:
            return task
        text = "\n\n".join(" ".join(passage.split()) for passage in self.passages)
        return replace(task, tree=Tree({**task.tree.files, PASSAGES: f"{text}\n".encode()}))


class AsksOne(Protocol):
    """A row of a published file that can be read as a question."""

    def question(self, number: int, where: str) -> PublishedQuestion | None:
        """The question; None where it can't be asked here, which the set's page says.

        Args:
            number: of the row, from 1.
            where: its place, for messages.

        Raises:
            RecordingError: it can't be read.
        """
        ...


@dataclass(frozen=True)
class QuestionSet:
    """A public set of questions. Right is what its key says, once, at the end; nothing of it steers.

    Args:
        name: as on the command line.
        files: the names of the files that are read.
        download: where they are published; for people, never fetched.
        row: reads a row.
        header: names of the columns, where the published file has none.
    """

    name: str
    files: tuple[str, ...]
    download: str
    row: type[LogRow]
    header: tuple[str, ...] = field(default=())
    repairs: bool = False

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        seen: dict[str, int] = {}
        for number, (row, where) in enumerate(rows_of(self.row, data, self, self.header), start=1):
            asking: AsksOne = row  # pyright: ignore[reportAssignmentType]  # each of the rows is one
            question = asking.question(number, where)
            if question is None:
                continue
            times = seen[question.id] = seen.get(question.id, 0) + 1
            named = question if times == 1 else replace(question, id=f"{question.id}-{times}")
            yield Item(named.task(self.name), question.split)


# What readers of rows share.


def file_of(where: str) -> PurePath:
    """The file of a row, from its place (`FILE:3`, `FILE, row 3`)."""
    file, comma, _ = where.rpartition(", row ")
    return PurePath(file if comma else where.rpartition(":")[0])


def choices(question: str, options: Sequence[str]) -> str:
    """A question with its options, a line each: `A. …`."""
    lines = (f"{letter}. {' '.join(option.split())}" for letter, option in zip(LETTERS, options, strict=False))
    return "\n".join((question.strip(), "", *lines))


def shuffled(options: Sequence[str], by: str) -> list[int]:
    """An order of options that is the same on every machine: by a text, such as the row's id."""
    order = list(range(len(options)))
    random.Random(hashlib.sha256(by.encode()).digest()).shuffle(order)
    return order


_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{")


def last_boxed(solution: str) -> str:
    """What the last `\\boxed{…}` of a solution holds, braces within it included; empty where there is none."""
    found = [match.end() for match in _BOXED.finditer(solution)]
    if not found:
        return ""
    depth, start = 1, found[-1]
    for place in range(start, len(solution)):
        depth += {"{": 1, "}": -1}.get(solution[place], 0)
        if depth == 0:
            return solution[start:place]
    return ""


def number_in(value: str | float) -> str:
    """A whole number as it is written: `142.0` and `0142` are `142`; all else as it is."""
    text = str(value).strip()
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else text  # exact in a float
