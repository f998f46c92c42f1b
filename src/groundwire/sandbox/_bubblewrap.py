"""The default sandbox: namespaces made by bubblewrap, no daemon, no privileges."""

from __future__ import annotations

import asyncio
import platform
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

from groundwire.core._candidates import Tree, check_path
from groundwire.core._errors import SandboxCrashed, SandboxUnavailable
from groundwire.core._sandboxes import (
    BoxCommand,
    Enforcement,
    ExecResult,
    LimitName,
    Limits,
    Pair,
    SandboxInfo,
    WarmSandbox,
)
from groundwire.sandbox._bwrap_arguments import BASE, BOX, NO_LINKS, SHARED_MEMORY_BYTES, SUPPORT
from groundwire.sandbox._bwrap_launch import CURE, START_S, Guest, Launcher, find_bwrap
from groundwire.sandbox._capture import Overheard
from groundwire.sandbox._cgroups import Cgroup, CgroupPool, find_parents
from groundwire.sandbox._conversing import converse
from groundwire.sandbox._environment import make_environment, prove, require
from groundwire.sandbox._exchange import content_bytes, make_job
from groundwire.sandbox._guestcode import COLD_MODULES, LISTED_MODULES, WARM_MODULES
from groundwire.sandbox._interpreter import inspect_interpreter
from groundwire.sandbox._pairing import run_pair
from groundwire.sandbox._run_slots import RunSlots
from groundwire.sandbox._seccomp import compile_filter, is_supported
from groundwire.sandbox._warm import ColdForks, ForkServer
from groundwire.sandbox.guest import wire

KIND = "bubblewrap"
PROBE_S = 30.0
PRELOAD_S = 120.0
REAP_S = 1.0
SERVER_DISK_BYTES = 16 << 20
PER_NAMESPACE_COUNT = (5, 14)  # RLIMIT_NPROC counts per user namespace since this Linux


