"""`vllm-server:MODEL_OR_PATH`: vLLM's own server as a process of ours, asked over HTTP. Free; nothing leaves here.

Against `vllm:` it costs a little more a call, and gives a place of its own to what may crash: the server can die, be
started again and be asked by other programs, while this process goes on.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import secrets
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias, cast
from urllib.request import getproxies

from groundwire.core._errors import ConfigError, ModelError, ModelRetryable
from groundwire.core._models import Completion, Load, Request
from groundwire.core._traits import BackendTraits
from groundwire.models._chat import all_of, is_begun
from groundwire.models._guard import check_model_calls
from groundwire.models._openai_compatible import GoesOn, OpenAICompatibleBackend
from groundwire.models._replicas import ReplicatedBackend, count_in, devices_of
from groundwire.models._switches import extra_of
from groundwire.models.model_server import Restarts, Running, Supervisor, in_thread
from groundwire.models.model_server._supervisor import LOOPBACK
from groundwire.models.vllm_engine._loading import (
    INSTALL,
    installed_version,
    log_folder,
    platform_arguments,
    to_start_error,
)
from groundwire.models.vllm_engine._options import Spec, parse_spec

START_TIMEOUT_S = 900.0
TIMEOUT_S = 900.0
TRIES = 3
ATTEMPTS = 2
BACKOFF_S = 0.2
"""Of single requests; a server that is gone is another matter, and started again."""


class VllmServerBackend:
    """A model behind a vLLM server that this process starts at the first call, watches, and ends.

    Backends of equal options share a server. One that dies, or no longer answers its health check, is started again
    after a growing wait, a few times. It listens on loopback and asks for a key of its own; what it says is in its log.

    Args:
        model: as for `VllmBackend`.
        lora: folder of a LoRA adapter to answer through.
        timeout_s: seconds that one attempt may take, waiting for its turn included.
        start_timeout_s: seconds until the server must be healthy.
        restarts: how often it is started again.
        devices: the GPUs of this server, as `CUDA_VISIBLE_DEVICES` names them; None: those of this process. Backends of
            other devices have another server.
        **engine: arguments of vLLM's server, with underscores.

    Raises:
        ConfigError: vLLM, the model or the adapter is not there, or an option is not known.
    """

    traits = BackendTraits(structured=True, prioritises=True, continues=True)
    """The server holds answers to a schema. It serves what is urgent first."""

    def __init__(
        self,
        model: str,
        *,
        lora: str | None = None,
        timeout_s: float = TIMEOUT_S,
        start_timeout_s: float = START_TIMEOUT_S,
        restarts: Restarts | None = None,
        devices: str | None = None,
        **engine: Any,
    ) -> None:
        if not (timeout_s > 0 and start_timeout_s > 0):
            raise ConfigError("A time limit must be more than 0 seconds.", do="Use more.")
        if installed_version() is None:
            raise ConfigError("A vLLM server can't be started: vllm is not installed.", do=INSTALL)
        self._spec = parse_spec(model, lora=lora, arguments=engine)
        self._model = f"vllm-server:{model}"
        self._timeout_s = timeout_s
        self._start_timeout_s = start_timeout_s
        self._restarts = restarts
        self._devices = devices
        self._connected: tuple[Running, OpenAICompatibleBackend] | None = None
        self._earlier: list[OpenAICompatibleBackend] = []
        """Clients of servers that have ended; others may still wait in them."""
        self._in_flight = 0

    @classmethod
    def from_spec(cls, spec: str, *, model: str = "", **options: Any) -> VllmServerBackend | ReplicatedBackend:
        """The backend of `MODEL_OR_PATH?replicas=N&…`, a server a replica, each with GPUs of its own.

        Args:
            spec: the text; without `replicas` it is one server.
            model: what the user calls it; default: `vllm-server:` and the text.
            **options: the constructor's.

        Raises:
            ConfigError: as the constructor's, or there are not as many GPUs.
        """
        count, rest = count_in(spec)
        if count == 1:
            return cls(rest, **options)
        arguments = parse_spec(rest, lora=None, arguments={}).options.engine_arguments()
        each = int(arguments.get("tensor_parallel_size", 1)) * int(arguments.get("pipeline_parallel_size", 1))
        replicas = [cls(rest, devices=devices_of(index, each), **options) for index in range(count)]
        return ReplicatedBackend(replicas, model or f"vllm-server:{spec}")

    def __repr__(self) -> str:
        return f"VllmServerBackend({self._model!r})"

    @property
    def model(self) -> str:
        """See `Backend`."""
        return self._model

    @property
    def running(self) -> Running | None:
        """The server that answers; None before the first call."""
        return self._connected[0] if self._connected else None

    async def complete(self, request: Request) -> Completion:
        """See `Backend`. A server that has died, or hangs, is started again and asked again.

        Raises:
            ModelRejected: it can't be started, died too often, or refused the request.
            ModelRetryable, ModelReplyInvalid: see `Backend`.
            ConfigError: aiohttp is not installed.
        """
        return await self._asked(request, lambda client: client.complete(request))

    async def stream_while(self, request: Request, watch: Callable[[], GoesOn]) -> Completion:
        """One sample, for as long as it is worth it; see `agents.width.confident_vote.StreamsProbabilities`.

        Raises:
            ModelRejected, ModelRetryable, ModelReplyInvalid, ConfigError: as `complete`.
        """
        return await self._asked(request, lambda client: client.stream_while(request, watch))

    async def _asked(
        self, request: Request, ask: Callable[[OpenAICompatibleBackend], Awaitable[Completion]]
    ) -> Completion:
        check_model_calls(self._model)
        self._spec.options.check(request)
        self._in_flight += request.n
        try:
            running, client = await self._connect(None)
            for _ in range(TRIES - 1):
                try:
                    return await ask(client)
                except ModelRetryable:
                    if await in_thread(running.process.is_healthy, self._model):
                        raise
                running, client = await self._connect(running)
            return await ask(client)
        finally:
            self._in_flight -= request.n

    async def complete_many(self, requests: Sequence[Request]) -> Sequence[Completion]:
        """See `Backend`. All are sent at once; if one fails, the others are cancelled."""
        return await all_of([self.complete(request) for request in requests])

    def price(self, request: Request) -> float | None:
        """Always free."""
        return 0.0

    def load(self) -> Load:
        """How busy the server is, by what it was sent; see `groundwire.core._models`."""
        capacity = self._spec.options.capacity
        running = min(self._in_flight, capacity)
        return Load(running, self._in_flight - running, capacity)

    async def aclose(self) -> None:
        """Closes the HTTP clients and ends the server, also for other backends of equal options."""
        if self._connected is not None:
            self._earlier.append(self._connected[1])
            self._connected = None
        while self._earlier:
            await self._earlier.pop().aclose()
        await asyncio.to_thread(_close, (self._spec, self._devices))

    async def _connect(self, dead: Running | None) -> tuple[Running, OpenAICompatibleBackend]:
        if self._connected is not None and self._connected[0] is not dead:
            return self._connected
        found = partial(_supervisor_for, self._spec, self._devices, self._model, self._start_timeout_s, self._restarts)
        supervisor, key = await in_thread(found, self._model)
        running = await in_thread(partial(supervisor.running, dead=dead), self._model)
        if self._connected is None or self._connected[0] is not running:
            client = OpenAICompatibleBackend(
                f"{running.url}/v1",
                self._spec.name,
                usd_per_token=(0.0, 0.0),
                api_key=key,
                name=self._model,
                timeout_s=self._timeout_s,
                max_in_flight=2 * self._spec.options.capacity,
                max_attempts=ATTEMPTS,
                backoff_s=BACKOFF_S,
                extra=_beyond_the_api,
                has_windows=True,
            )
            if self._connected is not None:
                self._earlier.append(self._connected[1])
            self._connected = (running, client)
        return self._connected


def _beyond_the_api(request: Request) -> dict[str, Any]:
    """What vLLM's server is told besides: to go on with an answer that was begun, and how urgent it is."""
    body: dict[str, Any] = {"priority": request.priority} if request.priority else {}
    if is_begun(request):
        body |= {"add_generation_prompt": False, "continue_final_message": True}
    if told := extra_of(request):
        body["vllm_xargs"] = told
    return body


