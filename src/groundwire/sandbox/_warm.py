"""Our side of a fork server: hands out descriptors, so that many commands can run at once and none sees another."""

from __future__ import annotations

import array
import asyncio
import os
import socket
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from groundwire.core._candidates import NO_MODES, Tree
from groundwire.core._errors import SandboxCrashed
from groundwire.core._sandboxes import ExecResult, HeadStart, Limits, Sandbox, SandboxInfo, WarmSandbox
from groundwire.sandbox._cgroups import CgroupPool
from groundwire.sandbox._conversing import converse
from groundwire.sandbox._environment import require
from groundwire.sandbox._exchange import Channel, content_bytes, make_job
from groundwire.sandbox._process import Process, pipe, writable
from groundwire.sandbox._run_slots import RunSlots
from groundwire.sandbox.guest import wire

DIED = "The fork server died."
AGAIN = "Start another one with `Sandbox.warm`."
PLACES = ("GROUNDWIRE_OUT", "GROUNDWIRE_SUPPORT")
"""Variables of ours that are the same for all commands of a server."""
MOST_BEGUN = 8
"""Programs that one fork server begins before they are asked for; each is a process that waits."""


Rights = list[tuple[int, int, "array.array[int]"]]


class ForkServer:
    """Conforms to `groundwire.core._sandboxes.WarmSandbox`. Made by a sandbox; belongs to its event loop.

    Args:
        process: the sandbox that the server runs in.
        control: our end of the socket over which it takes commands.
        tree: the base tree, which the server holds.
        info: what the server runs in.
        python: the interpreter's path inside.
        environment: makes a command's environment from what is added.
        cgroups: where a command's control group comes from.
        box: the writable folder inside.
        base: where the base tree lies inside.
        nproc: RLIMIT_NPROC for a command; 0: none.
        cold: runs the commands that need a network.
        resources: closed with it, which ends the server.
    """

    def __init__(
        self,
        process: Process,
        control: socket.socket,
        *,
        tree: Tree,
        info: SandboxInfo,
        python: str,
        environment: Callable[[Mapping[str, str] | None], dict[str, str]],
        cgroups: CgroupPool,
        box: str,
        base: str,
        nproc: Callable[[Limits], int],
        cold: WarmSandbox,
        resources: ExitStack,
    ) -> None:
        self._process = process
        self._control = control
        self._tree = tree
        self._tree_bytes = content_bytes(tree.files)
        self._info = info
        self._python = python
        self._environment = environment
        self._cgroups = cgroups
        self._box = box
        self._base = base
        self._nproc = nproc
        self._cold = cold
        self._resources = resources
        self._handing = asyncio.Lock()
        self._begun: dict[object, int] = {}
        self._slots = RunSlots(of="fork server", error=SandboxCrashed, again=AGAIN)

    @property
    def pid(self) -> int:
        """The process, outside, with which everything in it ends."""
        return self._process.pid

    async def run(
        self,
        arguments: Sequence[str],
        changes: Mapping[str, bytes | None],
        limits: Limits,
        *,
        modes: Mapping[str, bool] = NO_MODES,
        env: Mapping[str, str] | None = None,
        collect: Sequence[str] = (),
        stdin: bytes = b"",
        head_start: HeadStart | None = None,
        line: int | None = None,
    ) -> ExecResult:
        """See `groundwire.core._sandboxes.WarmSandbox.run`.

        Args:
            line: our descriptor that becomes the command's line to another box.
        """
        require(limits, self._info)
        if limits.network:
            # the server's namespace has none
            return await self._cold.run(arguments, changes, limits, modes=modes, env=env, collect=collect, stdin=stdin)
        changed = {path: content for path, content in changes.items() if content is not None}
        job = make_job(
            box=self._box,
            arguments=arguments,
            python=self._python,
            tree=Tree(changed, self._tree.executable_with(modes) & changed.keys()),
            deleted=sorted(path for path, content in changes.items() if content is None),
            base=self._base,
            env=self._environment(env),
            stdin=stdin,
            collect=collect,
            limits=limits,
            disk_bytes=limits.disk_bytes + self._tree_bytes + content_bytes(changed),
            nproc=self._nproc(limits),
            watch=not self._cgroups.available,
        )
        async with self._slots.one():
            group = self._cgroups.take(limits.memory_bytes, limits.processes + 1)
            try:
                with pipe() as out, pipe() as err:
                    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
                    with near, far:
                        channel = Channel(near)
                        rights = (far.fileno(), out[1], err[1], *(() if line is None else (line,)))
                        await self._hand_over(job, head_start, *rights)
                        far.close()
                        for ends in (out, err):
                            os.close(ends[1])
                            ends[1] = -1
                        return await converse(channel, job, limits, stdout=out[0], stderr=err[0], group=group)
            except SandboxCrashed as error:
                if self._process.ended:
                    raise SandboxCrashed(DIED, do=AGAIN) from error
                raise
            finally:
                self._cgroups.give_back(group)

    async def _hand_over(self, job: wire.Job, head_start: HeadStart | None, *fds: int) -> None:
        rights = _rights(*fds)
        async with self._handing:
            place = await self._begin(job, head_start) if head_start is not None else -1
            if place < 0:
                await self._send(wire.RUN, rights)
            else:
                await self._send(wire.GO_ON + wire.INDEX.pack(place), rights)

    async def _begin(self, job: wire.Job, head_start: HeadStart) -> int:
        """The number under which the job's program was begun; -1 where no more are."""
        beginning: wire.Beginning = {
            "arguments": job["arguments"],
            "python": job["python"],
            "env": {name: value for name, value in job["env"].items() if name in PLACES or not wire.differs(name)},
            "withheld": list(head_start.withheld),
        }
        key = (*beginning["arguments"], "", *sorted(beginning["env"].items()), "", head_start.withheld)
        if key in self._begun:
            return self._begun[key]
        if len(self._begun) == MOST_BEGUN:
            return -1
        with _in_memory(wire.pack_value(beginning)) as told:
            await self._send(wire.BEGIN, _rights(told))
        self._begun[key] = len(self._begun)
        return self._begun[key]

    async def _send(self, message: bytes, rights: Rights) -> None:
        """Sends a message, which is so short that it goes as a whole, or not at all.

        Raises:
            SandboxCrashed: the server is gone.
        """
        while not self._process.ended:
            try:
                self._control.sendmsg([message], rights)
                return
            except BlockingIOError:
                await writable(self._control)
            except OSError as error:
                raise SandboxCrashed(f"{DIED[:-1]}: {error}.", do=AGAIN) from error
        raise SandboxCrashed(DIED, do=AGAIN)

    async def aclose(self) -> None:
        """Ends the fork server and everything in it: a command that still runs raises `SandboxError`."""
        self._slots.close()
        self._process.kill()
        try:
            await self._slots.left()  # each waits on the server's socket, and sees its end
        finally:
            self._resources.close()


