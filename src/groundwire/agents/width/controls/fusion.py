"""Fusion: all candidates in one prompt, merged, by a model that was never trained to do so."""

from __future__ import annotations

from groundwire.agents.width.asking import Asking
from groundwire.agents.width.parallel_refine import ParallelRefine
from groundwire.completions import Backend

__all__ = ["Fusion"]


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
