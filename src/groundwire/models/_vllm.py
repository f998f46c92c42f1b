"""`vllm:MODEL_OR_PATH`: a vLLM engine in this process, shared by all episodes. Free, and no text leaves the machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from groundwire.core._errors import ConfigError, ModelRetryable
from groundwire.core._models import Completion, Load, Request
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of
from groundwire.models._guard import check_model_calls
from groundwire.models._openai_compatible import GoesOn
from groundwire.models.vllm_engine._engine import SharedEngine
from groundwire.models.vllm_engine._loading import EngineGone
from groundwire.models.vllm_engine._options import EngineOptions, parse_spec
from groundwire.models.vllm_engine._registry import engine_for, leave_engine
from groundwire.models.vllm_engine._talk import completion_of

TIMEOUT_S = 900.0
STARTS = 2


class VllmBackend:
    """A model in a vLLM engine of this process. It is started when the first call is made, which takes a minute.

    Backends of equal options share one engine, whose prefix cache then serves all their episodes; `aclose` of the last
    one ends it and frees the GPU, as the end of the process does. Answers are had as text, n samples, by schema, with
    log probabilities and with a seed; a cancelled call is aborted in the engine. Requests with a smaller `priority` are
    served first.

    Args:
        model: `MODEL_OR_PATH` or `MODEL_OR_PATH?max_model_len=4096&lora=DIR` (see `vllm_engine.options`).
        lora: folder of a LoRA adapter to answer through. Adapters of one model share its engine where the room for
            them (`max_lora_rank`) is the same.
        sampling: arguments of vLLM's `SamplingParams` that win over each request's, for example `ignore_eos`.
        timeout_s: seconds that one answer may take once the engine runs, waiting for its turn included.
        **engine: arguments of vLLM's `AsyncEngineArgs`.

    Raises:
        ConfigError: the model or the adapter is not there, or an option is not known.
    """

    traits = BackendTraits(structured=True, prioritises=True, continues=True)
    """The engine holds answers to a schema. Requests are served by their `priority`."""

    def __init__(
        self,
        model: str,
        *,
        lora: str | None = None,
        sampling: Mapping[str, Any] | None = None,
        timeout_s: float = TIMEOUT_S,
        **engine: Any,
    ) -> None:
        if not timeout_s > 0:
            raise ConfigError(f"timeout_s is {timeout_s}.", do="Use more than 0 seconds.")
        self._spec = parse_spec(model, lora=lora, arguments=engine)
        self._model = f"vllm:{model}"
        self._sampling = dict(sampling or {})
        self._timeout_s = timeout_s
        self._engine: SharedEngine | None = None

    def __repr__(self) -> str:
        return f"VllmBackend({self._model!r})"

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._model

    @property
    def options(self) -> EngineOptions:
        """Which engine it uses."""
        return self._spec.options

    @property
    def engine(self) -> SharedEngine:
        """Its engine, which may not have been started."""
        if self._engine is None or not self._engine.is_alive:
            self._engine = engine_for(self._spec.options, self)
        return self._engine

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. Where the engine dies, a new one is started, once.

        An answer ends where the context does: it is shorter than `max_tokens` if there is no room for more.

        Raises:
            ModelRejected: the engine can't be started, or the prompt is too long.
            ModelRetryable: the engine failed, died twice, or did not answer in time.
            ModelReplyInvalid: see `Backend`.
            ConfigError: vLLM is not installed.
        """
        return await self._complete(request, None)

    async def stream_while(self, request: Request, watch: Callable[[], GoesOn]) -> Completion:
        """One sample, for as long as it is worth it; see `agents.width.confident_vote.StreamsProbabilities`.

        One that is ended is aborted in the engine, which frees its place at once.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid, ConfigError: as `complete`.
        """
        return await self._complete(request, watch)

    async def _complete(self, request: Request, watch: Callable[[], GoesOn] | None) -> Completion:
        check_model_calls(self._model)
        self._spec.options.check(request)
        for _ in range(STARTS):
            engine = self._engine
            try:
                if engine is None or not engine.is_ready:
                    engine = await asyncio.to_thread(lambda: self.engine)
                    await engine.start(self._model)
                async with asyncio.timeout(self._timeout_s):
                    output = await engine.answer(
                        request,
                        model=self._model,
                        lora=self._spec.lora,
                        fixed=self._sampling,
                        goes_on=watch() if watch else None,
                    )
            except EngineGone:
                continue
            except TimeoutError:
                raise ModelRetryable(
                    f"{self._model} did not answer within {self._timeout_s:g} s.",
                    do="Raise timeout_s, or run fewer episodes at once.",
                ) from None
            return completion_of(output, request, model=self._model, name=self._spec.name)
        raise ModelRetryable(
            f"The engine of {self._model} ended, and after a new start it ended again.",
            do=f"See its log: {self.engine.log}. Often memory was short: lower max_num_seqs or max_model_len.",
        )

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. All are given to the engine at once; if one fails, the others are cancelled."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """Always free."""
        return 0.0

    def load(self) -> Load:
        """How busy the engine is; see `groundwire.core._models`."""
        if self._engine is None:
            return Load(0, 0, self._spec.options.capacity)
        return self._engine.gauge.load()

    async def aclose(self) -> None:
        """Leaves the engine; the last backend that does ends its processes and frees the GPU."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await asyncio.to_thread(leave_engine, engine, self)
