"""Docker, when it is asked for by name: each command in a container of its own, or in one that is kept."""

from __future__ import annotations

import asyncio
import os
import uuid
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from groundwire.core._candidates import NO_MODES, Tree, check_path
from groundwire.core._errors import SandboxCrashed, SandboxUnavailable
from groundwire.core._sandboxes import (
    BoxCommand,
    Enforcement,
    ExecResult,
    HeadStart,
    LimitName,
    Limits,
    Pair,
    SandboxInfo,
    WarmSandbox,
)
from groundwire.sandbox._container_pool import ContainerPool, finish
from groundwire.sandbox._container_run import (
    BOX,
    SUPPORT,
    UNPRIVILEGED,
    Contained,
    Container,
    container_options,
    run_once,
)
from groundwire.sandbox._conversing import GRACE_S, make_result
from groundwire.sandbox._docker_engine import LABEL_OWNER, Engine, connect, owner
from groundwire.sandbox._environment import make_environment, require
from groundwire.sandbox._exchange import content_bytes, make_job
from groundwire.sandbox._guestcode import CONTAINED_MODULES, HELD_MODULES, GuestCode
from groundwire.sandbox._pairing import run_pair
from groundwire.sandbox._run_slots import RunSlots
from groundwire.sandbox._seccomp import compile_filters
from groundwire.sandbox._seccomp_host import compile_queue_filters
from groundwire.sandbox.guest import wire

# Docker's stand-in for a fork server: a fresh interpreter for each command, in a container that is kept.


class WarmContainers:
    """Conforms to `groundwire.core._sandboxes.WarmSandbox`.

    Args:
        tree: the base tree, which lies in every container.
        base: where it lies there.
        supported: there are support files.
        pool: where commands run.
        job_of: makes their jobs; see `Docker`.
        result: what came of one.
        flags: of the interpreter.
    """

    def __init__(
        self,
        tree: Tree,
        base: str,
        supported: bool,
        pool: ContainerPool,
        job_of: Callable[..., wire.Job],
        result: Callable[..., ExecResult],
        flags: Sequence[str],
    ) -> None:
        self._flags = flags
        self._tree = tree
        self._base = base
        self._supported = supported
        self._pool = pool
        self._job_of = job_of
        self._result = result
        self._base_bytes = content_bytes(tree.files)

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
        changed = {path: content for path, content in changes.items() if content is not None}
        job = self._job_of(
            ["python", *self._flags, *arguments],
            Tree(changed, self._tree.executable_with(modes) & changed.keys()),
            limits,
            env=env,
            collect=collect,
            stdin=stdin,
            supported=self._supported,
            base=self._base,
            deleted=sorted(path for path, content in changes.items() if content is None),
            base_bytes=self._base_bytes,
        )
        return self._result(*await self._pool.run(job, limits), limits)

    async def aclose(self) -> None:
        """Removes the containers."""
        await self._pool.aclose()


# Docker, when it is asked for by name: each command in a container of its own.

KIND = "docker"
PROBE_S = 60.0
START_S = 60.0
BASE = "base"
LABEL_RUN = "groundwire.run"
ENFORCEMENT: Mapping[LimitName, Enforcement] = {
    "wall_s": Enforcement.WATCHED,
    "cpu_s": Enforcement.ENFORCED,
    "memory_bytes": Enforcement.ENFORCED,
    "processes": Enforcement.ENFORCED,
    "open_files": Enforcement.ENFORCED,
    "file_bytes": Enforcement.ENFORCED,
    "disk_bytes": Enforcement.ENFORCED,
    "output_bytes": Enforcement.ENFORCED,
    "network": Enforcement.ENFORCED,
    # nothing but a byte stream leads out of a container, and its engine may be on another machine
    "allow_list": Enforcement.UNAVAILABLE,
}


