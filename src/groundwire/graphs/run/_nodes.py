"""The nodes of a feedback graph, but the tool's: what wraps an actor, a critic and a person; trials in one superstep.

Each wrapper enforces at run time what the proof showed at compile time: an actor or critic that no signal has let in is
refused, whatever edge led to it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langgraph._internal._constants import CONFIG_KEY_CHECKPOINTER
from langgraph.config import get_config
from langgraph.graph import END
from langgraph.runtime import Runtime
from langgraph.types import Command, interrupt

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import (
    Actor,
    ActorContext,
    Critic,
    CriticContext,
    EditStatistics,
    Judged,
    Lesson,
    Reflection,
    ToolContext,
)
from groundwire.core._contradictions import contradicted
from groundwire.core._errors import CandidateError, Contradiction, GroundingError, RecordingExhausted
from groundwire.core._experience import NO_EXPERIENCE
from groundwire.core._records import Admission, Intent, StopReason
from groundwire.core._signals import Evidence, NoVerdict, Observation, Origin, Verdict, canonical
from groundwire.core._tasks import Task
from groundwire.core._toolcalls import Ruling, Steps, ruled
from groundwire.core._traits import ActorTraits, CriticTraits, ToolTraits
from groundwire.graphs.build._bounds import Node, only_seen_graphs
from groundwire.graphs.replay._substitutes import RecordedActor
from groundwire.graphs.run._answer import LastAnswer
from groundwire.graphs.run._calls import EpisodeCaller, EpisodeRunner
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._gate import GateKind
from groundwire.graphs.run._memory import begin_trial, edits_for, experience_for, given_to, reflection_on
from groundwire.graphs.run._stagnation import draws
from groundwire.graphs.run._state import EpisodeState, Route, as_kept

# What wraps an actor and a critic.

Update = Mapping[str, Any]
"""What a node returns to LangGraph: the state's fields that change."""


def stop(reason: StopReason, detail: str = "") -> Update:
    """Leads to the end."""
    return {"route": Route.STOP, "stop_reason": reason, "detail": detail}


def let_in(episode: Episode, state: EpisodeState) -> tuple[Admission, Judged]:
    """The admission that lets the next node in, its signal's seal verified again.

    Raises:
        GroundingError: there is none, or it is not about the current candidate.
        SealError: the signal is not what was minted.
    """
    admission = episode.history.admissions.get(state.admission)
    if admission is None:
        raise GroundingError(f"Episode {episode.id}: no signal has opened the way to this node.")
    signal = episode.history.signal(admission.signal_id)
    episode.mint.verify(signal)
    if not admission.admitted or admission.candidate_digest != state.candidate or admission.trial != state.trial:
        raise GroundingError(f"Episode {episode.id}: the admission {admission.id} is not about the current candidate.")
    return admission, episode.history.judged(signal)


def _contradiction(record: Intent) -> Update:
    said = json.loads(record.body)
    return stop(StopReason.CONTRADICTION, f"{said['case']}: {said['reason']}")


