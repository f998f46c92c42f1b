"""llama.cpp's OpenAI-compatible server in a process of its own: started at first use, one a model file."""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import secrets
import sys
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from groundwire.core._errors import ConfigError, ModelError, ModelRejected
from groundwire.models.local_model.serve import KEY_VARIABLE
from groundwire.models.model_server import Supervisor
from groundwire.models.model_server._supervisor import LOOPBACK
from groundwire.models.vllm_engine._loading import log_folder

ENGINE = "xllamacpp"
EXTRA = 'pip install "groundwire[local]"'
MAX_THREADS = 8
START_TIMEOUT_S = 300.0
"""A large file on a slow disk."""
GRACE_S = 2.0
SERVE = Path(__file__).with_name("serve.py")


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


class LlamaServer:
    """One server with one model. Use `server_for`.

    Args:
        path: a GGUF file.
        name: how the server names the model in its answers.
        options: how it is served.

    Raises:
        ConfigError: the engine is not installed, or its log can't be written.
        ModelRejected: the engine can't load the model.
    """

    def __init__(self, path: Path, name: str, options: ServerOptions) -> None:
        if not engine_is_installed():
            raise ConfigError(f"A local model can't be run: {ENGINE} is not installed.", do=EXTRA)
        self.key = secrets.token_urlsafe(32)
        """The key that it asks for."""
        self._path = path

        def command(port: int) -> list[str]:
            settings = {
                "path": str(path),
                "name": name,
                "host": LOOPBACK,
                "port": port,
                "slots": options.slots,
                "context_tokens": options.context_tokens,
                "threads": options.computing_threads(),
            }
            return [sys.executable, "-P", str(SERVE), json.dumps(settings)]

        self._log = log_folder() / f"local-{os.getpid()}-{secrets.token_hex(4)}.log"
        self._supervisor = Supervisor(
            f"local:{path}",
            command,
            log=self._log,
            environment={KEY_VARIABLE: self.key},
            start_timeout_s=START_TIMEOUT_S,
            explain=self._explained,
            grace_s=GRACE_S,
        )
        try:
            self._running = self._supervisor.running()
        except BaseException:
            self.close()
            raise
        self.url = self._running.url
        """Its address, on loopback."""

    def is_alive(self) -> bool:
        """True if it answers."""
        return self._running.process.is_healthy()

    def close(self) -> None:
        """Ends the server, whatever it is at work on, and frees its memory."""
        self._supervisor.close()
        self._log.unlink(missing_ok=True)

    def _explained(self, trouble: str, _log: Path, tail: str) -> ModelError:
        return ModelRejected(
            f"llama.cpp can't load {self._path}, or has no memory or port for it: {trouble}. {tail}".rstrip(),
            do="Check that it is a whole GGUF file of a kind that this llama.cpp knows, and that memory is free.",
        )


_servers: dict[tuple[int, Path, str, ServerOptions], LlamaServer] = {}
"""By process too: a forked child has its parent's dictionary, and may end none of its parent's servers."""
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
        known = (os.getpid(), path.resolve(), name, options)
        if dead is not None and _servers.get(known) is dead:
            _servers.pop(known).close()
        if known not in _servers:
            _servers[known] = LlamaServer(path, name, options)
        return _servers[known]


def close_servers() -> None:
    """Ends every server of this process; the next call starts a new one."""
    with _lock:
        for known in [known for known in _servers if known[0] == os.getpid()]:
            _servers.pop(known).close()


@cache
def _close_in_the_end() -> None:
    atexit.register(_end)


def _end() -> None:
    _ended.append(True)
    close_servers()


def engine_is_installed() -> bool:
    """True if the engine can be imported; it is not imported for that."""
    return importlib.util.find_spec(ENGINE) is not None
