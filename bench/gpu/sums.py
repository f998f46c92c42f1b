"""Problems with one number as the answer, made by seed; asked for with examples, as small models need."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Literal, get_args

from groundwire.agents import Extra, Question, SampledAnswer, TextAnswer, stated_answer
from groundwire.agents.width._sampling import NOTHING
from groundwire.core import (
    ActorContext,
    Candidate,
    CaseOutcome,
    CaseResult,
    Evidence,
    Message,
    Observation,
    Origin,
    Task,
    ToolContext,
    Tree,
    Verdict,
)

__all__ = ["KINDS", "AnswerKey", "Kind", "ShownExamples", "problems", "said_by"]

FILE = "answer.txt"
NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gina", "Hugo")
THINGS = ("apples", "books", "coins", "eggs", "marbles", "pens", "stamps", "shells")
SUMS = tuple((f"What is {a} + {b}?", f"{a} + {b} = {a + b}\nANSWER: {a + b}") for a, b in ((2, 5), (8, 6), (3, 9)))
STORIES = (
    ("Ivy has 3 keys. She finds 4 more. How many keys has she now?", "Ivy has 3 + 4 = 7 keys.\nANSWER: 7"),
    ("Leo has 9 nuts. He eats 2 of them. How many nuts has he now?", "Leo has 9 - 2 = 7 nuts.\nANSWER: 7"),
    ("Mia has 2 bags with 5 balls each. How many balls has she?", "Mia has 2 * 5 = 10 balls.\nANSWER: 10"),
    ("Sam has 4 cups. He buys 3 more and breaks 1. How many cups has he now?",
     "Sam has 4 + 3 = 7 cups, then 7 - 1 = 6 cups.\nANSWER: 6"),
)  # fmt: skip


Kind = Literal["sums", "easy", "hard"]
"""- `sums`: numbers alone, which also the smallest models know.
- `easy`: stories of one step.
- `hard`: stories with two steps, products and numbers over ten, which the smallest models mostly get wrong.
"""
KINDS: tuple[Kind, ...] = get_args(Kind)


def problems(count: int, seed: int, kind: Kind) -> list[tuple[Task, str]]:
    """Problems and their answers, no two of them the same.

    Args:
        count: how many.
        seed: the same one gives the same.
        kind: how hard they are.
    """
    rng = random.Random(seed)
    make = {"sums": _sum, "easy": _easy, "hard": _hard}[kind]
    found: dict[str, str] = {}
    while len(found) < count:
        text, answer = make(rng)
        found.setdefault(text, str(answer))
    tree = Tree({FILE: b"?\n"})
    tasks = [
        Task(id=f"{kind}-{i}", family=kind, prompt=text, tree=tree, editable=(FILE,)) for i, text in enumerate(found)
    ]
    return list(zip(tasks, found.values(), strict=True))


def _sum(rng: random.Random) -> tuple[str, int]:
    a, b = rng.randint(1, 9), rng.randint(1, 9)
    return f"What is {a} + {b}?", a + b


def _easy(rng: random.Random) -> tuple[str, int]:
    name, what = rng.choice(NAMES), rng.choice(THINGS)
    a, b = rng.randint(2, 6), rng.randint(1, 4)
    if rng.randrange(2):
        return f"{name} has {a} {what}. {name} finds {b} more. How many {what} has {name} now?", a + b
    return f"{name} has {a + b} {what}. {name} loses {b} of them. How many {what} has {name} now?", a


def _hard(rng: random.Random) -> tuple[str, int]:
    name, what = rng.choice(NAMES), rng.choice(THINGS)
    a, b, c = rng.randint(4, 12), rng.randint(2, 9), rng.randint(1, 3)
    match rng.randrange(3):
        case 0:
            return f"{name} has {a + b} {what}. {b} of them are lost. How many {what} are left?", a
        case 1:
            return f"{name} has {c + 1} boxes with {b} {what} each. How many {what} are there?", (c + 1) * b
        case _:
            return f"{name} has {a} {what}. {name} buys {b} more and loses {c}. How many {what} are left?", a + b - c


class ShownExamples(TextAnswer):
    """Asks by examples of question and answer, which a small model goes on with."""

    def question(self, context: ActorContext, added: Extra = NOTHING, *, told: bool = True) -> Question:
        """See `Asking`. Nothing is added or told."""
        shown: list[Message] = []
        examples = SUMS if context.task.family == "sums" else STORIES
        for asked, answer in (*examples, (context.task.prompt, "")):
            shown.append(Message(role="user", content=asked))
            shown += [Message(role="assistant", content=answer)] if answer else []
        return Question(tuple(shown), added.digest)

    def read(self, text: str, context: ActorContext) -> SampledAnswer | None:
        """See `Asking`."""
        own = self.said(text)
        return super().read(f"ANSWER: {own}", context) if own else None

    def said(self, text: str) -> str:
        """The answer in a model's text, before it goes on with problems of its own; empty where there is none."""
        return stated_answer(text.split("\n\n")[0]).answer.split("\n")[0]


class AnswerKey:
    """Judges by the right answers.

    Args:
        answers: by the task's id.
    """

    def __init__(self, answers: dict[str, str]) -> None:
        self._answers = answers

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `Tool`."""
        said = (candidate.changes.get(FILE) or b"").decode().strip()
        right = said == self._answers[task.id]
        case = CaseOutcome(id="answer", result=CaseResult.PASSED if right else CaseResult.FAILED)
        return Observation(
            verdict=Verdict.PASS if right else Verdict.FAIL,
            origin=Origin.VERIFIER,
            oracle=True,
            evidence=Evidence(cases=(case,)),
        )


def said_by(candidates: Sequence[Candidate]) -> str:
    """The first one's answer; empty where there is none."""
    return (candidates[0].changes.get(FILE) or b"").decode().strip() if candidates else ""
