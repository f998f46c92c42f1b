"""Where a verdict leads: to the end, to another tool, or through the gate."""

from __future__ import annotations

from dataclasses import dataclass

from groundwire.core._contexts import Judged
from groundwire.core._environments import standstill_of_steps
from groundwire.core._records import Admission, StopReason
from groundwire.core._signals import Evidence, NoVerdict, Observation, Origin, Verdict
from groundwire.graphs.build._declarations import Cap
from groundwire.graphs.run._answer import LastAnswer, let_stand, said_against
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._gate import GateKind, GateQuestion, Refusal, admit, may_verify
from groundwire.graphs.run._nodes import Update, stop
from groundwire.graphs.run._stagnation import failures_until, last_steps, standstill
from groundwire.graphs.run._state import EpisodeState, Route

NAMES_SHOWN = 3


@dataclass(frozen=True)
class Exits:
    """Where a tool node can lead.

    Args:
        gates: the gated edges that leave it.
        confirm: True if a PASS leads to another tool.
        confirm_is_hidden: True if that tool judges hidden tests, so that without any the PASS stands.
        plain: True if it has ordinary edges, which are taken whatever the verdict.
        refer: True if another tool is asked where it is undecided.
        last_word: the place of the tool that a PASS leads to; "" where it leads to none.
        cap: how often it may fail before the episode ends.
        last: set where the last candidate goes to the confirming tool, also without a PASS.
        takes_last: True if this is such a confirming tool.
    """

    gates: frozenset[GateKind] = frozenset()
    confirm: bool = False
    confirm_is_hidden: bool = False
    plain: bool = False
    refer: bool = False
    last_word: str = ""
    cap: Cap | None = None
    last: LastAnswer | None = None
    takes_last: bool = False


