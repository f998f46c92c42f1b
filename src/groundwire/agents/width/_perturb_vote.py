"""A task in versions that change nothing: solve each, undo the change in the answer, vote (HRM, arXiv 2601.10679)."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from groundwire.agents.width._sampling import Answer, Asking, Question, Sampler, in_order, named, ranked
from groundwire.agents.width._voting import majority
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend

_DIGIT = re.compile(r"[1-9]")
_OPTION = re.compile(r"^([A-Z])([.)][ \t]+)(.+)$", re.MULTILINE)
_LETTER = re.compile(r"\(?\b([A-Z])\b\)?")


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
    """Changes a task in a way that changes nothing about its answer but how it is written."""

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
    """Choices in lines `A. …`, `B) …`: their texts change places, and the letter of an answer is mapped back."""
    options = list(_OPTION.finditer(prompt))
    letters = [found[1] for found in options]
    if len(set(letters)) != len(letters) or len(letters) < 2:
        return Perturbed(prompt, lambda text: text)
    order = rng.sample(range(len(options)), len(options))
    texts = iter([options[i][3] for i in order])
    back = {letters[place]: letters[came_from] for place, came_from in enumerate(order)}
    shuffled = _OPTION.sub(lambda found: f"{found[1]}{found[2]}{next(texts)}", prompt)
    return Perturbed(shuffled, lambda text: _LETTER.sub(lambda found: back.get(found[1], found[1]), text, count=1))


class PerturbVote:
    """Solves the task as it is and `versions` changed ones, undoes each change, and votes.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read; of text answers.
        perturbation: what changes nothing: `relabelled_digits`, `shuffled_options`, or one of your own.
        versions: changed ones.
        temperature: of answers.
        max_tokens: of each.

    Raises:
        ConfigError: an argument is out of range.
    """

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
            raise ConfigError(f"{versions} versions are no width.", do="At least 1.")
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
        rng = random.Random(seed_in(context, "shuffle"))
        task = context.task
        versions = [Perturbed(task.prompt, lambda text: text)]
        versions += [self._perturbation(task.prompt, rng) for _ in range(self._versions)]
        questions = [self._question(context, version) for version in versions]
        drafts = await self._sampler.drafts(context, self._asking, questions, stage=0)
        undone = [
            replace(draft, answer=self._undone(draft.answer, version, context))
            for draft, version in zip(drafts, versions, strict=True)
        ]
        vote = majority([d.key for d in undone])
        note = f"vote over {len(versions)} versions: {vote}"
        return ranked([named(a, "vote.perturbed", note) for a in in_order(undone, vote.ranking)], context, n)

    def _question(self, context: ActorContext, version: Perturbed) -> Question:
        # what failed is told in the words of the task as it was, which a changed one does not know
        told = version.prompt == context.task.prompt
        changed = replace(context, task=replace(context.task, prompt=version.prompt))
        return self._asking.question(changed, told=told)

    def _undone(self, answer: Answer | None, version: Perturbed, context: ActorContext) -> Answer | None:
        return self._asking.read(f"ANSWER: {version.undo(answer.text)}", context) if answer else None
