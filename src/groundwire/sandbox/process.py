"""Processes of ours: started without a shell and without our environment, awaited and killed by descriptor."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Collection, Sequence

from groundwire.sandbox.descendants import end_descendants

__all__ = ["Process", "ProcessHandle"]

UNPRIVILEGED = 65534
REAP_S = 10.0
DISMISS_S = 2.0


class ProcessHandle:
    """A process by descriptor: its number may be used again, this can't be.

    Args:
        pid: a process that is alive.
        adopts: what it started falls to it, and would outlive it: it is a keeper with no PID namespace of its own. It
            is only ever killed after all of that.
    """

    def __init__(self, pid: int, *, adopts: bool = False) -> None:
        self.pid = pid
        self._adopts = adopts
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
        if self._adopts:
            self.end_below()
        self._send(signal.SIGKILL)

    def end_below(self) -> None:
        """Stops it for good and ends all that lives below it."""
        if not self.ended:
            end_descendants(self.pid)

    def dismiss(self) -> None:
        """Wakes a keeper whose listener has hung up, so that it ends all it started, and waits for it a little.

        The keeper does it best, since it also reaps; one that does not come to it is killed by `end`.
        """
        if self._adopts and not self.ended:
            self._send(signal.SIGCHLD)
            self._wait(DISMISS_S)

    def _send(self, number: int) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

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
        adopts: see `ProcessHandle`.

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
        adopts: bool = False,
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
        super().__init__(self._child.pid, adopts=adopts)

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
