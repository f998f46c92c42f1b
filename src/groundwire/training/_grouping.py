"""Answers to the same question, side by side and in pairs of right and wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from typing import Protocol, runtime_checkable

from groundwire.training._answers import ModelAnswer
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Options, Row
from groundwire.training._trajectories import Author, Trajectory

# Episodes that answered the same question, side by side.

Key = Callable[[Trajectory], str]
"""What episodes of one group have in common."""


def group_of(trajectory: Trajectory) -> str:
    """The task and the first prompt: what recalled lessons changed in a prompt makes another question."""
    return trajectory.group


def task_of(trajectory: Trajectory) -> str:
    """The task and the files that it begins with, whatever the actor was told besides."""
    return f"{trajectory.base_digest} {trajectory.task}"


@runtime_checkable
class Grouped(Protocol):
    """Trajectories that can be had group by group without all of them in memory."""

    def in_groups(self, key: Key = group_of) -> Iterator[Sequence[Trajectory]]:
        """The groups, in the order of their first episodes; in each, the episodes in their order."""
        ...


def by_group(trajectories: Iterable[Trajectory], key: Key = group_of) -> Iterator[Sequence[Trajectory]]:
    """The trajectories by `Trajectory.group`, one group in memory at a time where they can be had so."""
    if isinstance(trajectories, Grouped):
        yield from trajectories.in_groups(key)
        return
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        groups.setdefault(key(trajectory), []).append(trajectory)
    yield from groups.values()


def by_task(trajectories: Iterable[Trajectory]) -> Iterator[Sequence[Trajectory]]:
    """The same by task: what was right in one episode is right in all of its group."""
    return by_group(trajectories, task_of)


# A right and a wrong answer to the same question: how they are put together, and how alike they are.

_WORD = re.compile(r"\w+|[^\w\s]")
"""A word, or one mark."""


class PairRow(Row):
    """A right and a wrong answer to the same question."""

    told = ("similarity",)

    prompt: tuple[ChatMessage, ...]
    """What was asked when the wrong answer was given."""
    chosen: tuple[ChatMessage, ...]
    """The answer that executed checks passed."""
    rejected: tuple[ChatMessage, ...]
    """The one that they failed."""
    same_prompt: bool
    """False where the right answer was given to another prompt: after feedback, in a later trial of the same task."""
    chosen_model: str
    """Revision of the model that gave the right answer."""
    rejected_model: str
    """Revision of the model that gave the wrong one."""
    similarity: float
    """Of the two answers, 0 to 1: twice the words that both hold, as often as both hold them, by all words."""


def similarity(one: str, other: str) -> float:
    """How alike two texts are, 0 to 1: Dice's coefficient of their words, each counted as often as it comes."""
    first, second = Counter(_WORD.findall(one)), Counter(_WORD.findall(other))
    words = first.total() + second.total()
    return 2 * (first & second).total() / words if words else 1.0


def says_the_same(one: ModelAnswer, other: ModelAnswer) -> bool:
    """True of equal texts, but for what stands around them, and of steps that do the same: between these there is
    nothing to prefer. An indent or a capital within a text may be the whole repair."""
    return one.said == other.said or one.does == other.does


def under_both_labels(answers: Iterable[ModelAnswer]) -> frozenset[str]:
    """Ids of the answers that came to the same, right once and wrong once, under the same prompt: a flaky check, or a
    step whose walk went on differently. What they would teach depends on the row that is read last."""
    labels: dict[tuple[str, str], set[bool]] = {}
    told: list[tuple[tuple[str, str], str]] = []
    for answer in answers:
        key = (answer.turn.prompt_digest, answer.does)
        labels.setdefault(key, set()).add(answer.reward == 1.0)
        told.append((key, answer.turn.id))
    return frozenset(turn for key, turn in told if len(labels[key]) > 1)


def pairs_of(
    right: Sequence[ModelAnswer], wrong: Sequence[ModelAnswer]
) -> Iterator[tuple[ModelAnswer, ModelAnswer, bool]]:
    """Each wrong answer with one right answer, and whether both were asked the same: that is preferred, and of a step
    in a world no other will do.

    The right ones take turns, so that none is in all pairs.

    Args:
        right: answers of one task that passed.
        wrong: answers of the same task that failed.
    """
    if not right:
        return
    by_prompt: dict[str, list[ModelAnswer]] = {}
    for answer in right:
        by_prompt.setdefault(answer.turn.prompt_digest, []).append(answer)
    turns = {digest: cycle(answers) for digest, answers in by_prompt.items()}
    any_of_them = cycle(right)
    for rejected in wrong:
        same = turns.get(rejected.turn.prompt_digest)
        if same is None and rejected.is_step:
            continue
        rivals = by_prompt[rejected.turn.prompt_digest] if same else right
        drawn = same or any_of_them
        chosen = next((one for _, one in zip(rivals, drawn, strict=False) if not says_the_same(one, rejected)), None)
        if chosen is not None:
            yield chosen, rejected, same is not None


def row_of(chosen: ModelAnswer, rejected: ModelAnswer, same: bool, options: Options) -> PairRow:
    """The row of one pair."""
    chosen_text = chosen.completion.content
    parts = (
        *rejected.prompt_parts,
        written_by(Author.MODEL, "chosen[0]", chosen_text, "answer"),
        written_by(Author.MODEL, "rejected[0]", rejected.completion.content, "answer"),
    )
    return PairRow(
        provenance=provenance_of([chosen.source, rejected.source], parts, options, turns=[chosen.turn, rejected.turn]),
        prompt=rejected.prompt,
        chosen=(chosen.completion,),
        rejected=(rejected.completion,),
        same_prompt=same,
        chosen_model=chosen.turn.model.revision,
        rejected_model=rejected.turn.model.revision,
        similarity=similarity(chosen_text, rejected.completion.content),
    )
