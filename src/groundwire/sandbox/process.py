"""Processes of ours: started without a shell and without our environment, awaited and killed by descriptor."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Collection, Sequence

__all__ = ["Process", "ProcessHandle"]

UNPRIVILEGED = 65534
REAP_S = 10.0


class ProcessHandle:
    """A process by descriptor: its number may be used again, this can't be.

    Args:
        pid: a process that is alive.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._pidfd = os.pidfd_open(pid)

    @property
    def ended(self) -> bool:
        """True if it has ended."""
        return self._pidfd < 0 or bool(self._wait(0))

    def _wait(self, timeout_s: float) -> list[tuple[int, int]]:
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        return poll.poll(timeout_s * 1000)

    def kill(self) -> None:
        """Sends SIGKILL; a process that is gone is no error."""
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def gone(self) -> None:
        """Returns when the process has ended, and with the first of a PID namespace all the others of it."""
        if self._pidfd < 0:
            return
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def ended() -> None:
            loop.remove_reader(self._pidfd)
            if not done.done():
                done.set_result(None)

        loop.add_reader(self._pidfd, ended)
        try:
            await done
        finally:
            loop.remove_reader(self._pidfd)

    def end(self) -> None:
        """Kills it and waits until it is gone; short, since nothing survives SIGKILL for long.

        Waits without the event loop, so that a second cancellation can't leave a process behind.
        """
        if self._pidfd >= 0:
            self.kill()
            self._wait(REAP_S)
            self.close()

    def close(self) -> None:
        """Lets go of the descriptor."""
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1


class Process(ProcessHandle):
    """A child of ours, in a session of its own, with an empty environment.

    Args:
        arguments: program and arguments.
        pass_fds: descriptors it inherits under the same numbers.
        stdout: descriptor of its standard output.
        stderr: descriptor of its standard error.
        uid: the user and group it becomes; None: ours.

    Raises:
        OSError: it can't be started.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        pass_fds: Collection[int] = (),
        stdout: int = subprocess.DEVNULL,
        stderr: int = subprocess.DEVNULL,
        uid: int | None = None,
        cwd: str = "/",
    ) -> None:
        self._child = subprocess.Popen(
            arguments,
            env={},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            pass_fds=tuple(pass_fds),
            start_new_session=True,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
        )
        super().__init__(self._child.pid)

    async def wait(self) -> int:
        """The exit status, once it has ended; negative: the signal that ended it."""
        await self.gone()
        return self._child.wait()

    def end(self) -> None:
        """Kills it and waits until it is reaped."""
        self.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._child.wait(REAP_S)
        self.close()
