"""A backend that plays recorded completions in a model's place: nothing is sent, paid or made up."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from groundwire.core._errors import RecordingExhausted, RecordingMissing
from groundwire.core._models import Completion, Request
from groundwire.core._paths import expand_user
from groundwire.core._recordings import Recorded, Recording, Sample, read_recording
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import cut_at_stop, valid_samples

SHOWN = 12
"""Characters of a digest in a message."""


class ReplayBackend:
    """Answers each request with what was recorded for it. It is no model, so no guard and no key has to allow it.

    A request is looked up by its digest; asked for the same again, the next samples are played. Where the recording
    holds answers without their requests (as published logs do), the task's are played in their order, whatever the
    request is. A recorded failure is raised again.

    Args:
        recording: what is played.
        task: whose answers are played where requests are not known; None: those of the only task there is.
        start: index of the first of these answers.
        as_recorded: True: completions come back exactly as they were, with their price and model, so that the ledger
            of a replayed run is that of the run. False: the model is `replay:NAME` and the price 0; tokens are those of
            the recording, 0 where it has none.
    """

    def __init__(
        self, recording: Recording, *, task: str | None = None, start: int = 0, as_recorded: bool = False
    ) -> None:
        self._recording = recording
        self._task = task
        self._start = start
        self._as_recorded = as_recorded
        self._played: dict[str, int] = {}

    @classmethod
    def from_file(cls, spec: str | Path) -> ReplayBackend:
        """Reads `FILE`, or `FILE#TASK` for the answers of one of several tasks.

        Raises:
            RecordingError: the file can't be read, or is of another form.
        """
        name, _, task = str(spec).rpartition("#")
        if not name or expand_user(spec).exists():
            name, task = str(spec), ""
        return cls(read_recording(name), task=task or None)

    @property
    def model(self) -> str:
        """See `Backend`."""
        return f"replay:{self._recording.source or 'memory'}"

    @property
    def traits(self) -> BackendTraits:
        """Those of the recorded model by which an actor asks otherwise, so that the same requests are made again."""
        return BackendTraits(structured=self._recording.structured, continues=self._recording.continues)

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. Fewer texts than asked for: no more are recorded.

        Raises:
            RecordingMissing: nothing is recorded for this request.
            RecordingExhausted: all that is recorded for it was played.
        """
        key, samples = self._find(request)
        taken = self._take(key, samples, request)
        completion = _joined(taken)
        texts = [cut_at_stop(text, request.stop) for text in completion.texts]
        calls = completion.tool_calls
        kept = valid_samples(
            texts, request.json_schema, model=self.model, calls=calls, tools=request if calls else None
        )
        update = {"texts": tuple(kept.values())}
        if self._as_recorded:
            return completion.model_copy(update=update)
        name = completion.model or self._recording.model
        ours = {"model": f"replay:{name}" if name else self.model, "usd": 0.0, "response_id": ""}
        return completion.model_copy(update={**update, **ours})

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. Answers are handed out in the order of `requests`."""
        return [await self.complete(request) for request in requests]

    def price(self, request: Request) -> float | None:
        """0; with `as_recorded` the price that stands in the recording, None where there is none."""
        if not self._as_recorded:
            return 0.0
        try:
            key, samples = self._find(request)
        except RecordingMissing:
            return 0.0
        rest = samples[self._played.get(key, 0) :]
        completion = rest[0].recorded.completion if rest else None
        return completion.usd if completion else 0.0

    def _find(self, request: Request) -> tuple[str, Sequence[Sample]]:
        digest = hashlib.sha256(request.canonical().encode()).hexdigest()
        found = self._recording.of_request(digest)
        if found:
            return digest, found
        tasks = self._recording.tasks
        task = self._task if self._task is not None else next(iter(tasks)) if len(tasks) == 1 else None
        if task is not None and (samples := self._recording.of_task(task)):
            return f"task {task}", samples[self._start :]
        raise self._missing(request, digest, task)

    def _take(self, key: str, samples: Sequence[Sample], request: Request) -> Sequence[Sample]:
        begin = self._played.get(key, 0)
        taken = samples[begin : begin + request.n]
        if not taken:
            what = key if key.startswith("task ") else f"request {key[:SHOWN]}…"
            raise RecordingExhausted(
                f"{self.model} has played all {len(samples)} answers that it holds for {what}.",
                do="Stop earlier with --max-trials, or record more.",
            )
        failure = taken[0].recorded.failure
        if failure is not None:
            self._played[key] = begin + 1
            raise failure.error()
        until = next((i for i, sample in enumerate(taken) if sample.recorded.failure), len(taken))
        self._played[key] = begin + until
        return taken[:until]

    def _missing(self, request: Request, digest: str, task: str | None) -> RecordingMissing:
        asked = f"request {digest[:SHOWN]}… ({request.purpose or 'no purpose'}, seed {request.seed})"
        tasks = self._recording.tasks
        if task is not None:
            why = f"nor for task {task!r}"
            do = f"Name one of its tasks, for example {next(iter(tasks))!r}." if tasks else ""
        elif tasks:
            why = f"and its answers are those of {len(tasks)} tasks, of which none is named"
            do = f"Name one: replay:FILE#{next(iter(tasks))}"
        else:
            why = f"only for {len(self._recording.requests)} others"
            do = "The task, the prompts or the settings are not those of the recording: use the same, or record anew."
        return RecordingMissing(f"{self.model} holds nothing for {asked}, {why}. Nobody else was asked.", do=do)


def _joined(samples: Sequence[Sample]) -> Completion:
    """One completion of samples; what a recorded call used is counted with its first one."""
    calls: list[tuple[Completion, list[int]]] = []
    last: Recorded | None = None
    for sample in samples:
        if sample.recorded.completion is None:
            continue
        if sample.recorded is not last:
            calls.append((sample.recorded.completion, []))
        calls[-1][1].append(sample.index)
        last = sample.recorded
    first, indices = calls[0]
    if len(calls) == 1 and len(indices) == len(first.texts):
        return first
    counted = [call for call, taken in calls if 0 in taken]
    prices = [call.usd for call in counted]
    reasons = [c.finish_reasons[i : i + 1] for c, taken in calls for i in taken]
    logprobs = [c.logprobs[i] for c, taken in calls for i in taken if c.logprobs is not None]
    tops = [c.top_logprobs[i] for c, taken in calls for i in taken if c.top_logprobs is not None]
    tools = tuple(c.tool_calls[i] if c.tool_calls else () for c, taken in calls for i in taken)
    thinking = tuple(c.thinking[i] if c.thinking else "" for c, taken in calls for i in taken)
    return Completion(
        texts=tuple(call.texts[i] for call, taken in calls for i in taken),
        model=first.model,
        prompt_tokens=sum(call.prompt_tokens for call in counted),
        completion_tokens=sum(call.completion_tokens for call in counted),
        usd=None if None in prices else sum(price for price in prices if price is not None),
        finish_reasons=tuple(reason for one in reasons for reason in one),
        logprobs=tuple(logprobs) if len(logprobs) == len(samples) else None,
        attempts=first.attempts,
        top_logprobs=tuple(tops) if len(tops) == len(samples) else None,
        tool_calls=tools if any(tools) else (),
        thinking=thinking if any(thinking) else (),
        cached_prompt_tokens=sum(call.cached_prompt_tokens for call in counted),
    )
