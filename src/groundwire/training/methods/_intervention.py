"""One step put right: Intervention Training, InT (arXiv 2601.14209).

A wrong answer up to its first bad step, then the one step that another answer of the same question took there, and
nothing after it: with what followed, the paper solved about half as many. Both parts are learned. A row is there only
if going on from the new step led to a right answer at least once in 32 times.

The first bad step is the one that an executed check refused; or, in a walk through a world, which is often judged only
at its end, the first after which nobody has won, at a place from which somebody has. The paper lets the model look for
it, with a reference in view. A step is a line that a step checker went through, an action, or a call of a tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal

from groundwire.core._steps import by_lines
from groundwire.training._grouping import by_task
from groundwire.training._provenance import chat, parts_of_prompt, provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Part, Rejected, Row
from groundwire.training._trajectories import Attempt, Author, Trajectory, Turn
from groundwire.training._walks import Path, Taken, Walk, walks_of

WORDS = 200
"""Of an intervention at most; the paper's bound is 200 tokens, and a word is one or more of them."""
_BROKEN = re.compile(r"step (\d{1,6}) of (\d{1,6}) breaks a rule")
_HELD = re.compile(r"(?:(\d{1,6})|the) steps hold(?:, and the answer is not accepted)?")
"""What `tools.step_checker` says."""


class InterventionRow(Row):
    """A beginning and one new step."""

    # the step that is taught may not be the answer: nothing here may hold it
    answers = frozenset[str]()
    told = ("continuation_pass",)

    messages: tuple[ChatMessage, ...]
    """What was asked, the steps before the bad one, and the intervention; the last message ends with it."""
    loss_mask: tuple[bool, ...]
    """Of each message: true where it is learned: the prefix and the intervention."""
    prefix: tuple[str, ...]
    """The steps before the bad one."""
    bad_step: str
    """What stood there first; it is in no message."""
    intervention: str
    """The step that takes its place."""
    first_bad: int
    """Its number, counted from 1."""
    continuations: int
    """Answers that went on from the intervention."""
    continuation_pass: float
    """Share of these that executed checks passed."""
    basis: Literal["refused", "outcomes"]
    """Why the step is the bad one: a check refused it, or nobody has won after it who did from the place before."""
    unit: Literal["line", "action"]
    """What a step is; `action` also for calls of tools."""


@dataclass(frozen=True)
class _Told:
    """An answer as steps.

    Args:
        trajectory: the episode.
        attempt: what was judged.
        path: its steps.
        first_bad: number of the first step that a check refused, counted from 1; 0: none.
        walk: where the steps were taken one by one.
        turn: the answer whose steps they are, where they are lines.
        refused: a check refused that step.
    """

    trajectory: Trajectory
    attempt: Attempt
    path: Path
    first_bad: int
    walk: Walk | None = None
    turn: Turn | None = None
    refused: bool = True

    @property
    def is_right(self) -> bool:
        return self.attempt.reward == 1.0