class ActorNode:
    """Lets an actor propose, once per admission.

    Args:
        name: the node's name.
        actor: what proposes.
        width: candidates asked for in one trial.
        may_begin: True if it may act before anything was proposed or judged.
        last: set where its last candidate is handed in when it has nothing new.
    """

    def __init__(self, name: str, actor: Actor, *, width: int, may_begin: bool, last: LastAnswer | None = None) -> None:
        self.name = name
        self.actor = actor
        self.width = width
        self.may_begin = may_begin
        self.last = last
        traits = ActorTraits.of(actor, name=name)
        self.needs, self._revision = traits.needs, traits.revision
        self.calls_only = traits.calls_only

    async def __call__(self, state: EpisodeState, runtime: Runtime[Episode]) -> Update:
        """One superstep."""
        episode = runtime.context
        # a first try needs no signal; what it proposed stays recorded, so it can't be had twice
        first = self.may_begin and state.trial == 0 and state.step == 0
        admission, failing = (None, None) if first else let_in(episode, state)
        advancing = admission is not None and admission.edge == GateKind.ADVANCE
        trial = state.trial if advancing else state.trial + 1
        step = state.step + 1 if advancing else 1
        lessons = await begin_trial(episode, trial, self.needs, failing, escalation=state.escalation)
        fresh, escalation = self._recorded(episode, trial, step), state.escalation
        known = bool(fresh)
        detail, repeated = "", None
        update: Update = {"trial": trial, "step": step, "admission": "", "reflection": "", "escalation": escalation}
        if trial in episode.history.contradictions:
            return {**update, **_contradiction(episode.history.contradictions[trial])}
        try:
            if not known:
                fresh, escalation, repeated = await self._fresh(state, episode, trial, failing, lessons)
                update = {**update, "escalation": escalation}
        except Contradiction as said:
            try:
                return {**update, **await self._end_of_it(said, episode, trial, failing)}
            except CandidateError as refused:
                detail = f"{refused.what} {refused.do}"
        except (CandidateError, RecordingExhausted) as refused:
            detail = refused.what
        if not fresh:
            asked = escalation - state.escalation
            stuck = f"same_candidate: only what was judged before, {asked} times"
            update = {**update, **(stop(StopReason.STUCK, stuck) if asked else stop(StopReason.EXHAUSTED, detail))}
            last = self.last
            return last.after_proposing(update, state.candidate, repeated, state.trial, episode) if last else update
        for candidate in fresh:
            self._check(candidate, episode, extends=failing.candidate if advancing and failing else None)
        if not known:
            await episode.propose(trial, self.name, fresh)
        return {**update, "candidate": fresh[0].digest, "signal": "", "route": Route.NEXT}

    async def _end_of_it(self, said: Contradiction, episode: Episode, trial: int, failing: Judged | None) -> Update:
        """Puts on record that a test contradicts the task, as the actor says, and stops.

        Raises:
            CandidateError: it names no case that failed.
        """
        best = episode.history.best
        against = failing or (best if best and best.signal.verdict is Verdict.FAIL else None)
        said = contradicted(said, against.signal if against else None)
        assert against is not None, "a case has failed"
        body = {"issuer": self.name, "case": said.case, "reason": said.reason, "signal": against.signal.id}
        record = Intent(
            episode_id=episode.id,
            trial=trial,
            kind="contradiction",
            digest=against.candidate.digest,
            body=canonical(body),
        )
        await episode.record(record)
        return _contradiction(record)

    def _recorded(self, episode: Episode, trial: int, step: int) -> list[Candidate]:
        """What an earlier process had proposed for this very step, so that nothing is paid for twice."""
        steps = episode.history.steps.get(trial, [])
        return [episode.history.candidates[d] for mine in steps[step - 1 : step] for d in mine]

    async def _fresh(
        self,
        state: EpisodeState,
        episode: Episode,
        trial: int,
        failing: Judged | None,
        lessons: Sequence[Lesson],
    ) -> tuple[list[Candidate], int, Candidate | None]:
        """Candidates never judged before; asks again, escalated, while the actor only repeats itself.

        Returns:
            The candidates, the escalation that brought them, and the last of the repeated ones.
        """
        repeated: Candidate | None = None
        statistics = await edits_for(episode, trial, failing) if self.needs.edit_statistics else EditStatistics()
        experience = await experience_for(episode, trial) if self.needs.experience else NO_EXPERIENCE
        history = episode.history
        record = history.reflections.get(state.reflection)
        judged = history.judged_until(state.trial) if self.needs.episode else history.judged_of(state.trial)
        escalation, actor, played = state.escalation, self.actor, episode.recordings
        if played is not None and played.revision(self.name) != self._revision:
            actor = RecordedActor(self.name, played)
        for escalation in range(state.escalation, state.escalation + max(1, episode.rules.escalations)):
            context = ActorContext(
                task=episode.task.public(),
                tree=episode.best_tree(),
                call=EpisodeCaller(episode, trial, calls_only=self.calls_only),
                best=history.best,
                baseline=next(iter(history.judged_of(0)), None),
                failing=failing,
                judged=judged,
                trial=trial,
                coverage=history.coverage,
                lessons=lessons,
                reflection=Reflection(record.text, record.by, record.raw) if record else None,
                tried=history.tried,
                edit_statistics=statistics,
                experience=experience,
                escalation=escalation,
                seed=episode.seed,
                seed_rule=episode.seed_rule,
                program=EpisodeRunner(episode, trial),
                sandbox=episode.program_sandbox,
            )
            proposed = await actor.propose(context, draws(self.width, escalation))
            if not proposed:
                return [], state.escalation, repeated
            repeated = proposed[-1]
            fresh = list({c.digest: c for c in proposed if c.digest not in history.candidates}.values())
            if fresh:
                reached = actor.escalation(trial, escalation) if isinstance(actor, RecordedActor) else escalation
                return fresh[: self.width], reached, None
        return [], escalation + 1, repeated

    def _check(self, candidate: Candidate, episode: Episode, *, extends: Candidate | None) -> None:
        if candidate.base_digest != episode.task.tree.digest:
            raise CandidateError(
                f"{self.name} proposed a candidate against another tree than the task's.",
                do="Make candidates with base_digest=context.task.tree.digest.",
            )
        if extends is not None and not candidate.extends(extends):
            raise GroundingError(
                f"{self.name} was let in by `advance`, which may only append, and rewrote what was there.",
                do="Append to the current candidate; a rewrite needs a `refine` edge and a sealed FAIL.",
            )


