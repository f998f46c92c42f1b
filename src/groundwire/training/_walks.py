"""Walks: what was done step by step, in a world or with tools, and how it ended. Trees are made of them.

A candidate of such a graph is the whole sequence of its steps, so two walks that begin with the same steps share a
path, in whatever episode or trial they were taken.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

from groundwire.core._candidates import Candidate
from groundwire.core._environments import actions_in, shown_in
from groundwire.core._errors import CandidateError
from groundwire.core._signals import NoVerdict, Verdict
from groundwire.core._toolcalls import Steps
from groundwire.training._answers import ModelAnswer, answers_of
from groundwire.training._provenance import Source
from groundwire.training._schema import ChatMessage, Part, Rejected
from groundwire.training._trajectories import Attempt, Author, Trajectory, Turn

Path = tuple[str, ...]
"""The steps that led to a place, letter for letter."""


def seen_after(attempt: Attempt) -> str:
    """What came back: the scene, the result, or one line of the error; empty where nothing did."""
    for signal in reversed(attempt.signals):
        if signal.executed:
            shown = shown_in(signal.stdout)
            return shown or next((message for _, message in signal.failed if message), signal.detail)
    return ""


@dataclass(frozen=True)
class Taken:
    """One step of a walk.

    Args:
        text: the action, or the call as canonical JSON.
        attempt: the candidate that ends with it.
        turn: the answer that it was read from; None where no model gave one.
    """

    text: str
    attempt: Attempt
    turn: Turn | None

    @property
    def said(self) -> str:
        """What the model wrote; the step itself where none did."""
        return self.turn.text if self.turn is not None and self.turn.text else self.text

    @property
    def seen(self) -> str:
        """What came back: the scene, the result, or one line of the error."""
        return seen_after(self.attempt)


@dataclass(frozen=True)
class Walk:
    """The steps to a place that executed checks judged.

    Args:
        trajectory: the episode.
        steps: in order.
    """

    trajectory: Trajectory
    steps: tuple[Taken, ...]

    @property
    def end(self) -> Attempt:
        """Where it ended."""
        return self.steps[-1].attempt

    @property
    def reward(self) -> float:
        """1.0 or 0.0, by executed checks alone."""
        return self.end.reward or 0.0

    @cached_property
    def path(self) -> Path:
        """Its steps as texts."""
        return tuple(step.text for step in self.steps)

    @property
    def turns(self) -> list[Turn]:
        """The answers that it was read from."""
        return [step.turn for step in self.steps if step.turn is not None]

    @property
    def source(self) -> Source:
        """For the provenance of a row."""
        return self.trajectory, [step.attempt for step in self.steps]

    @property
    def where(self) -> str:
        """For reports."""
        return f"{self.trajectory.episode} trial {self.end.trial}"

    @property
    def opening(self) -> tuple[tuple[ChatMessage, ...], tuple[Part, ...]]:
        """What was asked before the first step, as it was sent, and who wrote which part of it."""
        first = self.steps[0]
        if first.turn is None:
            content = self.trajectory.prompt
            return (ChatMessage(role="user", content=content),), (
                Part(part="prompt[0]", end=len(content), origin=Author.HUMAN, what="task"),
            )
        answer = ModelAnswer(self.trajectory, first.attempt, first.turn, first.attempt)
        return answer.prompt, answer.prompt_parts


def steps_in(trajectory: Trajectory, attempt: Attempt) -> Path:
    """The steps of a candidate: actions, or lines of calls and an answer; nothing where it is no sequence of steps."""
    candidate = _candidate(trajectory, attempt)
    if candidate is None:
        return ()
    try:
        return actions_in(candidate)
    except CandidateError:
        steps = calls_in(trajectory, attempt)
        return tuple(step.line for step in steps.steps) if steps else ()


def whole_answers(trajectory: Trajectory) -> Generator[Rejected, None, dict[int, list[ModelAnswer]]]:
    """The answers of an episode by their trial, those alone that are all of it: the steps of one trial follow each
    other, so that none of them is another one's rival, nor an answer to the same question as the next trial's.

    Yields:
        What else there is, and why it is left out.
    """
    by_trial: dict[int, list[ModelAnswer]] = {}
    for answer in answers_of(trajectory):
        if isinstance(answer, Rejected):
            yield answer
        elif answer.judged is not answer.attempt or len(steps_in(trajectory, answer.attempt)) > 1:
            yield Rejected("step_and_no_whole_answer", f"{trajectory.episode} trial {answer.attempt.trial}")
        else:
            by_trial.setdefault(answer.attempt.trial, []).append(answer)
    return by_trial


def calls_in(trajectory: Trajectory, attempt: Attempt) -> Steps | None:
    """The calls of a candidate and its answer; None where it is no sequence of calls."""
    candidate = _candidate(trajectory, attempt)
    if candidate is None:
        return None
    try:
        steps = Steps.of(candidate)
    except CandidateError:
        return None
    return steps if steps.steps else None


def walks_of(trajectory: Trajectory) -> Iterator[Walk]:
    """The walks of an episode, in order: one for each place that an executed check judged."""
    known: dict[Path, Taken] = {}
    for attempt in trajectory.attempts:
        path = steps_in(trajectory, attempt)
        if not path:
            continue
        known[path] = Taken(path[-1], attempt, trajectory.turn(attempt.turn))
        beginnings = [known.get(path[:length]) for length in range(1, len(path) + 1)]
        steps = tuple(step for step in beginnings if step is not None)
        if _is_over(attempt) and len(steps) == len(path):
            yield Walk(trajectory, steps)


def _is_over(attempt: Attempt) -> bool:
    goes_on = any(signal.reason is NoVerdict.GO_ON for signal in attempt.signals)
    failed = any(signal.executed and signal.verdict is Verdict.FAIL for signal in attempt.signals)
    return attempt.reward is not None and (failed or not goes_on)


def _candidate(trajectory: Trajectory, attempt: Attempt) -> Candidate | None:
    if attempt.base or not attempt.changes or any(change.content is None for change in attempt.changes):
        return None
    return Candidate(trajectory.base_digest, {c.path: (c.content or "").encode() for c in attempt.changes})
