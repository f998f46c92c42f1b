"""An actor that first finds out which earlier version a person's correction is about (DROC, arXiv 2311.10678)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from groundwire.agents.patching.evidence import difference
from groundwire.agents.prompting.templates import load_prompt
from groundwire.core.candidates import Candidate
from groundwire.core.contexts import Actor, ActorContext, Judged, Needs
from groundwire.core.errors import ModelReplyInvalid
from groundwire.core.models import Backend, Request
from groundwire.core.prompt_text import data
from groundwire.core.seeds import seed_in
from groundwire.core.signals import Origin, Verdict
from groundwire.models.choice import backend_for

__all__ = ["ChosenPast"]

MOST_VERSIONS = 6
_NUMBER = re.compile(r"\d+")


class ChosenPast:
    """Lets another actor revise what the correction is about: the last version, an earlier one, or none at all.

    "Go back to your first version, but put the tests in /tests" is no word on the last one. A model is asked which it
    is, once a correction and only where there is more than one; an answer that names none of them means the last. It
    proposes nothing and judges nothing: what it chooses is where the next proposal starts.

    Args:
        actor: revises.
        model: a LiteLLM id, `scripted:FILE`, or a backend.
        max_tokens: of its answer.
    """

    def __init__(self, actor: Actor, model: str | Backend, *, max_tokens: int = 16) -> None:
        self._actor = actor
        self._backend = backend_for(model)
        self._max_tokens = max_tokens
        self.needs: Needs = replace(getattr(actor, "needs", Needs()), episode=True)

    @property
    def backend(self) -> Backend:
        """The model that it asks."""
        return self._backend

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """See `Actor`; errors are those of the actor, and of `context.call`."""
        versions = _corrected(context)
        if context.failing is None or context.failing.signal.origin is not Origin.HUMAN or len(versions) < 2:
            return await self._actor.propose(context, n)
        return await self._actor.propose(_from(context, await self._choose(context, versions)), n)

    async def _choose(self, context: ActorContext, versions: Sequence[Judged]) -> Judged | None:
        """The version that the correction is about; None: it starts over."""
        base, prompt = context.task.tree, load_prompt("choose_past_v1")
        shown = [
            data("version", f"{difference(v, base, base)}\n{v.signal.evidence.stdout}", number=str(number))
            for number, v in enumerate(versions, 1)
        ]
        request = Request(
            messages=prompt.messages(
                task=data("task", context.task.prompt, id=context.task.id),
                versions="\n\n".join(shown),
                correction=data("correction", versions[-1].signal.evidence.stdout),
            ),
            max_tokens=self._max_tokens,
            seed=seed_in(context, "choose_past"),
            purpose="choose_past",
            prompt_digest=prompt.digest,
        )
        try:
            said = "".join((await context.call(self._backend, request)).texts[:1])
        except ModelReplyInvalid:  # an empty answer names none of them
            return versions[-1]
        found = _NUMBER.search(said)
        number = int(found[0][:4]) if found else len(versions)
        if number == 0:
            return None
        return versions[number - 1] if number <= len(versions) else versions[-1]


def _corrected(context: ActorContext) -> list[Judged]:
    """What a person has corrected, each once, in order; the first one and the last few where there are many."""
    said = [j for j in context.judged if j.signal.origin is Origin.HUMAN and j.signal.verdict is Verdict.FAIL]
    versions = list({j.candidate.digest: j for j in said}.values())
    return versions if len(versions) <= MOST_VERSIONS else [versions[0], *versions[1 - MOST_VERSIONS :]]


def _from(context: ActorContext, past: Judged | None) -> ActorContext:
    """The context in which the chosen version is what failed, with what was said of it; the newest correction is told
    of by the reflection."""
    base = context.task.tree
    if past is None:
        return replace(context, tree=base, failing=None, best=None)
    return replace(context, tree=past.candidate.applied_to(base), failing=past, best=past)
