"""The reward as trainers call it: plain functions of prompts and completions, from any thread."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from groundwire.core._errors import ConfigError
from groundwire.core._records import Store
from groundwire.core._sandboxes import Sandbox
from groundwire.core._tasks import Task
from groundwire.training.rewards._completions import begun_by, text_of
from groundwire.training.rewards._judging import CASE_S, PolicySample, RewardJudge, RewardRules, ScoredCompletion
from groundwire.training.rewards._ledger import RewardLedger

R = TypeVar("R")
CLOSE_S = 20.0


def reward(
    tasks: Iterable[Task] | Mapping[str, Task],
    *,
    field: str = "task_id",
    sandbox: str | Sandbox | None = None,
    hidden: bool = True,
    partial: bool = False,
    require_two_boxes: bool = False,
    case_s: float = CASE_S,
    width: int | None = None,
    store: Store | None = None,
    model: str = "policy",
) -> TaskReward:
    """A reward function for TRL's `GRPOTrainer`, and whoever calls one as that does: the tests of the task judge.

        from groundwire.training import reward

        GRPOTrainer(model, reward(tasks), args=…, train_dataset=rows)   # rows have `prompt` and `task_id`

    1.0 for a completion that passes, 0.0 for one that fails, None for one that got no verdict (the sandbox broke, the
    tests could not judge it): the trainer masks it, where 0 would punish it. A completion without a program is judged
    as the task's own tree, which changes nothing. Every program runs in a sandbox of its own; a PASS is looked at again
    with the assertions in another box than the program, where the tests allow it.

    Args:
        tasks: what the prompts are of.
        field: the data set's column with a task's id.
        sandbox: a kind (`bubblewrap`, `docker`, …), an open sandbox that stays its owner's, or None: the strongest
            that works here.
        hidden: the hidden tests decide, where a task has any. Nothing of them is in what comes back.
        partial: a FAIL earns the share of the cases that passed, and not 0.
        require_two_boxes: a PASS that can't be given in two boxes is no verdict.
        case_s: processor seconds that one test case may take.
        width: programs that run at once; None: as many as there are processors.
        store: a ledger where all that is judged is written, sealed; None: nowhere.
        model: what the policy is called there.

    Raises:
        ConfigError: there are no tasks, two have one id, or an argument is out of range.
    """
    rules = RewardRules(hidden=hidden, partial=partial, require_two_boxes=require_two_boxes, case_s=case_s)
    return TaskReward(_by_id(tasks), field=field, rules=rules, sandbox=sandbox, width=width, store=store, model=model)


def _by_id(tasks: Iterable[Task] | Mapping[str, Task]) -> Mapping[str, Task]:
    if isinstance(tasks, Mapping):
        return tasks
    found: dict[str, Task] = {}
    for task in tasks:
        if found.setdefault(task.id, task) is not task:
            raise ConfigError(f"Two tasks have the id {task.id!r}.", do="Give each its own.")
    return found


class TaskReward:
    """Made by `reward`. It can be called from any thread, and awaited (`acall`) in any event loop.

    It works in a thread of its own, which ends with `close`, with the process, or when nobody holds it any more.
    """

    def __init__(
        self,
        tasks: Mapping[str, Task],
        *,
        field: str = "task_id",
        rules: RewardRules,
        sandbox: str | Sandbox | None = None,
        width: int | None = None,
        store: Store | None = None,
        model: str = "policy",
    ) -> None:
        self.__name__ = "groundwire_reward"  # by which trainers log it
        config = {"tasks": len(tasks), "hidden": rules.hidden, "partial": rules.partial, "case_s": rules.case_s}
        ledger = RewardLedger(store, model=model, config=config) if store is not None else None
        self._judge = RewardJudge(tasks, rules=rules, sandbox=sandbox, width=width, ledger=ledger)
        self._field = field
        self._work = _Worker(self._judge)

    def __call__(
        self, prompts: Sequence[Any] | None = None, completions: Sequence[Any] | None = None, **columns: Any
    ) -> list[float | None]:
        """What each completion earns.

        Args:
            prompts: texts or chat messages; they are read only for what an answer was begun with, and for the ledger.
            completions: texts or chat messages.
            columns: those of the data set; that of the task's id must be among them.

        Raises:
            ConfigError: a column is missing or too short, or a task is not known.
            SandboxUnavailable: no sandbox can be had here.
        """
        return [one.reward for one in self.score(prompts, completions, **columns)]

    def score(
        self, prompts: Sequence[Any] | None = None, completions: Sequence[Any] | None = None, **columns: Any
    ) -> list[ScoredCompletion]:
        """As a call, with what stands behind each reward."""
        samples = self._samples(prompts, completions, columns)
        return self._work.run(lambda: self._judge.score(samples))

    async def acall(
        self, prompts: Sequence[Any] | None = None, completions: Sequence[Any] | None = None, **columns: Any
    ) -> list[float | None]:
        """As a call, for trainers that await their rewards."""
        samples = self._samples(prompts, completions, columns)
        scored = await asyncio.wrap_future(self._work.submit(lambda: self._judge.score(samples)))
        return [one.reward for one in scored]

    def _samples(
        self, prompts: Sequence[Any] | None, completions: Sequence[Any] | None, columns: Mapping[str, Any]
    ) -> list[PolicySample]:
        if completions is None:
            raise ConfigError("The reward was called without completions.", do="Give  completions=[…].")
        ids = columns.get(self._field)
        if ids is None:
            there = ", ".join(sorted(columns)) or "none"
            raise ConfigError(
                f"The reward was called without the column {self._field!r}; the columns were: {there}.",
                do="Keep it in the data set, or name the right one:  reward(tasks, field=…).",
            )
        ids = [ids] * len(completions) if isinstance(ids, str) else list(ids)
        asked = [None] * len(completions) if prompts is None else list(prompts)
        if not len(ids) == len(asked) == len(completions):
            raise ConfigError(
                f"There are {len(completions)} completions, {len(asked)} prompts and {len(ids)} values of "
                f"{self._field!r}.",
                do="Give one of each for every completion.",
            )
        for task_id in ids:
            self._judge.task(task_id)
        return [
            PolicySample(str(task_id), text_of(text), text_of(prompt) or "", begun_by(prompt))
            for task_id, text, prompt in zip(ids, completions, asked, strict=True)
        ]

    def close(self) -> None:
        """Ends the sandboxes and the thread, and writes the run's end where there is a ledger."""
        self._work.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes it."""
        self.close()


class _Worker:
    """An event loop in a thread of its own, begun with the first work.

    Args:
        judge: what is closed in there at the end.
    """

    def __init__(self, judge: RewardJudge) -> None:
        self._judge = judge
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._end: weakref.finalize[Any, Any] | None = None
        self._pid = os.getpid()
        self._closed = False

    def submit(self, work: Callable[[], Coroutine[Any, Any, R]]) -> Future[R]:
        """Begins it."""
        with self._lock:
            if self._closed or self._pid != os.getpid():
                why = "was closed" if self._closed else "was made in another process, of which this one is a fork"
                raise ConfigError(f"The reward {why}.", do="Make a new one:  reward(tasks).")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                thread = threading.Thread(target=_run, args=(self._loop,), name="groundwire-reward", daemon=True)
                thread.start()
                self._thread = thread
                self._end = weakref.finalize(self, _end_quietly, self._loop, thread, self._judge)
            return asyncio.run_coroutine_threadsafe(work(), self._loop)

    def run(self, work: Callable[[], Coroutine[Any, Any, R]]) -> R:
        """Waits for it; ends it where the wait is interrupted."""
        under_way = self.submit(work)
        try:
            return under_way.result()
        except BaseException:
            under_way.cancel()
            raise

    def close(self) -> None:
        """Closes the judge, and ends the thread. What is under way is lost."""
        with self._lock:
            begun = self._loop is not None and not self._closed and self._pid == os.getpid()
            self._closed = True
        if begun and self._loop is not None and self._end is not None and self._thread is not None:
            self._end.detach()
            try:
                asyncio.run_coroutine_threadsafe(self._judge.aclose(), self._loop).result(CLOSE_S)
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join(CLOSE_S)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        with suppress(Exception):
            loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _end_quietly(loop: asyncio.AbstractEventLoop, thread: threading.Thread, judge: RewardJudge) -> None:
    """The end of one that nobody closed: it is not to hold up the end of the process, nor to fail it."""
    with suppress(Exception):
        closing = asyncio.run_coroutine_threadsafe(judge.aclose(), loop)
        if threading.current_thread() is not thread:
            closing.result(CLOSE_S)
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(loop.stop)
