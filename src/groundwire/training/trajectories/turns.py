"""Turns: what a model was asked, and what it answered."""

from __future__ import annotations

from typing import Literal

from pydantic import computed_field

from groundwire.completions import ToolCall
from groundwire.training.trajectories.texts import Frozen, Message, ModelRevision

__all__ = ["Turn"]


class Turn(Frozen):
    """One sample of one model call."""

    id: str
    """The call's intent and the sample's number: `0193…#0`."""
    at: int
    """Place of the answer among the episode's records; orders turns, signals and remarks."""
    trial: int
    purpose: str
    """As the ledger keeps it: `propose`, `correct`, `reflect`, …, perhaps with a stage after a point."""
    part: Literal["actor", "critic", "tool"]
    prompt: tuple[Message, ...]
    prompt_digest: str
    """sha256 of the messages."""
    template_digest: str = ""
    """sha256 of the versioned prompt file; empty for prompts of somebody's own."""
    reasoning: str = ""
    """What was thought first, with its marks; `reasoning + answer` is the text, letter for letter."""
    answer: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    model: ModelRevision
    error: str = ""
    """Why there is no answer."""
    reused: bool = False
    """The answer was taken from an earlier call."""
    finish_reason: str = ""
    temperature: float = 0.0
    samples: int = 1
    """Samples of this call."""
    completion_tokens: int = 0
    """Of all samples of this call together."""
    logprobs: tuple[float, ...] | None = None
    """Of each token, in nats."""
    top_logprobs: tuple[tuple[float, ...], ...] | None = None
    """Of each token, those of the likeliest ones there, highest first, as they are stored."""
    entropies: tuple[float, ...] | None = None
    """Of each token, in nats (`training.entropies`); None where no top log probabilities are stored."""
    loss: bool = False
    """Loss mask: True where a model may learn to write this: an actor's answer."""
    visible: bool = True
    """Visibility mask: False where the actor neither wrote this nor was shown it later."""
    privileged: bool = False
    """Whoever wrote it had been shown what the answer key says."""

    @property
    def text(self) -> str:
        """The whole text, as the model wrote it."""
        return self.reasoning + self.answer

    @computed_field
    @property
    def entropy(self) -> float | None:
        """Mean entropy of its tokens, in nats: H_t of EMPG (arXiv 2509.09265)."""
        return sum(self.entropies) / len(self.entropies) if self.entropies else None
