"""A compiled feedback graph: runs tasks, one episode each, async or not; goes on with what was interrupted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from langsmith.utils import tracing_is_enabled  # pyright: ignore[reportUnknownVariableType]  it has no annotations

from groundwire.core._errors import ConfigError
from groundwire.core._ids import SeedRule, new_id
from groundwire.core._models import OnText
from groundwire.core._records import EpisodeRecord, Record, StopReason, Store
from groundwire.core._seal import Keys
from groundwire.core._signals import Origin
from groundwire.core._tasks import Task, check_task, check_tasks
from groundwire.graphs.build._declarations import Rules
from groundwire.graphs.build._proof import Wiring
from groundwire.graphs.replay._reuse import Cache, Reuse
from groundwire.graphs.run._budget import Budget, RunBudget
from groundwire.graphs.run._driver import Driven, Durability, OnError, drive, end_in_error
from groundwire.graphs.run._episode import Episode, Observer
from groundwire.graphs.run._resuming import BaseTrees, as_recorded, find_episode
from groundwire.graphs.run._runs import Runs
from groundwire.graphs.run._sandboxes import SandboxChoice, Sandboxes, SandboxOptions
from groundwire.graphs.run._state import EpisodeState, as_kept
from groundwire.telemetry import episode_span

if TYPE_CHECKING:
    from groundwire.graphs.replay._replay import Replayed
    from groundwire.graphs.run._result import EpisodeResult


# The loop's async methods for where a person types.

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T], name: str, twin: str) -> T:
    """Runs `work` to its end.

    Args:
        work: what to run.
        name: the method that was called.
        twin: its async twin.

    Raises:
        ConfigError: an event loop is running already.
    """
    try:
        _refuse_in_loop(name, twin)
    except ConfigError:
        work.close()
        raise
    return asyncio.run(work)


def iterate(items: AsyncGenerator[T], name: str, twin: str) -> Iterator[T]:
    """Yields what `items` yields; arguments and errors as for `wait_for`."""
    _refuse_in_loop(name, twin)
    with asyncio.Runner() as runner:
        try:
            while True:
                try:
                    yield runner.run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            runner.run(items.aclose())


async def _next(items: AsyncGenerator[T]) -> T:
    return await anext(items)


def _refuse_in_loop(name: str, twin: str) -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise ConfigError(f"{name}() was called inside a running event loop.", do=f"Use:  await app.{twin}(…)")


# A compiled feedback graph: runs tasks, one episode each.


class FeedbackApp:
    """Runs tasks through a proved graph.

    `ungrounded` names the nodes that revise without a signal; only controls have any. `langgraph` is the compiled
    LangGraph graph; `episode` opens what its nodes need, so that every LangGraph feature
    (streaming modes, interrupts, time travel) stays reachable:

        async with app.episode(task) as episode:
            async for update in app.langgraph.astream(app.input(episode), context=episode, stream_mode="updates"):
                ...
    """

    def __init__(
        self,
        langgraph: Any,
        *,
        fused: Any = None,
        name: str,
        state: type[EpisodeState],
        wiring: Wiring,
        store: Store | None,
        budget: Budget,
        run_budget: RunBudget | None = None,
        sandbox: SandboxChoice | None,
        durability: Durability = "exit",
        rules: Rules | None = None,
        trust: Collection[Origin] = (),
        keys: Keys | None = None,
        tools: Mapping[str, str] | None = None,
        revisions: Mapping[str, int] | None = None,
        ungrounded: Sequence[str] = (),
    ) -> None:
        self.langgraph = langgraph
        self._fused = fused
        self.name = name
        self.wiring = wiring
        self.budget = budget
        self.run_budget = run_budget
        self.store: Store = store if store is not None else _in_memory()
        self.rules = rules or Rules()
        self.trust = frozenset(trust)
        self.ungrounded = tuple(ungrounded)
        self._tools = dict(tools or {})
        self._revisions = dict(revisions or {})
        self._base_trees = BaseTrees(self.store)
        self._runs = Runs(self.store, keys, run_budget)
        self._state = state
        self._sandbox = sandbox
        self._durability: Durability = durability

    def input(self, episode: Episode, **fields: Any) -> Mapping[str, Any]:
        """The state an episode starts from; `fields` are the typed fields that your state class adds."""
        return as_kept(self._state(episode_id=episode.id, **fields).model_dump())

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
        on_text: OnText | None = None,
        sandboxes: Sandboxes | None = None,
        reuse: Reuse = "never",
    ) -> AsyncGenerator[Episode]:
        """Opens an episode, new or one that the ledger knows.

        Args:
            task: what is to be solved.
            run_id: the run it belongs to; default: a new run.
            episode_id: an episode of the ledger, to go on with it.
            seed: for reproducible choices.
            observers: told of each record after the ledger has it.
            report: told one line for people while a tool works.
            on_text: told of a model's text while it is written, by backends that can (`completions.Streaming`).
            sandboxes: shared with other episodes; default: its own, closed at the end.
            reuse: what of the ledger may stand for asking a model or judging once more (`graphs.replay.reuse`).

        Raises:
            RecordNotFound: the ledger has no such episode, or it is about other files.
            SealError: a recorded signal is not what was minted.
        """
        check_task(task)
        own = sandboxes or Sandboxes(self._sandbox)
        known = await find_episode(self.store, run_id, episode_id, task) if episode_id else None
        task = as_recorded(task, known) if known else task
        run = run_id or await self.start_run()
        sealing = await self._runs.sealing(run)
        episode = Episode(
            run_id=run,
            id=(own_id := episode_id or new_id()),
            task=task,
            store=self.store,
            mint=sealing.mint,
            meter=await self._runs.meter(run, self.budget, own_id),
            sandbox=partial(own.open, task.python),
            program_sandbox=partial(own.for_programs, task.python),
            seed=known.seed if known else seed,
            seed_rule=await self._runs.seed_rule(run),
            observers=observers,
            report=report or (lambda _line: None),
            on_text=on_text,
            rules=self.rules,
            cache=None if reuse == "never" else Cache(self.store, reuse, self._runs.keys, own_id),
            chain=sealing.chain.episode(own_id) if sealing.chain else None,
        )
        try:
            with self._runs.held(run):
                if known:
                    await episode.load()
                else:
                    await episode.begin(
                        *await self._base_trees.of(task),
                        EpisodeRecord(
                            id=episode.id,
                            run_id=run,
                            task_id=task.id,
                            family=task.family,
                            task=task.describe(),
                            base_digest=task.tree.digest,
                            seed=seed,
                        ),
                    )
                yield episode
                await episode.settle()
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
        return await self._runs.begin(self.name, self._describe() | dict(config or {}))

    async def end_run(self, run_id: str) -> None:
        """Writes that a run is over."""
        await self._runs.end(run_id)

    async def arun(
        self,
        task: Task,
        *,
        run_id: str | None = None,
        episode_id: str | None = None,
        seed: int = 0,
        observers: Sequence[Observer] = (),
        report: Callable[[str], None] | None = None,
        on_text: OnText | None = None,
        sandboxes: Sandboxes | None = None,
        config: Mapping[str, Any] | None = None,
        resume: Any = None,
        reuse: Reuse = "never",
        on_error: OnError = "raise",
        error: Exception | None = None,
        more_time: bool = False,
        **fields: Any,
    ) -> EpisodeResult:
        """Runs one task to its end.

        Args:
            task: what is to be solved.
            run_id: the run it belongs to; default: a new run that ends with it.
            episode_id: an episode of the ledger, to resume it; an answer already received is not paid for again, a
                call that was cut off may be, and is booked at the most that it can have cost.
            seed: for reproducible choices.
            observers: told of each record after the ledger has it.
            report: told one line for people while a tool works.
            on_text: told of a model's text while it is written, by backends that can (`completions.Streaming`).
            sandboxes: shared with other episodes.
            config: LangGraph's config; with a checkpointer, the thread is the episode's id unless this names one.
            resume: the answer to a LangGraph interrupt of this thread.
            reuse: what of the ledger may stand for new work: `never`, `calls` (answers of models to the very same
                requests) or `all` (verdicts on the very same candidates as well).
            on_error: what comes of an error that is no outcome, one in your own actor as a rule. `raise`: it is raised,
                and the episode can be resumed once the actor is mended. `end`: the episode ends with
                `internal_error`, and the error is in the result.
            more_time: goes on with an episode that had ended because its seconds were used up.
            error: why the episode can't even begin; then it ends with that, whatever `on_error` says.
            **fields: typed fields that your state class adds.

        Returns:
            The outcome. Model trouble and used-up budgets are outcomes, with their reason; so is a missing verdict.

        Raises:
            StorageError: the ledger failed.
            GroundingError: a node was reached that no signal had opened; not with `on_error="end"`.
            Exception: whatever your own parts raise, as they raised it; not with `on_error="end"`.
        """
        own_run = run_id is None and episode_id is None
        async with self.episode(
            task,
            run_id=run_id,
            episode_id=episode_id,
            seed=seed,
            observers=observers,
            report=report,
            on_text=on_text,
            sandboxes=sandboxes,
            reuse=reuse,
        ) as episode:
            if more_time and episode.history.end and episode.history.end.stop_reason is StopReason.BUDGET_SECONDS:
                episode.history.end = None
            ids = {"run_id": episode.run_id, "episode_id": episode.id, "task_id": task.id}
            with episode_span(self.name, prompt=task.prompt, **ids) as told:
                driven = Driven()
                if error is not None and episode.history.end is None:
                    driven = await end_in_error(episode, error)
                elif episode.history.end is None:
                    driven = await drive(
                        self._graph_for(config),
                        episode,
                        self.input(episode, **fields),
                        durability=self._durability,
                        supersteps=self._supersteps,
                        goes_on=episode_id is not None,
                        config=config,
                        resume=resume,
                        on_error=on_error,
                    )
                from groundwire.graphs.run._result import result_of  # here: no episode needs it before its end

                result = result_of(episode, driven.error, driven.interrupts, grounded=not self.ungrounded)
                told.ended(
                    # a used-up budget is an outcome, and so is what stood before an error came
                    error=None if result.exit_code in (0, 4) else result.error,
                    answer=lambda: result.patch,
                    verdict=str(result.verdict),
                    stop_reason=str(result.stop_reason),
                    trials=result.trials,
                    usd=result.usd,
                    tokens=result.tokens,
                )
        if own_run and not driven.interrupts:
            await self.end_run(episode.run_id)
        return result

    async def areplay(self, task: Task, *, run_id: str, episode_id: str) -> Replayed:
        """Runs a recorded episode again from the ledger alone, and compares: no model is asked, no sandbox opened.

        Plain nodes of your own run again, as they did then.

        Args:
            task: the recorded task; `graphs.run.resuming.task_of` reads it from the ledger.
            run_id: the run.
            episode_id: the episode.

        Raises:
            ConfigError: it has not ended, or this app is not the one that ran it.
            RecordNotFound: the ledger has no such episode, or it is about other files.
            SealError: a recorded signal is not what was minted.
        """
        from groundwire.graphs.replay._replay import Replay, check_same, rules_then, without_traces

        known = await find_episode(self.store, run_id, episode_id, task)
        await check_same(self.store, run_id, self._describe())
        replay = await Replay.read(self.store, known, self._runs.keys)
        recorded = as_recorded(task, known)
        rules = await rules_then(self.store, run_id, self.rules)
        episode = replay.episode(recorded, self.budget, rules, await self._runs.seed_rule(run_id))
        await episode.begin(known)
        graph = self._fused or without_traces(self.langgraph)
        await drive(
            graph,
            episode,
            self.input(episode),
            durability="exit",
            supersteps=self._supersteps,
            on_error=replay.on_error,
        )
        return await replay.compared()

    async def abatch(
        self,
        tasks: Sequence[Task],
        config: Mapping[str, Any] | None = None,
        *,
        at_once: int | None = None,
        seed: int = 0,
        times: int = 1,
        observers: Sequence[Observer] = (),
        reuse: Reuse = "never",
        on_error: OnError = "end",
    ) -> list[EpisodeResult]:
        """Runs many tasks in one run; results in the tasks' order.

        Args:
            tasks: what is to be solved.
            config: LangChain's config, of which `max_concurrency` stands for `at_once`; the rest says nothing here.
            at_once: episodes at a time; None: four, or, where the model's engine says how busy it is, as many as keep
                it so (`graphs.run.in_flight`).
            seed: for reproducible choices.
            times: episodes of each task, one after the other in the results, with seeds of their own: `seed`, `seed`
                + 1, …; no two of them share a seed of a call, and all tasks share those of `seed`
                (`groundwire.core._ids`).
            observers: told of each record after the ledger has it.
            reuse: as for `arun`.
            on_error: as for `arun`. By default an episode in which something raises ends with `internal_error`, and
                costs no other its result; `raise` cancels the others, and raises what was raised.

        Raises:
            ConfigError: `at_once` or `times` is less than 1.
            StorageError: the ledger failed.
        """
        from groundwire.graphs.run._batch import QueuedEpisode, run_batch

        at_once = (config or {}).get("max_concurrency") if at_once is None else at_once
        if times < 1:
            raise ConfigError(f"times is {times}.", do="Run each task at least once.")
        check_tasks(tasks)
        run_id = await self.start_run()
        sandboxes = Sandboxes(self._sandbox)
        works = [QueuedEpisode(self, task, seed + more) for task in tasks for more in range(times)]
        # by identity: the same task may be there twice
        results: dict[int, EpisodeResult] = {}
        try:
            await run_batch(
                works,
                lambda work, result: results.update({id(work): result}),
                run_id=run_id,
                sandboxes=sandboxes,
                at_once=at_once,
                observers=observers,
                reuse=reuse,
                on_error=on_error,
            )
        finally:
            await sandboxes.aclose()
        await self.end_run(run_id)
        return [results[id(work)] for work in works]

    async def astream(self, task: Task, **options: Any) -> AsyncGenerator[Record | EpisodeResult]:
        """Yields each ledger record as it is written, then the result; `options` as for `arun`."""
        queue: asyncio.Queue[Record | None] = asyncio.Queue()
        observers = (*options.pop("observers", ()), queue.put_nowait)
        running = asyncio.create_task(self.arun(task, observers=observers, **options))
        running.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (record := await queue.get()) is not None:
                yield record
            yield await running
        finally:
            if not running.done():
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)

    def run(self, task: Task, **options: Any) -> EpisodeResult:
        """`arun` for where a person types; options as there."""
        return wait_for(self.arun(task, **options), "run", "arun")

    def batch(
        self, tasks: Sequence[Task], config: Mapping[str, Any] | None = None, **options: Any
    ) -> list[EpisodeResult]:
        """`abatch` for where a person types; options as there."""
        return wait_for(self.abatch(tasks, config, **options), "batch", "abatch")

    def invoke(self, task: Task, config: Mapping[str, Any] | None = None, **options: Any) -> EpisodeResult:
        """`run` as LangChain's runnables call it, so that `RunnableLambda(app.invoke, app.ainvoke)` is one.

        Args:
            task: what is to be solved.
            config: LangGraph's config, as for `arun`.
            **options: as for `arun`.
        """
        return wait_for(self.ainvoke(task, config, **options), "invoke", "ainvoke")

    async def ainvoke(self, task: Task, config: Mapping[str, Any] | None = None, **options: Any) -> EpisodeResult:
        """`arun` as LangChain's runnables call it; arguments as for `invoke`."""
        return await self.arun(task, config=config, **options)

    def stream(self, task: Task, **options: Any) -> Iterator[Record | EpisodeResult]:
        """`astream` for where a person types; options as there."""
        return iterate(self.astream(task, **options), "stream", "astream")

    def __gated_wiring__(self) -> Wiring:
        """See `groundwire_audit.GatedGraph`."""
        return self.wiring

    def _graph_for(self, config: Mapping[str, Any] | None) -> Any:
        """The graph with one superstep for many nodes, unless somebody is to see or keep those of each node."""
        if self._fused is None or config or tracing_is_enabled():
            return self.langgraph
        return self._fused

    @property
    def _supersteps(self) -> int:
        return 20 + len(self.wiring.roles) * self.budget.trials * self.budget.steps

    def _describe(self) -> dict[str, Any]:
        options = self._sandbox or SandboxOptions()
        return {
            "nodes": {name: str(role) for name, role in self.wiring.roles.items()},
            "tools": self._tools,
            "gates": [[e.gate, e.source, e.target] for e in self.wiring.edges if e.gate],
            "budget": self.budget.model_dump(),
            "rules": self.rules.model_dump(mode="json"),
            "trust": sorted(str(origin) for origin in self.trust),
            "sandbox": options.kind or "default" if isinstance(options, SandboxOptions) else options.info.kind,
            "grounded": not self.ungrounded,
            "seeds": str(SeedRule.HASHED),
            **({"revisions": self._revisions} if self._revisions else {}),
            **({"ungrounded": list(self.ungrounded)} if self.ungrounded else {}),
            **({"run_budget": self.run_budget.model_dump()} if self.run_budget else {}),
        }


def _in_memory() -> Store:
    from groundwire.memory import InMemoryStore

    return InMemoryStore()
