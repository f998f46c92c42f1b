"""A tree of what was really tried, and a short causal account of it: GLAD of ProAct (arXiv 2602.05327).

The walks of one task make a tree whose values are means of what they came to, so they rest on the world and on no
critic (the paper's MC-Critic). Along the best way the tree is compressed into a chain: at each place what was tried,
what it led to, and why the next step was taken. The chain is what a model learns to think; the tree is its evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from groundwire.training._grouping import by_task
from groundwire.training._provenance import provenance_of
from groundwire.training._schema import ChatMessage, Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Author, Trajectory
from groundwire.training._walks import Path, Walk, walks_of

SCENE_CHARS = 200
"""Of each scene in the chain; the tree holds all of it."""


class Place(BaseModel):
    """A place in the tree."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    parent: int | None
    """Index of the place before it; null: the beginning."""
    action: str
    """What led here; empty at the beginning."""
    seen: str
    """What the world showed then; empty at the beginning, where the prompt shows it."""
    visits: int
    """Walks that came through."""
    value: float
    """Mean of what these came to, 0 to 1."""
    ended: bool
    """A walk ended here."""


class GladRow(Row):
    """What is known of one task."""

    answers = frozenset({"chain", "tree", "actions"})
    told = ("walks", "compression")

    prompt: tuple[ChatMessage, ...]
    """What was asked before the first step."""
    tree: tuple[Place, ...]
    """All places, each behind its parent; the first is the beginning."""
    chain: str
    """The account of it, along the best way."""
    actions: tuple[str, ...]
    """The best way: it won."""
    walks: int
    """That the tree is made of."""
    compression: float
    """Characters of the chain for one of what the walks showed and did, all told."""


@dataclass
class _Node:
    action: str = ""
    seen: str = ""
    values: list[float] = field(default_factory=list[float])
    children: dict[str, _Node] = field(default_factory=dict[str, "_Node"])
    ended: bool = False


def tree_of(walks: Iterable[tuple[Path, Sequence[str], float]]) -> tuple[Place, ...]:
    """The tree of some walks, depth first, each place behind its parent.

    Args:
        walks: of each its actions, what was seen after each of them, and what it came to.
    """
    root = _Node()
    for path, seen, value in walks:
        node = root
        node.values.append(value)
        for action, shown in zip(path, seen, strict=True):
            node = node.children.setdefault(action, _Node(action, shown))
            node.values.append(value)
        node.ended = True
    places: list[Place] = []
    left: list[tuple[_Node, int | None]] = [(root, None)]
    while left:
        node, parent = left.pop()
        left.extend((child, len(places)) for child in reversed(node.children.values()))
        mean = sum(node.values) / len(node.values) if node.values else 0.0
        places.append(
            Place(
                parent=parent,
                action=node.action,
                seen=node.seen,
                visits=len(node.values),
                value=mean,
                ended=node.ended,
            )
        )
    return tuple(places)


@dataclass(frozen=True)
class Chain:
    """A compressed tree.

    Args:
        text: the account.
        parts: who wrote which part of it, in the column `chain`.
    """

    text: str
    parts: tuple[Part, ...]


def chain_of(tree: Sequence[Place], actions: Sequence[str]) -> Chain:
    """The account of a tree along one way: at each place what else was tried there and what became of it, then the step
    that was taken, what it led to, and what it is worth.

    Args:
        tree: by `tree_of`.
        actions: a way in it, from the beginning.
    """
    below: dict[int, list[int]] = {}
    for index, place in enumerate(tree):
        if place.parent is not None:
            below.setdefault(place.parent, []).append(index)
    pieces: list[tuple[str, Author]] = []
    here = 0
    for number, action in enumerate(actions, 1):
        taken = next(index for index in below[here] if tree[index].action == action)
        for index in sorted(below[here], key=lambda i: tree[i].value):
            if index != taken:
                pieces += _told(f"{number}. If I do ", tree[index])
        pieces += _told(f"{number}. So I do ", tree[taken])
        here = taken
    text, parts = "", list[Part]()
    for piece, author in pieces:
        if piece:
            parts.append(Part(part="chain", start=len(text), end=len(text) + len(piece), origin=author, what="chain"))
        text += piece
    return Chain(text, tuple(parts))


def _told(begun: str, place: Place) -> Iterator[tuple[str, Author]]:
    seen = " ".join(place.seen.split())
    shown = seen if len(seen) <= SCENE_CHARS else f"{seen[:SCENE_CHARS]}…"
    worth = f"won {place.value:.0%} of {place.visits}"
    yield begun, Author.HUMAN
    yield place.action, Author.MODEL
    yield ": ", Author.HUMAN
    yield shown, Author.ENV
    yield f" ({worth}).\n", Author.HUMAN


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row for each task that was won at least once."""
    for episodes in by_task(trajectories):
        walks = [walk for trajectory in episodes for walk in walks_of(trajectory)]
        won = [walk for walk in walks if walk.reward == 1.0]
        if not won:
            reason = "never_won" if walks else "no_walk"
            yield from (Rejected(reason, trajectory.episode) for trajectory in episodes)
            continue
        if len(walks) < options.least_continuations:
            yield from (Rejected("too_few_walks", trajectory.episode) for trajectory in episodes)
            continue
        row = _row_of(walks, min(won, key=lambda walk: len(walk.steps)), options)
        # an account that is longer than what it tells of compresses nothing
        yield row if row.compression <= 1 else Rejected("chain_longer_than_the_walks", row.provenance.episodes[0])


def _row_of(walks: Sequence[Walk], best: Walk, options: Options) -> GladRow:
    tree = tree_of((walk.path, [step.seen for step in walk.steps], walk.reward) for walk in walks)
    chain = chain_of(tree, best.path)
    prompt, parts = best.opening
    told = [Part(part=f"tree[{n}].seen", end=len(p.seen), origin=Author.ENV, what="scene") for n, p in enumerate(tree)]
    done = sum(len(step.text) + len(step.seen) for walk in walks for step in walk.steps)
    sources = [walk.source for walk in walks]
    return GladRow(
        provenance=provenance_of(
            sources, (*parts, *told, *chain.parts), options, turns=[t for w in walks for t in w.turns]
        ),
        prompt=prompt,
        tree=tree,
        chain=chain.text,
        actions=best.path,
        walks=len(walks),
        compression=len(chain.text) / max(done, 1),
    )


FORM = Form(
    name="glad",
    row=GladRow,
    make=rows,
    about="The tree of what was tried in a world, and its compressed causal chain: ProAct's GLAD (2602.05327).",
    repeats=True,
)
