"""What turns texts into vectors that are near where the texts mean the same; `groundwire.agents.backends` has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ["Embedder"]


class Embedder(Protocol):
    """A model that embeds texts. Whoever made it closes it, pays for it, and owns its retries."""

    @property
    def name(self) -> str:
        """Of the model, for people."""
        ...

    @property
    def revision(self) -> str:
        """Digest of all that its vectors depend on: vectors of two revisions are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector a text, in their order. A text's vector does not depend on the texts beside it.

        Args:
            texts: any texts; what is longer than the model reads is cut.

        Raises:
            ModelError: it can't be done.
            ConfigError: what it needs is not installed.
        """
        ...
