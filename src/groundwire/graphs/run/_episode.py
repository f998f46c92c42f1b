"""One running episode: the task, its ledger, its mint and its meter, and what its trials came to."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._chain import RecordChain
from groundwire.core._contexts import Coverage, Judged, Lesson, SandboxOpener
from groundwire.core._errors import RecordNotFound
from groundwire.core._experience import NO_EXPERIENCE, Experience
from groundwire.core._ids import SeedRule
from groundwire.core._models import Completion, OnText
from groundwire.core._records import (
    Artifact,
    CandidateRecord,
    EpisodeEnd,
    ModelCall,
    ProgramRun,
    Record,
    Store,
    TrialEnd,
    TrialRecord,
)
from groundwire.core._sandboxes import Sandbox
from groundwire.core._seal import Mint
from groundwire.core._signals import EXTERNAL_ORIGINS, Evidence, Origin, Signal, Verdict, canonical
from groundwire.core._tasks import Task
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.replay._recorded import COVERAGE, Recordings
from groundwire.graphs.replay._reuse import Cache
from groundwire.graphs.run._acceptance import ComparedToBest, Ladder, change_size
from groundwire.graphs.run._budget import Meter, spent_on
from groundwire.graphs.run._firewall import Firewall
from groundwire.graphs.run._history import History

# What a trial came to: the outcome that its lessons and its edits are measured by.

MEASURES = EXTERNAL_ORIGINS - {Origin.MODEL_TESTS} | {Origin.HUMAN}
"""Hidden tests are not among them, since what is measured steers later trials; nor is anything that a model said."""


def trial_end(episode_id: str, history: History, trial: int) -> Sequence[TrialEnd]:
    """What a trial came to, once; nothing for the baseline or for what has ended already.

    It passed if a candidate passed every tool that judged it, and failed if any was judged and none did. Where one was
    judged by hidden tests alone, which say nothing here, the others' failing is not the trial's.
    """
    if trial < 1 or trial in history.ended or trial not in history.lessons:
        return ()
    judged = [j.signal for j in history.judged_of(trial) if j.signal.origin in MEASURES]
    judged = [signal for signal in judged if signal.verdict is not Verdict.NONE]
    failed = {signal.candidate_digest for signal in judged if signal.verdict is Verdict.FAIL}
    passed = (signal for signal in judged if signal.candidate_digest not in failed)
    best = next(passed, judged[-1] if judged else None)
    if best is None or (best.verdict is Verdict.FAIL and history.judged_hidden(trial) - failed):
        return (TrialEnd(episode_id=episode_id, trial=trial, verdict=Verdict.NONE),)
    return (TrialEnd(episode_id=episode_id, trial=trial, verdict=best.verdict, signal_id=best.id),)


# One running episode: the task, its ledger, its mint and its meter, handed to every node as LangGraph's context.

Observer = Callable[[Record], None]
"""Told of each record after the ledger has it."""


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
        program_sandbox: opens, at first use, where an actor's programs run.
        seed: for reproducible choices; each takes its own from it.
        seed_rule: how they do.
        observers: told of each record after the ledger has it.
        report: told one line for people while a tool works.
        on_text: told of a model's text while it is written, where the backend can; None: nobody watches.
        rules: what is judged again, and when the loop has gone on long enough.
        recordings: what is played in the place of models, programs, tools and memory, in a replay.
        cache: what may be taken from the ledger instead of being paid for again.
        chain: each write ends with a link of it; None: the run has no chains.
    """

    run_id: str
    id: str
    task: Task
    store: Store
    mint: Mint
    meter: Meter
    sandbox: Callable[[], Awaitable[Sandbox]]
    program_sandbox: SandboxOpener | None = None
    seed: int = 0
    seed_rule: SeedRule = SeedRule.HASHED
    observers: Sequence[Observer] = ()
    report: Callable[[str], None] = lambda _line: None
    on_text: OnText | None = None
    rules: Rules = field(default_factory=Rules)
    recordings: Recordings | None = None
    cache: Cache | None = None
    chain: RecordChain | None = None
    history: History = field(init=False)
    ladder: Ladder = field(init=False)
    firewall: Firewall = field(init=False)
    lessons: tuple[int, Sequence[Lesson]] = field(init=False, default=(0, ()))
    """The last trial that this process began, and the lessons that it was given."""
    experience: tuple[int, Experience] = field(init=False, default=(0, NO_EXPERIENCE))
    """The last trial that was given experience, and what it was given."""
    _outlives: bool = field(init=False)
    """True if the ledger outlives this process."""
    _appending: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _noted: list[Record] = field(init=False, default_factory=list[Record])
    _under_way: Sequence[Record] = field(init=False, default=())
    """What is being written."""
    _writing: asyncio.Task[None] | None = field(init=False, default=None)
    """Writes what was noted; None once it has written all of it."""
    _is_held_back: bool = field(init=False, default=False)
    """What was noted waits for the episode's end."""
    _driver: asyncio.Task[object] | None = field(init=False, default=None)
    _cancels_before: int = field(init=False, default=0)
    hidden_evidence: Evidence | None = field(init=False, default=None)
    """What the hidden tests showed last, in full: for people, and only while this process lives."""

    def __post_init__(self) -> None:
        history = self.history = History(Candidate(self.task.tree.digest, {}))
        tree = self.task.tree
        # not by way of the episode, which would then be freed by the garbage collector alone, with all that it holds
        self.ladder = Ladder(lambda digest: change_size(history.candidates[digest], tree))
        self.firewall = Firewall(self.task)
        self._outlives = self.store.durable

    def driven(self) -> None:
        """Called by the task that runs the episode: cancelling that one ends it, whatever is under way."""
        self._driver = asyncio.current_task()
        self._cancels_before = self._driver.cancelling() if self._driver else 0

    @property
    def is_cancelled(self) -> bool:
        """True if the task that runs the episode was cancelled since it began, by Ctrl-C for example."""
        return self._driver is not None and self._driver.cancelling() > self._cancels_before

    def check_cancelled(self) -> None:
        """Goes no further where a tool, an actor or a library has swallowed the cancellation.

        Raises:
            asyncio.CancelledError: the episode was cancelled.
        """
        if self.is_cancelled:
            raise asyncio.CancelledError

    async def record(self, *records: Record) -> None:
        """Writes records to the ledger, then to this episode's view, then tells the observers.

        Raises:
            HiddenLeak: a record holds text of the hidden tests; none of them was written.
        """
        for record in records:
            self.firewall.check_record(record)
        self._noted += records
        await self.settle()
        for record in records:
            self.history.add(record)
            for observer in self.observers:
                observer(record)

    async def note(self, *records: Record) -> None:
        """Like `record`, but where nobody watches it does not wait: they are written as soon as this process waits for
        anything, in one transaction with all that was noted until then.

        For what nothing visible or paid depends on yet. Whatever may have an effect (a model call, a program, a
        judging, a part that does not declare `calls_only`, a node of the user's) calls `settle` first, or `record`.
        """
        await self.begin(*records)
        self._go_on_writing()

    def hold_back(self) -> None:
        """Called where nothing but the episode's end follows: what was noted waits for it, to be written with it."""
        self._is_held_back = True

    def let_go(self) -> None:
        """Called once that end is about to be written, or does not come: what was noted waits no longer."""
        self._is_held_back = False
        self._go_on_writing()

    def _go_on_writing(self) -> None:
        if self._noted and self._outlives:
            self._write_soon()

    async def begin(self, *records: Record) -> None:
        """Like `note`, for what an episode begins with: it is written with whatever comes first."""
        if self.observers:
            await self.record(*records)
            return
        for record in records:
            self.firewall.check_record(record)
            self.history.add(record)
        self._noted += records

    async def settle(self, kind: type[Record] | None = None) -> None:
        """Waits until all that was noted is in the ledger.

        Args:
            kind: waits only where a record of this class is among it.

        Raises:
            StorageError: it is not.
        """
        if kind is not None and not any(isinstance(record, kind) for record in (*self._noted, *self._under_way)):
            return
        self._is_held_back = False
        if not self._outlives:
            # nothing is gained by a task of its own, since nothing outlives this process
            async with self._appending:
                await self._write()
            return
        while self._noted or self._writing is not None:
            writing = self._write_soon()
            try:
                # one that is cancelled is written all the same, and the next link follows its own
                await asyncio.shield(writing)
            finally:
                if writing.done() and self._writing is writing:
                    self._writing = None

    def _write_soon(self) -> asyncio.Task[None]:
        """One write at a time: of two calls that begin at once, the second may not be in the ledger, or in the world,
        before what was noted ahead of the first."""
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return self._writing

    async def _write(self) -> None:
        while self._noted and not self._is_held_back:
            self._under_way, self._noted = self._noted, []
            try:
                if self.chain is None:
                    await self.store.append(*self._under_way)
                else:
                    await self.store.append(*self._under_way, self.chain.open())
                    self.chain.kept()
            finally:
                self._under_way = ()
        self._writing = None

    async def load(self) -> None:
        """Rebuilds the view from the ledger, to go on where another process stopped.

        Raises:
            SealError: a signal is not what was minted.
        """
        records = await self.store.records(self.id)
        if self.chain is not None:
            self.chain.go_on_after(await self.store.links(self.run_id, self.id))
        self.history.begun_before = {r.trial for r in records if isinstance(r, TrialRecord)}
        self.meter.book_earlier(spent_on(records))
        for record in records:
            if isinstance(record, CandidateRecord):
                self.history.keep([await self._candidate(record)])
            self.history.add(record)
            if self.cache is not None:
                self.cache.note(record)
            if isinstance(record, Signal):
                self.mint.verify(record)
                self.accept(self.history.judged(record))
            if isinstance(record, ModelCall) and record.completion:
                self.firewall.take_answer(Completion.model_validate_json(record.completion))
                self.history.answers.setdefault((record.trial, record.request_digest), []).append(record)
            if isinstance(record, ProgramRun) and not record.cut_off:
                self.history.ran.setdefault((record.trial, record.request_digest), []).append(record)
        if self.history.end is not None and self.history.end.best_candidate:
            handed_out = self.history.end.best_candidate
            about = (s for s in reversed(self.history.signals.values()) if s.candidate_digest == handed_out)
            self.submit(self.history.judged(next(about)))

    async def _candidate(self, record: CandidateRecord) -> Candidate:
        try:
            return Candidate.from_bytes(await self.store.artifact(record.artifact))
        except RecordNotFound as missing:
            raise RecordNotFound(
                f"Episode {self.id} can't go on: the body of its candidate {record.digest[:12]}… is not in the ledger.",
                do="It held a secret, which no ledger keeps, or a retention rule has dropped it. Start a new run.",
            ) from missing

    async def propose(self, trial: int, actor: str, candidates: Sequence[Candidate]) -> None:
        """Writes candidates before they are judged."""
        for candidate in candidates:
            self.firewall.check_candidate(candidate)
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
        await self.note(*records)

    def accept(self, judged: Judged) -> ComparedToBest:
        """Keeps `judged` as the best so far if it is better, test by test; hidden tests never take part."""
        change = self.ladder.take(judged.signal)
        best = self.ladder.best
        if best is not None and best.id == judged.signal.id:
            self.history.best = judged
        if change is ComparedToBest.BETTER:
            self.history.improved_in.add(judged.signal.trial)
        return change

    def submit(self, judged: Judged) -> None:
        """Makes a candidate that has passed the one that is handed out."""
        seen = self.ladder.look(judged.candidate.digest)
        self.history.best = Judged(judged.candidate, seen or judged.signal)

    def best_tree(self) -> Tree:
        """The tree to edit next: the task's, with the best candidate applied where that is known to be no worse.

        A failing candidate is known to be no worse only if the base itself was judged; without that, a wrong first try
        would stay in the tree for good.
        """
        best = self.history.best
        if best is None or (best.signal.verdict is not Verdict.PASS and not self.history.base_was_judged):
            return self.task.tree
        return best.candidate.applied_to(self.task.tree)

    async def keep_coverage(self, signal_id: str, coverage: Coverage) -> None:
        """Stores a coverage map and keeps it at hand."""
        self.history.coverage = coverage
        body = canonical({case: {p: list(ls) for p, ls in paths.items()} for case, paths in coverage.items()})
        await self.record(Artifact(digest=f"{COVERAGE}{signal_id}", kind="coverage", body=body.encode()))

    async def finish(self, end: EpisodeEnd) -> None:
        """Writes the episode's end, once, and what its last trial came to."""
        if self.history.end is None:
            await self.record(*trial_end(self.id, self.history, max(self.history.lessons, default=0)), end)
