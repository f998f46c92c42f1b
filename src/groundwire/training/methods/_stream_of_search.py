"""A whole search as one text, dead ends and all: Stream of Search (arXiv 2404.03683) on Countdown.

    root = explore((3, 5, 8, 10), 24)          depth first, the nearest first
    text = as_text(root, 24)                   every state, operation, dead end and step back
    trace = read(text)                         the tree again; each claim held against arithmetic

What a model is trained on so shows how to be wrong and go back, not only the way that won. A text that a model wrote is
read by the same function: what it claims wrongly is listed, and a goal counts only if every operation on its way holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

from groundwire.core._errors import RecordingError
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Attempt, Author, Trajectory, Trial

Numbers = tuple[int, ...]
"""Those that are left, sorted."""
Path = tuple[int, ...]
"""A node's place: `(0,)` is the root, `(0, 2)` its third child."""
MAX_CHARS = 4_000_000

INTEGER = r"(\d{1,9})"
LISTED = r"\[((?:\d{1,9}(?:, )?){0,12})\]"
DONE = rf"{INTEGER}([-+*/]){INTEGER}=(\d{{1,9}})"
LINES = {
    "state": re.compile(rf"Current State: {INTEGER}:{LISTED}, Operations: \[(.*)\]"),
    "exploring": re.compile(rf"Exploring Operation: {DONE}, Resulting Numbers: {LISTED}"),
    "generated": re.compile(rf"Generated Node #([\d,]{{1,60}}): {INTEGER}:{LISTED} Operation: {DONE}"),
    "moving": re.compile(r"Moving to Node #([\d,]{1,60})"),
    "goal": re.compile(rf"{INTEGER},{INTEGER} equal: Goal Reached"),
    "dead": re.compile(rf"{INTEGER},{INTEGER} unequal: No Solution"),
}
"""The lines of a text, in the form that the paper's data has."""


@dataclass(frozen=True)
class Operation:
    """Two numbers made one, as claimed."""

    left: int
    sign: str
    right: int
    result: int

    @property
    def holds(self) -> bool:
        """True if the arithmetic is right, in whole numbers from 0 up."""
        match self.sign:
            case "+":
                return self.left + self.right == self.result
            case "-":
                return self.left - self.right == self.result
            case "*":
                return self.left * self.right == self.result
            case _:
                return self.right > 0 and self.right * self.result == self.left

    def __str__(self) -> str:
        return f"{self.left}{self.sign}{self.right}={self.result}"


@dataclass
class SearchNode:
    """A state of a search, and what was tried from there, in order.

    Args:
        numbers: what is left.
        operation: what led here; None: the search begins here.
        children: tried from here.
        goal: the target is reached.
    """

    numbers: Numbers
    operation: Operation | None = None
    children: list[SearchNode] = field(default_factory=list["SearchNode"])
    goal: bool = False

    @property
    def solved(self) -> bool:
        """True if the goal is here or below."""
        return self.goal or any(child.solved for child in self.children)


def explore(numbers: Sequence[int], target: int, *, width: int | None = None, nodes: int = 2_000) -> SearchNode:
    """Searches depth first, the result nearest to the target first, and stops at the goal.

    Args:
        numbers: from 1 up; each may be used once, and some may be left over.
        target: from 1 up.
        width: operations that are tried in one state; None: all, so that nothing is missed.
        nodes: after so many the search ends where it is.
    """
    root = SearchNode(tuple(sorted(numbers)), goal=target in numbers)
    _explore(root, target, width, [nodes])
    return root


def _explore(node: SearchNode, target: int, width: int | None, left: list[int]) -> bool:
    if node.goal:
        return True
    tried = sorted(_operations(node.numbers), key=lambda op: (abs(op.result - target), str(op)))
    for operation in tried[:width]:
        if left[0] <= 0:
            return False
        left[0] -= 1
        numbers = _after(node.numbers, operation)
        child = SearchNode(numbers, operation, goal=operation.result == target)
        node.children.append(child)
        if _explore(child, target, width, left):
            return True
    return False