class Bubblewrap:
    """Runs each command in fresh namespaces: conforms to `groundwire.core._sandboxes.Sandbox`.

    Belongs to one event loop. Open it with `Bubblewrap.open`.
    """

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._cgroups = CgroupPool(find_parents())
        self._seccomp = compile_filter()
        self._slots = RunSlots()
        self._servers: set[ForkServer] = set()
        self._info = SandboxInfo(kind=KIND, version=launcher.version, enforcement=self._enforcement())

    @classmethod
    async def open(cls, python: Path, *, links: Mapping[str, str] = NO_LINKS) -> Bubblewrap:
        """Opens and probes it by running a program in it.

        Args:
            python: the interpreter that runs the project.
            links: see `groundwire.sandbox._bwrap_arguments.bwrap_arguments`.

        Raises:
            SandboxUnavailable: it does not work here; says why and what to do.
        """
        if not is_supported():
            raise SandboxUnavailable(
                f"No system call filter is known for {platform.machine()}; x86_64 and aarch64 have one.",
                do="Name another sandbox: docker.",
            )
        interpreter = inspect_interpreter(python)
        interpreter.refuse_private_folders()
        sandbox = cls(Launcher(find_bwrap(), interpreter, links))
        try:
            await sandbox._compile()
        except BaseException:
            await sandbox.aclose()
            raise
        await prove(sandbox, KIND, f"Check that every user may read the interpreter. {CURE}")
        return sandbox

    @property
    def info(self) -> SandboxInfo:
        """What commands really run in, probed."""
        return self._info

    @property
    def python(self) -> Path:
        """The interpreter, at the same path inside and outside."""
        return self._launcher.interpreter.executable

    async def run(
        self,
        command: Sequence[str],
        tree: Tree,
        limits: Limits,
        *,
        env: Mapping[str, str] | None = None,
        support: Mapping[str, bytes] | None = None,
        collect: Sequence[str] = (),
        stdin: bytes = b"",
    ) -> ExecResult:
        """See `groundwire.core._sandboxes.Sandbox.run`."""
        require(limits, self._info)
        async with self._slots.one():
            return await self._run(BoxCommand(command, tree, env or {}, support or {}, collect, stdin), limits)

    async def run_pair(self, asking: BoxCommand, answering: BoxCommand, limits: Limits) -> Pair:
        """See `groundwire.core._sandboxes.PairingSandbox.run_pair`."""
        require(limits, self._info)
        async with self._slots.one():
            return await run_pair(self._run, asking, answering, limits)

    async def _run(self, command: BoxCommand, limits: Limits, line: int | None = None) -> ExecResult:
        self._slots.check()  # one of a pair begins a moment after its slot was taken
        job = make_job(
            box=BOX,
            arguments=command.arguments,
            python=str(self.python),
            tree=command.tree,
            env=self._environment(command.env, command.support),
            stdin=command.stdin,
            collect=command.collect,
            limits=limits,
            disk_bytes=limits.disk_bytes + content_bytes(command.tree.files),
            nproc=self._nproc(limits),
            watch=not self._cgroups.available,
            line=line is not None,
        )
        group = self._cgroups.take(limits.memory_bytes, limits.processes + 1)
        try:
            with self._launcher.guest(
                disk_bytes=job["disk_bytes"],
                seccomp=self._seccomp,
                network=limits.network,
                support=command.support,
                line=subprocess.DEVNULL if line is None else line,
            ) as guest:
                result = await self._hold(guest, job, limits, group)
                # left to itself bubblewrap reaps the keeper, which would go on counting against the group
                with suppress(TimeoutError):
                    async with asyncio.timeout(REAP_S):
                        await guest.process.gone()
                return result
        finally:
            self._cgroups.give_back(group)

    async def _hold(self, guest: Guest, job: wire.Job, limits: Limits, group: Cgroup | None) -> ExecResult:
        """Runs one job in a fresh guest, with a way out to what is on its allow list, if it has one."""
        if isinstance(limits.network, bool):
            await guest.channel.send_packed(self._launcher.code.image(COLD_MODULES))
            await guest.channel.send("once")
            return await converse(guest.channel, job, limits, stdout=guest.stdout, stderr=guest.stderr, group=group)
        from groundwire.sandbox._proxy import AllowListProxy, proxy_environment  # here: few may reach the network

        job["env"].update(proxy_environment(limits.network))
        await guest.channel.send_packed(self._launcher.code.image(LISTED_MODULES))
        await guest.channel.send("listed")
        async with AllowListProxy(limits.network) as proxy:
            result = await converse(
                guest.channel, job, limits, stdout=guest.stdout, stderr=guest.stderr, group=group, proxy=proxy
            )
        return replace(result, refused=proxy.refusals.named, refused_count=proxy.refusals.count)

    async def warm(
        self,
        tree: Tree,
        *,
        preload: Sequence[str] = (),
        support: Mapping[str, bytes] | None = None,
        flags: Sequence[str] = (),
    ) -> WarmSandbox:
        """See `groundwire.core._sandboxes.Sandbox.warm`.

        Only installed modules are preloaded: the tree's own are what candidates change. A command for which a fork
        would not do what a fresh interpreter does (its tree shadows a preloaded module, say) gets a fresh one. Where
        the sandbox may make no namespaces of its own, every command gets a fresh sandbox: slower, and as clean.
        """
        server = await self._start_server(tree, preload, support or {}, flags)
        if server is None:
            return ColdForks(self, tree, support or {}, flags)
        try:
            # proven by doing: what a command needs may be refused where what the server needs is not
            await server.run(["-c", ""], {}, Limits(wall_s=PROBE_S))
        except (SandboxCrashed, asyncio.CancelledError) as error:
            await server.aclose()
            if isinstance(error, SandboxCrashed):
                return ColdForks(self, tree, support or {}, flags)
            raise
        self._servers.add(server)
        return server

    async def _start_server(
        self, tree: Tree, preload: Sequence[str], support: Mapping[str, bytes], flags: Sequence[str]
    ) -> ForkServer | None:
        """A fork server; None where the sandbox may make no namespaces of its own."""
        self._slots.check()
        for path in tree.files:
            check_path(path)
        setup: wire.Setup = {
            "box": BOX,
            "base": BASE,
            "files": dict(tree.files),
            "executable": sorted(tree.executable),
            "preload": list(preload),
            "env": self._environment(None, support),
            "seccomp": self._seccomp,
            "shared_memory_bytes": SHARED_MEMORY_BYTES,
            "base_bytes": content_bytes(tree.files),
            "flags": list(flags),
            "own_count": _counts_per_namespace(),
        }
        with ExitStack() as stack:
            # no filter yet: the server makes namespaces; each command loads it before it runs anything
            guest = stack.enter_context(
                self._launcher.guest(
                    disk_bytes=SERVER_DISK_BYTES,
                    seccomp=b"",
                    network=False,
                    support=support,
                    warm=True,
                    flags=flags,
                )
            )
            if not await self._ready(guest, setup):
                return None
            return ForkServer(
                guest.process,
                guest.near,
                tree=tree,
                info=self._info,
                python=str(self.python),
                environment=lambda extra: self._environment(extra, support),
                cgroups=self._cgroups,
                box=BOX,
                base=BASE,
                nproc=self._nproc,
                cold=ColdForks(self, tree, support, flags),
                resources=stack.pop_all(),
            )

    async def _ready(self, guest: Guest, setup: wire.Setup) -> bool:
        """Waits until a fork server takes commands; False if it may make no namespaces."""
        async with Overheard(guest.stderr) as overheard:
            try:
                async with asyncio.timeout(START_S + PRELOAD_S):
                    await guest.channel.send_packed(self._launcher.code.image(WARM_MODULES))
                    await guest.channel.send("serve")
                    await guest.channel.send(setup)
                    frame = await guest.channel.frame()
            except TimeoutError:
                raise SandboxCrashed(f"The fork server did not start within {START_S + PRELOAD_S:.0f} s.") from None
            except SandboxCrashed as error:
                said = await overheard.text() or error.what
                raise SandboxCrashed(f"The fork server did not start: {said}") from error
            if frame is None or frame[0] not in (wire.READY, wire.UNNESTED):
                raise SandboxCrashed(f"The fork server did not start: {await overheard.text() or 'it just ended'}.")
            return frame[0] == wire.READY

    def _environment(self, env: Mapping[str, str] | None, support: Mapping[str, bytes] | None) -> dict[str, str]:
        return make_environment(
            str(self._launcher.interpreter.bin_folder),
            temporary=f"{BOX}/tmp",
            out=f"{BOX}/out",
            support=SUPPORT if support else "",
            extra=env,
        )

    async def _compile(self) -> None:
        try:
            await self._launcher.compile(self._seccomp)
        except SandboxCrashed as error:
            raise SandboxUnavailable(f"bubblewrap does not work here: {error.what}", do=CURE) from error

    def _nproc(self, limits: Limits) -> int:
        """RLIMIT_NPROC for a command; 0 where it would count processes of others."""
        if not _counts_per_namespace():
            return 0
        # the keeper is counted too; where a control group counts, which says so, it comes first
        return limits.processes + (16 if self._cgroups.available else 1)

    def _enforcement(self) -> dict[LimitName, Enforcement]:
        counted = self._cgroups.available
        held, watched = Enforcement.ENFORCED, Enforcement.WATCHED
        return {
            "wall_s": watched,
            "cpu_s": held,
            "memory_bytes": held if counted else watched,
            "processes": held if counted or _counts_per_namespace() else watched,
            "open_files": held,
            "file_bytes": held,
            "disk_bytes": held,
            "output_bytes": held,
            "network": held,
            "allow_list": held,
        }

    async def aclose(self) -> None:
        """Ends everything it started: a command that still runs raises `SandboxError` where it is awaited."""
        self._slots.close()
        for server in tuple(self._servers):
            await server.aclose()
        self._servers.clear()
        await self._launcher.aclose()
        await self._slots.left()
        self._cgroups.close()


def _counts_per_namespace() -> bool:
    try:
        major, minor, *_ = platform.release().split(".")
        return (int(major), int(minor)) >= PER_NAMESPACE_COUNT
    except ValueError:
        return False
