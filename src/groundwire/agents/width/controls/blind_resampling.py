"""Blind resampling: more answers to the same question, told of nothing. What every loop has to beat at equal tokens."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.width.asking import Asking
from groundwire.agents.width.sampling import Sampler, named, ranked
from groundwire.completions import Backend
from groundwire.contexts import ActorContext
from groundwire.trees import Candidate

__all__ = ["BlindResampling"]


class BlindResampling:
    """As many samples as the graph asks for, in the order in which they came; never told what was judged.

    The control of the other width methods, which ask in the same way (`Asking`). What makes the first tries of an actor
    of yours over and over is `groundwire.agents.blind_actor.BlindActor`.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        temperature: of each.
        max_tokens: of each.

    Raises:
        ConfigError: an argument is out of range.
    """

    grounded = False

    def __init__(
        self, model: str | Backend, asking: Asking, *, temperature: float = 0.8, max_tokens: int = 2048
    ) -> None:
        self._sampler = Sampler(model, temperature=temperature, max_tokens=max_tokens)
        self._asking = asking

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`.

        Raises:
            ModelError, BudgetExceeded: from `context.call`.
            TaskError: the task asks for nothing that `asking` can make.
        """
        question = self._asking.question(context, told=False)
        drafts = await self._sampler.drafts(context, self._asking, question, n, stage=0)
        return ranked([named(d.answer, "write.sampled") for d in drafts if d.answer], context, n)
