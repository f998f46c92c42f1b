"""Each failed call becomes a prompt of its own: Fission-GRPO (arXiv 2601.15625).

The prompt is what was asked when the call was made, then the call, then the error: the real one, where the paper has a
simulator write it. Fresh answers to it are sampled by the trainer, on-policy. An error that names the call that would
have been right is no prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from groundwire.core._signals import Origin, Verdict, canonical
from groundwire.core._toolcalls import Call, Steps
from groundwire.training._answers import Answer
from groundwire.training._grouping import by_task
from groundwire.training._provenance import provenance_of, written_by
from groundwire.training._schema import ChatMessage, Form, Options, Rejected, Row
from groundwire.training._trajectories import Attempt, Author, Seen, Trajectory, Turn
from groundwire.training._walks import calls_in

_SPACES = re.compile(r"\s+")
SHORTEST = 8
"""Characters of a call without its spaces; shorter ones turn up by chance."""


class FissionRow(Row):
    """The place after a failed call."""

    answers = frozenset({"call"})
    told = ("recovered", "degenerate_repeat")

    prompt: tuple[ChatMessage, ...]
    """What was asked when the call was made, the call as it was written, and the error."""
    call: str
    """The call that failed, as canonical JSON."""
    error: str
    """What the tool said: one line of it, as the actor is shown it."""
    tool: str
    """The tool that was called."""
    tried_again: bool
    """Another step was made at this place later."""
    recovered: bool
    """One of those went well. The mean is the recovery rate."""
    degenerate_repeat: int
    """Answers after the error that made the very same call again."""


@dataclass(frozen=True)
class _Failed:
    """A call that failed, and the steps before it."""

    attempt: Attempt
    steps: Steps
    signal: Seen

    @property
    def call(self) -> Call:
        last = self.steps.last
        assert isinstance(last, Call)
        return last


def rows(trajectories: Iterable[Trajectory], options: Options) -> Iterator[Row | Rejected]:
    """One row for each failed call."""
    for episodes in by_task(trajectories):
        right = [call for trajectory in episodes for call in _right_calls(trajectory)]
        for trajectory in episodes:
            failed = list(_failed_calls(trajectory))
            if not failed:
                yield Rejected("no_failed_call", trajectory.episode)
            for one in failed:
                yield _row_of(trajectory, one, right, options)


def _right_calls(trajectory: Trajectory) -> Iterator[Call]:
    """The calls of the sequences that checks passed."""
    for attempt in trajectory.attempts:
        steps = calls_in(trajectory, attempt) if attempt.reward == 1.0 else None
        yield from steps.calls if steps else ()


def _failed_calls(trajectory: Trajectory) -> Iterator[_Failed]:
    for attempt in trajectory.attempts:
        refused = [s for s in attempt.signals if s.executed and s.verdict is Verdict.FAIL]
        signal = next((s for s in refused if s.origin in (Origin.TOOL_ERROR, Origin.EXECUTION)), None)
        steps = calls_in(trajectory, attempt) if signal else None
        if signal and steps and isinstance(steps.last, Call):
            yield _Failed(attempt, steps, signal)


def _row_of(trajectory: Trajectory, one: _Failed, right: Sequence[Call], options: Options) -> Row | Rejected:
    where = f"{trajectory.episode} trial {one.attempt.trial}: {one.call.tool}"
    turn = trajectory.turn(one.attempt.turn)
    if turn is None:
        return Rejected("no_model_text", where)
    error = next((message for _, message in one.signal.failed if message), one.signal.detail)
    if any(call.line != one.call.line and names_the_call(error, call) for call in right):
        return Rejected("error_names_the_right_call", where)
    answer = Answer(trajectory, one.attempt, turn, one.attempt)
    said = _error_message(turn, error)
    messages = (*answer.prompt, answer.completion, said)
    failing, last = f"prompt[{len(answer.prompt)}]", f"prompt[{len(answer.prompt) + 1}]"
    parts = (
        *answer.prompt_parts,
        written_by(Author.MODEL, failing, answer.completion.content, "call"),
        written_by(Author.ENV, last, said.content, "tool_error"),
    )
    again = [a for a in trajectory.attempts if a.at > one.attempt.at and _is_at(trajectory, a, one.steps)]
    well = next((a for a in again if not a.failed), None)
    until = well.at if well else None
    return FissionRow(
        # no answer is learned from here: the trainer samples them
        provenance=provenance_of([answer.source], parts, options, turns=[turn]),
        prompt=messages,
        call=one.call.line,
        error=error,
        tool=one.call.tool,
        tried_again=bool(again),
        recovered=well is not None,
        degenerate_repeat=sum(_says_the_same(turn, later, one.attempt.at, until) for later in trajectory.turns),
    )


def _error_message(turn: Turn, error: str) -> ChatMessage:
    if turn.tool_calls:
        return ChatMessage(role="tool", content=error, tool_call_id=turn.tool_calls[-1].id)
    return ChatMessage(role="user", content=f"<tool_error>\n{escape(error, quote=False)}\n</tool_error>")


def _is_at(trajectory: Trajectory, attempt: Attempt, failed: Steps) -> bool:
    """True if the last step of an attempt was made at the place of the call that failed."""
    steps = calls_in(trajectory, attempt)
    return steps is not None and steps.steps[:-1] == failed.steps[:-1]


def _says_the_same(failed: Turn, later: Turn, since: int, until: int | None) -> bool:
    if later.part != "actor" or not since < later.at or (until is not None and later.at > until):
        return False
    made = [(call.name, call.arguments) for call in failed.tool_calls]
    same = made == [(call.name, call.arguments) for call in later.tool_calls]
    return same and (bool(made) or failed.answer.strip() == later.answer.strip())


def names_the_call(text: str, call: Call) -> bool:
    """True if a text holds a call: as JSON, its arguments alone as JSON, or as `tool(name=value)`; spaces and case
    don't count."""
    inside = ",".join(f"{name}={value!r}" for name, value in call.arguments.items())
    forms = [call.line, canonical(dict(call.arguments)), f"{call.tool}({inside})"]
    plain = _squeezed(text)
    return any(len(form) >= SHORTEST and form in plain for form in map(_squeezed, forms))


def _squeezed(text: str) -> str:
    return _SPACES.sub("", text).replace('"', "'").casefold()


FORM = Form(
    name="fission_grpo",
    row=FissionRow,
    make=rows,
    about="One recovery prompt for each failed call, with the tool's own error: Fission-GRPO (arXiv 2601.15625).",
    repeats=True,
)
