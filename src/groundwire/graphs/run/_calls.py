"""Calls of models and programs: budget first, then the intent, then the call, then its result; all in the ledger."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import fields
from weakref import WeakKeyDictionary

from groundwire.core._candidates import Candidate
from groundwire.core._errors import GroundwireError, HiddenLeak, ModelError, ModelReplyInvalid, Usage
from groundwire.core._masking import Masker
from groundwire.core._models import Backend, Completion, Request, Streaming, current_asker
from groundwire.core._programs import ProgramRequest, ProgramResult
from groundwire.core._records import Artifact, Intent, ModelCall, ProgramRun
from groundwire.core._traits import BackendTraits
from groundwire.graphs.run._budget import Amount, Reservation
from groundwire.graphs.run._episode import Episode
from groundwire.graphs.run._in_flight import current_slot
from groundwire.telemetry import model_call_span

# Model calls: budget first, then the intent, then the call, then its result; all in the ledger.

LEAST_URGENT = 100


class EpisodeCaller:
    """A `ModelCaller`: budget first, then the intent, then the call, then its result; all in the ledger.

    Args:
        episode: the running episode.
        trial: on whose behalf it calls.
        calls_only: True if whoever calls does nothing else in the world (`ActorTraits.calls_only`), so that an answer
            may be written together with what is made of it.
    """

    def __init__(self, episode: Episode, trial: int, *, calls_only: bool = False) -> None:
        self._episode = episode
        self._trial = trial
        self._write = episode.note if calls_only else episode.record
        self.used = False

    async def __call__(self, backend: Backend, request: Request) -> Completion:
        """See `groundwire.core._contexts.ModelCaller`."""
        self.used = True
        episode = self._episode
        episode.firewall.check_prompt(request)
        body = request.canonical()
        digest = hashlib.sha256(body.encode()).hexdigest()
        answered = episode.history.answers.get((self._trial, digest))
        if answered:
            return Completion.model_validate_json(answered.pop(0).completion)
        if episode.recordings is not None and (error := episode.recordings.ended_before(self._trial, digest)):
            raise error
        if (taken := await self._from_the_ledger(backend, digest)) is not None:
            return await self._take(taken, request, digest)
        most = request.n * request.max_tokens + _prompt_tokens(request)
        price = self._price(backend, request, digest)
        intent = Intent(
            episode_id=episode.id,
            trial=self._trial,
            kind="model_call",
            digest=digest,
            body=body,
            usd=price,
            tokens=most,
        )
        with ExitStack() as telling:
            async with episode.meter.reserve_shared(price, most) as held:
                if price == 0.0:
                    await self._write(intent)  # nothing is lost with a call that is simply made again
                else:
                    await episode.record(intent)
                told = telling.enter_context(model_call_span(backend.model, request, self._trial))
                started = time.monotonic()
                completion = await self._settled(intent, backend, request, held)
            await self._written_down(intent, backend, request, completion, time.monotonic() - started)
            told.answered(completion)
        return completion

    async def _settled(self, intent: Intent, backend: Backend, request: Request, held: Reservation) -> Completion:
        """Makes the call, and books what it cost in place of what is held for it."""
        started = time.monotonic()
        try:
            completion = await self._complete(backend, request, intent.digest)
        except ModelError as error:
            if error.used is not None:
                held.settle(error.used)
            elif isinstance(error, ModelReplyInvalid):
                held.spend_all()  # it answered, so it was paid for, and nobody said how much
            duration_s = time.monotonic() - started
            await self._episode.record(self._failed(intent, backend, request, error, duration_s, error.used))
            raise
        held.settle(completion)
        return completion

    async def _written_down(
        self, intent: Intent, backend: Backend, request: Request, completion: Completion, duration_s: float
    ) -> None:
        """Into the ledger with the answer, if it may be taken at all."""
        try:
            self._episode.firewall.take_answer(completion)
        except HiddenLeak as leak:
            # it was paid for, so the ledger has it; what it says is held back
            await self._episode.record(self._failed(intent, backend, request, leak, duration_s, completion))
            raise
        await self._write(
            ModelCall(
                intent_id=intent.id,
                episode_id=self._episode.id,
                trial=self._trial,
                model=completion.model or backend.model,
                purpose=request.purpose,
                request_digest=intent.digest,
                completion=completion.model_dump_json(),
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
                usd=completion.usd,
                duration_s=duration_s,
            )
        )

    async def _from_the_ledger(self, backend: Backend, digest: str) -> ModelCall | None:
        """The recorded call whose answer stands for a new one, where that is allowed; in a replay, where it was so."""
        episode = self._episode
        if episode.recordings is not None:
            return episode.recordings.reused(self._trial, digest)
        return await episode.cache.answer(backend.model, digest) if episode.cache else None

    async def _take(self, call: ModelCall, request: Request, digest: str) -> Completion:
        """Takes a recorded answer: nothing is sent, nothing is paid, and the ledger says from where it is."""
        completion = Completion.model_validate_json(call.completion)
        nothing: dict[str, object] = {"usd": 0.0, "prompt_tokens": 0, "completion_tokens": 0, "cached_prompt_tokens": 0}
        completion = completion.model_copy(update={**nothing, "first_token_s": None})
        self._episode.firewall.take_answer(completion)
        await self._episode.record(
            ModelCall(
                intent_id=call.intent_id,
                episode_id=self._episode.id,
                trial=self._trial,
                model=call.model,
                purpose=request.purpose,
                request_digest=digest,
                completion=completion.model_dump_json(),
                usd=0.0,
                reused=call.reused or call.intent_id,
            )
        )
        return completion

    def _price(self, backend: Backend, request: Request, digest: str) -> float | None:
        recordings = self._episode.recordings
        if recordings is None:
            return backend.price(request)
        for lost in recordings.lost(self._trial, digest):
            # a process that had gone on counted it so
            self._episode.meter.book(Amount(lost.usd or 0.0, lost.tokens, calls=1))
        intent = recordings.intent(self._trial, digest)
        return intent.usd if intent else backend.price(request)

    async def _complete(self, backend: Backend, request: Request, digest: str) -> Completion:
        """What the ledger may hold of an answer, which is what the actor gets: a resumed run must see no other one."""
        if self._episode.recordings is not None:
            return await self._episode.recordings.answer(self._trial, digest)
        completion = _without_secrets(await self._ask(backend, request))
        return completion if completion.asked else completion.model_copy(update={"asked": backend.model})

    async def _ask(self, backend: Backend, request: Request) -> Completion:
        if not request.priority and _prioritises(backend):
            # not in the ledger's request: what was asked does not depend on when it was served
            request = request.model_copy(update={"priority": _nearness(self._episode)})
        slot = current_slot.get()
        if slot is None:
            return await self._watched(backend, request)
        slot.calling(backend, request.n)
        try:
            return await self._watched(backend, request)
        finally:
            slot.called()

    async def _watched(self, backend: Backend, request: Request) -> Completion:
        """The answer; shown while it is written, where somebody watches and the backend can."""
        watch = self._episode.on_text
        asker = current_asker.set((self._episode.id, self._episode.task.id))
        try:
            if watch is not None and isinstance(backend, Streaming):
                return await backend.stream(request, watch)
            return await backend.complete(request)
        finally:
            current_asker.reset(asker)

    def _failed(
        self,
        intent: Intent,
        backend: Backend,
        request: Request,
        error: GroundwireError,
        duration_s: float,
        used: Completion | Usage | None = None,
    ) -> ModelCall:
        return ModelCall(
            intent_id=intent.id,
            episode_id=self._episode.id,
            trial=self._trial,
            model=backend.model,
            purpose=request.purpose,
            request_digest=intent.digest,
            error=f"{type(error).__name__}: {error.what}",
            prompt_tokens=used.prompt_tokens if used else 0,
            completion_tokens=used.completion_tokens if used else 0,
            usd=used.usd if used else None,
            duration_s=duration_s,
        )


_PRIORITISES: WeakKeyDictionary[Backend, bool] = WeakKeyDictionary()


def _prioritises(backend: Backend) -> bool:
    """What the backend declares, looked at once: to look at it costs more than the rest of a call."""
    try:
        known = _PRIORITISES.get(backend)
    except TypeError:  # it has no hash
        return BackendTraits.of(backend).prioritises
    if known is None:
        known = BackendTraits.of(backend).prioritises
        with suppress(TypeError):  # nothing can refer to it weakly
            _PRIORITISES[backend] = known
    return known


def _prompt_tokens(request: Request) -> int:
    """Tokens that a prompt has at most, but for text that is denser than any prose or code; then it is settled."""
    texts = [message.content for message in request.messages]
    ascii_only = sum(len(text.encode("ascii", "ignore")) for text in texts)
    others = sum(len(text.encode("utf-8", "replace")) for text in texts) - ascii_only
    return ascii_only // 3 + others + 16 * len(texts)


def _nearness(episode: Episode) -> int:
    """How far an episode is from its end: the cases that its best candidate fails; one of which nothing is known waits.

    What is nearly done first: it gives its memory free soonest.
    """
    best = episode.history.best
    if best is None or not best.signal.evidence.cases:
        return LEAST_URGENT
    return min(len(best.signal.evidence.failed()), LEAST_URGENT)


def _without_secrets(completion: Completion) -> Completion:
    masker = Masker()
    if masker.finds_none((*completion.texts, *completion.thinking)):
        return completion
    said = {"texts": completion.texts, "thinking": completion.thinking}
    return completion.model_copy(update={name: tuple(map(masker, texts)) for name, texts in said.items()})


# An actor's programs: time first, then the intent, then the run, then what came of it; all in the ledger.

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
        """See `groundwire.core._contexts.ProgramRunner`."""
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
