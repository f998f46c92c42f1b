"""Another actor with its eyes shut: each try is made as if it were the first. The control arm of every comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundwire.core.candidates import Candidate
from groundwire.core.contexts import Actor, ActorContext, EditStatistics, Needs
from groundwire.core.experience import NO_EXPERIENCE
from groundwire.core.seeds import seed_in
from groundwire.core.signals import NoVerdict

__all__ = ["BlindActor"]


@dataclass(frozen=True)
class BlindActor:
    """Proposes what `actor` would on a first try, over and over: no feedback, no reflection, no lesson, no escalation.

    It wraps any actor, so that a run of any graph has its control arm; `width.controls.BlindResampling` is a graph's
    own actor, which asks one question for samples and is told of no failure at all.

    It is shown the task and what the baseline failed, as a first try is. A model draws each answer by another seed, and
    may draw one again. An actor that asks no model would only repeat itself, so it is told what was tried, and nothing
    of what came of it.

    Args:
        actor: the one whose first tries these are.
        samples: True if its answers come from a model: what was tried is kept from it too.
        width: the most candidates of one try.
        candidates: the most candidates in all, over one episode; None: no such ceiling.
    """

    actor: Actor
    samples: bool
    width: int
    candidates: int | None = None

    patient = True
    """No rule of standstill ends it: it does not look at what failed, so it can't be stuck on it."""

    @property
    def needs(self) -> Needs:
        """Coverage of the baseline, where the actor wants it; nothing of memory."""
        theirs: Needs = getattr(self.actor, "needs", Needs())
        return Needs(coverage=theirs.coverage, lessons=0)

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`; errors are those of the actor. Empty: the ceiling is reached, or nothing is left to propose."""
        wanted = min(n, self.width)
        if self.candidates is not None:
            proposed = len(context.tried - {Candidate(context.task.tree.digest, {}).digest})
            wanted = min(wanted, self.candidates - proposed)
        if wanted < 1:
            return ()
        return await self.actor.propose(self._first(context), wanted)

    def _first(self, context: ActorContext) -> ActorContext:
        failing, judged = context.baseline, (context.baseline,) if context.baseline else ()
        if context.failing and context.failing.signal.reason is NoVerdict.GO_ON:
            # a step within a trial: what the environment has answered in it is no word on an earlier try
            failing, judged = context.failing, tuple(context.judged)
        return replace(
            context,
            tree=context.task.tree,
            best=context.baseline,
            failing=failing,
            judged=judged,
            lessons=(),
            reflection=None,
            tried=frozenset() if self.samples else context.tried,
            edit_statistics=EditStatistics(),
            experience=NO_EXPERIENCE,
            escalation=0,
            # a renewed round asks anew; the first one asks as the actor itself would
            seed=seed_in(context, "renewed", call=context.escalation, of_episode=True)
            if context.escalation
            else context.seed,
        )
