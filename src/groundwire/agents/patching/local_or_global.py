"""An actor that answers a failure twice: by a small change at the place, and by starting over (GLoRe, 2402.10963)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from groundwire.core.candidates import Candidate
from groundwire.core.contexts import Actor, ActorContext, Needs

__all__ = ["GLOBAL", "LOCAL", "LocalOrGlobal"]

LOCAL = "refine.local"
GLOBAL = "refine.global"
"""Names of the edits, by which statistics tell which of the two pays."""


class LocalOrGlobal:
    """The first candidate comes from `draft`. Each failure is then answered by both refiners; a tool chooses.

    Nobody guesses beforehand which of the two is right: both are judged, and the best candidate is kept, the draft
    among them. A draft that passes costs no refinement.

    Args:
        local: changes what failed, at the place that the failure shows; it sees the best candidate so far.
        whole: starts over; it sees the task's own tree.
        draft: makes the first candidate; default: `whole`.
    """

    def __init__(self, local: Actor, whole: Actor, draft: Actor | None = None) -> None:
        self._local = local
        self._whole = whole
        self._draft = draft or whole
        wanted = [getattr(actor, "needs", Needs()) for actor in (self._local, self._whole, self._draft)]
        self.needs = Needs(
            coverage=any(n.coverage for n in wanted),
            edit_statistics=any(n.edit_statistics for n in wanted),
            experience=any(n.experience for n in wanted),
            lessons=max(n.lessons for n in wanted),
            lesson_tokens=max(n.lesson_tokens for n in wanted),
            episode=any(n.episode for n in wanted),
        )

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`. Local ones come first, until the loop is found stuck; a single one is local until then."""
        failing = context.failing
        if failing is None or failing.candidate.is_base:
            return await self._draft.propose(context, n)
        if n == 1 and not context.escalation:
            return _named(await self._local.propose(context, 1), LOCAL)
        started_over = replace(context, tree=context.task.tree)
        local, whole = await asyncio.gather(
            self._local.propose(context, n - n // 2), self._whole.propose(started_over, max(1, n // 2))
        )
        both = (_named(local, LOCAL), _named(whole, GLOBAL))
        pairs = zip_longest(*(reversed(both) if context.escalation else both))
        return tuple(candidate for candidate in chain.from_iterable(pairs) if candidate is not None)


def _named(candidates: Sequence[Candidate], edit: str) -> Sequence[Candidate]:
    return tuple(replace(candidate, edits=(*candidate.edits, edit)) for candidate in candidates)
