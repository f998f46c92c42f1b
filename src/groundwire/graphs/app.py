"""A compiled feedback graph: runs tasks, one episode each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from langgraph.types import Command

from groundwire import __version__
from groundwire.errors import BudgetExceeded, ConfigError, GroundwireError, ModelError, RecordNotFound
from groundwire.graphs.budget import Budget, Meter
from groundwire.graphs.episode import Episode, Observer
from groundwire.graphs.proof import Wiring
from groundwire.graphs.result import EpisodeResult
from groundwire.graphs.sandboxes import SandboxChoice, Sandboxes, SandboxOptions
from groundwire.graphs.state import EpisodeState
from groundwire.ids import new_id
from groundwire.memory import InMemoryStore
from groundwire.mint import FileKeys, Keys, MemoryKeys, Mint
from groundwire.patches import make_patch
from groundwire.records import EpisodeEnd, EpisodeRecord, Record, RunEnd, RunRecord, StopReason, Store
from groundwire.signals import Origin, Verdict, canonical
from groundwire.tasks import Task

__all__ = ["FeedbackApp", "SandboxChoice"]

T = TypeVar("T")


class FeedbackApp:
    """Runs tasks through a proved graph.

    `langgraph` is the compiled LangGraph graph; `episode` opens what its nodes need, so that every LangGraph feature
    (streaming modes, interrupts, time travel) stays reachable:

        async with app.episode(task) as episode:
            async for update in app.langgraph.astream(app.input(episode), context=episode, stream_mode="updates"):
                ...
    """

    def __init__(
        self,
        langgraph: Any,
        *,
        name: str,
        state: type[EpisodeState],
        wiring: Wiring,
        store: Store | None,
        budget: Budget,
        sandbox: SandboxChoice | None,
        keys: Keys | None = None,
    ) -> None:
        self.langgraph = langgraph
        self.name = name
        self.wiring = wiring
        self.budget = budget
        self.store: Store = store if store is not None else InMemoryStore()
        self._state = state
        self._sandbox = sandbox
        self._keys: Keys = keys or (FileKeys() if self.store.durable else MemoryKeys())

    def input(self, episode: Episode, **fields: Any) -> Mapping[str, Any]:
        """The state an episode starts from; `fields` are the typed fields that your state class adds."""
        return self._state(episode_id=episode.id, **fields).model_dump()

    @asynccontextmanager
    async def episode(
        self,
        task: Task,
        *,
        run_id: str | None = None,
        episode_id: str | None = None,
        seed: int = 0,
        observers: Sequence[Observer] = (),
        report: Callable[[str], None] | None = None,
        sandboxes: Sandboxes | None = None,
    ) -> AsyncGenerator[Episode]:
        """Opens an episode, new or one that the ledger knows.

        Args:
            task: what is to be solved.
            run_id: the run it belongs to; default: a new run.
            episode_id: an episode of the ledger, to go on with it.
            seed: for reproducible choices.
            observers: told of each record after the ledger has it.
            report: told one line for people while a tool works.
            sandboxes: shared with other episodes; default: its own, closed at the end.

        Raises:
            RecordNotFound: the ledger has no such episode, or it is about other files.
            SealError: a recorded signal is not what was minted.
        """
        own = sandboxes or Sandboxes(self._sandbox)
        known = await self._known(run_id, episode_id, task) if episode_id else None
        run = run_id or await self.start_run()
        episode = Episode(
            run_id=run,
            id=episode_id or new_id(),
            task=task,
            store=self.store,
            mint=Mint(run, self._keys.load(run)),
            meter=Meter(self.budget),
            sandbox=partial(own.open, task.python),
            seed=known.seed if known else seed,
            observers=observers,
            report=report or (lambda _line: None),
        )
        try:
            if known:
                await episode.load()
            else:
                await episode.record(
                    EpisodeRecord(
                        id=episode.id,
                        run_id=run,
                        task_id=task.id,
                        family=task.family,
                        task=task.describe(),
                        base_digest=task.tree.digest,
                        seed=seed,
                    )
                )
            yield episode
        finally:
            if sandboxes is None:
                await own.aclose()

    async def start_run(self, config: Mapping[str, Any] | None = None) -> str:
        """Makes a run's key and writes its first record.

        Args:
            config: what was asked for, kept in the ledger.

        Returns:
            The run's id.
        """
        run = RunRecord(graph=self.name, config=canonical(self._describe() | dict(config or {})), version=__version__)
        self._keys.create(run.id)
        await self.store.append(run)
        return run.id

    async def arun(
        self,
        task: Task,
        *,
        run_id: str | None = None,
        episode_id: str | None = None,
        seed: int = 0,
        observers: Sequence[Observer] = (),
        report: Callable[[str], None] | None = None,
        sandboxes: Sandboxes | None = None,
        config: Mapping[str, Any] | None = None,
        resume: Any = None,
        **fields: Any,
    ) -> EpisodeResult:
        """Runs one task to its end.

        Args:
            task: what is to be solved.
            run_id: the run it belongs to; default: a new run that ends with it.
            episode_id: an episode of the ledger, to go on with it; nothing paid for is paid twice.
            seed: for reproducible choices.
            observers: told of each record after the ledger has it.
            report: told one line for people while a tool works.
            sandboxes: shared with other episodes.
            config: LangGraph's config; needs `{"configurable": {"thread_id": …}}` with a checkpointer.
            resume: the answer to a LangGraph interrupt of this thread.
            **fields: typed fields that your state class adds.

        Returns:
            The outcome. Model trouble and used-up budgets are outcomes, with their reason; so is a missing verdict.

        Raises:
            GroundingError: a node was reached that no signal had opened.
            UserError, StorageError: as they happen.
        """
        own_run = run_id is None and episode_id is None
        async with self.episode(
            task,
            run_id=run_id,
            episode_id=episode_id,
            seed=seed,
            observers=observers,
            report=report,
            sandboxes=sandboxes,
        ) as episode:
            if episode.history.end is None:
                start = Command(resume=resume) if resume is not None else self.input(episode, **fields)
                error, interrupts = await self._invoke(episode, start, config)
            else:
                error, interrupts = None, ()
            result = self._result(episode, error, interrupts)
        if own_run and not interrupts:
            await self.store.append(RunEnd(run_id=episode.run_id))
        return result

    async def abatch(
        self, tasks: Sequence[Task], *, at_once: int = 4, seed: int = 0, observers: Sequence[Observer] = ()
    ) -> list[EpisodeResult]:
        """Runs many tasks in one run, `at_once` at a time; results in the tasks' order."""
        if at_once < 1:
            raise ConfigError(f"at_once is {at_once}.", do="Run at least one at a time.")
        run_id = await self.start_run()
        sandboxes = Sandboxes(self._sandbox)
        gate = asyncio.Semaphore(at_once)

        async def one(task: Task) -> EpisodeResult:
            async with gate:
                return await self.arun(task, run_id=run_id, seed=seed, observers=observers, sandboxes=sandboxes)

        try:
            async with asyncio.TaskGroup() as group:
                running = [group.create_task(one(task)) for task in tasks]
        finally:
            await sandboxes.aclose()
        await self.store.append(RunEnd(run_id=run_id))
        return [r.result() for r in running]

    async def astream(self, task: Task, **options: Any) -> AsyncIterator[Record | EpisodeResult]:
        """Yields each ledger record as it is written, then the result; `options` as for `arun`."""
        queue: asyncio.Queue[Record] = asyncio.Queue()
        observers = (*options.pop("observers", ()), queue.put_nowait)
        running = asyncio.create_task(self.arun(task, observers=observers, **options))
        try:
            while not running.done() or not queue.empty():
                getting = asyncio.create_task(queue.get())
                await asyncio.wait({getting, running}, return_when=asyncio.FIRST_COMPLETED)
                if getting.done():
                    yield getting.result()
                else:
                    getting.cancel()
            yield await running
        finally:
            if not running.done():
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    def run(self, task: Task, **options: Any) -> EpisodeResult:
        """`arun` for where a person types; options as there."""
        return _blocking(self.arun(task, **options), "run", "arun")

    def batch(self, tasks: Sequence[Task], **options: Any) -> list[EpisodeResult]:
        """`abatch` for where a person types; options as there."""
        return _blocking(self.abatch(tasks, **options), "batch", "abatch")

    def stream(self, task: Task, **options: Any) -> Iterator[Record | EpisodeResult]:
        """`astream` for where a person types; options as there."""
        _refuse_in_loop("stream", "astream")
        with asyncio.Runner() as runner:
            records = self.astream(task, **options)
            try:
                while True:
                    try:
                        yield runner.run(_next(records))
                    except StopAsyncIteration:
                        return
            finally:
                runner.run(_close(records))

    async def _known(self, run_id: str | None, episode_id: str, task: Task) -> EpisodeRecord:
        if run_id is None:
            raise ConfigError("To go on with an episode, its run must be named.", do="Give run_id as well.")
        for record in await self.store.episodes(run_id):
            if record.id == episode_id:
                if record.base_digest != task.tree.digest:
                    raise RecordNotFound(
                        f"Episode {episode_id} is about other files than the task has now.",
                        do="Restore the files as they were, or start a new run.",
                    )
                return record
        raise RecordNotFound(f"Run {run_id} has no episode {episode_id}.", do="List them:  groundwire show RUN")

    def _describe(self) -> dict[str, Any]:
        options = self._sandbox or SandboxOptions()
        return {
            "nodes": {name: str(role) for name, role in self.wiring.roles.items()},
            "gates": [[e.gate, e.source, e.target] for e in self.wiring.edges if e.gate],
            "budget": self.budget.model_dump(),
            "sandbox": options.kind or "default" if isinstance(options, SandboxOptions) else options.info.kind,
            "grounded": True,
        }

    async def _invoke(
        self, episode: Episode, start: Any, config: Mapping[str, Any] | None
    ) -> tuple[GroundwireError | None, Sequence[object]]:
        limit = 20 + 4 * self.budget.trials * self.budget.steps
        settings = {"recursion_limit": limit, **(config or {})}
        try:
            async with asyncio.timeout(episode.meter.seconds_left()):
                state = await self.langgraph.ainvoke(start, settings, context=episode)
        except TimeoutError:
            error = BudgetExceeded("seconds", f"The {self.budget.seconds:g} s are used up.", do="Raise --max-seconds.")
        except (BudgetExceeded, ModelError) as trouble:
            error = trouble
        else:
            if state.get("__interrupt__"):
                return None, tuple(state["__interrupt__"])
            if not state["stop_reason"]:
                return None, ("paused",)
            await episode.finish(self._end(episode, StopReason(state["stop_reason"]), state["detail"]))
            return None, ()
        reason = StopReason(f"budget_{error.kind}") if isinstance(error, BudgetExceeded) else StopReason.MODEL_ERROR
        await episode.finish(self._end(episode, reason, error.what))
        return error, ()

    def _end(self, episode: Episode, reason: StopReason, detail: str) -> EpisodeEnd:
        solved = reason in (StopReason.VERIFIED, StopReason.ALREADY_PASSING)
        best = episode.history.best
        unjudged = best is None or reason is StopReason.NO_VERDICT
        return EpisodeEnd(
            episode_id=episode.id,
            verdict=Verdict.PASS if solved else Verdict.NONE if unjudged else Verdict.FAIL,
            stop_reason=reason,
            best_candidate=best.candidate.digest if best and not best.candidate.is_base else "",
            detail=detail,
        )

    def _result(self, episode: Episode, error: GroundwireError | None, interrupts: Sequence[object]) -> EpisodeResult:
        history, meter, task = episode.history, episode.meter, episode.task
        end = history.end or self._end(episode, StopReason.INTERRUPTED, "Paused; the ledger holds all so far.")
        verified = end.verdict is Verdict.PASS and history.best is not None
        return EpisodeResult(
            run_id=episode.run_id,
            episode_id=episode.id,
            task_id=task.id,
            verdict=end.verdict,
            stop_reason=end.stop_reason,
            detail=end.detail,
            best=history.best,
            patch=make_patch(task.tree, history.best.candidate.changes) if verified and history.best else "",
            trials=max(history.proposed, default=0),
            signals=len(history.signals),
            reflections=len(history.reflections),
            candidates=len(history.candidates) - 1,
            usd=meter.usd,
            tokens=meter.tokens,
            seconds=meter.seconds,
            error=error,
            hidden=next((s for s in history.signals.values() if s.origin is Origin.HIDDEN_TESTS), None),
            interrupts=interrupts,
        )


async def _next(records: AsyncIterator[T]) -> T:
    return await anext(records)


async def _close(records: AsyncIterator[Any]) -> None:
    close = getattr(records, "aclose", None)
    if close is not None:
        await close()


def _refuse_in_loop(name: str, twin: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError(f"{name}() was called inside a running event loop.", do=f"Use:  await app.{twin}(…)")


def _blocking(work: Coroutine[Any, Any, T], name: str, twin: str) -> T:
    try:
        _refuse_in_loop(name, twin)
    except ConfigError:
        work.close()
        raise
    return asyncio.run(work)
