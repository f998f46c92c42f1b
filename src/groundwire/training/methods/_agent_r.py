"""Going wrong, noticing it early, and turning back: spliced walks of Agent-R (arXiv 2501.11425).

Walks of one task, from whatever episodes and trials, make a tree. Of a good and a bad one that share a beginning:

    the bad walk up to its first bad step      loss off
    a revision thought                         loss on
    the good walk, from where they part        loss on

The first bad step is the first that an executed check refused, or from which on the tree is worth no more than α; the
paper asks the model itself. A place is worth the mean of what the walks through it came to. (The published script
compares floats with texts from the environment, and would raise.)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from groundwire.core._errors import ConfigError
from groundwire.core._signals import Origin
from groundwire.training._grouping import by_task
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Author, Trajectory
from groundwire.training._walks import Path, Taken, Walk, walks_of

_REWARD = re.compile(r"reward (-?\d{1,6}(?:\.\d{1,12})?)")
THOUGHTS = (
    "Wait. My last steps did not bring me nearer to the goal. I go back to where I left the right way.",
    "This does not work out. I should take another way from where I was before.",
    "I see from what came back that I have made a mistake. I correct it now.",
    "That was the wrong thing to do. I think again from the point before it.",
    "I am getting further away from what was asked. I turn back.",
    "What I did last was no use. There must be a better step at that place.",
    "I have gone wrong here. I return to the last place where all was well.",
    "The answer to my last step shows that my plan is wrong. I change the plan.",
    "I stop here, since going on like this leads nowhere, and try something else.",
    "Looking back, I should have done something else earlier. I do that now.",
)
"""What turns the walk round; ours. Which one is taken depends on the two walks alone."""


class AgentRRow(Row):
    """One spliced walk."""

    answers = frozenset[str]()
    told = ("resumes",)

    messages: tuple[ChatMessage, ...]
    """What was asked, the bad steps with what came back, the thought, and the good steps with what came back."""
    loss_mask: tuple[bool, ...]
    """Of each message: true where it is learned."""
    bad_steps: int
    """Of the bad walk that are shown."""
    shared_steps: int
    """Steps that both walks begin with."""
    good_steps: int
    """Of the good walk that follow the thought."""
    good_value: float
    """What the good walk came to, 0 to 1."""
    bad_value: float
    """What the bad one came to."""
    resumes: bool
    """True where the world, after the bad steps, shows letter for letter what it shows where the walks part. Else the
    good steps stand behind a state that they were not taken in: worlds that do not forgive can't be gone back in."""


@dataclass(frozen=True)
class Splice:
    """Where two walks are put together.

    Args:
        shared: steps that both begin with.
        bad: steps of the bad walk that are kept: up to its first bad one.
    """

    shared: int
    bad: int


def worth(walks: Sequence[tuple[Path, float]]) -> dict[Path, float]:
    """What each place of a tree is worth: the mean of what the walks through it came to."""
    through: dict[Path, list[float]] = {}
    for path, value in walks:
        for length in range(len(path) + 1):
            through.setdefault(path[:length], []).append(value)
    return {place: sum(values) / len(values) for place, values in through.items()}


