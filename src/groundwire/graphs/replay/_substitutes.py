"""What judges in a tool's place where the ledger holds its verdict: in a replay, or where a policy allows it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import (
    ActorContext,
    BatchTool,
    EagerTool,
    RepeatableTool,
    SkepticalTool,
    Tool,
    ToolContext,
    WritingTool,
    in_their_order,
)
from groundwire.core._errors import (
    CandidateError,
    GroundwireError,
    ModelError,
    ModelReplyInvalid,
    RecordingMissing,
    ToolError,
)
from groundwire.core._ids import PHASES_PER_PROPOSAL
from groundwire.core._models import Completion, Request
from groundwire.core._records import Intent, StopReason
from groundwire.core._signals import Observation, Signal, canonical
from groundwire.core._tasks import Task
from groundwire.graphs.replay._recorded import Recordings, observed
from groundwire.graphs.replay._reuse import Judging
from groundwire.graphs.run._episode import Episode


def stand_in(name: str, tool: Tool, *, hidden: bool, episode: Episode) -> Tool:
    """The tool of a tool node, or what stands in for it.

    Args:
        name: the node's name.
        tool: its tool.
        hidden: True if it judges hidden tests: a candidate's digest does not cover them, so that nothing is reused.
        episode: the running episode.
    """
    if episode.recordings is not None:
        return _RecordedTool(name, episode, episode.recordings)
    is_allowed = episode.cache is not None and episode.cache.takes_verdicts and not hidden
    if is_allowed and isinstance(tool, RepeatableTool) and not isinstance(tool, WritingTool):
        return _CachedTool(name, tool, episode)
    return tool


async def observe(
    tool: Tool, candidates: Sequence[Candidate], task: Task, context: ToolContext, *, name: str
) -> AsyncGenerator[tuple[Candidate, Observation], None]:
    """An observation for each candidate, as soon as it is there; in their order where the tool says nothing else.

    Args:
        tool: what judges.
        candidates: what it judges.
        task: the task as it sees it.
        context: what it works with.
        name: the tool node's, for the message.

    Raises:
        ToolError: it gave too few observations, too many, or what is none.
    """
    if len(candidates) < 2 or not isinstance(tool, BatchTool):
        for candidate in candidates:
            yield candidate, _checked(name, await tool.judge(candidate, task, context))
        return
    if isinstance(tool, EagerTool):
        async with aclosing(_each(tool, candidates, task, context, name=name)) as judged:
            async for candidate, observation in judged:
                yield candidate, observation
        return
    waiting = iter(candidates)
    async with aclosing(tool.judge_many(candidates, task, context)) as observations:
        given = 0
        async for observation in observations:
            given += 1
            candidate = next(waiting, None)
            if candidate is None:
                raise _miscounted(name, f"more than {len(candidates)}", len(candidates))
            yield candidate, _checked(name, observation)
    if given < len(candidates) and not isinstance(tool, _RecordedTool):
        raise _miscounted(name, str(given), len(candidates))


async def _each(
    tool: EagerTool, candidates: Sequence[Candidate], task: Task, context: ToolContext, *, name: str
) -> AsyncGenerator[tuple[Candidate, Observation], None]:
    left = dict(enumerate(candidates))
    async with aclosing(tool.judge_each(candidates, task, context)) as observations:
        async for number, observation in observations:
            candidate = left.pop(number, None)
            if candidate is None:
                raise _miscounted(name, f"one too many (number {number})", len(candidates))
            yield candidate, _checked(name, observation)
    if left and not isinstance(tool, _RecordedTool):
        raise _miscounted(name, str(len(candidates) - len(left)), len(candidates))


def _checked(name: str, observation: object) -> Observation:
    if isinstance(observation, Observation):
        return observation
    raise ToolError(
        f"The tool {name} gave {type(observation).__name__} where an Observation belongs.",
        do="Return groundwire.Observation(verdict=…, origin=…) for each candidate.",
    )


def _miscounted(name: str, given: str, wanted: int) -> ToolError:
    return ToolError(
        f"The tool {name} gave {given} observations on {wanted} candidates.",
        do="Yield exactly one for each candidate, in their order; one without a verdict where it can't judge.",
    )


class _RecordedTool:
    """Judges from the ledger alone. See `groundwire.core._contexts.BatchTool`."""

    def __init__(self, name: str, episode: Episode, recordings: Recordings) -> None:
        self._name = name
        self._episode = episode
        self._recordings = recordings

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """Raises RecordingMissing where nothing is recorded."""
        signal = self._recordings.look(context.trial, self._name, candidate.digest)
        if signal is None:
            raise RecordingMissing(
                f"The ledger holds no verdict of {self._name} on candidate {candidate.digest[:12]}… in trial"
                f" {context.trial}. Nothing was run."
            )
        return await self._seen(signal, context)

    async def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """See `judge_each`, which is what is asked for."""
        async with aclosing(self.judge_each(candidates, task, context)) as observations:
            async for _, observation in observations:
                yield observation

    async def judge_each(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[tuple[int, Observation], None]:
        """As far as it is recorded, and in that order: the run had seen enough there."""
        numbers = {candidate.digest: number for number, candidate in enumerate(candidates)}
        recorded = self._recordings.in_order(context.trial, self._name, numbers)
        for digest in recorded or [candidates[0].digest]:
            yield numbers[digest], await self.judge(candidates[numbers[digest]], task, context)

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """See `groundwire.core._contexts.SkepticalTool`."""
        return self._recordings.doubt(context.trial, candidate.digest)

    async def _seen(self, signal: Signal, context: ToolContext) -> Observation:
        for intent in self._recordings.asked_before(signal):
            # what the tool had asked a model is asked of the ledger
            with suppress(ModelError):
                await context.call(_Nobody(), Request.model_validate_json(intent.body))
        taken = self._recordings.reused_for(signal)
        if taken is not None:
            await _note(self._episode, signal.trial, signal.candidate_digest, taken.body)
        return await self._recordings.observation(signal)


class RecordedActor:
    """Proposes from the ledger alone what an actor of another revision proposed, and ends as that ended. What it had
    asked a model is asked of the ledger. See `groundwire.core._contexts.Actor`.

    Args:
        name: the actor node's.
        recordings: the episode's.
    """

    def __init__(self, name: str, recordings: Recordings) -> None:
        self._name = name
        self._recordings = recordings
        self._reached: int | None = None

    def escalation(self, trial: int, began: int) -> int:
        """How far what was proposed last had escalated.

        Args:
            trial: the trial.
            began: how far it had when the trial began.
        """
        return self._recordings.escalated(trial, began) if self._reached is None else max(began, self._reached)

    async def propose(self, context: ActorContext, n: int) -> Sequence[Candidate]:
        """What is recorded next in the trial; nothing new where the episode ended there.

        Raises:
            ModelError, CandidateError: the actor did.
        """
        recordings, trial = self._recordings, context.trial
        fresh = [c for c in await recordings.proposed(trial, self._name) if c.digest not in context.tried]
        asked = recordings.asked_for(trial, self._name, fresh[0].digest) if fresh else recordings.asked_in(trial)
        for intent in asked:
            request = Request.model_validate_json(intent.body)
            phase = request.purpose.rpartition(".")[2]
            if phase.isdecimal():  # a wide method's phases count on with each escalation
                self._reached = max(self._reached or 0, int(phase) // PHASES_PER_PROPOSAL)
            with suppress(ModelError):
                await context.call(_Nobody(), request)
        if fresh:
            return fresh
        reason, detail = recordings.ended_with()
        match reason:
            case StopReason.STUCK:
                return [context.judged[-1].candidate] if context.judged else []
            case StopReason.MODEL_ERROR:
                raise ModelReplyInvalid(detail)
            case StopReason.EXHAUSTED if detail:
                raise CandidateError(detail)
            case _:
                return []


class _Nobody:
    """Stands where a backend is asked for, in a replay: the ledger answers before it would be asked."""

    model = ""

    async def complete(self, request: Request) -> Completion:
        raise NotImplementedError

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        raise NotImplementedError

    def price(self, request: Request) -> float | None:
        return None


class _CachedTool:
    """Judges what the ledger holds no verdict on, and takes the others. See `groundwire.core._contexts.BatchTool`."""

    def __init__(self, name: str, tool: RepeatableTool, episode: Episode) -> None:
        self._name = name
        self._tool = tool
        self._episode = episode

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.core._contexts.Tool`."""
        signal = await self._find(candidate, task, context)
        return await self._take(signal, context) if signal else await self._tool.judge(candidate, task, context)

    def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """See `groundwire.core._contexts.BatchTool`."""
        return in_their_order(self.judge_each(candidates, task, context))

    async def judge_each(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[tuple[int, Observation], None]:
        """See `groundwire.core._contexts.EagerTool`: first what is taken, then what is judged."""
        rest: dict[str, tuple[int, Candidate]] = {}
        for number, candidate in enumerate(candidates):
            signal = await self._find(candidate, task, context)
            if signal is None:
                rest[candidate.digest] = (number, candidate)
            else:
                yield number, await self._take(signal, context)
        judged = observe(self._tool, [c for _, c in rest.values()], task, context, name=self._name)
        async with aclosing(judged):
            async for candidate, observation in judged:
                yield rest[candidate.digest][0], observation

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """See `groundwire.core._contexts.SkepticalTool`."""
        return await self._tool.doubt(candidate, task, context) if isinstance(self._tool, SkepticalTool) else ""

    async def _find(self, candidate: Candidate, task: Task, context: ToolContext) -> Signal | None:
        cache = self._episode.cache
        if cache is None or context.want_coverage:
            return None
        try:
            sandbox = await context.sandbox()
        except (GroundwireError, OSError):
            return None  # the tool says so itself
        command = self._tool.command_for(task)
        judging = Judging(self._name, self._tool.identity, command, task, sandbox.info)
        return await cache.verdict(candidate.digest, judging)

    async def _take(self, signal: Signal, context: ToolContext) -> Observation:
        place = {"run": signal.run_id, "episode": signal.episode_id, "signal": signal.id, "judged": signal.created_at}
        await _note(self._episode, context.trial, signal.candidate_digest, canonical(place))
        return Observation(**observed(signal)).model_copy(update={"duration_s": 0.0, "taken_from": signal.id})


async def _note(episode: Episode, trial: int, candidate_digest: str, body: str) -> None:
    """Says from where a verdict is taken, before it is."""
    await episode.record(Intent(episode_id=episode.id, trial=trial, kind="reuse", digest=candidate_digest, body=body))