class CriticNode:
    """Lets a critic reflect on the failing signal, once per admission.

    Args:
        name: the node's name.
        critic: what reflects.
    """

    def __init__(self, name: str, critic: Critic) -> None:
        self.name = name
        self.critic = critic
        self.calls_only = CriticTraits.of(critic, name=name).calls_only

    async def __call__(self, state: EpisodeState, runtime: Runtime[Episode]) -> Update:
        """One superstep."""
        episode = runtime.context
        admission, failing = let_in(episode, state)
        if state.reflection:
            raise GroundingError(f"{self.name} has reflected on signal {admission.signal_id} already.")
        recorded = episode.history.reflection_on(admission.signal_id)
        if recorded is not None:
            return {"reflection": recorded.id}
        context = CriticContext(
            task=episode.task.public(),
            failing=failing,
            tree=failing.candidate.applied_to(episode.task.tree),
            call=EpisodeCaller(episode, state.trial, calls_only=self.calls_only),
            lessons=await given_to(episode, state.trial, failing),
            trial=state.trial,
            judged=episode.history.judged_until(state.trial),
            seed=episode.seed,
            seed_rule=episode.seed_rule,
        )
        reflection = await self.critic.reflect(context)
        record = reflection_on(episode, failing, reflection, by=self.name)
        await episode.note(record)
        return {"reflection": record.id}


# Fused: trials in one superstep, where nobody asked to see their nodes one by one.
#
# LangGraph takes about a quarter of a millisecond of CPU for a superstep, whatever the node does. A run without a
# checkpointer, an interrupt, a callback or a config of its own is the same with one superstep for all nodes that
# follow each other: the same nodes, in the same order, with the same records in the ledger.

NextNode: TypeAlias = Callable[[EpisodeState], "str | Sequence[str]"]
"""Where a node leads, read from the state that it left."""


@dataclass(frozen=True)
class FusedNode:
    """A node and where it leads.

    Args:
        node: the node.
        next: where it leads.
        calls_only: True if it may begin before the ledger has what led to it (`ActorTraits.calls_only`).
        guarded: its name where it may call no graph but those that the proof has seen, as messages give it; else empty.
    """

    node: Node
    next: NextNode
    calls_only: bool
    guarded: str


class FusedNodes:
    """Runs nodes one after the other, trial by trial, until the end or a node that is LangGraph's business.

    Args:
        start: the node that it begins with.
        nodes: the nodes that it may run.
        yields_before: nodes before which other episodes of this process get their turn.
    """

    def __init__(self, start: str, nodes: Mapping[str, FusedNode], yields_before: Collection[str]) -> None:
        self._start = start
        self._nodes = nodes
        self._yields_before = frozenset(yields_before)

    async def __call__(self, state: EpisodeState, runtime: Runtime[Episode]) -> Command[Any]:
        """One superstep."""
        episode = runtime.context
        update: dict[str, Any] = {}
        to: str | Sequence[str] = self._start
        state = state.model_copy()
        values = vars(state)
        with only_seen_graphs() as guard:
            try:
                while isinstance(to, str) and (fused := self._nodes.get(to)) is not None:
                    if update and not fused.calls_only:
                        await episode.settle()
                    elif update and to in self._yields_before:
                        await asyncio.sleep(0)
                    episode.check_cancelled()
                    guard.node = fused.guarded
                    changed = await fused.node(state, runtime)
                    update.update(changed)
                    values.update(changed)  # unchecked: they are the nodes' own
                    to = fused.next(state)
            finally:
                if to == END:
                    episode.hold_back()
                else:
                    await episode.settle()
        if to == END:  # nobody reads more of it
            update = {name: value for name, value in update.items() if name in ("stop_reason", "detail", "route")}
        return Command(update=as_kept(update), goto=to)


# A person's word, by LangGraph's interrupt: the episode pauses, and goes on with the answer.


class AskPerson:
    """Asks whether the last call may be made. The answer is given to `arun(…, episode_id=…, resume=…)`.

    `True` or `"yes"`: it is made. Anything else is a veto, and a text is handed to the actor as it was said. The graph
    must be compiled with a checkpointer; without one there is nobody to ask, no verdict, and no call.
    """

    traits = ToolTraits(never_passes=True)

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        if get_config().get("configurable", {}).get(CONFIG_KEY_CHECKPOINTER) is None:
            said = "a person should decide; compile the graph with a checkpointer to be asked"
            reason = NoVerdict.UNDECIDED
            return Observation(verdict=Verdict.NONE, reason=reason, origin=Origin.HUMAN, evidence=Evidence(detail=said))
        steps = Steps.of(candidate)
        call = steps.calls[-1]
        doubts = [j.signal.evidence.detail for j in context.past() if j.signal.candidate_digest == candidate.digest]
        question = {"tool": call.tool, "arguments": dict(call.arguments), "doubt": doubts[-1] if doubts else ""}
        return ruled(_read(interrupt(question)), steps, Origin.HUMAN)


def _read(said: Any) -> Ruling:
    if said is True or said == "yes":
        return Ruling(True, "a person allowed it")
    return Ruling(False, "a person refused it", "" if said is False or said == "no" else str(said))
