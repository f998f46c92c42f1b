"""Whole searches as one text, dead ends and all: Stream of Search (arXiv 2404.03683), from runs in the Countdown world.

The trials of an episode are one search: each goes down from the beginning, and what two trials have in common is one
path. What the world observed is written, not what the model said it did; an action that the world refused is left out,
as the paper's data have none. `groundwire.training.stream_of_search` reads the text back and holds it against
arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from groundwire.training.provenance import provenance_of, written_by
from groundwire.training.schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training.stream_of_search import Node, Operation, as_text, read
from groundwire.training.trajectories import Attempt, Author, Trajectory, Trial

__all__ = ["FORM", "StreamOfSearchRow", "rows", "tree_of"]

SIGNS = str.maketrans({"×": "*", "x": "*", "X": "*", "·": "*", "÷": "/", "−": "-"})
"""What the world takes for a sign, beside the sign."""
_ASKED = re.compile(r"Make ([0-9]{1,9}) of ([0-9, ]{1,120}), using each number at most once\.")
_LEFT = re.compile(r"^Left: ([0-9, ]{1,120})\.$", re.MULTILINE)
_DONE = re.compile(r"\s*([0-9]{1,9})\s*([-+*/])\s*([0-9]{1,9})\s*(?:[=(].*)?", re.DOTALL)


class StreamOfSearchRow(Row):
    """One search."""

    told = ("reward",)

    prompt: tuple[ChatMessage, ...]
    """The numbers and the target, as the world says them."""
    completion: tuple[ChatMessage, ...]
    """The search."""
    target: int
    """What was to be reached."""
    numbers: tuple[int, ...]
    """What there was at the beginning."""
    nodes: int
    """Operations that were tried."""
    reward: float
    """1.0 where the target was reached, by the world; failed searches are kept."""


def tree_of(trajectory: Trajectory) -> tuple[Node, int] | Rejected:
    """The search of an episode, and its target; where there is none, why."""
    scenes = [signal.stdout for signal in trajectory.signals]
    asked = next((found for scene in scenes if (found := _ASKED.match(scene))), None)
    if asked is None:
        return Rejected("not_countdown", trajectory.episode)
    target, start = int(asked[1]), _numbers(asked[2])
    root = Node(start, goal=target in start)
    for trial in trajectory.trials:
        if trial.number and (problem := _walk(root, trial, target)):
            return Rejected(problem, f"{trajectory.episode} trial {trial.number}")
    return (root, target) if root.children else Rejected("nothing_tried", trajectory.episode)


def _walk(root: Node, trial: Trial, target: int) -> Literal["", "answered_at_once", "step_unknown"]:
    """Follows one trial down the tree; why it can't be followed, if so."""
    here = root
    for attempt in trial.attempts:
        if attempt.base:
            continue
        left = _left(attempt)
        done = _DONE.fullmatch(attempt.note.translate(SIGNS))
        if left is None or left == here.numbers:
            if attempt.reward is not None and left is not None and done is None:
                return "answered_at_once"
            continue
        operation = _operation(here.numbers, left, done) if done else None
        if operation is None:
            return "step_unknown"
        known = next((child for child in here.children if child.operation == operation), None)
        if known is None:
            known = Node(left, operation, goal=operation.result == target)
            here.children.append(known)
        here = known
    return ""


def _left(attempt: Attempt) -> tuple[int, ...] | None:
    found = next((match for signal in attempt.signals if (match := _LEFT.search(signal.stdout))), None)
    return _numbers(found[1]) if found else None


def _operation(before: Sequence[int], after: Sequence[int], done: re.Match[str]) -> Operation | None:
    """What the world did: the numbers that are there now and were not before are its result."""
    rest = list(before)
    left, right = int(done[1]), int(done[3])
    for number in (left, right):
        if number not in rest:
            return None
        rest.remove(number)
    added = list(after)
    for number in rest:
        if number not in added:
            return None
        added.remove(number)
    operation = Operation(left, done[2], right, added[0]) if len(added) == 1 else None
    return operation if operation and operation.holds else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(number) for number in text.split(",")))


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row an episode in the Countdown world."""
    for trajectory in trajectories:
        found = tree_of(trajectory)
        if isinstance(found, Rejected):
            yield found
            continue
        if options.keep_failed is False and trajectory.reward != 1.0:
            yield Rejected("failed", trajectory.episode)
            continue
        root, target = found
        text = as_text(root, target)
        trace = read(text)
        if trace.wrong or trace.solved != (trajectory.reward == 1.0):
            yield Rejected("not_as_the_world_says", trajectory.episode)
            continue
        asked = f"Make {target} of {', '.join(map(str, root.numbers))}, using each number at most once."
        parts = [
            written_by(Author.ENV, "prompt[0]", asked, "scene"),
            written_by(Author.MODEL, "completion[0]", text, "action"),
        ]
        turns = [turn for turn in trajectory.turns if turn.loss]
        yield StreamOfSearchRow(
            provenance=provenance_of([(trajectory, list(trajectory.attempts))], parts, options, turns=turns),
            prompt=(ChatMessage(role="user", content=asked),),
            completion=(ChatMessage(role="assistant", content=text),),
            target=target,
            numbers=root.numbers,
            nodes=len(trace.valid),
            reward=trajectory.reward or 0.0,
        )


FORM = Form(
    name="stream_of_search",
    row=StreamOfSearchRow,
    make=rows,
    about="Countdown runs as whole searches, dead ends too (Stream of Search, arXiv 2404.03683).",
)