def _rights(*fds: int) -> Rights:
    return [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]


@contextmanager
def _in_memory(content: bytes) -> Generator[int]:
    """A descriptor from which the content can be read."""
    with os.fdopen(os.memfd_create("told"), "wb") as file:
        file.write(content)
        file.seek(0)
        yield file.fileno()


class ColdForks:
    """Stands in for a fork server where there can be none: each command gets a fresh sandbox.

    Conforms to `groundwire.core._sandboxes.WarmSandbox`.

    Args:
        sandbox: what runs the commands.
        tree: the base tree.
        support: laid for each command.
        flags: of the interpreter.
    """

    def __init__(self, sandbox: Sandbox, tree: Tree, support: Mapping[str, bytes], flags: Sequence[str] = ()) -> None:
        self._flags = flags
        self._sandbox = sandbox
        self._tree = tree
        self._support = support

    async def run(
        self,
        arguments: Sequence[str],
        changes: Mapping[str, bytes | None],
        limits: Limits,
        *,
        modes: Mapping[str, bool] = NO_MODES,
        env: Mapping[str, str] | None = None,
        collect: Sequence[str] = (),
        stdin: bytes = b"",
        head_start: HeadStart | None = None,
    ) -> ExecResult:
        """See `groundwire.core._sandboxes.WarmSandbox.run`. Nobody has a head start."""
        tree = self._tree.with_changes(changes, modes)
        command = ["python", *self._flags, *arguments]
        return await self._sandbox.run(
            command, tree, limits, env=env, support=self._support, collect=collect, stdin=stdin
        )

    async def aclose(self) -> None:
        """Nothing of it is left running between commands."""
