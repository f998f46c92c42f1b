"""Answers that are made of steps, each of which can be checked as soon as it is there."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from groundwire.core._errors import ConfigError

StepCheck = Callable[[Sequence[str]], str | Awaitable[str]]
"""Given the steps so far, what is wrong with the last one; empty where nothing is. It must call no model."""


def by_lines(text: str) -> Sequence[str]:
    """The lines that are complete, line ends kept."""
    # by line feeds alone: str.splitlines also breaks at carriage returns and form feeds, which end no step
    return [f"{line}\n" for line in text.split("\n")[:-1]]


def nothing_wrong(_text: str) -> str:
    """Nothing."""
    return ""


@dataclass(frozen=True)
class StepRules:
    """How an answer is split into steps, and what each must hold to.

    Args:
        check: what is wrong with a step. It may be async, and goes on while the next steps are written.
        split: the complete steps of a text, which together are the beginning of it, byte for byte.
        accept: what is wrong with the whole answer, when it has been written; it may be a longer check than `check`.
        answer: the answer that a step states, normalised; empty where it states none.
        stable: answers in a row that are the same, with which writing ends; None: it ends by itself.

    Raises:
        ConfigError: `stable` is below 2.
    """

    check: StepCheck
    split: Callable[[str], Sequence[str]] = by_lines
    accept: Callable[[str], str] = nothing_wrong
    answer: Callable[[str], str] = nothing_wrong
    stable: int | None = None

    def __post_init__(self) -> None:
        if self.stable is not None and self.stable < 2:
            raise ConfigError(f"stable is {self.stable}.", do="Use 2 or more, or None.")

    def steps(self, text: str) -> Sequence[str]:
        """All steps of an answer that is complete, the last one whether or not it has an end."""
        complete = list(self.split(text))
        rest = text[sum(map(len, complete)) :]
        return [*complete, rest] if rest else complete

    def is_stable(self, steps: Sequence[str]) -> bool:
        """True if the last answers that were stated are the same often enough."""
        if self.stable is None:
            return False
        stated = [answer for step in steps if (answer := self.answer(step))]
        return len(stated) >= self.stable and len(set(stated[-self.stable :])) == 1


@dataclass(frozen=True)
class Broken:
    """A step that breaks a rule.

    Args:
        number: counted from 1.
        why: what is wrong with it.
    """

    number: int
    why: str


async def first_broken(rules: StepRules, steps: Sequence[str]) -> Broken | None:
    """The first step that breaks a rule.

    Raises:
        Exception: from the check.
    """
    for number in range(1, len(steps) + 1):
        said = rules.check(steps[:number])
        why = await said if inspect.isawaitable(said) else said
        if why:
            return Broken(number, why)
    return None