class Docker:
    """Runs each command in a fresh container: conforms to `groundwire.core._sandboxes.Sandbox`.

    Open it with `Docker.open`. The image is used as it is; it needs `python3`, 3.9 or newer.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._python = Path("python3")
        self._code = GuestCode()
        queues = compile_queue_filters()
        self._seccomp = {name: [code] for name, code in compile_filters().items()}
        self._seccomp_kept = {name: [*codes, queues[name]] for name, codes in self._seccomp.items()}
        self._run_id = uuid.uuid4().hex
        workers = max(2, os.cpu_count() or 1)
        self._slots = RunSlots(workers)
        self._made: weakref.WeakSet[Container] = weakref.WeakSet()
        self._pools: list[ContainerPool] = []
        # a pair of boxes takes one slot and two threads
        self._threads = ThreadPoolExecutor(2 * workers, thread_name_prefix="groundwire-docker")
        self._info = SandboxInfo(
            kind=KIND, version=engine.described, image_digest=engine.image_digest, enforcement=ENFORCEMENT
        )

    @classmethod
    async def open(cls, image: str, *, runtime: str = "") -> Docker:
        """Opens and probes it by running a program in it.

        Args:
            image: its name; what it stands for now is used throughout.
            runtime: the OCI runtime, as the engine knows it (`runsc` for gVisor); empty: the engine's default.

        Raises:
            SandboxUnavailable: the extra is not installed, no engine answers, the image or the runtime is missing, or
                it has no Python.
        """
        sandbox = cls(await asyncio.to_thread(connect, image, runtime))
        try:
            result = await sandbox.run(
                ["python", "-c", "import sys; print(sys.executable)"], Tree(), Limits(wall_s=PROBE_S)
            )
            if result.exit_code != 0 or not result.stdout.startswith(b"/"):
                said = result.stderr.decode(errors="replace").strip()[-500:]
                raise SandboxCrashed(f"exit code {result.exit_code}, {said or 'no message'}.")
        except SandboxCrashed as error:
            await sandbox.aclose()
            raise SandboxUnavailable(
                f"Python does not run in the image {image!r}: {error.what}",
                do="Name an image that has python3, 3.9 or newer, with --image.",
            ) from error
        except BaseException:
            await sandbox.aclose()
            raise
        sandbox._python = Path(result.stdout.decode().strip())
        return sandbox

    @property
    def info(self) -> SandboxInfo:
        """What commands really run in, probed."""
        return self._info

    @property
    def python(self) -> Path:
        """The image's `python3`."""
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
        """See `groundwire.core._sandboxes.Sandbox.run`."""
        async with self._slots.one():
            return await self._run(BoxCommand(command, tree, env or {}, support or {}, collect, stdin), limits)

    async def run_pair(self, asking: BoxCommand, answering: BoxCommand, limits: Limits) -> Pair:
        """See `groundwire.core._sandboxes.PairingSandbox.run_pair`.

        No descriptor leads into a container: what one end of the line takes in, this process hands on to the other.
        """
        async with self._slots.one():
            return await run_pair(self._run, asking, answering, limits)

    async def _run(self, command: BoxCommand, limits: Limits, line: int | None = None) -> ExecResult:
        job = self._job(
            command.arguments,
            command.tree,
            limits,
            env=command.env,
            collect=command.collect,
            supported=bool(command.support),
            stdin=command.stdin,
            line=line is not None,
        )
        container = self._container(limits, command.support, content_bytes(command.tree.files))
        late_s = START_S + limits.wall_s + GRACE_S
        done, late = await finish(self._threads, lambda: run_once(container, job, line), container.stop, late_s)
        return _result(done, late, limits)

    async def warm(
        self,
        tree: Tree,
        *,
        preload: Sequence[str] = (),
        support: Mapping[str, bytes] | None = None,
        flags: Sequence[str] = (),
    ) -> WarmSandbox:
        """See `groundwire.core._sandboxes.Sandbox.warm`.

        There is no fork server in a container, which may make no namespaces: each command gets a fresh interpreter, in
        a container that is kept and cleaned. `preload` changes nothing.
        """
        files = {f"{BASE}/{path}": content for path, content in tree.files.items()}
        executable = [f"{BASE}/{path}" for path in tree.executable]
        base_bytes = content_bytes(tree.files)

        def make(limits: Limits) -> Container:
            laid = {**(support or {}), **files}
            return self._container(limits, laid, base_bytes, executable=executable, keep=True)

        pool = ContainerPool(make, self._threads, self._slots)
        self._pools.append(pool)
        return WarmContainers(tree, f"{SUPPORT}/{BASE}", bool(support), pool, self._job, _result, flags)

    def _job(
        self,
        command: Sequence[str],
        tree: Tree,
        limits: Limits,
        *,
        env: Mapping[str, str] | None,
        collect: Sequence[str],
        supported: bool,
        stdin: bytes = b"",
        base: str = "",
        deleted: Sequence[str] = (),
        base_bytes: int = 0,
        line: bool = False,
    ) -> wire.Job:
        require(limits, self._info)
        return make_job(
            box=BOX,
            arguments=command,
            python="" if self._python == Path("python3") else str(self._python),
            tree=tree,
            deleted=deleted,
            base=base,
            env=make_environment(
                str(self._python.parent),
                temporary=f"{BOX}/tmp",
                out=f"{BOX}/out",
                support=SUPPORT if supported else "",
                extra=env,
            ),
            stdin=stdin,
            collect=collect,
            limits=limits,
            disk_bytes=limits.disk_bytes + base_bytes + content_bytes(tree.files),
            nproc=0,
            watch=bool(base),
            uid=UNPRIVILEGED,
            line=line,
        )

    def _container(
        self,
        limits: Limits,
        laid: Mapping[str, bytes],
        box_bytes: int,
        *,
        executable: Sequence[str] = (),
        keep: bool = False,
    ) -> Container:
        self._slots.check()  # one of a pair begins a moment after its slot was taken
        for path in laid:
            check_path(path)
        support: wire.Support = {
            "folder": SUPPORT,
            "files": dict(laid),
            "executable": list(executable),
            "seccomp": self._seccomp_kept if keep else self._seccomp,
            "keep": keep,
        }
        image = self._code.image(HELD_MODULES if keep else CONTAINED_MODULES)
        labels = {LABEL_RUN: self._run_id, LABEL_OWNER: owner()}
        options = container_options(
            self._engine.image_id, labels, limits, box_bytes, support_bytes=content_bytes(laid), kept=keep
        )
        if self._engine.runtime:
            options["runtime"] = self._engine.runtime
        opening = image + b"".join(wire.pack_value(value) for value in ("contained", support))
        container = Container(self._engine.client, options, opening)
        self._made.add(container)
        return container

    async def aclose(self) -> None:
        """Ends everything it started and removes its containers.

        A command that still runs raises `SandboxError` where it is awaited.
        """
        self._slots.close()
        made = tuple(self._made)
        await asyncio.to_thread(lambda: [container.stop() for container in made])
        await self._slots.left()
        while self._pools:
            await self._pools.pop().aclose()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._engine.remove(f"{LABEL_RUN}={self._run_id}")
        self._threads.shutdown(wait=True)
        self._engine.client.close()


def _result(done: Contained, late: bool, limits: Limits) -> ExecResult:
    if done.outcome is None and not late and not done.oom:
        raise SandboxCrashed(f"The container ended without a result: {done.said or 'no message'}.", do="Try again.")
    return make_result(done.outcome, late, done.out, done.err, None, limits, oom=done.oom)
