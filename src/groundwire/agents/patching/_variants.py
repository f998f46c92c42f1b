"""Actors that vary another: without feedback, locally or from scratch, from an earlier version that a person meant."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from groundwire.agents.patching._evidence import difference
from groundwire.agents.prompting._templates import load_prompt
from groundwire.core._candidates import Candidate
from groundwire.core._contexts import Actor, ActorContext, EditStatistics, Judged
from groundwire.core._errors import ModelReplyInvalid
from groundwire.core._experience import NO_EXPERIENCE
from groundwire.core._ids import seed_in
from groundwire.core._models import Backend, Request
from groundwire.core._prompt_text import data
from groundwire.core._signals import NoVerdict, Origin, Verdict
from groundwire.core._traits import ActorTraits, Needs
from groundwire.models._choice import backend_for

# Another actor with its eyes shut: each try is made as if it were the first. The control arm of every comparison.


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

    @property
    def traits(self) -> ActorTraits:
        """It needs coverage of the baseline, where the actor does, and nothing of memory. It does not look at what
        failed, so it can't be stuck on it."""
        theirs = ActorTraits.of(self.actor)
        return replace(theirs, needs=Needs(coverage=theirs.needs.coverage, lessons=0), patient=True)

    @property
    def lets_propose(self) -> Sequence[Actor]:
        """See `groundwire.core._traits.LetsPropose`."""
        return (self.actor,)

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


# An actor that answers a failure twice: by a small change at the place, and by starting over (GLoRe, 2402.10963).

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
        self.traits = ActorTraits.together(self.lets_propose)

    @property
    def lets_propose(self) -> Sequence[Actor]:
        """See `groundwire.core._traits.LetsPropose`."""
        return (self._local, self._whole, self._draft)

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


# An actor that first finds out which earlier version a person's correction is about (DROC, arXiv 2311.10678).

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
        theirs = ActorTraits.of(actor)
        self.traits = replace(theirs, needs=replace(theirs.needs, episode=True))

    @property
    def backend(self) -> Backend:
        """The model that it asks."""
        return self._backend

    @property
    def lets_propose(self) -> Sequence[Actor]:
        """See `groundwire.core._traits.LetsPropose`."""
        return (self._actor,)

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
