"""One vLLM engine, started at first use on a thread with an event loop of its own, and what it is doing.

vLLM's `AsyncLLM` belongs to the event loop that it was made in, and callers come from many: each synchronous call has a
loop of its own. So an engine has a thread with a loop, and calls are sent there; a cancelled call is aborted there.
"""

from __future__ import annotations

import asyncio
import importlib
import itertools
import os
import sys
import threading
import time
from collections.abc import Coroutine, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from groundwire.core._errors import GroundwireError, ModelRejected, ModelRetryable
from groundwire.core._models import Load, Request
from groundwire.core._prompt_text import plain
from groundwire.models._openai_compatible import GoesOn
from groundwire.models.vllm_engine._leftovers import Leftovers
from groundwire.models.vllm_engine._loading import (
    EngineGone,
    context_too_long,
    load_vllm,
    log_folder,
    platform_arguments,
    to_call_error,
    to_start_error,
)
from groundwire.models.vllm_engine._options import EngineOptions
from groundwire.models.vllm_engine._reading import PromptReader
from groundwire.models.vllm_engine._talk import Watching, sampling_arguments

# Counts what an engine is doing, from the statistics that it gives after every step.


class Gauge:
    """Stands in vLLM's list of stat loggers; its methods are those of vLLM's `StatLoggerBase`.

    Args:
        capacity: samples that the engine generates at once at most.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.in_flight = 0
        """Samples that were sent and are not answered, by our own count."""
        self.running = 0
        """Samples that are being generated, by the engine's."""
        self.most_running = 0
        self.prompt_tokens = 0
        """Prompt tokens that were looked up in the prefix cache, since the engine's start."""
        self.cached_tokens = 0
        """Those of them that were found there."""
        self.preempted = 0
        """Samples that had to start again for want of memory."""

    def __call__(self, _config: Any, _engine_index: int = 0) -> Gauge:
        """Called by vLLM as a factory."""
        return self

    def record(self, scheduler_stats: Any, iteration_stats: Any, *_rest: Any, **_more: Any) -> None:
        """Called by vLLM after every step."""
        if scheduler_stats is not None:
            self.running = int(scheduler_stats.num_running_reqs)
            self.most_running = max(self.most_running, self.running)
            cache = scheduler_stats.prefix_cache_stats
            if cache is not None:
                self.prompt_tokens += int(cache.queries)
                self.cached_tokens += int(cache.hits)
        if iteration_stats is not None:
            self.preempted += int(getattr(iteration_stats, "num_preempted_reqs", 0))

    def log_engine_initialized(self) -> None:
        """Nothing to say."""

    def log(self) -> None:
        """Nothing to say."""

    def record_sleep_state(self, *_state: Any, **_more: Any) -> None:
        """Engines of ours don't sleep."""

    def load(self) -> Load:
        """How busy the engine is. What it has not begun waits, also what has not reached it."""
        running = min(self.running, self.in_flight)
        return Load(running, self.in_flight - running, self.capacity)


# One vLLM engine: started at first use, on a thread with an event loop of its own.

TELL_EVERY_S = 20.0
CLOSE_TIMEOUT_S = 30.0

T = TypeVar("T")


