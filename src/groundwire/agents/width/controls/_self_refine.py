"""Self-Refine (arXiv 2303.17651): the model criticises its own answer and rewrites it, whatever it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from groundwire.agents.prompting._templates import load_prompt
from groundwire.agents.width._answers import bounded
from groundwire.agents.width._sampling import CONTROL, Asking, Draft, Sampler, extra, named, ranked
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext
from groundwire.core._errors import ConfigError
from groundwire.core._models import Backend

SHOWN_TOKENS = 1200
MOST_ROUNDS = 7
MAX_UNGROUNDED_ROUNDS = {"open": 2, "choice": 1}
"""Rounds without an outside signal, by what is asked for: where it is written freely, what is gained is gained in two
and drifts away after; a choice of given answers is rarely left (arXiv 2511.09381)."""


class SelfRefine:
    """Draft, then `rounds` times: criticise, rewrite with all that was written so far. 1 + 2 · rounds calls.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        rounds: how often it goes back over its answer; default: `MAX_UNGROUNDED_ROUNDS` of `output`.
        output: `open`: the answer is written freely; `choice`: it is one of given answers.
        temperature: of answers; criticism is at 0.
        max_tokens: of each text.

    Raises:
        ConfigError: an argument is out of range.
    """

    traits = CONTROL

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        rounds: int | None = None,
        output: Literal["open", "choice"] = "open",
        temperature: float = 0.7,
        max_tokens: int = 2048,
    ) -> None:
        rounds = MAX_UNGROUNDED_ROUNDS[output] if rounds is None else rounds
        if not 1 <= rounds <= MOST_ROUNDS:
            raise ConfigError(f"SelfRefine was asked for {rounds} rounds.", do=f"Use 1 to {MOST_ROUNDS}.")
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        self._asking = asking
        self._rounds = rounds

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`: the last answer that could be read, then the earlier ones.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        asking, sampler = self._asking, self._sampler
        prompt = load_prompt("criticise_v1")
        drafts = await sampler.drafts(context, asking, asking.question(context, told=False), phase=0)
        history: list[str] = []
        for number in range(1, self._rounds + 1):
            shown = bounded("candidate", asking.shown(drafts[-1].text), SHOWN_TOKENS)
            asked = prompt.messages(task=asking.statement(context), candidate=shown)
            (said,) = await sampler.texts(context, [asked], prompt.name, "criticise", phase=2 * number - 1)
            history += [shown, bounded("complaint", asking.shown(said), SHOWN_TOKENS)]
            again = asking.question(context, extra("revise_v1", history="\n\n".join(history)), told=False)
            drafts += await sampler.drafts(context, asking, again, phase=2 * number)
        return ranked(_newest_first(drafts), context, n, asking, drafts)


def _newest_first(drafts: Sequence[Draft]) -> list[Candidate]:
    last = len(drafts) - 1
    return [
        named(draft.answer, "write.self_refine", f"its own revision {number} of {last}")
        for number, draft in reversed(list(enumerate(drafts)))
        if draft.answer
    ]
