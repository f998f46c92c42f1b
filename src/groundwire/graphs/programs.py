"""An actor's programs: time first, then the intent, then the run, then what came of it; all in the ledger."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import fields

from groundwire.errors import GroundwireError
from groundwire.graphs.episode import Episode
from groundwire.programs import ProgramRequest, ProgramResult
from groundwire.records import Artifact, Intent, ProgramRun
from groundwire.trees import Candidate

__all__ = ["EpisodeRunner"]

SHARED = tuple(f.name for f in fields(ProgramResult) if f.name != "candidate")
"""What a result and its record hold alike."""


class EpisodeRunner:
    """A `ProgramRunner` on behalf of one trial."""

    def __init__(self, episode: Episode, trial: int) -> None:
        self._episode = episode
        self._trial = trial

    async def __call__(
        self, request: ProgramRequest, run: Callable[[float], Awaitable[ProgramResult]]
    ) -> ProgramResult:
        """See `groundwire.contexts.ProgramRunner`."""
        episode = self._episode
        body = request.canonical()
        digest = hashlib.sha256(body.encode()).hexdigest()
        finished = episode.history.ran.get((self._trial, digest))
        if finished:
            return await self._read_back(finished.pop(0))
        left = episode.meter.seconds_left()
        if left == 0:
            raise episode.meter.out_of_time()
        intent = Intent(episode_id=episode.id, trial=self._trial, kind="program", digest=digest, body=body)
        await episode.record(intent)
        started = time.monotonic()
        try:
            if episode.recordings is not None:
                result = await episode.recordings.program(self._trial, digest)
            else:
                result = await run(request.timeout_s if left is None else min(request.timeout_s, left))
        except BaseException as trouble:
            what = trouble.what if isinstance(trouble, GroundwireError) else type(trouble).__name__
            lost = ProgramResult(error=what, duration_s=time.monotonic() - started)
            await episode.record(self._record(intent, request, lost, cut_off=True))
            raise
        made = result.candidate
        kept = [] if made is None else [Artifact(digest=made.digest, kind="candidate", body=made.to_bytes())]
        await episode.record(*kept, self._record(intent, request, result))
        return result

    async def _read_back(self, record: ProgramRun) -> ProgramResult:
        body = await self._episode.store.artifact(record.candidate) if record.candidate else None
        candidate = None if body is None else Candidate.from_bytes(body)
        return ProgramResult(candidate=candidate, **{name: getattr(record, name) for name in SHARED})

    def _record(
        self, intent: Intent, request: ProgramRequest, result: ProgramResult, *, cut_off: bool = False
    ) -> ProgramRun:
        return ProgramRun(
            intent_id=intent.id,
            episode_id=self._episode.id,
            trial=self._trial,
            request_digest=intent.digest,
            command=request.command,
            candidate=result.candidate.digest if result.candidate else "",
            cut_off=cut_off,
            **{name: getattr(result, name) for name in SHARED},
        )