def server_arguments(spec: Spec, port: int) -> list[str]:
    """The command line of vLLM's server for a model: its name and options, on loopback."""
    arguments = platform_arguments() | spec.options.engine_arguments()
    # with an adapter, the name stands for the adapter, and the model itself has another one
    served = spec.options.name if spec.lora else spec.name
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(arguments.pop("model")), "--served-model-name", served]
    command += ["--host", LOOPBACK, "--port", str(port)]
    if spec.lora:
        command += ["--lora-modules", f"{spec.name}={spec.lora}"]
    for name, value in arguments.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            command.append(f"--{flag}" if value else f"--no-{flag}")
        elif isinstance(value, list):
            command += [f"--{flag}", *map(str, cast("list[object]", value))]
        else:
            command.append(f"--{flag}={value}")
    return command


_Server: TypeAlias = "tuple[Spec, str | None]"
"""By what backends share one: the model with its options, and the GPUs."""
_supervisors: dict[_Server, tuple[Supervisor, str]] = {}
_lock = threading.Lock()


def _supervisor_for(
    spec: Spec, devices: str | None, model: str, start_timeout_s: float, restarts: Restarts | None
) -> tuple[Supervisor, str]:
    with _lock:
        _close_in_the_end()
        server = (spec, devices)
        if server not in _supervisors:
            _no_proxy_to_ourselves()
            key = secrets.token_urlsafe(32)
            supervisor = Supervisor(
                model,
                partial(server_arguments, spec),
                log=log_folder() / f"vllm-server-{os.getpid()}-{len(_supervisors)}.log",
                # not on the command line, which every user of the machine can read
                environment={
                    "VLLM_API_KEY": key,
                    "VLLM_NO_USAGE_STATS": "1",
                    "VLLM_DO_NOT_TRACK": "1",
                    **({} if devices is None else {"CUDA_VISIBLE_DEVICES": devices}),
                },
                start_timeout_s=start_timeout_s,
                restarts=restarts,
                explain=partial(_explained, model),
            )
            _supervisors[server] = (supervisor, key)
        return _supervisors[server]


def _explained(model: str, trouble: str, log: Path, tail: str) -> ModelError:
    return to_start_error(f"{trouble}.", log, model=model, tail=tail)


def _close(server: _Server) -> None:
    with _lock:
        known = _supervisors.pop(server, None)
    if known is not None:
        known[0].close()


def close_servers() -> None:
    """Ends every server that this process has started."""
    while _supervisors:
        with suppress(KeyError):
            _close(next(iter(_supervisors)))


@cache
def _close_in_the_end() -> None:
    atexit.register(close_servers)


def _no_proxy_to_ourselves() -> None:
    """The user's proxy is for the network; a request to this machine must not go through it."""
    if not getproxies():
        return
    for variable in ("NO_PROXY", "no_proxy"):
        hosts = [host for host in os.environ.get(variable, "").split(",") if host.strip()]
        if LOOPBACK not in hosts:
            os.environ[variable] = ",".join([*hosts, LOOPBACK])