class Routing:
    """Decides what follows a tool node's verdict.

    Args:
        name: the node's name.
        exits: where it can lead.
        trusted: opt-in origins that the graph names.
        patient: True if an actor of the graph goes through a plan of its own, so that no rule hurries it.
    """

    def __init__(self, name: str, exits: Exits, trusted: frozenset[Origin], *, patient: bool) -> None:
        self.name = name
        self.exits = exits
        self.trusted = trusted
        self.patient = patient

    async def route(self, state: EpisodeState, episode: Episode, current: Judged) -> Update:
        """What to do about the current candidate."""
        signal = current.signal
        if signal.verdict is not Verdict.PASS and not may_verify(signal.origin, self.trusted):
            await self.let_stand(state, episode, current.candidate.digest)
        update = await self._follow(state, episode, current)
        return self.exits.last.after_judging(update, current.signal, episode) if self.exits.last else update

    async def let_stand(self, state: EpisodeState, episode: Episode, digest: str) -> None:
        """Puts a candidate on record that a stronger tool has passed: what this one says can't take that back."""
        if self._verified_elsewhere(state, episode, digest):
            by = self.exits.last_word if self.must_confirm(episode) else ""
            await let_stand(episode, state.trial, digest, issuer=self.name, by=by)

    async def _follow(self, state: EpisodeState, episode: Episode, current: Judged) -> Update:
        signal = current.signal
        if self.exits.plain:
            return {"route": Route.NEXT}
        if signal.verdict is Verdict.PASS:
            return self._after_pass(state, episode, current)
        if signal.verdict is Verdict.FAIL:
            if GateKind.REFINE in self.exits.gates:
                return await self._refine(state, episode, current)
            hidden = signal.origin is Origin.HIDDEN_TESTS
            return stop(StopReason.HIDDEN_FAILED if hidden else StopReason.EXHAUSTED, signal.evidence.detail)
        if signal.reason is NoVerdict.GO_ON and GateKind.ADVANCE in self.exits.gates:
            return await self._advance(state, episode, current)
        if signal.reason is NoVerdict.GO_ON and self.exits.confirm:
            return {"route": Route.CONFIRM}
        if signal.reason is NoVerdict.UNDECIDED and self.exits.refer:
            return {"route": Route.REFER}
        looks = len(episode.history.looks(state.trial, self.name, current.candidate.digest))
        times = f" (looked {looks} times)" if looks > 1 else ""
        return stop(StopReason.NO_VERDICT, f"{signal.reason}: {signal.evidence.detail}{times}")

    def _after_pass(self, state: EpisodeState, episode: Episode, current: Judged) -> Update:
        if self.must_confirm(episode):
            return {"route": Route.CONFIRM}
        signal = current.signal
        if not may_verify(signal.origin, self.trusted) and not self._verified_elsewhere(
            state, episode, current.candidate.digest
        ):
            return stop(StopReason.INTERNAL_PASS, _not_verified(signal.origin))
        lost = [] if self.exits.takes_last else sorted(episode.ladder.lost(current.candidate.digest))
        if lost:
            more = " …" if len(lost) > NAMES_SHOWN else ""
            what = f"It passes, but cases that the best candidate passed did not run: {', '.join(lost[:NAMES_SHOWN])}"
            return stop(StopReason.NO_VERDICT, f"{NoVerdict.COUNT_MISMATCH}: {what}{more}")
        episode.submit(current)
        if state.trial == 0 and signal.candidate_digest == episode.history.base.digest:
            return stop(StopReason.ALREADY_PASSING, signal.evidence.detail)
        before = episode.history.signals.get(state.signal) if self.exits.takes_last else None
        if before is not None and before.verdict is not Verdict.PASS:
            said = f"the last candidate, although {before.issuer} gave {before.verdict}"
            return stop(StopReason.VERIFIED, f"{signal.evidence.detail}; {said}")
        against = said_against(episode.history, signal.candidate_digest)
        return stop(StopReason.VERIFIED, "; ".join(filter(None, (signal.evidence.detail, against, state.detail))))

    def must_confirm(self, episode: Episode) -> bool:
        """True if what passes here is judged by another tool before it counts."""
        return self.exits.confirm and (episode.task.hidden is not None or not self.exits.confirm_is_hidden)

    def _verified_elsewhere(self, state: EpisodeState, episode: Episode, digest: str) -> bool:
        """True if another tool, whose word counts for more, has passed the same candidate in this trial."""
        return any(
            j.candidate.digest == digest
            and j.signal.verdict is Verdict.PASS
            and may_verify(j.signal.origin, self.trusted)
            for j in episode.history.judged_of(state.trial)
        )

    async def _refine(self, state: EpisodeState, episode: Episode, current: Judged) -> Update:
        cap = self.exits.cap
        if cap is not None and episode.history.failures_since_go_on(self.name) >= cap.failures:
            return stop(cap.reason, current.signal.evidence.detail)
        rules, escalation = episode.rules, state.escalation
        if state.trial in episode.history.improved_in:
            escalation = 0
        failures = failures_until(episode.history, self.name, current.signal, rules)
        why = "" if self.patient or state.trial == 0 else standstill(failures, rules)
        if why:
            await self._note(why, state, episode, current)
            if escalation >= rules.escalations:
                return stop(StopReason.STUCK, why)
            escalation += 1
        return {"escalation": escalation, **await self._ask(GateKind.REFINE, state, episode, current)}

    async def _advance(self, state: EpisodeState, episode: Episode, current: Judged) -> Update:
        rules = episode.rules
        steps = last_steps(episode.history, self.name, state.trial, rules)
        repeats = None if self.patient else rules.repeats
        why = standstill_of_steps(steps, state.step, repeats=repeats, actions=rules.actions)
        if why:
            await self._note(why, state, episode, current)
            return stop(StopReason.STUCK, why)
        return await self._ask(GateKind.ADVANCE, state, episode, current)

    async def _note(self, why: str, state: EpisodeState, episode: Episode, current: Judged) -> None:
        """A rule's finding is a signal too: it escalates, and no gate opens on it."""
        if episode.history.rule_of(state.trial, self.name) is None:
            found = Observation(verdict=Verdict.FAIL, origin=Origin.RULE, evidence=Evidence(detail=why))
            await episode.note(
                episode.mint.signal(
                    found,
                    episode_id=episode.id,
                    trial=state.trial,
                    issuer=self.name,
                    candidate_digest=current.candidate.digest,
                )
            )

    async def _ask(self, kind: GateKind, state: EpisodeState, episode: Episode, current: Judged) -> Update:
        recorded = episode.history.admission_of(current.signal.id)
        if recorded is not None and recorded.edge == kind and recorded.trial == state.trial:
            return _opened(kind, recorded)
        used_up = self._used_up(kind, state, episode, current)
        question = GateQuestion(
            kind=kind,
            signal=current.signal,
            episode_id=episode.id,
            trial=state.trial,
            issuer=self.name,
            candidate_digest=current.candidate.digest,
            used=current.signal.id in episode.history.opened,
            used_up=used_up,
            trusted=self.trusted,
        )
        admission = admit(question, episode.mint)
        await episode.note(admission)
        if admission.admitted:
            return _opened(kind, admission)
        if admission.reason == Refusal.BUDGET:
            return stop(StopReason(f"budget_{used_up}"), current.signal.evidence.detail)
        return stop(StopReason.REFUSED, f"The gate refused: {admission.reason}.")

    def _used_up(self, kind: GateKind, state: EpisodeState, episode: Episode, current: Judged) -> str:
        """The kind of budget that is used up, or ""."""
        if kind is GateKind.ADVANCE:
            return episode.meter.used_up(trial=-1, step=state.step)
        cap = episode.rules.refinements.get(current.signal.origin)
        if cap is not None and episode.history.refined_by(current.signal.origin) >= cap:
            return "refinements"
        return episode.meter.used_up(trial=state.trial)


def _not_verified(origin: Origin) -> str:
    said = {
        Origin.MODEL_TESTS: "Tests that a model wrote pass",
        Origin.OTHER_MODEL: "Another model approves",
        Origin.HUMAN: "A person approves, whom the graph does not name",
    }.get(origin, "A rule is content")
    return f"{said}; nothing outside has verified it."


def _opened(kind: GateKind, admission: Admission) -> Update:
    return {"route": Route.REFINE if kind is GateKind.REFINE else Route.ADVANCE, "admission": admission.id}
