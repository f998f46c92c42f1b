"""What an actor that uses tools is shown: its steps as a conversation, in plain text or as native tool calls."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from groundwire.agents.evidence import may_be_shown
from groundwire.agents.templates import load_prompt
from groundwire.agents.text import data, head_tail, inert, plain
from groundwire.completions import Message, ToolCall, ToolSpec
from groundwire.errors import CandidateError
from groundwire.signals import Signal, canonical
from groundwire.toolcalls import RELEVANT, Answer, Call, Offer, SeenCall, Step

__all__ = ["Talk", "described"]

SHOWN_CHARS = 4000
ERROR_CHARS = 256
DESCRIPTION_CHARS = 1000


@dataclass(frozen=True)
class Talk:
    """Writes the turns of a conversation.

    Args:
        native: True for a model with tool calls of its own; else a call is a JSON object in its text.
    """

    native: bool = False

    def call_made(self, seen: SeenCall, said: str = "") -> tuple[Message, ...]:
        """A call that went well, and what came back; `said` is what is on offer next."""
        judged = seen.labels.get(RELEVANT)
        labels = {} if judged is None else {RELEVANT: "yes" if judged else "no"}
        output = data("output", head_tail(seen.output, SHOWN_CHARS), id=seen.id, **labels)
        return self._turn(seen.call, seen.id, _filled("tool_output_v1", output=output, offer=said))

    def step_failed(
        self, step: Step, step_id: str, signal: Signal, *, reflection: str, said: str
    ) -> tuple[Message, ...]:
        """A step that failed, and the error in one line."""
        shown = _filled("tool_error_v1", tool_error=_error(signal), reflection=reflection, offer=said)
        return self._turn(step, step_id, shown)

    def sent_back(self, answer: str, error: CandidateError) -> tuple[Message, ...]:
        """An answer that can't be read, and why."""
        # some providers refuse a message without text
        shown = head_tail(inert(answer), SHOWN_CHARS) if answer.strip() else "(nothing)"
        asked = _filled("correct_step_v1", tool_error=data("tool_error", str(error)))
        return Message(role="assistant", content=shown), Message(role="user", content=asked)

    def asked_again(self, step: Step, step_id: str) -> tuple[Message, ...]:
        """A step that was judged before."""
        return self._turn(step, step_id, _filled("repeated_step_v1", what=_kind(step)))

    def _turn(self, step: Step, step_id: str, shown: str) -> tuple[Message, ...]:
        if self.native and isinstance(step, Call):
            call = ToolCall(id=step_id, name=step.tool, arguments=canonical(step.arguments))
            asked = Message(role="assistant", content="", tool_calls=(call,))
            return asked, Message(role="tool", content=shown, answers=step_id)
        said = step.text if self.native and isinstance(step, Answer) else _written(step)
        return Message(role="assistant", content=inert(said)), Message(role="user", content=shown)


def described(tools: Sequence[ToolSpec]) -> str:
    """The tools for a model that is told of them in text. What a server says of its own tools is not trusted."""
    return "\n".join(
        data(
            "tool",
            f"{head_tail(tool.description, DESCRIPTION_CHARS)}\narguments: {canonical(tool.parameters)}",
            name=tool.name,
        )
        for tool in tools
    )


def offered(offer: Offer) -> str:
    """What may be done next, where not everything may."""
    if offer.calls and offer.answer:
        return ""
    may = "Call a tool; an answer is not taken yet" if offer.calls else "Give the answer; no further call is made"
    return f"{may}: {offer.why}." if offer.why else f"{may}."


def _written(step: Step) -> str:
    """A step as a model is asked to write it: the tool's name first."""
    if isinstance(step, Answer):
        return json.dumps({"answer": step.text}, ensure_ascii=False)
    return json.dumps({"tool": step.tool, "arguments": step.arguments}, ensure_ascii=False)


def _kind(step: Step) -> str:
    return "answer" if isinstance(step, Answer) else "call"


def _error(signal: Signal) -> str:
    """One line: what a failing call said last, or why an answer was rejected; nothing made with the answer key."""
    if not may_be_shown(signal):
        return data("tool_error", "this was rejected", origin=signal.origin.value)
    messages = [case.message for case in signal.evidence.failed() if case.message]
    said = "; ".join(messages) or signal.evidence.detail or "it failed"
    return data("tool_error", plain(said, ERROR_CHARS), origin=signal.origin.value)


def _filled(prompt: str, **values: str) -> str:
    return load_prompt(prompt).messages(**values)[0].content
