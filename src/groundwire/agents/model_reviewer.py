"""Another model looks at a call before it is made."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.backends.choice import backend_for
from groundwire.agents.step_reader import objects_in
from groundwire.agents.templates import load_prompt
from groundwire.agents.text import data, head_tail, plain
from groundwire.completions import Backend, Request
from groundwire.contexts import ModelCaller
from groundwire.errors import ModelReplyInvalid
from groundwire.tasks import Task
from groundwire.toolcalls import Ruling, SeenCall, Steps

__all__ = ["ModelReviewer"]

RULINGS = {"allow": True, "veto": False, "doubt": None}
SAID_CHARS = 200
OUTPUT_CHARS = 1000


class ModelReviewer:
    """Asks a model whether a call should be made (GUI-Critic-R1, arXiv 2506.04614). What it says that can't be read is
    doubt, and doubt is never consent.

    Args:
        model: a LiteLLM id, `scripted:FILE`, or a backend; not the actor's model.
        policy: what is to be kept to, in words.
        max_tokens: tokens of its answer.
    """

    def __init__(self, model: str | Backend, policy: str = "", *, max_tokens: int = 512) -> None:
        self._backend = backend_for(model)
        self._policy = policy
        self._max_tokens = max_tokens

    @property
    def backend(self) -> Backend:
        """The model it asks."""
        return self._backend

    async def review(self, steps: Steps, seen: Sequence[SeenCall], task: Task, call: ModelCaller) -> Ruling:
        """See `groundwire.toolcalls.Reviewer`."""
        prompt = load_prompt("review_call_v1")
        made = [data("made", f"{one.call.line}\n{head_tail(one.output, OUTPUT_CHARS)}", id=one.id) for one in seen]
        request = Request(
            messages=prompt.messages(
                policy=data("policy", self._policy) if self._policy else "",
                task=data("task", task.prompt, id=task.id),
                made="\n".join(made),
                call=data("call", steps.calls[-1].line),
            ),
            max_tokens=self._max_tokens,
            purpose="review",
            prompt_digest=prompt.digest,
        )
        try:
            completion = await call(self._backend, request)
        except ModelReplyInvalid:  # an empty answer, or a refusal, is doubt
            return _read("")
        return _read(completion.texts[0] if completion.texts else "")


def _read(text: str) -> Ruling:
    for found in objects_in(text):
        match found:
            case {"ruling": str(ruling)} if ruling in RULINGS:
                why, instead = str(found.get("why", "")), str(found.get("instead", ""))
                return Ruling(RULINGS[ruling], plain(why, SAID_CHARS), plain(instead, SAID_CHARS))
            case _:
                pass
    return Ruling(None, "the reviewer's answer could not be read")