def continuation_pass(paths: Sequence[tuple[Path, bool]], begun: Path) -> tuple[int, float]:
    """How many answers went on from a beginning, and the share of them that are right.

    Args:
        paths: the steps of each answer, and whether it is right.
        begun: the beginning, with the intervention.
    """
    went_on = [right for path, right in paths if len(path) > len(begun) and path[: len(begun)] == begun]
    return len(went_on), sum(went_on) / len(went_on) if went_on else 0.0


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row for each wrong answer and each step that was tried in place of its first bad one."""
    for episodes in by_task(trajectories):
        told = [one for trajectory in episodes for one in _told(trajectory)]
        paths = [(one.path, one.is_right) for one in told]
        won_from = {path[:length] for path, right in paths if right for length in range(len(path) + 1)}
        done: set[Path] = set()
        for one in told:
            bad = _with_first_bad(one, won_from)
            if bad is None:
                continue
            place = bad.path[: bad.first_bad - 1]
            where = f"{bad.trajectory.episode} trial {bad.attempt.trial}, step {bad.first_bad}"
            others = [one for one in told if one.path[: len(place)] == place and len(one.path) > len(place)]
            steps = dict.fromkeys(one.path[len(place)] for one in others)
            new = [step for step in steps if step != bad.path[len(place)]]
            if not new:
                yield Rejected("nothing_else_was_tried", where)
            for step in new:
                begun = (*place, step)
                if begun not in done:
                    done.add(begun)
                    yield _row_of(
                        bad, begun, [o for o in others if o.path[: len(begun)] == begun], paths, where, options
                    )
        if not told:
            yield from (Rejected("no_checked_steps", trajectory.episode) for trajectory in episodes)


def _with_first_bad(one: _Told, won_from: Set[Path]) -> _Told | None:
    """A wrong answer with its first bad step; None where it is right, or where no step of it can be told to be bad."""
    left = one.first_bad
    if one.walk is not None and not one.is_right and () in won_from:
        parted = next((n for n in range(1, len(one.path) + 1) if one.path[:n] not in won_from), 0)
        left = min(filter(None, (left, parted)), default=0)
    return replace(one, first_bad=left, refused=left == one.first_bad) if left else None


def _row_of(
    bad: _Told, begun: Path, others: Sequence[_Told], paths: Sequence[tuple[Path, bool]], where: str, options: Options
) -> Row | Rejected:
    count, share = continuation_pass(paths, begun)
    # what comes to the end without going on is the answer itself, and no step towards it
    if not count:
        return Rejected("nothing_follows_it", where)
    if count < options.least_continuations:
        return Rejected("too_few_continuations", where)
    if share < options.thresholds.intervention_pass:
        return Rejected("no_continuation_passed", where)
    if len(begun[-1].split()) > WORDS:
        return Rejected("intervention_too_long", where)
    source = next((one for one in others if one.is_right), others[0])
    if source.walk is not None:
        messages, mask, parts, turns = _walked(source.walk, len(begun))
    else:
        messages, mask, parts, turns = _written(bad, source, begun)
    sources = [(one.trajectory, [one.attempt]) for one in (bad, source)]
    return InterventionRow(
        provenance=provenance_of(sources, parts, options, turns=turns),
        messages=messages,
        loss_mask=mask,
        prefix=begun[:-1],
        bad_step=bad.path[len(begun) - 1],
        intervention=begun[-1],
        first_bad=len(begun),
        continuations=count,
        continuation_pass=share,
        basis="refused" if bad.refused else "outcomes",
        unit="line" if source.walk is None else "action",
    )


_Messages = tuple[tuple[ChatMessage, ...], tuple[bool, ...], list[Part], list[Turn]]


def _written(bad: _Told, source: _Told, begun: Path) -> _Messages:
    """The first question, and one answer: the lines that held, and the new one."""
    first = next(turn for turn in bad.trajectory.turns if turn.loss)
    place = f"messages[{len(first.prompt)}]"
    prefix, content = "".join(begun[:-1]), "".join(begun)
    parts = [*parts_of_prompt(first.prompt, "messages")]
    if prefix:
        parts.append(written_by(Author.MODEL, place, prefix, "prefix"))
    parts.append(Part(part=place, start=len(prefix), end=len(content), origin=Author.MODEL, what="intervention"))
    messages = (*chat(first.prompt), ChatMessage(role="assistant", content=content))
    turns = [turn for turn in (bad.turn, source.turn) if turn is not None]
    return messages, (False,) * len(first.prompt) + (True,), parts, turns


def _walked(walk: Walk, length: int) -> _Messages:
    """The first question, and the steps one by one, with what came back between them."""
    opening, told = walk.opening
    messages, mask = list(opening), [False] * len(opening)
    parts = [part.model_copy(update={"part": part.part.replace("prompt[", "messages[", 1)}) for part in told]
    steps: Sequence[Taken] = walk.steps[:length]
    for number, step in enumerate(steps, 1):
        is_last = number == length
        parts.append(
            written_by(Author.MODEL, f"messages[{len(messages)}]", step.said, "intervention" if is_last else "prefix")
        )
        messages.append(ChatMessage(role="assistant", content=step.said))
        mask.append(True)
        if not is_last:
            parts.append(written_by(Author.ENV, f"messages[{len(messages)}]", step.seen, "scene"))
            messages.append(ChatMessage(role="user", content=step.seen))
            mask.append(False)
    return tuple(messages), tuple(mask), parts, [step.turn for step in steps if step.turn is not None]


def _told(trajectory: Trajectory) -> Iterator[_Told]:
    """The answers of an episode whose steps can be told apart."""
    for walk in walks_of(trajectory):
        first_bad = next((number for number, step in enumerate(walk.steps, 1) if step.attempt.failed), 0)
        yield _Told(trajectory, walk.end, walk.path, first_bad, walk=walk)
    for attempt in trajectory.attempts:
        turn = trajectory.turn(attempt.turn)
        if turn is not None and attempt.reward is not None and len(attempt.changes) == 1:
            path = _lines_of(attempt.changes[0].content or "")
            number = _refused_line(attempt, len(path))
            if number is not None:
                yield _Told(trajectory, attempt, path, number, turn=turn)


def _lines_of(text: str) -> Path:
    lines = tuple(by_lines(text))
    rest = text[sum(map(len, lines)) :]
    return (*lines, rest) if rest else lines


def _refused_line(attempt: Attempt, lines: int) -> int | None:
    """The number of the line that a step checker refused; 0: none. None: nobody went through these very lines."""
    for signal in attempt.signals:
        if not signal.executed:
            continue
        if (broken := _BROKEN.fullmatch(signal.detail)) is not None and int(broken[2]) == lines:
            return int(broken[1])
        if (held := _HELD.fullmatch(signal.detail)) is not None and int(held[1] or lines) == lines:
            return 0
    return None


FORM = Form(
    name="intervention",
    row=InterventionRow,
    make=rows,
    about="A wrong answer up to its first bad step, and the one step that puts it right: InT (arXiv 2601.14209).",
)
