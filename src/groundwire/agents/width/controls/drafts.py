"""Two controls over drafts: more of the same (blind resampling), and all merged in one prompt (fusion)."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.agents.width.parallel_refine import ParallelRefine
from groundwire.agents.width.sampling import Asking, Sampler, named, ranked
from groundwire.core.candidates import Candidate
from groundwire.core.contexts import ActorContext
from groundwire.core.models import Backend

__all__ = ["BlindResampling", "Fusion"]

# Blind resampling: more answers to the same question, told of nothing. What every loop has to beat at equal tokens.


class BlindResampling:
    """As many samples as the graph asks for, in the order in which they came; never told what was judged.

    The control of the other width methods, which ask in the same way (`Asking`). What makes the first tries of an actor
    of yours over and over is `groundwire.agents.patching.blind_actor.BlindActor`.

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


# Fusion: all candidates in one prompt, merged, by a model that was never trained to do so.


class Fusion(ParallelRefine):
    """`ParallelRefine` with one synthesis, its drafts as they came, and no word of doubt about them: GSR's baseline.

    Args:
        model: a model id or a backend.
        asking: how one answer is asked for and read.
        drafts: how many are merged, 2 to 10.
        workspace_tokens: what they may take in the prompt together, at 3.5 characters a token.
        temperature: of each.
        max_tokens: of each.

    Raises:
        ConfigError: an argument is out of range.
    """

    grounded = False

    def __init__(
        self,
        model: str | Backend,
        asking: Asking,
        *,
        drafts: int = 5,
        workspace_tokens: int = 5000,
        temperature: float = 1.0,
        max_tokens: int = 2048,
    ) -> None:
        super().__init__(
            model,
            asking,
            rounds=(drafts, 1),
            workspace="candidates",
            workspace_tokens=workspace_tokens,
            pass_at_1=0.0,  # always merged, also where they agree
            prompt="fuse_v1",
            temperature=temperature,
            max_tokens=max_tokens,
        )
