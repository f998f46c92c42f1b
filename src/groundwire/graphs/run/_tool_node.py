"""The tool node: the only place where a signal is minted, and where what can't be undone is done at most once."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Collection, Sequence
from contextlib import aclosing
from dataclasses import asdict, replace

from langgraph.runtime import Runtime

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ActingTool, Judged, ModelCaller, Tool, ToolContext, WritingTool, WrittenCases
from groundwire.core._records import Intent, StopReason
from groundwire.core._signals import Evidence, NoVerdict, Observation, Origin, Signal, Verdict, canonical
from groundwire.core._tasks import Task
from groundwire.core._traits import ToolTraits
from groundwire.graphs.replay._recorded import RecordedObservation
from groundwire.graphs.replay._substitutes import observe, stand_in
from groundwire.graphs.run._acceptance import most_promising
from groundwire.graphs.run._calls import EpisodeCaller
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._firewall import withheld
from groundwire.graphs.run._gate import GateKind
from groundwire.graphs.run._history import History
from groundwire.graphs.run._nodes import Update, stop
from groundwire.graphs.run._rejudging import (
    DOUBTFUL,
    INFRASTRUCTURE,
    BatchCutoff,
    broke_off,
    looks_at_a_pass,
    looks_left,
    reconcile,
    wants_another_look,
    without_doubtful,
)
from groundwire.graphs.run._routing import Exits, Routing
from groundwire.graphs.run._state import EpisodeState
from groundwire.telemetry import judging_span, tell_of_signal

# What can't be undone is done at most once: that it begins is in the ledger before it does.

ACT = "act"
"""The kind of intent that stands for one."""


class CutOff:
    """Stands in for a tool that an earlier process had begun to act with, and never heard of again."""

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """Nothing is done; a person has to look."""
        return Observation(
            verdict=Verdict.NONE,
            reason=NoVerdict.CUT_OFF,
            origin=Origin.EXECUTION,
            evidence=Evidence(detail="an earlier process ended during this call; look whether it was carried out"),
        )


async def begin_acts(
    name: str, tool: ActingTool, candidates: Sequence[Candidate], trial: int, episode: Episode
) -> bool:
    """Writes down what is about to be done, where it can't be undone.

    Args:
        name: the tool node.
        tool: its tool.
        candidates: what it is about to judge.
        trial: the trial.
        episode: the running episode.

    Returns:
        False where that had begun before and its end is not known: it may not be begun again.
    """
    body = canonical({"issuer": name})
    acts = [c.digest for c in candidates if not tool.can_be_undone(c)]
    if any((trial, digest, body) in episode.history.acts for digest in acts):
        return False
    for digest in acts:
        await episode.record(Intent(episode_id=episode.id, trial=trial, kind=ACT, digest=digest, body=body))
    return True


# Tests that a model writes: once an episode, on record before the first candidate is judged by them.


async def written_cases(tool: WritingTool, issuer: str, context: ToolContext, episode: Episode) -> ToolContext:
    """The context with the episode's cases; they are written at first use.

    Args:
        tool: what has them written and judges by them.
        issuer: its node's name.
        context: what it works with.
        episode: the running episode.

    Raises:
        ModelError, BudgetExceeded: from the model that writes.
    """
    known = episode.history.written.get(issuer)
    if known is not None:
        return replace(context, written=_read(known))
    # a caller of its own: that a model wrote the tests does not make what they say a model's opinion
    written = await tool.write(episode.task.public(), replace(context, call=EpisodeCaller(episode, context.trial)))
    body = canonical({"issuer": issuer, **asdict(written)})
    digest = hashlib.sha256(body.encode()).hexdigest()
    await episode.record(
        Intent(episode_id=episode.id, trial=context.trial, kind="model_tests", digest=digest, body=body)
    )
    return replace(context, written=written)


def _read(record: Intent) -> WrittenCases:
    body = json.loads(record.body)
    return WrittenCases(
        cases=tuple(body["cases"]),
        dropped=tuple((source, why) for source, why in body["dropped"]),
        by=body["by"],
        validated=body["validated"],
    )


# The tool node: the only place where a signal is minted.

LEAST_RESERVE_S = 1.0
"""Seconds that are kept back from a search besides what its best candidate will need."""
FLUSH_EVERY = 16
"""Signals that may wait for the ledger while a wide trial is judged."""


class ToolNode:
    """Judges what the last actor proposed, mints a signal for each, looks again where doubt is left, asks the gate.

    Args:
        name: the node's name, the issuer of its signals.
        tool: what judges.
        exits: where it can lead.
        want_coverage: True if an actor of the graph asked for coverage.
        trusted: opt-in origins that the graph names.
        author: the node under whose name tests that a model wrote are kept, where several nodes hold one tool.
        patient: True if an actor of the graph goes through a plan of its own, so that no rule hurries it.
    """

    def __init__(
        self,
        name: str,
        tool: Tool,
        exits: Exits,
        *,
        want_coverage: bool,
        trusted: Collection[Origin] = (),
        author: str = "",
        patient: bool = False,
    ) -> None:
        self.name = name
        self.tool = tool
        self.exits = exits
        self.want_coverage = want_coverage
        self.routing = Routing(name, exits, frozenset(trusted), patient=patient)
        self._author = author or name
        traits = ToolTraits.of(tool, name=name)
        self._is_hidden = traits.judges_hidden
        self._says_which = traits.judges_visible
        self._is_repeatable = traits.repeatable
        self._judges_all = traits.judges_all
        self.calls_only = traits.calls_only
        # asked once: Python looks a Protocol's members up each time
        self._writing = tool if isinstance(tool, WritingTool) else None
        self._acting = tool if isinstance(tool, ActingTool) else None

    async def __call__(self, state: EpisodeState, runtime: Runtime[Episode]) -> Update:
        """One superstep."""
        episode = runtime.context
        if self._writing is not None and state.candidate:
            await self.routing.let_stand(state, episode, state.candidate)
        with judging_span(self.name, state.trial):
            await self._judge(state, episode)
            current = self._current(state, episode)
            if current is None:
                return stop(StopReason.NO_VERDICT, f"{self.name} judged nothing.")
            current = await self._look_again(current, state, episode)
        update = {"candidate": current.candidate.digest, "signal": current.signal.id, "admission": ""}
        return {**update, **await self.routing.route(state, episode, current)}

    async def _judge(self, state: EpisodeState, episode: Episode) -> None:
        for _ in range(1 + episode.rules.retries):
            pending = self._pending(state, episode)
            if not pending:
                return
            # where nobody looks again, a PASS that has the last word is confirmed at once
            only = looks_at_a_pass(episode.rules, 0.0) == 1 and not self.exits.plain
            confirming = only and self._is_repeatable and not self.routing.must_confirm(episode)
            await self._judge_batch(pending, state, episode, confirming=confirming)

    def _pending(self, state: EpisodeState, episode: Episode) -> Sequence[Candidate]:
        said = self._first_words(state, episode)
        if not self._judges_all and any(j.signal.verdict is Verdict.PASS for j in said):
            return ()
        works = any(j.signal.reason not in DOUBTFUL for j in said)
        digests = _at_hand(state, episode)
        return [episode.history.candidates[d] for d in digests if self._is_pending(d, state, episode, works=works)]

    def _is_pending(self, digest: str, state: EpisodeState, episode: Episode, *, works: bool) -> bool:
        looks = episode.history.looks(state.trial, self.name, digest)
        if not looks:
            return True
        broken = looks[-1].reason in (INFRASTRUCTURE if works else DOUBTFUL)
        return broken and broke_off(looks) <= episode.rules.retries

    def _first_words(self, state: EpisodeState, episode: Episode) -> Sequence[Judged]:
        """What each candidate at hand came to before anybody looked again: a choice once made stays."""
        firsts: list[Judged] = []
        for digest in _at_hand(state, episode):
            looks = episode.history.looks(state.trial, self.name, digest)
            if looks:
                first = next((look for look in looks if look.reason not in DOUBTFUL), looks[-1])
                firsts.append(Judged(episode.history.candidates[digest], first))
        return firsts

    def _current(self, state: EpisodeState, episode: Episode) -> Judged | None:
        said = without_doubtful(self._first_words(state, episode), episode.history)
        chosen = most_promising(said, episode.task.tree) or (said[-1] if said else None)
        return self._newest(chosen.candidate, state, episode) if chosen else None

    def _newest(self, candidate: Candidate, state: EpisodeState, episode: Episode) -> Judged:
        return Judged(candidate, episode.history.looks(state.trial, self.name, candidate.digest)[-1])

    async def _look_again(self, current: Judged, state: EpisodeState, episode: Episode) -> Judged:
        """Repeats a judging on which something is about to rest, as often as the rules ask."""
        while self._rests_on(current.signal, state, episode):
            looks = episode.history.looks(state.trial, self.name, current.candidate.digest)
            if not wants_another_look(looks, episode.history, episode.rules):
                break
            again = confirming = False
            if looks[-1].verdict is Verdict.PASS:
                left = looks_left(looks, episode.rules)
                again, confirming = left > 0, left < 2
            await self._judge_batch([current.candidate], state, episode, again=again, confirming=confirming)
            current = self._newest(current.candidate, state, episode)
        return current

    def _rests_on(self, signal: Signal, state: EpisodeState, episode: Episode) -> bool:
        if not self._is_repeatable or self.exits.plain:
            return False
        if signal.verdict is not Verdict.FAIL:
            return True
        return GateKind.REFINE in self.exits.gates and not episode.meter.used_up(trial=state.trial)

    async def _judge_batch(
        self,
        candidates: Sequence[Candidate],
        state: EpisodeState,
        episode: Episode,
        *,
        again: bool = False,
        confirming: bool = False,
    ) -> None:
        if not self.calls_only:
            await episode.settle()
        context = await self._context(state, episode, again=again, confirming=confirming)
        task = episode.task.public()
        if self._is_hidden:
            await self._note_access(candidates, state, episode)
            task = episode.firewall.planted()
        tool = stand_in(self.name, self.tool, hidden=self._is_hidden, episode=episode)
        if self._acting is not None and not await begin_acts(self.name, self._acting, candidates, state.trial, episode):
            tool = CutOff()
        patience = BatchCutoff(tool, task, context, episode)
        waiting: list[Signal] = []
        has_passed = False
        until = asyncio.timeout(self._seconds_for(candidates, episode))
        try:
            async with until, aclosing(observe(tool, candidates, task, context, name=self.name)) as observations:
                left = len(candidates)
                async for candidate, observation in observations:
                    signal = self._mint(observation, candidate, state, episode, context.call)
                    left -= 1
                    has_passed |= signal.verdict is Verdict.PASS
                    waiting.append(signal)
                    if observation.coverage is not None and not self._is_hidden:
                        await episode.keep_coverage(signal.id, observation.coverage)
                    episode.check_cancelled()
                    if signal.verdict is Verdict.PASS or len(waiting) >= FLUSH_EVERY:
                        await self._flush(waiting, episode)
                        if not self.calls_only:
                            await episode.settle()
                    if not self._judges_all and await patience.is_over(signal, left):
                        break
                    if signal.verdict is Verdict.PASS:
                        self._hasten(until, signal, episode)
        except TimeoutError:
            if not until.expired():
                raise
            if not has_passed:  # else the time that was kept back is there to confirm that one
                raise episode.meter.out_of_time() from None
        finally:
            await self._flush(waiting, episode)

    def _seconds_for(self, candidates: Sequence[Candidate], episode: Episode) -> float | None:
        """How long a search may go on: what passes must still be judged again, and by the hidden tests.

        None where nothing limits it, and for a single candidate, which takes what there is.
        """
        left_s = episode.meter.seconds_left()
        if left_s is None or len(candidates) < 2:
            return None
        looks = [_without_hanging(j.signal) for j in episode.history.judged_of(0) if j.candidate.is_base]
        one_s = max(looks, default=0.0)
        more = looks_at_a_pass(episode.rules, one_s) - 1 + (episode.task.hidden is not None)
        return max(left_s / 2, left_s - more * one_s - LEAST_RESERVE_S)

    def _hasten(self, until: asyncio.Timeout, passed: Signal, episode: Episode) -> None:
        """Ends a search that goes on behind a PASS while there is time to confirm that one, which is known by now."""
        ends, left_s = until.when(), episode.meter.seconds_left()
        if ends is not None and left_s is not None:
            # looks, and one run with controls, of the visible tests and of the hidden ones
            more = looks_at_a_pass(episode.rules, passed.duration_s) + 2 * (episode.task.hidden is not None)
            keep_s = more * passed.duration_s + LEAST_RESERVE_S
            until.reschedule(min(ends, asyncio.get_running_loop().time() + max(0.0, left_s - keep_s)))

    async def _context(self, state: EpisodeState, episode: Episode, *, again: bool, confirming: bool) -> ToolContext:
        is_first_look = not self._first_words(state, episode)
        context = ToolContext(
            sandbox=episode.sandbox,
            call=EpisodeCaller(episode, state.trial),
            trial=state.trial,
            want_coverage=self.want_coverage and state.trial == 0 and is_first_look,
            report=episode.report,
            seed=episode.seed,
            seed_rule=episode.seed_rule,
            past=lambda: episode.history.judged_until(state.trial),
            seconds_left=episode.meter.seconds_left,
            again=again,
            confirming=confirming,
        )
        if self._writing is not None:
            return await written_cases(self._writing, self._author, context, episode)
        return context

    async def _note_access(self, candidates: Sequence[Candidate], state: EpisodeState, episode: Episode) -> None:
        """Each access to the hidden tests is in the ledger before it happens, with its reason."""
        history = episode.history
        before = history.signals.get(state.signal)
        asked = f"{before.issuer} gave {before.verdict}, signal {before.id}" if before else "the graph begins here"
        for candidate in candidates:
            looks = history.looks(state.trial, self.name, candidate.digest)
            reason = f"again, since {looks[-1].reason} gave no verdict" if looks else f"final judging: {asked}"
            body = canonical({"issuer": self.name, "reason": reason})
            await episode.record(
                Intent(
                    episode_id=episode.id,
                    trial=state.trial,
                    kind="hidden_access",
                    digest=candidate.digest,
                    body=body,
                )
            )

    def _mint(
        self, observation: Observation, candidate: Candidate, state: EpisodeState, episode: Episode, caller: ModelCaller
    ) -> Signal:
        history = episode.history
        if isinstance(observation, RecordedObservation):
            return self._sealed(observation, candidate, state, episode)
        of_hidden = self._is_of_hidden(observation, episode)
        if of_hidden:
            episode.hidden_evidence = observation.evidence
            seen = withheld(observation)
        else:
            known = history.flaky.get(observation.command or (self.name,), frozenset())
            mended = frozenset[str]() if candidate.is_base else _failed_on_base(history, observation)
            seen = reconcile(observation, history.looks(state.trial, self.name, candidate.digest), known, mended)
        origin = self._origin(observation.origin, caller, of_hidden=of_hidden)
        if origin is not seen.origin:
            seen = seen.model_copy(update={"origin": origin})
        return self._sealed(seen, candidate, state, episode)

    def _sealed(self, seen: Observation, candidate: Candidate, state: EpisodeState, episode: Episode) -> Signal:
        return episode.mint.signal(
            seen,
            episode_id=episode.id,
            trial=state.trial,
            issuer=self.name,
            candidate_digest=candidate.digest,
        )

    def _is_of_hidden(self, observation: Observation, episode: Episode) -> bool:
        """Whether hidden tests gave it. A tool that is given them is believed that they did not only where it judges by
        the visible ones too, and nothing of theirs is in what it says."""
        if not self._is_hidden:
            return False
        says_visible = self._says_which and observation.origin is Origin.TESTS
        return not says_visible or episode.firewall.is_told_in(observation)

    def _origin(self, said: Origin, caller: ModelCaller, *, of_hidden: bool) -> Origin:
        """What the tool may not decide for itself: a model's word, and tests that a model wrote or nobody may see."""
        if isinstance(caller, EpisodeCaller) and caller.used:
            return Origin.OTHER_MODEL
        if of_hidden:
            return Origin.HIDDEN_TESTS
        return Origin.MODEL_TESTS if self._writing is not None else said

    async def _flush(self, waiting: list[Signal], episode: Episode) -> None:
        if not waiting:
            return
        signals = list(waiting)
        waiting.clear()
        # with the gate's answer, which follows at once
        await episode.note(*signals)
        for signal in signals:
            episode.accept(episode.history.judged(signal))
            tell_of_signal(signal)


