"""Processes of ours and all that they start: awaited and killed by descriptor, with pipes that are closed again."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from groundwire.sandbox.guest import watch


def kill_where(pid: int, is_meant: Callable[[], bool]) -> bool:
    """Kills a process if it is found to be the one that is meant.

    By a descriptor that is opened before anybody looks: a number that was found may be somebody else's a moment later.

    Returns:
        True if it was meant, also where it has ended by itself.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if not is_meant():
            return False
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        return True
    finally:
        os.close(descriptor)


# Ends all that a process has started, from outside, where no PID namespace does it.
#
# For a process to which its descendants fall when they lose their parent (a subreaper). It is stopped first: it stays
# there to be fallen to, and can start nothing. Then whoever lives below it is killed until nobody does.
#
# Why one more look than the first that finds nobody: while one list of processes is read, a process may fork and end.
# It then lies dead below the stopped one, which reaps nobody. So nobody is left once a whole look finds no living
# process and no dead one that the look before did not find.
#
# Whole process groups are killed, which is one act: no fork gets away from it. A family whose members each make a
# group of their own and end at once can outrun this; a control group or a Landlock domain, where there is one, can't
# be outrun.

GIVE_UP_S = 10.0
STOPPED = (b"T", b"t")
PAUSE_S = 0.001


def end_descendants(pid: int) -> None:
    """Stops `pid` and ends everything below it; `pid` itself is left stopped.

    Args:
        pid: a subreaper that is not reaped before this returns.
    """
    give_up = time.monotonic() + GIVE_UP_S
    own_group = _member(pid).group
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    while _state(watch.stat(pid)) not in (*STOPPED, *watch.GONE) and time.monotonic() < give_up:
        time.sleep(PAUSE_S)
    dead_before: dict[int, Member] | None = None
    while time.monotonic() < give_up:
        living, dead = _below(pid)
        if not living and dead == dead_before:
            return
        dead_before = dead
        ended = {0, 1, own_group}
        for number, member in (*living.items(), *dead.items()):
            # a group of theirs keeps its number for as long as one of them lives or lies dead in it
            if member.group not in ended and _member(number) == member:
                ended.add(member.group)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(member.group, signal.SIGKILL)
        for number, member in living.items():
            kill_where(number, partial(_is_still, number, member))
        if living:
            time.sleep(PAUSE_S)


class Member(NamedTuple):
    """What tells a process from a later one of its number, and its process group; zeros: there is none."""

    group: int
    started: int


def _member(pid: int) -> Member:
    return _of(watch.stat(pid))


def _of(fields: list[bytes]) -> Member:
    return Member(int(fields[2]), int(fields[watch.STARTED])) if fields else Member(0, 0)


def _is_still(pid: int, member: Member) -> bool:
    return _member(pid).started == member.started


def _below(root: int) -> tuple[dict[int, Member], dict[int, Member]]:
    """Who lives below `root`, and who lies dead there."""
    children: dict[int, list[int]] = {}
    members: dict[int, Member] = {}
    dead: set[int] = set()
    for pid in watch.all_processes():
        if fields := watch.stat(pid):
            children.setdefault(int(fields[1]), []).append(pid)
            members[pid] = _of(fields)
            if fields[0] in watch.GONE:
                dead.add(pid)
    below: set[int] = set()
    pending = [root]
    while pending:
        found = children.get(pending.pop(), [])
        below.update(found)
        pending += found
    return {pid: members[pid] for pid in below - dead}, {pid: members[pid] for pid in below & dead}


def _state(fields: list[bytes]) -> bytes:
    return fields[0] if fields else b"X"


# Processes of ours: started without a shell and without our environment, awaited and killed by descriptor.

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
        self._going: asyncio.Future[None] | None = None

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
        """Returns when the process has ended, and with the first of a PID namespace all the others of it.

        Several may wait; the end of the handle itself, which lets go of the descriptor, wakes them too.
        """
        if self._pidfd < 0:
            return
        if self._going is None:
            loop = asyncio.get_running_loop()
            self._going = loop.create_future()
            loop.add_reader(self._pidfd, self._wake)
        await asyncio.shield(self._going)

    def _wake(self) -> None:
        if self._going is not None and not self._going.done() and not self._going.get_loop().is_closed():
            self._going.get_loop().remove_reader(self._pidfd)
            self._going.set_result(None)

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
            self._wake()
            os.close(self._pidfd)
            self._pidfd = -1


class Process(ProcessHandle):
    """A child of ours, in a session of its own, with an empty environment.

    Args:
        arguments: program and arguments.
        pass_fds: descriptors it inherits under the same numbers.
        stdin: descriptor of its standard input.
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
        stdin: int = subprocess.DEVNULL,
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
            stdin=stdin,
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


# Pipes that are closed again, and sockets that are waited for.


async def readable(near: socket.socket) -> None:
    """Waits until a socket has something to read."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(near, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(near)


async def writable(near: socket.socket) -> None:
    """Waits until a socket takes more."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_writer(near, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_writer(near)


@contextmanager
def pipe() -> Generator[list[int]]:
    """A pipe as `[reading end, writing end]`; what is still open is closed afterwards. -1 marks an end as closed."""
    ends = list(os.pipe2(os.O_CLOEXEC))
    try:
        yield ends
    finally:
        for fd in ends:
            if fd >= 0:
                os.close(fd)
