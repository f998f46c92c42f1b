"""A server in a process of its own, and what keeps it up: waits until it is healthy, starts it again, gives up."""

from __future__ import annotations

import asyncio
import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from groundwire.core._errors import ConfigError, ModelError, ModelRejected
from groundwire.core._prompt_text import plain

# A server in a process of its own: started under a keeper, its output in a log file, ended with all it started.

KEEPER = Path(__file__).with_name("keeper.py")
LOOPBACK = "127.0.0.1"
GRACE_S = 10.0
HEALTH_TIMEOUT_S = 5.0

ResultT = TypeVar("ResultT")


async def in_thread(work: Callable[[], ResultT], model: str) -> ResultT:
    """What `work` gives, done in a thread.

    Args:
        work: blocks: it asks a server how it is, or starts one.
        model: whose server it is, for the error.

    Raises:
        ModelRejected: the program is ending, and begins no thread any more.
        Exception: whatever `work` raises.
    """
    begun = False

    def noted() -> ResultT:
        nonlocal begun
        begun = True
        return work()

    try:
        return await asyncio.to_thread(noted)
    except RuntimeError:
        if begun:
            raise
        raise ModelRejected(f"The program ends; {model} is not asked any more.") from None


class ServerProcess:
    """A running server. Whatever becomes of this process, its server and all its children end with it.

    Args:
        command: the program and its arguments.
        port: where it will listen, on loopback.
        log: file that its output is added to.
        environment: what is set beside our own environment.
        grace_s: seconds between being asked to end and being killed.

    Raises:
        OSError: the log can't be written.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        port: int,
        log: Path,
        environment: Mapping[str, str] | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self.port = port
        self._grace_s = grace_s
        self._closing = threading.Lock()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            self.log_start = os.fstat(descriptor).st_size
            """Where this server's own output begins in the log, in bytes."""
            self._keeper = subprocess.Popen(
                [sys.executable, "-I", str(KEEPER), str(grace_s), *command],
                stdin=subprocess.PIPE,
                stdout=descriptor,
                stderr=descriptor,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        finally:
            os.close(descriptor)

    @property
    def pid(self) -> int:
        """Of the keeper."""
        return self._keeper.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs; 128 + the signal's number where one ended it."""
        return self._keeper.poll()

    def is_healthy(self) -> bool:
        """True if it runs and its health check answers well in time."""
        return self.exit_status is None and is_healthy(self.port)

    def close(self) -> None:
        """Ends it and all that it started; returns when they are gone."""
        with self._closing:
            if self._keeper.stdin is not None:
                with suppress(OSError):
                    self._keeper.stdin.close()
            try:
                self._keeper.wait(self._grace_s + GRACE_S)
            except subprocess.TimeoutExpired:
                self._keeper.kill()  # the kernel kills the server then
                self._keeper.wait()


def is_healthy(port: int, *, timeout_s: float = HEALTH_TIMEOUT_S) -> bool:
    """True if what listens there on loopback answers `GET /health` with 200."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=timeout_s)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


POLL_S = 0.05
TAIL_BYTES = 8_000
TAIL_SHOWN = 800
PORTS_TRIED = 3
PORT_TAKEN = "address already in use"


@dataclass(frozen=True)
class Restarts:
    """How often a server that died is started again.

    Args:
        most: starts after the first, within `window_s`.
        window_s: seconds; deaths before that are forgotten.
        backoff_s: seconds before the first new start; doubled before each further one.
        max_wait_s: seconds; the longest such wait.
    """

    most: int = 3
    window_s: float = 900.0
    backoff_s: float = 1.0
    max_wait_s: float = 30.0

    def wait_s(self, died: int) -> float:
        """Seconds to wait before the start that follows `died` deaths."""
        return min(self.max_wait_s, self.backoff_s * 2 ** (died - 1)) if died else 0.0


@dataclass(frozen=True)
class Running:
    """A server that was healthy when it was handed out.

    Args:
        process: the server.
        url: its address, without a path.
    """

    process: ServerProcess = field(compare=False)
    url: str


Explain = Callable[[str, Path, str], ModelError]
"""From what happened, the log and its tail to the error that says why a server did not start."""


class Supervisor:
    """One server, at most one process of it at a time. Its methods block: call them in threads.

    Args:
        name: how the user names the model.
        command: from a port to the program and its arguments.
        log: file for the server's output.
        environment: what is set beside our own environment.
        start_timeout_s: seconds until it must be healthy.
        restarts: how often it is started again.
        explain: says why a start failed; None: in general words.
        grace_s: seconds between being asked to end and being killed.
    """

    def __init__(
        self,
        name: str,
        command: Callable[[int], Sequence[str]],
        *,
        log: Path,
        environment: Mapping[str, str] | None = None,
        start_timeout_s: float = 600.0,
        restarts: Restarts | None = None,
        explain: Explain | None = None,
        grace_s: float = GRACE_S,
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._environment = dict(environment or {})
        self._start_timeout_s = start_timeout_s
        self._restarts = restarts or Restarts()
        self._explain = explain or self._in_general
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._running: Running | None = None
        self._deaths: list[float] = []
        self._closed = threading.Event()

    def running(self, *, dead: Running | None = None) -> Running:
        """The server; started where there is none.

        Args:
            dead: one that did not answer; where it is still the current one it is ended and another is started.

        Raises:
            ModelError: it did not start, or died too often.
            ConfigError: its log can't be written.
        """
        with self._lock:
            current = self._running
            if current is not None and (current is dead or current.process.exit_status is not None):
                current.process.close()
                self._running = current = None
                self._deaths.append(time.monotonic())
            if current is None:
                current = self._running = self._started()
            return current

    def close(self) -> None:
        """Ends the server and all that it started. It is not started again."""
        self._closed.set()
        with self._lock:
            running, self._running = self._running, None
            if running is not None:
                running.process.close()

    def _started(self) -> Running:
        now = time.monotonic()
        self._deaths = [at for at in self._deaths if now - at < self._restarts.window_s]
        if len(self._deaths) > self._restarts.most:
            raise ModelRejected(
                f"The server of {self.name} died {len(self._deaths)} times; it is not started again."
                f" {self._tail(None)}",
                do=f"See its log: {self.log}",
            )
        self._closed.wait(self._restarts.wait_s(len(self._deaths)))
        for tries_left in reversed(range(PORTS_TRIED)):
            process = self._begin()
            try:
                trouble = self._trouble_until_healthy(process)
            except BaseException:
                process.close()
                raise
            if not trouble:
                return Running(process, f"http://{LOOPBACK}:{process.port}")
            process.close()
            tail = self._tail(process)
            # somebody took the port between our looking for it and the server's listening
            if not (tries_left and PORT_TAKEN in tail.lower()):
                raise self._explain(trouble, self.log, tail)
        raise AssertionError("the last try always ends")

    def _begin(self) -> ServerProcess:
        port = _free_port()
        try:
            return ServerProcess(
                self._command(port),
                port=port,
                log=self.log,
                environment=self._environment,
                grace_s=self._grace_s,
            )
        except OSError as error:
            raise ConfigError(
                f"The server of {self.name} can't be started: {error}", do="Check that its log's folder can be written."
            ) from error

    def _trouble_until_healthy(self, process: ServerProcess) -> str:
        """Why it never became healthy; empty where it did."""
        give_up = time.monotonic() + self._start_timeout_s
        while not process.is_healthy():
            if self._closed.is_set():
                return "it was closed while it started"
            if (status := process.exit_status) is not None:
                return f"it ended with status {status}"
            if time.monotonic() > give_up:
                return f"it was not healthy within {self._start_timeout_s:g} s"
            self._closed.wait(POLL_S)
        return ""

    def _tail(self, process: ServerProcess | None) -> str:
        """The end of what the server has said; of this process only, if one is given."""
        try:
            with self.log.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(max(size - TAIL_BYTES, process.log_start if process else 0))
                return plain(file.read().decode(errors="replace")[-TAIL_SHOWN:], TAIL_SHOWN)
        except OSError:
            return ""

    def _in_general(self, trouble: str, log: Path, tail: str) -> ModelError:
        return ModelRejected(f"The server of {self.name} did not start: {trouble}. {tail}", do=f"See its log: {log}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
