"""A graph for `groundwire run word_graph.py:…`: a scripted model that is right only once it was told how it failed.

Without its critic's word it draws one wrong answer after the other, by the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from groundwire import FeedbackGraph
from groundwire.agents import LLMActor, LLMCritic
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActorContext, Tool
from groundwire.core._models import Request
from groundwire.graphs.library._code_repair import code_repair
from groundwire.models._scripted import ScriptedBackend

__all__ = ["NEEDED", "crashes", "make", "needs_a_world", "nothing", "raises", "slow"]

NEEDED = "the sign is wrong"


def _answer(request: Request) -> str:
    if request.purpose == "reflect":
        return NEEDED
    said = "\n".join(message.content for message in request.messages)
    body = "x + 1" if NEEDED in said else f"x - {(request.seed or 0) + 2}"
    return f"FILE: solution.py\n```python\ndef up(x):\n    return {body}\n```\n"


def make(judge: Tool, hidden: Tool, select: Literal["best", "last"], baseline: bool, width: int) -> FeedbackGraph:
    """Reflexion on one function."""
    model = ScriptedBackend(_answer)
    actor, critic = LLMActor(model, max_tokens=200), LLMCritic(model, max_tokens=200)
    return code_repair(actor, critic, judge, hidden, select=select, baseline=baseline, width=width)


class _Waits:
    """Waits on tasks whose id begins with `z`: where a test interrupts."""

    def __init__(self, inner: LLMActor) -> None:
        self._inner = inner

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`."""
        if context.task.id.startswith("z"):
            import asyncio

            await asyncio.Event().wait()
        return await self._inner.propose(context, n)


def slow(judge: Tool, hidden: Tool) -> FeedbackGraph:
    """The same, and it never comes to an end on some tasks."""
    model = ScriptedBackend(_answer)
    critic = LLMCritic(model, max_tokens=200)
    return code_repair(_Waits(LLMActor(model, max_tokens=200)), critic, judge, hidden)


def needs_a_world(judge: Tool, world: object) -> FeedbackGraph:
    """Asks for what no command line gives."""
    raise NotImplementedError


def crashes() -> FeedbackGraph:
    """A mistake in a user's own file."""
    raise KeyError("left")


def nothing() -> None:
    """Forgot to return it."""


class _Raises:
    """Right at once, but for the task `bad`."""

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        if context.task.id == "bad":
            raise ZeroDivisionError("of nothing")
        return [Candidate(context.task.tree.digest, {"solution.py": b"def up(x):\n    return x + 1\n"})]


def raises(judge: Tool, hidden: Tool) -> FeedbackGraph:
    """An actor of one's own that has a mistake."""
    return code_repair(_Raises(), None, judge, hidden)
