"""What an episode's ledger holds, played in the place of models, tools and programs."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from groundwire.agents.backends.replay import ReplayBackend
from groundwire.completions import Backend
from groundwire.contexts import Tool, ToolContext
from groundwire.errors import RecordingExhausted, RecordNotFound
from groundwire.programs import ProgramResult
from groundwire.recordings import Recording, recorded_calls
from groundwire.records import Intent, ModelCall, ProgramRun, Record, Store
from groundwire.signals import Observation, Signal
from groundwire.tasks import Task
from groundwire.trees import Candidate

__all__ = ["COVERAGE", "RecordedObservation", "Recordings"]

COVERAGE = "coverage-"
"""Before the signal's id: the artifact with the coverage that came with it."""


class RecordedObservation(Observation):
    """Complete as it stands: several looks were reconciled, and what is hidden was withheld, back then."""


_OBSERVED = tuple(name for name in Observation.model_fields if name in Signal.model_fields)


class Recordings:
    """What an episode's ledger holds, played in the place of models, tools and programs.

    Args:
        records: the episode's, in order.
        source: the ledger, for bodies.
    """

    def __init__(self, records: Sequence[Record], source: Store) -> None:
        self.backend: Backend = ReplayBackend(
            Recording(recorded_calls(r for r in records if isinstance(r, ModelCall))), as_recorded=True
        )
        self._source = source
        self._signals: dict[tuple[int, str, str], deque[Signal]] = {}
        self._doubts: dict[tuple[int, str], str] = {}
        self._programs: dict[tuple[int, str], deque[ProgramRun]] = {}
        for record in records:
            match record:
                case Signal():
                    place = (record.trial, record.issuer, record.candidate_digest)
                    self._signals.setdefault(place, deque()).append(record)
                case Intent(kind="doubt"):
                    self._doubts[record.trial, record.digest] = record.body
                case ProgramRun(cut_off=False):
                    self._programs.setdefault((record.trial, record.request_digest), deque()).append(record)
                case _:
                    pass

    def tool(self, name: str) -> Tool:
        """What judges in the place of the tool node `name`."""
        return _RecordedTool(name, self)

    async def observe(self, trial: int, issuer: str, digest: str) -> RecordedObservation | None:
        """What that tool node saw of that candidate; the next look, where it looked several times."""
        looks = self._signals.get((trial, issuer, digest))
        if not looks:
            return None
        signal = looks.popleft()
        fields = {name: getattr(signal, name) for name in _OBSERVED}
        return RecordedObservation(**fields, coverage=await self._coverage(signal.id))

    async def _coverage(self, signal_id: str) -> Any:
        try:
            return json.loads(await self._source.artifact(f"{COVERAGE}{signal_id}"))
        except RecordNotFound:
            return None

    def doubt(self, trial: int, digest: str) -> str:
        """What was doubted about a candidate that passed; empty where nothing was."""
        return self._doubts.get((trial, digest), "")

    async def program(self, trial: int, digest: str, shared: Sequence[str]) -> ProgramResult:
        """How a program ended.

        Raises:
            RecordingExhausted: no such run is recorded.
        """
        runs = self._programs.get((trial, digest))
        if not runs:
            raise RecordingExhausted("The ledger holds no such run of a program.")
        run = runs.popleft()
        made = Candidate.from_bytes(await self._source.artifact(run.candidate)) if run.candidate else None
        return ProgramResult(candidate=made, **{name: getattr(run, name) for name in shared})


class _RecordedTool:
    """Judges from the ledger. See `groundwire.contexts.BatchTool`."""

    repeatable = True

    def __init__(self, name: str, recordings: Recordings) -> None:
        self._name = name
        self._recordings = recordings

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """Raises RecordingExhausted where nothing is recorded."""
        seen = await self._recordings.observe(context.trial, self._name, candidate.digest)
        if seen is None:
            raise RecordingExhausted(
                f"The ledger holds no verdict of {self._name} on candidate {candidate.digest[:12]}… in trial"
                f" {context.trial}.",
            )
        return seen

    async def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """As far as it is recorded: a run that was cut off, or had seen enough, stopped there."""
        for number, candidate in enumerate(candidates):
            seen = await self._recordings.observe(context.trial, self._name, candidate.digest)
            if seen is None:
                if number == 0:
                    yield await self.judge(candidate, task, context)
                return
            yield seen

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """See `groundwire.contexts.DoubtingTool`."""
        return self._recordings.doubt(context.trial, candidate.digest)
