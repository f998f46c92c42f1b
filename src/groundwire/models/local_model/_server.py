"""llama.cpp's OpenAI-compatible server inside this process: started at first use, one a model file, closed at exit.

xllamacpp 2026.10 starts and ends a server while it holds Python's lock. Its end waits for the requests in flight, whose
clients wait for that lock; and a process that ends under a model at work may crash. So calls in flight are cancelled
first, and a server that does not come to rest is never ended.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import http.client
import importlib
import importlib.util
import json
import os
import secrets
import threading
import time
import urllib.request
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from groundwire.core._errors import ConfigError, ModelRejected, ModelRetryable

LOOPBACK = "127.0.0.1"
ENGINE = "xllamacpp"
EXTRA = 'pip install "groundwire[local]"'
MAX_THREADS = 8
SILENT = -1
ASK_TIMEOUT_S = 2.0
REST_TIMEOUT_S = 10.0
REST_POLL_S = 0.02

T = TypeVar("T")


@dataclass(frozen=True)
class ServerOptions:
    """How a model is served.

    Args:
        slots: samples made at once; each has a context of its own.
        context_tokens: tokens of one slot, prompt and answer together; the model's own limit where that is lower.
        threads: threads that compute; 0: half of the cores this process may use, at most 8.
    """

    slots: int = 4
    context_tokens: int = 4096
    threads: int = 0

    def __post_init__(self) -> None:
        if self.slots < 1 or self.context_tokens < 1 or self.threads < 0:
            raise ConfigError(
                f"A local model can't have {self.slots} slots, {self.context_tokens} tokens, {self.threads} threads.",
                do="Use at least 1 slot and 1 token, and 0 threads or more.",
            )

    def computing_threads(self) -> int:
        """`threads`, or what stands for 0."""
        return self.threads or max(1, min(MAX_THREADS, len(os.sched_getaffinity(0)) // 2))


def engine_is_installed() -> bool:
    """True if the engine can be imported; it is not imported for that."""
    return importlib.util.find_spec(ENGINE) is not None


class LlamaServer:
    """One server with one model. Use `server_for`.

    Args:
        path: a GGUF file.
        name: how the server names the model in its answers.
        options: how it is served.

    Raises:
        ConfigError: the engine is not installed.
        ModelRejected: the engine can't load the model.
    """

    def __init__(self, path: Path, name: str, options: ServerOptions) -> None:
        self.key = secrets.token_urlsafe(32)
        """The key that it asks for."""
        _no_proxy_to_ourselves()
        engine = _engine()
        try:
            self._server: Any = engine.Server(_parameters(engine, path, name, self.key, options))
        except RuntimeError as error:
            raise ModelRejected(
                f"llama.cpp can't load {path}, or has no memory or port for it.",
                do="Check that it is a whole GGUF file of a kind that this llama.cpp knows, and that memory is free.",
            ) from error
        self._process = os.getpid()
        self._calls: dict[asyncio.Task[Any], asyncio.AbstractEventLoop] = {}
        self.url = str(self._server.listening_address)
        """Its address, on loopback."""

    def is_alive(self) -> bool:
        """True if it answers."""
        return self._server is not None and self._get("/health") is not None

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Awaits `work`, a call to this server, so that the server's end cancels it.

        Raises:
            ModelRetryable: the server was ended in the meantime.
            ModelRejected: the program was.
        """
        task = asyncio.ensure_future(work)
        self._calls[task] = asyncio.get_running_loop()
        try:
            return await task
        except asyncio.CancelledError:
            if self._server is not None or _is_cancelled():
                raise
            if _ended:
                raise ModelRejected("The program ended during a call of the local model.") from None
            raise ModelRetryable("The local model's server was ended during the call.") from None
        finally:
            del self._calls[task]

    def close(self) -> None:
        """Cancels the calls in flight, ends the server and frees its memory."""
        server, self._server = self._server, None
        if server is None:
            return
        # in a forked child the server's threads are not there
        if os.getpid() != self._process or not self._comes_to_rest():
            # a reference that is never given back: the object's end would wait for ever
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))

    def _comes_to_rest(self) -> bool:
        for task, loop in list(self._calls.items()):
            with suppress(RuntimeError):  # that loop has ended, and its calls with it
                loop.call_soon_threadsafe(task.cancel)
        give_up = time.monotonic() + REST_TIMEOUT_S
        while not self._is_idle():
            if time.monotonic() > give_up:
                return False
            time.sleep(REST_POLL_S)
        return True

    def _is_idle(self) -> bool:
        """True if it answered and no slot is at work: nothing then keeps its end waiting."""
        slots = self._get("/slots")
        return bool(slots) and not any(slot.get("is_processing", True) for slot in json.loads(slots))

    def _get(self, path: str) -> bytes | None:
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=ASK_TIMEOUT_S)
        try:
            connection.request("GET", path, headers={"authorization": f"Bearer {self.key}"})
            answer = connection.getresponse()
            return answer.read() if answer.status == 200 else None
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