def spliced(
    good: tuple[Path, float],
    bad: tuple[Path, float],
    places: Mapping[Path, float],
    *,
    refused: Sequence[int] = (),
    alpha: float = 0.5,
    beta: float = 0.2,
) -> Splice | None:
    """Where a good and a bad walk are put together; None where they are no pair.

    Args:
        good: its steps, and what it came to.
        bad: likewise.
        places: of the tree, by `worth`.
        refused: steps of the bad walk, counted from 1, that an executed check refused.
        alpha: the good walk is worth more than this, 0 to 1.
        beta: the two are further apart than this, 0 to 1.

    Raises:
        ConfigError: alpha or beta is out of range.
    """
    if not (0 <= alpha <= 1 and 0 <= beta <= 1):
        raise ConfigError(f"alpha {alpha} or beta {beta} is out of range.", do="Use numbers from 0 to 1.")
    (right, high), (wrong, low) = good, bad
    if not (high > alpha and high - low > beta):
        return None
    shared = next(
        (n for n, (a, b) in enumerate(zip(right, wrong, strict=False)) if a != b), min(len(right), len(wrong))
    )
    if shared in (len(right), len(wrong)):
        return None
    # a step that both took can't be what was wrong with one of them
    later = range(shared + 1, len(wrong) + 1)
    sunk = (n for n in later if n in refused or places[wrong[:n]] <= alpha)
    return Splice(shared, next(sunk, len(wrong)))


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row for each bad walk, with the good walk that shares most of its beginning."""
    for episodes in by_task(trajectories):
        walks = [walk for trajectory in episodes for walk in walks_of(trajectory)]
        if not walks:
            yield from (Rejected("no_walk", trajectory.episode) for trajectory in episodes)
            continue
        places = worth([(walk.path, worth_of(walk)) for walk in walks])
        for bad in walks:
            if worth_of(bad) > options.thresholds.agent_r_alpha:
                continue
            yield _spliced_row(bad, walks, places, options) or Rejected("no_good_walk_beside_it", bad.where)


def worth_of(walk: Walk) -> float:
    """What a walk came to: the world's own reward where it tells one, else 1.0 or 0.0 by executed checks."""
    for signal in reversed(walk.end.signals):
        told = _REWARD.fullmatch(signal.detail) if signal.executed and signal.origin is Origin.ENVIRONMENT else None
        if told is not None:
            return min(1.0, max(0.0, float(told[1])))
    return walk.reward


def _spliced_row(bad: Walk, walks: Sequence[Walk], places: Mapping[Path, float], options: Options) -> Row | None:
    refused = [number for number, step in enumerate(bad.steps, 1) if step.attempt.failed]
    pairs: list[tuple[Splice, Walk]] = []
    for good in walks:
        found = spliced(
            (good.path, worth_of(good)),
            (bad.path, worth_of(bad)),
            places,
            refused=refused,
            alpha=options.thresholds.agent_r_alpha,
            beta=options.thresholds.agent_r_beta,
        )
        if found is not None:
            pairs.append((found, good))
    if not pairs:
        return None
    splice, good = max(pairs, key=lambda pair: (pair[0].shared, worth_of(pair[1])))
    return _row_of(splice, good, bad, options)


def _row_of(splice: Splice, good: Walk, bad: Walk, options: Options) -> Row:
    opening, parts = bad.opening
    messages, told, mask = list(opening), list(parts), [False] * len(opening)

    def add(role: str, content: str, author: Author, what: str, learned: bool) -> None:
        part: Part = written_by(author, f"messages[{len(messages)}]", content, what)
        messages.append(ChatMessage.model_validate({"role": role, "content": content}))
        told.append(part)
        mask.append(learned)

    def add_step(step: Taken, learned: bool) -> None:
        author = Author.MODEL if step.turn is not None else Author.ENV
        add("assistant", step.said, author, "action", learned)
        add("user", step.seen, Author.ENV, "scene", False)

    told = [part.model_copy(update={"part": part.part.replace("prompt[", "messages[", 1)}) for part in told]
    for step in bad.steps[: splice.bad]:
        add_step(step, False)
    add("assistant", _thought(good, bad), Author.HUMAN, "revision", True)
    # the very words of the world at that place, so that no two answers follow each other
    parting = good.steps[splice.shared - 1].seen if splice.shared else ""
    add("user", parting or opening[-1].content, Author.ENV, "scene", False)
    for step in good.steps[splice.shared :]:
        add_step(step, True)
    if good.steps[-1].seen == "":
        messages, mask, told = messages[:-1], mask[:-1], told[:-1]
    return AgentRRow(
        provenance=provenance_of([good.source, bad.source], told, options, turns=[*bad.turns, *good.turns]),
        messages=tuple(messages),
        loss_mask=tuple(mask),
        bad_steps=splice.bad,
        shared_steps=splice.shared,
        good_steps=len(good.steps) - splice.shared,
        good_value=worth_of(good),
        bad_value=worth_of(bad),
        resumes=bool(parting) and bad.steps[splice.bad - 1].seen == parting,
    )


def _thought(good: Walk, bad: Walk) -> str:
    digest = hashlib.sha256(f"{good.end.digest} {bad.end.digest}".encode()).digest()
    return THOUGHTS[digest[0] % len(THOUGHTS)]


FORM = Form(
    name="agent_r",
    row=AgentRRow,
    make=rows,
    about="A bad walk's beginning, a turn-round and the good way on, with loss masks: Agent-R (arXiv 2501.11425).",
)
