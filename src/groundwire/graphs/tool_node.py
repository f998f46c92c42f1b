"""The tool node: the only place where a signal is minted, and where the gate is asked."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from langgraph.runtime import Runtime

from groundwire.contexts import BatchTool, Judged, Tool, ToolContext
from groundwire.graphs.acceptance import most_promising
from groundwire.graphs.episode import Episode, EpisodeCaller
from groundwire.graphs.gate import GateKind, Question, Refusal, admit
from groundwire.graphs.nodes import Update, stop
from groundwire.graphs.state import EpisodeState, Route
from groundwire.records import Admission, StopReason
from groundwire.signals import NoVerdict, Observation, Origin, Signal, Verdict
from groundwire.tasks import Task
from groundwire.trees import Candidate

__all__ = ["Exits", "ToolNode"]

FLUSH_EVERY = 16
"""Signals that may wait for the ledger while a wide trial is judged."""
INFRASTRUCTURE_RETRIES = 1
INFRASTRUCTURE = frozenset({NoVerdict.SANDBOX, NoVerdict.RUNNER_CRASHED})


@dataclass(frozen=True)
class Exits:
    """Where a tool node can lead.

    Args:
        gates: the gated edges that leave it.
        confirm: True if a PASS leads to another tool.
        confirm_is_hidden: True if that tool judges hidden tests, so that without any the PASS stands.
        plain: True if it has ordinary edges, which are taken whatever the verdict.
    """

    gates: frozenset[GateKind] = frozenset()
    confirm: bool = False
    confirm_is_hidden: bool = False
    plain: bool = False


def judges_hidden(tool: Tool) -> bool:
    """True if the tool says that it is the one to judge hidden tests."""
    return bool(getattr(tool, "judges_hidden", False))


class ToolNode:
    """Judges what the last actor proposed, mints a signal for each, and asks the gate.

    Args:
        name: the node's name, the issuer of its signals.
        tool: what judges.
        exits: where it can lead.
        want_coverage: True if an actor of the graph asked for coverage.
        trusted: opt-in origins that the graph names.
    """

    def __init__(
        self, name: str, tool: Tool, exits: Exits, *, want_coverage: bool, trusted: Collection[Origin] = ()
    ) -> None:
        self.name = name
        self.tool = tool
        self.exits = exits
        self.want_coverage = want_coverage
        self.trusted = frozenset(trusted)

    async def __call__(self, state: EpisodeState, runtime: Runtime[Episode]) -> Update:
        """One superstep."""
        episode = runtime.context
        await self._judge(state, episode)
        judged = episode.history.judged_of(state.trial, self.name)
        current = most_promising(judged) or (judged[-1] if judged else None)
        if current is None:
            return stop(StopReason.NO_VERDICT, f"{self.name} judged nothing.")
        update = {"candidate": current.candidate.digest, "signal": current.signal.id, "admission": ""}
        return {**update, **await self._route(state, episode, current)}

    async def _judge(self, state: EpisodeState, episode: Episode) -> None:
        for _ in range(1 + INFRASTRUCTURE_RETRIES):
            pending = self._pending(state, episode)
            if not pending:
                return
            await self._judge_batch(pending, state, episode)
            judged = episode.history.judged_of(state.trial, self.name)
            if any(j.signal.reason not in INFRASTRUCTURE for j in judged):
                return

    def _pending(self, state: EpisodeState, episode: Episode) -> Sequence[Candidate]:
        """All that the trial proposed; or, after another tool has chosen, the current candidate alone."""
        history = episode.history
        mine = history.judged_of(state.trial, self.name)
        if any(j.signal.verdict is Verdict.PASS for j in mine):
            return ()
        settled = {j.candidate.digest for j in mine if j.signal.reason not in INFRASTRUCTURE}
        digests = [state.candidate] if state.signal else history.proposed.get(state.trial, [])
        return [history.candidates[d] for d in digests if d not in settled]

    async def _judge_batch(self, candidates: Sequence[Candidate], state: EpisodeState, episode: Episode) -> None:
        caller = episode.caller(state.trial)
        task = episode.task if judges_hidden(self.tool) else episode.task.public()
        is_baseline = state.trial == 0
        context = ToolContext(
            sandbox=episode.sandbox,
            call=caller,
            trial=state.trial,
            want_coverage=self.want_coverage and is_baseline,
            report=episode.report,
        )
        waiting: list[Signal] = []
        try:
            async with aclosing(_observe(self.tool, candidates, task, context)) as observations:
                index = 0
                async for observation in observations:
                    signal = self._mint(observation, candidates[index], state, episode, caller)
                    index += 1
                    waiting.append(signal)
                    if observation.coverage is not None:
                        await episode.keep_coverage(signal.id, observation.coverage)
                    passed = signal.verdict is Verdict.PASS
                    if passed or len(waiting) >= FLUSH_EVERY:
                        await self._flush(waiting, episode)
                    if passed:
                        break
        finally:
            await self._flush(waiting, episode)

    def _mint(
        self,
        observation: Observation,
        candidate: Candidate,
        state: EpisodeState,
        episode: Episode,
        caller: EpisodeCaller,
    ) -> Signal:
        origin = observation.origin
        if caller.used:
            origin = Origin.OTHER_MODEL
        elif judges_hidden(self.tool):
            origin = Origin.HIDDEN_TESTS
        return episode.mint.signal(
            observation if origin is observation.origin else observation.model_copy(update={"origin": origin}),
            episode_id=episode.id,
            trial=state.trial,
            issuer=self.name,
            candidate_digest=candidate.digest,
        )

    async def _flush(self, waiting: list[Signal], episode: Episode) -> None:
        if not waiting:
            return
        signals = list(waiting)
        waiting.clear()
        await episode.record(*signals)
        for signal in signals:
            episode.accept(episode.history.judged(signal))

    async def _route(self, state: EpisodeState, episode: Episode, current: Judged) -> Update:
        signal = current.signal
        if self.exits.plain:
            return {"route": Route.NEXT}
        if signal.verdict is Verdict.PASS:
            return self._after_pass(state, episode, signal)
        if signal.verdict is Verdict.FAIL:
            if GateKind.REFINE in self.exits.gates:
                return await self._ask(GateKind.REFINE, state, episode, current)
            hidden = signal.origin is Origin.HIDDEN_TESTS
            return stop(StopReason.HIDDEN_FAILED if hidden else StopReason.EXHAUSTED, signal.evidence.detail)
        if signal.reason is NoVerdict.GO_ON and GateKind.ADVANCE in self.exits.gates:
            return await self._ask(GateKind.ADVANCE, state, episode, current)
        return stop(StopReason.NO_VERDICT, f"{signal.reason}: {signal.evidence.detail}")

    def _after_pass(self, state: EpisodeState, episode: Episode, signal: Signal) -> Update:
        if signal.origin is Origin.MODEL_TESTS:
            return stop(StopReason.INTERNAL_PASS, "Tests that a model wrote pass; nothing outside has verified it.")
        if signal.origin is Origin.OTHER_MODEL and Origin.OTHER_MODEL not in self.trusted:
            return stop(StopReason.INTERNAL_PASS, "Another model approves; nothing outside has verified it.")
        if self.exits.confirm and (episode.task.hidden or not self.exits.confirm_is_hidden):
            return {"route": Route.CONFIRM}
        if state.trial == 0 and signal.candidate_digest == episode.history.base.digest:
            return stop(StopReason.ALREADY_PASSING, signal.evidence.detail)
        return stop(StopReason.VERIFIED, signal.evidence.detail)

    async def _ask(self, kind: GateKind, state: EpisodeState, episode: Episode, current: Judged) -> Update:
        recorded = episode.history.admission_of(current.signal.id)
        if recorded is not None and recorded.edge == kind and recorded.trial == state.trial:
            return _opened(kind, recorded)
        meter = episode.meter
        used_up = (
            meter.used_up(trial=state.trial) if kind is GateKind.REFINE else meter.used_up(trial=-1, step=state.step)
        )
        question = Question(
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
        await episode.record(admission)
        if admission.admitted:
            return _opened(kind, admission)
        if admission.reason == Refusal.BUDGET:
            return stop(StopReason(f"budget_{used_up}"), current.signal.evidence.detail)
        return stop(StopReason.REFUSED, f"The gate refused: {admission.reason}.")


async def _observe(
    tool: Tool, candidates: Sequence[Candidate], task: Task, context: ToolContext
) -> AsyncGenerator[Observation, None]:
    if isinstance(tool, BatchTool) and len(candidates) > 1:
        async with aclosing(tool.judge_many(candidates, task, context)) as observations:
            async for observation in observations:
                yield observation
    else:
        for candidate in candidates:
            yield await tool.judge(candidate, task, context)


def _opened(kind: GateKind, admission: Admission) -> Update:
    return {"route": Route.REFINE if kind is GateKind.REFINE else Route.ADVANCE, "admission": admission.id}