def _without_hanging(look: Signal) -> float:
    """Seconds of a run without the cases that only a limit of time ended: what passes has none of them."""
    late = set(look.evidence.late)
    return max(0.0, look.duration_s - sum(case.duration_s for case in look.evidence.cases if case.id in late))


def _base_looks(history: History, command: tuple[str, ...]) -> Sequence[Signal]:
    """What was seen of the base tree by the same command, as far as it came to a verdict."""
    looks = (j.signal for j in history.judged_of(0) if j.candidate.is_base)
    return [look for look in looks if look.command == command and look.verdict is not Verdict.NONE]


def _failed_on_base(history: History, seen: Observation) -> frozenset[str]:
    looks = _base_looks(history, seen.command)
    return frozenset(case.id for look in looks for case in look.evidence.cases if not case.result.ok)


def _at_hand(state: EpisodeState, episode: Episode) -> Sequence[str]:
    """What there is to judge: all that the trial proposed; of a trial in steps what the current one proposed, though
    the ledger may know of later ones; or, after another tool has chosen, the current candidate alone."""
    if state.signal:
        return [state.candidate]
    if not state.candidate:
        return next(iter(episode.history.steps.get(state.trial, ())), ())
    return episode.history.step_with(state.trial, state.candidate) or [state.candidate]
