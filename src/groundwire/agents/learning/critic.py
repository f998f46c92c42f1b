"""A critic without a model: it writes on file what failed, where, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from groundwire.agents.acting.critics import moves_of_trial
from groundwire.agents.evidence import may_be_shown
from groundwire.agents.text import plain
from groundwire.contexts import CriticContext, Reflection
from groundwire.environments import Move, Scene, Status, start_of

__all__ = ["PlaceCritic"]

CHARS = 160


class PlaceCritic:
    """Names the place and the action by which a trial was lost; of one that led nowhere, the place it came back to.

    It says nothing of the way there, so that what is lost at one place in one way is one lesson, however often.
    """

    async def reflect(self, context: CriticContext) -> Reflection:
        """See `Critic`; the same steps always give the same text."""
        signal, moves = context.failing.signal, moves_of_trial(context)
        if not moves or not may_be_shown(signal):
            return Reflection("not won", by="rule")
        scenes = [start_of(context.task).scene, *(move.scene for move in moves)]
        if moves[-1].scene.status is Status.LOST:
            return Reflection(_lost(scenes[-2], moves[-1]), by="rule")
        return Reflection(f"{_reason(signal.evidence.failed()[0].message)}. {_most_seen(scenes)}", by="rule")


def _lost(before: Scene, last: Move) -> str:
    return (
        f"Lost by “{_short(last.action)}” where one sees: {_short(before.text)}. It led to: {_short(last.scene.shown)}"
    )


def _reason(message: str) -> str:
    """The rule that ended it; what was seen then follows it in the message."""
    return _short(message.partition("\n")[0]).removesuffix(".")


def _most_seen(scenes: Sequence[Scene]) -> str:
    (text, times), *_ = Counter(scene.text for scene in scenes).most_common(1)
    return f"Of {len(scenes)} scenes, {times} showed: {_short(text)}"


def _short(text: str) -> str:
    return plain(text, CHARS)
