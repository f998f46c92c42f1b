"""A loop that trains on its own sums, one digit longer each round (self-improving transformers, arXiv 2502.01612).

The student knows a table: for two digits and a carry, how often it has seen which result. It adds column by column by
that table, now and then slips, and is then trained on what the round kept.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from groundwire.training.filters._agreement import K, agreed

Cell = tuple[int, int, int]
Keep = Callable[[int, int, Sequence[str]], str | None]
SLIPS = 0.03
ROUNDS = 3
SUMS = 1200
NOTHING: list[tuple[Cell, int]] = []


@dataclass
class Student:
    """Adds by its table."""

    draw: random.Random
    table: dict[Cell, Counter[int]] = field(default_factory=dict[Cell, Counter[int]])

    def __post_init__(self) -> None:
        for x in range(10):
            for y in range(10):
                for carry in range(2):
                    right = x + y + carry
                    wrong = self.draw.choice([n for n in range(20) if n != right])
                    self.table[x, y, carry] = Counter({right: 70, wrong: 30})

    def add(self, a: int, b: int) -> tuple[str, list[tuple[Cell, int]]]:
        """A sum, and what was done in each column."""
        steps: list[tuple[Cell, int]] = []
        carry, digits = 0, ""
        for x, y in zip(reversed(f"{a:06}"), reversed(f"{b:06}"), strict=True):
            cell = int(x), int(y), carry
            seen = self.table[cell]
            result = self.draw.choices(list(seen), list(seen.values()))[0]
            if self.draw.random() < SLIPS:
                result = self.draw.randrange(20)
            steps.append((cell, result))
            digits, carry = f"{result % 10}{digits}", result // 10
        return digits, steps

    def trained(self, steps: Sequence[tuple[Cell, int]]) -> None:
        """Its table becomes what it is shown; what it is not shown stays."""
        shown: dict[Cell, Counter[int]] = {}
        for cell, result in steps:
            shown.setdefault(cell, Counter())[result] += 1
        self.table |= shown

    def accuracy(self) -> float:
        """Share of columns that it does right, by its table and its slips."""
        return sum(seen[sum(cell)] / seen.total() for cell, seen in self.table.items()) / len(self.table)


def rounds(keep: Keep, samples: int) -> list[float]:
    """Accuracy before the first round and after each."""
    draw = random.Random(3)
    student = Student(draw)
    told = [student.accuracy()]
    for length in range(1, ROUNDS + 1):
        taught: list[tuple[Cell, int]] = []
        for _ in range(SUMS):
            a, b = draw.randrange(10**length), draw.randrange(10**length)
            answers = [student.add(a, b) for _ in range(samples)]
            kept = keep(a, b, [text for text, _ in answers])
            taught += next(iter([steps[:length] for text, steps in answers if text == kept]), NOTHING)
        student.trained(taught)
        told.append(student.accuracy())
    return told


def rising(values: Sequence[float]) -> bool:
    return all(one < other for one, other in pairwise(values))


def test_accuracy_rises_each_round_with_a_checker_and_falls_without_it() -> None:
    checked = rounds(lambda a, b, texts: f"{a + b:06}" if f"{a + b:06}" in texts else None, 1)
    assert rising(checked) and checked[-1] > 0.97
    alone = rounds(lambda _a, _b, texts: texts[0], 1)
    assert rising([-value for value in alone]) and alone[-1] < 0.65
    voted = rounds(lambda _a, _b, texts: agreed(texts, 0.6), K)
    assert alone[-1] < voted[-1] < checked[-1], "agreement is worth something, and less than a checker"
