"""Runs commands on the host's own file system, in a temporary folder; what confines them is given by the caller."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxCrashed
from groundwire.core._sandboxes import BoxCommand, Enforcement, ExecResult, LimitName, Limits, Pair
from groundwire.sandbox._cgroups import CgroupPool, find_parents
from groundwire.sandbox._conversing import converse
from groundwire.sandbox._environment import make_environment
from groundwire.sandbox._exchange import Channel, content_bytes, make_job
from groundwire.sandbox._folders import WorkFolders
from groundwire.sandbox._guestcode import BOOT, CONFINED_MODULES, LOCAL_MODULES, GuestCode
from groundwire.sandbox._interpreter_view import InterpreterView
from groundwire.sandbox._pairing import run_pair
from groundwire.sandbox._process import UNPRIVILEGED, Process, pipe
from groundwire.sandbox._run_slots import RunSlots
from groundwire.sandbox.guest import wire

Confine: TypeAlias = "Callable[[str, Limits], wire.Confinement]"
"""The box's path and the limits → what the command is confined to."""


class LocalRunner:
    """Starts a keeper for each command, as the caller or as an unprivileged user.

    Args:
        python: the interpreter that runs the project, and our guest.
        confine: says what each command is confined to; None: to nothing.
        unprivileged: the guest and its command run as the user 65534.
        view: shows that user the interpreter where it lies under a private folder.
    """

    def __init__(
        self,
        python: Path,
        *,
        confine: Confine | None = None,
        unprivileged: bool = False,
        view: InterpreterView | None = None,
    ) -> None:
        self._python = python
        self._confine = confine
        self._uid = UNPRIVILEGED if unprivileged else None
        self._view = view
        self._folders = WorkFolders(self._uid)
        self._cgroups = CgroupPool(find_parents())
        self._code = GuestCode()
        self._slots = RunSlots()
        self._running: set[Process] = set()

    def enforcement(self, network: Enforcement) -> dict[LimitName, Enforcement]:
        """How firmly each limit holds here, beside `network`, which is the caller's matter."""
        held, watched = Enforcement.ENFORCED, Enforcement.WATCHED
        counted = held if self._cgroups.available else watched
        return {
            "wall_s": watched,
            "cpu_s": held,
            "memory_bytes": counted,
            "processes": counted,
            "open_files": held,
            "file_bytes": held,
            "disk_bytes": watched,
            "output_bytes": held,
            "network": network,
            "allow_list": Enforcement.UNAVAILABLE,
        }

    async def run(
        self,
        command: Sequence[str],
        tree: Tree,
        limits: Limits,
        *,
        env: Mapping[str, str] | None,
        support: Mapping[str, bytes],
        collect: Sequence[str],
        stdin: bytes,
    ) -> ExecResult:
        """See `groundwire.core._sandboxes.Sandbox.run`. The work folder is a temporary one, removed afterwards."""
        async with self._slots.one():
            return await self._run(BoxCommand(command, tree, env or {}, support, collect, stdin), limits)

    async def run_pair(self, asking: BoxCommand, answering: BoxCommand, limits: Limits) -> Pair:
        """See `groundwire.core._sandboxes.PairingSandbox.run_pair`. Their folders lie beside each other."""
        async with self._slots.one():
            return await run_pair(self._run, asking, answering, limits)

    async def _run(self, command: BoxCommand, limits: Limits, line: int | None = None) -> ExecResult:
        self._slots.check()  # one of a pair begins a moment after its slot was taken
        group = self._cgroups.take(limits.memory_bytes, limits.processes + 1)
        try:
            with self._folders.box(command.support) as box:
                job = make_job(
                    box=box,
                    arguments=command.arguments,
                    python=str(self._python),
                    tree=command.tree,
                    env=make_environment(
                        str(self._python.parent),
                        temporary=f"{box}/tmp",
                        out=f"{box}/out",
                        support=f"{box}/support" if command.support else "",
                        extra=command.env,
                    ),
                    stdin=command.stdin,
                    collect=command.collect,
                    limits=limits,
                    disk_bytes=0,
                    watch_disk_bytes=limits.disk_bytes
                    + content_bytes(command.tree.files)
                    + content_bytes(command.support),
                    # it would count all of that user's processes
                    nproc=0,
                    watch=group is None,
                    line=line is not None,
                )
                with self._guest(subprocess.DEVNULL if line is None else line) as (channel, stdout, stderr):
                    await self._introduce(channel, box, limits)
                    return await converse(channel, job, limits, stdout=stdout, stderr=stderr, group=group, adopts=True)
        finally:
            self._cgroups.give_back(group)

    async def _introduce(self, channel: Channel, box: str, limits: Limits) -> None:
        if self._confine is None:
            await channel.send_packed(self._code.image(LOCAL_MODULES))
            await channel.send("local")
        else:
            await channel.send_packed(self._code.image(CONFINED_MODULES))
            await channel.send("confined")
            await channel.send(self._confine(box, limits))

    @contextmanager
    def _guest(self, line: int) -> Generator[tuple[Channel, int, int]]:
        with ExitStack() as stack:
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            stack.enter_context(near)
            stack.enter_context(far)
            out, err = stack.enter_context(pipe()), stack.enter_context(pipe())
            fd = str(far.fileno())
            prefix = self._view.prefix(UNPRIVILEGED) if self._view else []
            try:
                process = Process(
                    [*prefix, str(self._python), "-I", "-S", "-B", "-c", BOOT, fd, fd],
                    pass_fds=[far.fileno()],
                    stdin=line,
                    stdout=out[1],
                    stderr=err[1],
                    uid=None if self._view else self._uid,
                    adopts=True,
                )
            except OSError as error:
                raise SandboxCrashed(f"{self._python} can't be started: {error}.") from error
            self._running.add(process)
            try:
                far.close()
                for ends in (out, err):
                    os.close(ends[1])
                    ends[1] = -1
                yield Channel(near), out[0], err[0]
            finally:
                process.end()
                self._running.discard(process)

    async def aclose(self) -> None:
        """Ends everything it started: a command that still runs raises `SandboxError` where it is awaited."""
        self._slots.close()
        for process in tuple(self._running):
            process.kill()
        await self._slots.left()
        if self._view:
            self._view.close()
        self._folders.close()
        self._cgroups.close()
