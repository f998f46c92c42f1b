"""Questions as tasks: the answer goes into one file, and a key that no actor sees judges it once, at the end.

    visible: there is an answer at all             AnswerGiven
    hidden:  it is one of the key's                AnswerKey

With `AnswerKey(oracle=True)` as the visible judge the key steers; each signal then says so.
"""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Literal

from groundwire.agents import plain_answer
from groundwire.core._candidates import Candidate, Tree
from groundwire.core._contexts import ToolContext
from groundwire.core._signals import CaseOutcome, CaseResult, Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.core._tasks import ANSWER_KEY, Hidden, Task
from groundwire.core._toolcalls import PATH as STEPS
from groundwire.core._toolcalls import answer_of
from groundwire.core._traits import ToolTraits

ANSWER = "answer.txt"
KEY = "hidden/key.json"
MOST_CHARS = 10_000
"""Of an answer that is compared word by word; what is longer is wrong."""
Compare = Literal["value", "words"]
"""`value`: numbers, formulas and letters, in the normal form in which answers are compared everywhere here. `words`: as
the open question sets are published: lower case, without articles and punctuation."""


def question_task(
    id: str, question: str, answers: Sequence[str], *, compare: Compare = "value", family: str = "", asks: str = ""
) -> Task:
    """The task of answering a question.

    Args:
        id: the task's.
        question: as it is asked.
        answers: the key: any of these is right.
        compare: how an answer is compared with them.
        family: tasks that share lessons.
        asks: what else is said of the form of an answer.
    """
    key = json.dumps({"compare": compare, "answers": list(answers)}, ensure_ascii=False)
    return Task(
        id=id,
        family=family,
        prompt=f"{question.strip()}\n\n{asks or f'Write the answer alone into {ANSWER}.'}",
        tree=Tree({ANSWER: b""}),
        command=ANSWER_KEY,
        editable=(ANSWER,),
        hidden=Hidden(ANSWER_KEY, Tree({KEY: f"{key}\n".encode()})),
    )


def is_question(task: Task) -> bool:
    """True if an answer key judges it."""
    return task.hidden is not None and task.hidden.command == ANSWER_KEY


# How an answer is compared.

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_CLOSED = frozenset({"yes", "no", "noanswer"})
_SUM = re.compile(r"(?=[^=]{0,200}\d\s{0,4}[-+*/×÷·−])[\d\s.,()$+*/×÷·−-]{1,200}=\s*([^=]{1,200})")
"""A sum of numbers and its result, which is what a key without an equals sign asks for."""


def words_of(text: str) -> list[str]:
    """The words of an answer as SQuAD's published scorer compares them (arXiv 1606.05250): lower case, without ASCII
    punctuation and without articles."""
    return _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def is_right(said: str, answers: Sequence[str], compare: Compare) -> bool:
    """True if an answer is one of the key's (exact match, for `words`). An empty one never is."""
    if not said.strip() or len(said) > MOST_CHARS:
        return False
    if compare == "words":
        mine = words_of(said)
        return any(mine == words_of(answer) for answer in answers)
    mine = plain_answer(said)
    sums = _SUM.fullmatch(said.strip())
    result = plain_answer(sums[1]) if sums else mine
    return bool(mine) and any(plain_answer(key) == (mine if "=" in key else result) for key in answers)


def word_f1(said: str, answers: Sequence[str]) -> float:
    """The F1 of the words of an answer and of the key's nearest, from 0 to 1.

    As HotpotQA's scorer (arXiv 1809.09600) has it: a `yes` or `no` matches only itself.
    """
    return max((_f1(words_of(said[:MOST_CHARS]), words_of(answer)) for answer in answers), default=0.0)


def _f1(mine: Sequence[str], theirs: Sequence[str]) -> float:
    if mine != theirs and _CLOSED & {" ".join(mine), " ".join(theirs)}:
        return 0.0
    shared = sum((Counter(mine) & Counter(theirs)).values())
    return 2 * shared / (len(mine) + len(theirs)) if shared else 0.0


def said_in(candidate: Candidate, task: Task) -> str:
    """The answer of a candidate: the text of its file, or what a sequence of calls ends with."""
    if STEPS in candidate.changes:
        return answer_of(candidate)
    return candidate.applied_to(task.tree).files.get(ANSWER, b"").decode("utf-8", "replace").strip()


class AnswerGiven:
    """Judges whether there is an answer, and no more: what the key says of it comes once, at the end."""

    traits = ToolTraits(repeatable=True)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        given = bool(said_in(candidate, task))
        return _observed(given, "there is an answer" if given else f"{ANSWER} is empty", Origin.VERIFIER, oracle=False)


class AnswerKey:
    """Judges an answer by the key of its task.

    Args:
        oracle: True where it stands in the place of visible tests, so that the key steers; every signal says so. The
            actor is told no more than that its answer is wrong.
        task: whose key it is then, since a visible judge is not shown what is hidden.
    """

    def __init__(self, *, oracle: bool = False, task: Task | None = None) -> None:
        self.traits = ToolTraits(judges_hidden=not oracle, repeatable=oracle)
        self._oracle = oracle
        self._key = task.hidden if task else None

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        origin = Origin.VERIFIER if self._oracle else Origin.HIDDEN_TESTS
        hidden = self._key or task.hidden
        if hidden is None or hidden.command != ANSWER_KEY or candidate.base_digest != task.tree.digest:
            said = "The task has no answer key, or the candidate was made for another one."
            return Observation(
                verdict=Verdict.NONE, reason=NoVerdict.USAGE, origin=origin, evidence=Evidence(detail=said)
            )
        answers, compare = key_of(hidden)
        right = is_right(said_in(candidate, task), answers, compare)
        return _observed(right, "" if right else "the answer is wrong", origin, oracle=self._oracle)


def key_of(hidden: Hidden) -> tuple[tuple[str, ...], Compare]:
    """The answers of a key, and how they are compared."""
    held = json.loads(hidden.tree.files[KEY])
    return tuple(held["answers"]), held["compare"]


def _observed(right: bool, message: str, origin: Origin, *, oracle: bool) -> Observation:
    result = CaseResult.PASSED if right else CaseResult.FAILED
    case = CaseOutcome(id="answer", result=result, message="" if right else message)
    evidence = Evidence(cases=(case,), collected=1, detail=message or "the answer holds")
    verdict = Verdict.PASS if right else Verdict.FAIL
    return Observation(verdict=verdict, origin=origin, oracle=oracle, evidence=evidence)