_servers: dict[tuple[Path, str, ServerOptions], LlamaServer] = {}
_lock = threading.Lock()
_ended: list[bool] = []


def server_for(path: Path, name: str, options: ServerOptions, *, dead: LlamaServer | None = None) -> LlamaServer:
    """The server of this process for a model file; starts it, which takes a second or more, where there is none.

    Args:
        path: a GGUF file.
        name: how the server names the model in its answers.
        options: how it is served.
        dead: a server that no longer answers, and is not to be had again.

    Raises:
        ConfigError, ModelRejected: see `LlamaServer`.
    """
    with _lock:
        if _ended:
            raise ModelRejected(f"The program ends; {path} is not loaded any more.")
        _close_in_the_end()
        known = (path.resolve(), name, options)
        if dead is not None and _servers.get(known) is dead:
            _servers.pop(known).close()
        if known not in _servers:
            _servers[known] = LlamaServer(path, name, options)
        return _servers[known]


def close_servers() -> None:
    """Ends every server of this process that is not at work; the next call starts a new one."""
    with _lock:
        while _servers:
            _servers.popitem()[1].close()


@cache
def _close_in_the_end() -> None:
    atexit.register(_end)


def _end() -> None:
    _ended.append(True)
    close_servers()


def _engine() -> Any:
    try:
        return importlib.import_module(ENGINE)
    except ImportError as error:
        missing = error.name == ENGINE
        why = "is not installed" if missing else f"can't be loaded here: {error}"
        raise ConfigError(f"A local model can't be run: {ENGINE} {why}.", do=EXTRA if missing else "") from error


def _parameters(engine: Any, path: Path, name: str, key: str, options: ServerOptions) -> Any:
    parameters = engine.CommonParams()
    parameters.model.path = str(path)
    parameters.model_alias = {name}
    parameters.hostnames = [LOOPBACK]
    parameters.port = 0
    parameters.api_keys = [key]
    parameters.ui = False
    parameters.verbosity = SILENT
    parameters.n_parallel = options.slots
    parameters.n_ctx = options.slots * options.context_tokens
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = options.computing_threads()
    # the same seed gives the same text only where no sample is computed from what another left in a cache
    parameters.kv_unified = False
    parameters.cache_prompt = False
    parameters.cache_ram_mib = 0
    # a file that is mapped can be changed, or cut off, under a running model
    parameters.load_mode = engine.llama_load_mode.LLAMA_LOAD_MODE_NONE
    return parameters


def _is_cancelled() -> bool:
    """True if it is the running task itself that somebody cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _no_proxy_to_ourselves() -> None:
    """What the user's proxy settings are for is the network; a request to this process must not leave it."""
    if not urllib.request.getproxies():
        return
    for variable in ("NO_PROXY", "no_proxy"):
        hosts = [host for host in os.environ.get(variable, "").split(",") if host.strip()]
        if LOOPBACK not in hosts:
            os.environ[variable] = ",".join([*hosts, LOOPBACK])