class SharedEngine:
    """One engine. Use `registry.engine_for`; it is started by the first request.

    Args:
        options: which model, and how.
    """

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.gauge = Gauge(options.capacity)
        self.users: set[int] = set()
        """Backends that have not closed it."""
        self.log = log_folder() / f"vllm-{os.getpid()}.log"
        self._llm: Any = None
        self._reader: PromptReader | None = None
        self._readers = ThreadPoolExecutor(1, thread_name_prefix="groundwire-vllm-reader")
        self._room = 0
        self._names = itertools.count(1)
        self._adapters: dict[str, Any] = {}
        self._leftovers = Leftovers()
        self._lock = threading.Lock()
        self._starting: asyncio.Task[None] | None = None
        self._closed = False
        self._calls: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="groundwire-vllm", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """False once it has died or was closed."""
        llm = self._llm
        return not self._closed and (llm is None or not llm.errored)

    @property
    def is_ready(self) -> bool:
        """True if it has been started and is alive."""
        llm = self._llm
        return llm is not None and not self._closed and not llm.errored

    async def answer(
        self, request: Request, *, model: str, lora: str | None, fixed: Mapping[str, Any], goes_on: GoesOn | None = None
    ) -> Any:
        """vLLM's output for a request. The engine is started if it was not; cancelling it frees its place at once.

        Args:
            request: what is asked.
            model: the id as the user named it.
            lora: folder of the adapter to answer through.
            fixed: sampling arguments that win over the request's.
            goes_on: told of each token's likeliest log probabilities while a sample is written; False aborts it.

        Raises:
            EngineGone: the engine has died.
            ModelRejected: it could not be started, or the request can't be answered.
            ModelRetryable: it failed with this request.
            ConfigError: vLLM is not installed.
        """
        answering = self._answer(request, model=model, lora=lora, fixed=fixed, goes_on=goes_on)
        return await self._send(self._counted(request.n, answering))

    async def start(self, model: str) -> None:
        """Starts it, where it was not.

        Raises:
            ModelRejected, ConfigError: see `answer`.
        """
        await self._send(self._started(model))

    async def reset_prefix_cache(self) -> None:
        """Forgets all cached prefixes, for measurements."""
        await self._send(self._llm.reset_prefix_cache())

    async def _send(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits `work` on the engine's loop."""
        if self._closed:
            work.close()
            raise EngineGone(self.log)
        future = asyncio.run_coroutine_threadsafe(self._followed(work), self._loop)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and not (task and task.cancelling()):
                raise EngineGone(self.log) from None
            raise

    async def _followed(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        try:
            return await work
        finally:
            self._calls.discard(task)

    async def _started(self, model: str) -> None:
        if self._llm is None:
            if self._starting is None:
                self._starting = asyncio.create_task(self._start(model))
            # who asked first may be cancelled; the engine is for all
            await asyncio.shield(self._starting)

    async def _start(self, model: str) -> None:
        with _telling(model, self.log):
            vllm = load_vllm(self.log)
            try:
                llm = self._make(vllm)
                found: Any = llm.get_tokenizer()
                self._reader = PromptReader(await found if asyncio.iscoroutine(found) else found)
                self._room = int(llm.model_config.max_model_len)
                self._llm = llm
            except GroundwireError:
                raise
            except Exception as error:  # whatever the engine, torch or a driver raised: it did not start
                raise to_start_error(error, self.log, model=model) from error

    def _make(self, vllm: Any) -> Any:
        engine: Any = importlib.import_module("vllm.v1.engine.async_llm")
        arguments = platform_arguments() | self.options.engine_arguments()
        try:
            asked = vllm.AsyncEngineArgs(**arguments, disable_log_stats=True)
        except TypeError as error:
            raise ModelRejected(
                f"vLLM {vllm.__version__} knows not all of its arguments: {plain(str(error), 300)}",
                do="Use the names of AsyncEngineArgs of the installed version.",
            ) from error
        with _without_the_program(), self._leftovers.noticing():
            return engine.AsyncLLM.from_engine_args(asked, stat_loggers=[self.gauge])

    async def _counted(self, samples: int, answering: Coroutine[Any, Any, T]) -> T:
        self.gauge.in_flight += samples
        try:
            return await answering
        finally:
            self.gauge.in_flight -= samples

    async def _answer(
        self, request: Request, *, model: str, lora: str | None, fixed: Mapping[str, Any], goes_on: GoesOn | None
    ) -> Any:
        await self._started(model)
        assert self._reader is not None, "it was started"
        # in a thread of its own, so that the engine's goes on with what others have asked
        tokens = await asyncio.get_running_loop().run_in_executor(
            self._readers, partial(self._reader.tokens, request.messages, model=model)
        )
        room = self._room - len(tokens)
        if room < 1:
            raise context_too_long(model, f"It has {len(tokens)} tokens; the engine's context is {self._room}.")
        outputs = self._llm.generate(
            {"prompt_token_ids": tokens},
            self._sampling(request, room, fixed, as_written=goes_on is not None),
            f"groundwire-{next(self._names)}",
            lora_request=self._adapter(lora) if lora else None,
            priority=request.priority,
        )
        watching = Watching(goes_on, request.top_logprobs) if goes_on else None
        last: Any = None
        try:
            async with aclosing(outputs):  # closed before its end it is aborted in the engine
                async for output in outputs:
                    last = output
                    if watching is not None and watching.ends(output):
                        return output
        except Exception as error:
            raise to_call_error(error, self.log, model=model) from error
        if last is None or not last.finished:
            raise ModelRetryable(f"The engine of {model} gave no whole answer.", do=f"See its log: {self.log}")
        return last

    def _sampling(self, request: Request, room: int, fixed: Mapping[str, Any], *, as_written: bool) -> Any:
        module: Any = importlib.import_module("vllm.sampling_params")
        arguments = sampling_arguments(request, room=room, fixed=fixed)
        if request.json_schema is not None:
            arguments["structured_outputs"] = module.StructuredOutputsParams(json=dict(request.json_schema))
        # one output when all is there: a token's worth of work a token, on this side, otherwise
        kinds = module.RequestOutputKind
        return module.SamplingParams(**arguments, output_kind=kinds.CUMULATIVE if as_written else kinds.FINAL_ONLY)

    def _adapter(self, folder: str) -> Any:
        if folder not in self._adapters:
            module: Any = importlib.import_module("vllm.lora.request")
            self._adapters[folder] = module.LoRARequest(Path(folder).name, len(self._adapters) + 1, folder)
        return self._adapters[folder]

    def close(self) -> None:
        """Cancels the calls in flight, ends the engine's processes and frees its memory. Waits for it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        if threading.current_thread() is self._thread:
            raise RuntimeError("an engine can't be closed from its own thread")
        if self._llm is None and self._starting is not None and not self._starting.done():
            # its thread is inside the start, which ends when the processes that it waits for do
            self._leftovers.kill()
        ended = asyncio.run_coroutine_threadsafe(self._end(), self._loop)
        with suppress(TimeoutError):
            ended.result(CLOSE_TIMEOUT_S)
        self._readers.shutdown(wait=False, cancel_futures=True)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSE_TIMEOUT_S)
        if not self._thread.is_alive():
            self._loop.close()
        self._leftovers.end()

    async def _end(self) -> None:
        calls = [task for task in self._calls if task is not asyncio.current_task()]
        for task in calls:
            task.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        if self._llm is not None:
            llm, self._llm = self._llm, None
            llm.shutdown()
            # whoever still holds it would shut it down once more at the interpreter's end, with a traceback
            llm.shutdown = _nothing
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)


def _nothing(*_arguments: object) -> None:
    """Takes the place of what is done."""


@contextmanager
def _without_the_program() -> Generator[None]:
    """A process that is spawned here does not run the user's program again: vLLM's needs nothing of it.

    `multiprocessing` would import the main module there, and a script without a main guard would start over.
    """
    main = sys.modules.get("__main__")
    kept = {name: vars(main)[name] for name in ("__file__", "__spec__") if name in vars(main)} if main else {}
    try:
        if main:
            vars(main).pop("__file__", None)
            vars(main)["__spec__"] = None
        yield
    finally:
        if main:
            vars(main).update(kept)


@contextmanager
def _telling(model: str, log: Path) -> Generator[None]:
    """Says on standard error that an engine starts, which takes a minute, and how long it took."""
    started, done = time.monotonic(), threading.Event()

    def tell() -> None:
        while not done.wait(TELL_EVERY_S):
            print(f"{model}: still starting, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)

    print(f"{model}: starting a vLLM engine, log {log}", file=sys.stderr, flush=True)
    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
        print(f"{model}: ready after {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    finally:
        done.set()
        teller.join()