def _operations(numbers: Numbers) -> Iterator[Operation]:
    for low, high in dict.fromkeys(combinations(numbers, 2)):
        yield Operation(high, "+", low, high + low)
        yield Operation(high, "*", low, high * low)
        if high > low:
            yield Operation(high, "-", low, high - low)
        if high % low == 0:
            yield Operation(high, "/", low, high // low)


def _after(numbers: Numbers, operation: Operation) -> Numbers:
    """What is left after an operation.

    Raises:
        ValueError: an operand is not there.
    """
    left = list(numbers)
    left.remove(operation.left)
    left.remove(operation.right)
    return tuple(sorted([*left, operation.result]))


def as_text(root: SearchNode, target: int) -> str:
    """The search as one text, line by line as the published searches are written (`countdown_dfs.py` of
    kanishkg/stream-of-search): what was made stands before the target, and the newest number last. `read` gives the
    same tree back."""
    return "".join(f"{line}\n" for line in _lines(root, target, (0,), (), root.numbers))


def _lines(
    node: SearchNode, target: int, path: Path, done: tuple[Operation, ...], shown: Sequence[int]
) -> Iterator[str]:
    state = f"Current State: {target}:{list(shown)}, Operations: {[str(one) for one in done]}"
    yield state
    for place, child in enumerate(node.children):
        operation, below = child.operation, (*path, place)
        assert operation is not None
        left = list(shown)
        left.remove(operation.left)
        left.remove(operation.right)
        left.append(operation.result)
        yield f"Exploring Operation: {operation}, Resulting Numbers: {left}"
        if child.goal:
            yield f"{operation.result},{target} equal: Goal Reached"
        elif len(left) == 1:
            yield f"{operation.result},{target} unequal: No Solution"
        else:
            yield f"Generated Node #{_named(below)}: {target}:{left} Operation: {operation}"
            yield f"Moving to Node #{_named(below)}"
            yield from _lines(child, target, below, (*done, operation), left)
        # it steps back where something is left to be tried
        if not child.solved and place < len(node.children) - 1:
            yield f"Moving to Node #{_named(path)}"
            yield state


def _named(path: Path) -> str:
    return ",".join(map(str, path))


@dataclass(frozen=True)
class Trace:
    """What a text says of a search, and what of it does not hold.

    Args:
        target: what is to be reached.
        root: the tree.
        states: the numbers at the beginning, then those after each operation, in the text's order.
        valid: by operation, whether it holds: for `evaluation.process.wandering`, with `states`.
        wrong: what the text claims and arithmetic, or the text itself, does not bear out, each with its line.
    """

    target: int
    root: SearchNode
    states: tuple[Numbers, ...]
    valid: tuple[bool, ...]
    wrong: tuple[str, ...]

    @property
    def solved(self) -> bool:
        """True if the goal is reached by operations that all hold, whatever the text claims."""
        return self.root.solved


def read(text: str) -> Trace:
    """Reads a text, of `as_text` or of a model.

    Args:
        text: line by line; empty lines are passed over.

    Raises:
        RecordingError: a line has none of the forms, or the text no beginning, or more than 4 million characters.
    """
    if len(text) > MAX_CHARS:
        raise RecordingError(f"The search has more than {MAX_CHARS} characters.", do="Read it in parts.")
    reader: _Reader | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        kind, found = next(((k, m) for k, form in LINES.items() if (m := form.fullmatch(line.strip()))), ("", None))
        if found is None or (reader is None and kind != "state"):
            raise RecordingError(
                f"Line {number} is not a line of a search: {line[:80]!r}.", do="See stream_of_search.LINES."
            )
        if reader is None:
            reader = _Reader(int(found[1]), SearchNode(_numbers_in(found[2])))
        reader.take(kind, found, number)
    if reader is None:
        raise RecordingError("The text holds no search.", do="Begin it with Current State: …")
    reader.root.goal = not reader.root.children and reader.target in reader.root.numbers
    return Trace(reader.target, reader.root, tuple(reader.states), tuple(reader.valid), tuple(reader.wrong))


class _Reader:
    """Follows a text, and keeps the tree it has told of so far."""

    def __init__(self, target: int, root: SearchNode) -> None:
        self.target = target
        self.root = root
        self.states = [root.numbers]
        self.valid: list[bool] = []
        self.wrong: list[str] = []
        self._here: Path = (0,)
        self._nodes: dict[Path, SearchNode] = {(0,): root}
        self._sound: dict[int, bool] = {id(root): True}
        self._last: SearchNode | None = None

    def take(self, kind: str, found: re.Match[str], line: int) -> None:
        """Takes up one line."""
        match kind:
            case "state":
                self._check(self._nodes[self._here].numbers == _numbers_in(found[2]), line, "the state is another one")
                self._check(int(found[1]) == self.target, line, "the target is another one")
            case "exploring":
                self._explored(
                    Operation(int(found[1]), found[2], int(found[3]), int(found[4])), _numbers_in(found[5]), line
                )
            case "generated":
                self._generated(_path(found[1]), _numbers_in(found[3]), line)
            case "moving":
                known = _path(found[1]) in self._nodes
                self._check(known, line, "it moves to a node that was not generated")
                self._here = _path(found[1]) if known else self._here
            case _:
                self._ended(int(found[1]), int(found[2]), kind == "goal", line)

    def _explored(self, operation: Operation, claimed: Numbers, line: int) -> None:
        parent = self._nodes[self._here]
        try:
            real = _after(parent.numbers, operation)
        except ValueError:
            real = None
        self._check(operation.holds, line, f"{operation} does not hold")
        self._check(real is not None, line, f"{operation} uses a number that is not there")
        self._check(real in (None, claimed), line, "other numbers result")
        child = SearchNode(claimed, operation)
        parent.children.append(child)
        ok = operation.holds and real == claimed
        self._sound[id(child)] = ok and self._sound[id(parent)]
        self.states.append(claimed)
        self.valid.append(ok)
        self._last = child

    def _generated(self, path: Path, numbers: Numbers, line: int) -> None:
        parent, last = self._nodes[self._here], self._last
        fits = last is not None and path == (*self._here, len(parent.children) - 1) and last.numbers == numbers
        self._check(fits, line, "it generates another node than was explored")
        if last is not None and path not in self._nodes:
            self._nodes[path] = last

    def _ended(self, one: int, other: int, claims_goal: bool, line: int) -> None:
        """What was made and the target, in the published order; texts of earlier versions name the target first."""
        last = self._last
        made = last.operation.result if last is not None and last.operation is not None else None
        told = made is not None and (one, other) in ((made, self.target), (self.target, made))
        self._check(told, line, "it judges another number than was made")
        self._check((one == other) == claims_goal, line, f"{one} and {other} are said to be what they are not")
        if claims_goal and last is not None:
            last.goal = self._sound[id(last)] and made == self.target
        if claims_goal:
            self._check(last is not None and last.goal, line, "the goal is not reached by operations that hold")

    def _check(self, ok: bool, line: int, why: str) -> None:
        if not ok:
            self.wrong.append(f"line {line}: {why}")


def _numbers_in(text: str) -> Numbers:
    return tuple(sorted(int(one) for one in text.split(", ") if one))


def _path(text: str) -> Path:
    return tuple(int(one) for one in text.split(",") if one)


# Whole searches as one text, dead ends and all: Stream of Search (arXiv 2404.03683), from runs in the Countdown
# world.
#
# The trials of an episode are one search: each goes down from the beginning, and what two trials have in common is
# one path. What the world observed is written, not what the model said it did; an action that the world refused is
# left out, as the paper's data have none. The reader above takes the text back and holds it against arithmetic.

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


def tree_of(trajectory: Trajectory) -> tuple[SearchNode, int] | Rejected:
    """The search of an episode, and its target; where there is none, why."""
    scenes = [signal.stdout for signal in trajectory.signals]
    asked = next((found for scene in scenes if (found := _ASKED.match(scene))), None)
    if asked is None:
        return Rejected("not_countdown", trajectory.episode)
    target, start = int(asked[1]), _numbers(asked[2])
    root = SearchNode(start, goal=target in start)
    for trial in trajectory.trials:
        if trial.number and (problem := _walk(root, trial, target)):
            return Rejected(problem, f"{trajectory.episode} trial {trial.number}")
    return (root, target) if root.children else Rejected("nothing_tried", trajectory.episode)


def _walk(root: SearchNode, trial: Trial, target: int) -> Literal["", "answered_at_once", "step_unknown"]:
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
            known = SearchNode(left, operation, goal=operation.result == target)
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
