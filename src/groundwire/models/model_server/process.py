"""A server in a process of its own: started under a keeper, its output in a log file, ended with all it started."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["ServerProcess", "is_healthy"]

KEEPER = Path(__file__).with_name("keeper.py")
LOOPBACK = "127.0.0.1"
GRACE_S = 10.0
HEALTH_TIMEOUT_S = 5.0


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
