"""A plain subprocess: no isolation at all. Only for code one trusts, and only when named."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import shutil
import signal
import socket
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from groundwire.errors import SandboxCrashed, SandboxUnavailable
from groundwire.limits import Enforcement, ExecResult, Limits, SandboxInfo
from groundwire.sandbox.cgroups import CgroupPool, find_parents
from groundwire.sandbox.conversing import converse
from groundwire.sandbox.environment import make_environment
from groundwire.sandbox.exchange import Channel, make_job, pipe
from groundwire.sandbox.guestcode import BOOT, LOCAL_MODULES, GuestCode
from groundwire.sandbox.interpreter import inspect_interpreter
from groundwire.sandbox.process import Process
from groundwire.sandbox.requirements import require
from groundwire.sandboxes import WarmSandbox
from groundwire.trees import Tree, check_path

__all__ = ["Subprocess"]

KIND = "subprocess"
PROBE_S = 30.0
CURE = "Use another sandbox."
MAX_ENVIRON = 1 << 17


class Subprocess:
    """Runs commands as the caller, in a temporary folder: conforms to `groundwire.sandboxes.Sandbox`.

    The command can read and change what the caller can. Limits, a clean environment and the end of the whole process
    tree are there; a process that first kills our keeper and then clears its own environment can get away.
    """

    def __init__(self, python: Path) -> None:
        self._python = python
        self._cgroups = CgroupPool(find_parents())
        self._code = GuestCode()
        self._slots = asyncio.Semaphore(max(2, os.cpu_count() or 1))
        self._running: set[Process] = set()
        counted = Enforcement.ENFORCED if self._cgroups.available else Enforcement.WATCHED
        held, none = Enforcement.ENFORCED, Enforcement.UNAVAILABLE
        self._info = SandboxInfo(
            kind=KIND,
            version=platform.release(),
            enforcement={
                "wall_s": Enforcement.WATCHED,
                "cpu_s": held,
                "memory_bytes": counted,
                "processes": counted,
                "open_files": held,
                "file_bytes": held,
                "disk_bytes": none,
                "output_bytes": held,
                "network": none,
            },
            isolated=False,
        )

    @classmethod
    async def open(cls, python: Path) -> Subprocess:
        """Opens and probes it by running a program in it.

        Raises:
            SandboxUnavailable: it does not work here.
        """
        sandbox = cls(inspect_interpreter(python).executable)
        try:
            result = await sandbox.run(["python", "-c", "print(1)"], Tree(), Limits(wall_s=PROBE_S))
        except SandboxCrashed as error:
            raise SandboxUnavailable(f"A subprocess does not work here: {error.what}", do=CURE) from error
        if result.exit_code != 0 or result.stdout != b"1\n":
            said = result.stderr.decode(errors="replace").strip()[-500:]
            raise SandboxUnavailable(f"{python} does not run: exit code {result.exit_code}, {said}.", do=CURE)
        return sandbox

    @property
    def info(self) -> SandboxInfo:
        """What commands really run in: nothing that isolates."""
        return self._info

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self._python

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
        """See `groundwire.sandboxes.Sandbox.run`. The work folder is a temporary one, removed afterwards."""
        require(limits, self._info)
        async with self._slots:
            group = self._cgroups.take(limits.memory_bytes, limits.processes + 1)
            try:
                with _box(support or {}) as box:
                    job = make_job(
                        box=box,
                        arguments=command,
                        python=str(self._python),
                        tree=tree,
                        env=make_environment(
                            str(self._python.parent),
                            temporary=f"{box}/tmp",
                            out=f"{box}/out",
                            support=f"{box}/support" if support else "",
                            extra=env,
                        ),
                        stdin=stdin,
                        collect=collect,
                        limits=limits,
                        disk_bytes=0,
                        # it would count all the caller's processes
                        nproc=0,
                        watch=group is None,
                    )
                    with self._guest() as (channel, stdout, stderr):
                        await channel.send_packed(self._code.image(LOCAL_MODULES))
                        await channel.send("local")
                        return await converse(channel, job, limits, stdout=stdout, stderr=stderr, group=group)
            finally:
                self._cgroups.give_back(group)

    @contextmanager
    def _guest(self) -> Generator[tuple[Channel, int, int]]:
        with ExitStack() as stack:
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            stack.enter_context(near)
            stack.enter_context(far)
            out, err = stack.enter_context(pipe()), stack.enter_context(pipe())
            fd = str(far.fileno())
            try:
                process = Process(
                    [str(self._python), "-I", "-S", "-B", "-c", BOOT, fd, fd],
                    pass_fds=[far.fileno()],
                    stdout=out[1],
                    stderr=err[1],
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

    async def warm(
        self, tree: Tree, *, preload: Sequence[str] = (), support: Mapping[str, bytes] | None = None
    ) -> WarmSandbox:
        """Has none: commands of one server could reach each other.

        Raises:
            SandboxUnavailable: always.
        """
        raise SandboxUnavailable("A plain subprocess has no fork server.", do="Use `run`, or the sandbox bubblewrap.")

    async def aclose(self) -> None:
        """Ends everything it started."""
        for process in tuple(self._running):
            process.kill()
        self._cgroups.close()


@contextmanager
def _box(support: Mapping[str, bytes]) -> Generator[str]:
    """A temporary folder with the support files in it; afterwards it is removed, and whoever still works in it ends."""
    box = tempfile.mkdtemp(prefix="groundwire-")
    try:
        for path, content in support.items():
            target = Path(box, "support", check_path(path))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o444)
        yield box
    finally:
        _end_survivors(box)
        _remove(box)


def _end_survivors(box: str) -> None:
    # only what is left when our keeper itself was killed: the box's name in the environment gives it away
    mark = f"GROUNDWIRE_OUT={box}/".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError), (entry / "environ").open("rb") as environ:
                if mark in environ.read(MAX_ENVIRON):
                    os.kill(int(entry.name), signal.SIGKILL)


def _remove(box: str) -> None:
    for folder, names, _ in os.walk(box):
        for name in names:
            # the command may have locked its own folders
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                if not path.is_symlink():
                    path.chmod(0o700)
    shutil.rmtree(box, ignore_errors=True)
