"""One running episode: the task, its ledger, its mint and its meter, handed to every node as LangGraph's context."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from groundwire.completions import Backend, Completion, Request
from groundwire.contexts import Coverage, Judged, Lesson
from groundwire.errors import ModelError, ModelReplyInvalid
from groundwire.graphs.acceptance import Change, compare
from groundwire.graphs.budget import Meter
from groundwire.graphs.history import History
from groundwire.mint import Mint
from groundwire.records import (
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    Intent,
    ModelCall,
    Record,
    Store,
)
from groundwire.sandboxes import Sandbox
from groundwire.signals import Origin, Signal, Verdict, canonical
from groundwire.tasks import Task
from groundwire.trees import Candidate, Tree

__all__ = ["Episode", "EpisodeCaller", "Observer"]

Observer = Callable[[Record], None]
"""Told of each record after the ledger has it."""

COVERAGE = "coverage-"


@dataclass
class Episode:
    """Everything nodes need that is not state.

    Args:
        run_id: the run it belongs to.
        id: its own id.
        task: with its hidden tests; only the tool that judges them is given these.
        store: ledger and memory.
        mint: seals this run's signals.
        meter: what has been used.
        sandbox: opens the sandbox at first use.
        seed: for reproducible choices.
        observers: told of each record after the ledger has it.
        report: told one line for people while a tool works.
    """

    run_id: str
    id: str
    task: Task
    store: Store
    mint: Mint
    meter: Meter
    sandbox: Callable[[], Awaitable[Sandbox]]
    seed: int = 0
    observers: Sequence[Observer] = ()
    report: Callable[[str], None] = lambda _line: None
    history: History = field(init=False)

    def __post_init__(self) -> None:
        self.history = History(Candidate(self.task.tree.digest, {}))

    async def record(self, *records: Record) -> None:
        """Writes records to the ledger, then to this episode's view, then tells the observers."""
        await self.store.append(*records)
        for record in records:
            self.history.add(record)
            for observer in self.observers:
                observer(record)

    async def load(self) -> None:
        """Rebuilds the view from the ledger, to go on where another process stopped.

        Raises:
            SealError: a signal is not what was minted.
        """
        for record in await self.store.records(self.id):
            if isinstance(record, CandidateRecord):
                self.history.keep([Candidate.from_bytes(await self.store.artifact(record.artifact))])
            self.history.add(record)
            if isinstance(record, Signal):
                self.mint.verify(record)
                self.accept(self.history.judged(record))
            if isinstance(record, ModelCall):
                self.meter.book(usd=record.usd or 0.0, tokens=record.prompt_tokens + record.completion_tokens)
                if record.completion:
                    self.history.answers.setdefault((record.trial, record.request_digest), []).append(record)

    async def propose(self, trial: int, actor: str, candidates: Sequence[Candidate]) -> None:
        """Writes candidates before they are judged."""
        self.history.keep(candidates)
        records: list[Record] = []
        for candidate in candidates:
            digest = candidate.digest
            records.append(Artifact(digest=digest, kind="candidate", body=candidate.to_bytes()))
            records.append(
                CandidateRecord(
                    episode_id=self.id,
                    trial=trial,
                    digest=digest,
                    actor=actor,
                    edits=candidate.edits,
                    note=candidate.note,
                    artifact=digest,
                )
            )
        await self.record(*records)

    def accept(self, judged: Judged) -> Change:
        """Keeps `judged` as the best so far if it is better, test by test; hidden tests never take part."""
        if judged.signal.origin is Origin.HIDDEN_TESTS:
            return Change.UNKNOWN
        if self.history.best is None:
            self.history.best = judged
            return Change.BETTER
        change = compare(judged, self.history.best)
        if change is Change.BETTER:
            self.history.best = judged
        return change

    def best_tree(self) -> Tree:
        """The tree to edit next: the task's, with the best candidate applied where that is known to be no worse.

        A failing candidate is known to be no worse only if the base itself was judged; without that, a wrong first try
        would stay in the tree for good.
        """
        best = self.history.best
        if best is None or (best.signal.verdict is not Verdict.PASS and not self.history.base_was_judged):
            return self.task.tree
        return self.task.tree.with_changes(best.candidate.changes)

    async def recall(self) -> Sequence[Lesson]:
        """What memory knows of this task and its family."""
        return await self.store.recall(self.task.id, self.task.family)

    async def keep_coverage(self, signal_id: str, coverage: Coverage) -> None:
        """Stores a coverage map and keeps it at hand."""
        self.history.coverage = coverage
        body = canonical({case: {p: list(ls) for p, ls in paths.items()} for case, paths in coverage.items()})
        await self.record(Artifact(digest=f"{COVERAGE}{signal_id}", kind="coverage", body=body.encode()))

    def caller(self, trial: int) -> EpisodeCaller:
        """Calls models on behalf of `trial`."""
        return EpisodeCaller(self, trial)

    async def finish(self, end: EpisodeEnd) -> None:
        """Writes the episode's end, once."""
        if self.history.end is None:
            await self.record(end)


class EpisodeCaller:
    """A `ModelCaller`: budget first, then the intent, then the call, then its result; all in the ledger."""

    def __init__(self, episode: Episode, trial: int) -> None:
        self._episode = episode
        self._trial = trial
        self.used = False

    async def __call__(self, backend: Backend, request: Request) -> Completion:
        """See `groundwire.contexts.ModelCaller`."""
        self.used = True
        episode = self._episode
        body = request.canonical()
        digest = hashlib.sha256(body.encode()).hexdigest()
        answered = episode.history.answers.get((self._trial, digest))
        if answered:
            return Completion.model_validate_json(answered.pop(0).completion)
        prompt_tokens = sum(len(m.content) for m in request.messages) // 3 + 16
        most = request.n * request.max_tokens + prompt_tokens
        with episode.meter.reserve(backend.price(request), most) as held:
            intent = Intent(episode_id=episode.id, trial=self._trial, kind="model_call", digest=digest, body=body)
            await episode.record(intent)
            started = time.monotonic()
            try:
                completion = await backend.complete(request)
            except ModelError as error:
                if isinstance(error, ModelReplyInvalid):
                    # it answered, so it was paid for; what it cost is not known, so all that was held is booked
                    episode.meter.book(usd=held.usd, tokens=held.tokens)
                await episode.record(self._failed(intent, backend, request, error, time.monotonic() - started))
                raise
            episode.meter.settle(completion)
        await episode.record(
            ModelCall(
                intent_id=intent.id,
                episode_id=episode.id,
                trial=self._trial,
                model=completion.model or backend.model,
                purpose=request.purpose,
                request_digest=digest,
                completion=completion.model_dump_json(),
                prompt_tokens=completion.prompt_tokens,
                completion_tokens=completion.completion_tokens,
                usd=completion.usd,
                duration_s=time.monotonic() - started,
            )
        )
        return completion

    def _failed(
        self, intent: Intent, backend: Backend, request: Request, error: ModelError, duration_s: float
    ) -> ModelCall:
        return ModelCall(
            intent_id=intent.id,
            episode_id=self._episode.id,
            trial=self._trial,
            model=backend.model,
            purpose=request.purpose,
            request_digest=intent.digest,
            error=f"{type(error).__name__}: {error.what}",
            duration_s=duration_s,
        )
