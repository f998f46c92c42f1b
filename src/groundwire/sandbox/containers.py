"""Docker, when it is asked for by name: each command in a container of its own."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import socket
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from groundwire.errors import SandboxCrashed, SandboxUnavailable
from groundwire.limits import Enforcement, ExecResult, LimitName, Limits, SandboxInfo
from groundwire.sandbox.container_run import BOX, SUPPORT, UNPRIVILEGED, Contained, ContainerRun, container_options
from groundwire.sandbox.conversing import GRACE_S, make_result
from groundwire.sandbox.environment import make_environment
from groundwire.sandbox.exchange import laid_bytes, make_job
from groundwire.sandbox.guest import wire
from groundwire.sandbox.guestcode import CONTAINED_MODULES, GuestCode
from groundwire.sandbox.requirements import require
from groundwire.sandbox.seccomp import compile_filters
from groundwire.sandboxes import WarmSandbox
from groundwire.trees import Tree, check_path

__all__ = ["Docker"]

KIND = "docker"
PROBE_S = 60.0
START_S = 60.0
ANY_API = "1.41"
LABEL_RUN = "groundwire.run"
LABEL_OWNER = "groundwire.owner"
NO_ENGINE = "Start it (systemctl start docker), and check that this user may use it (docker info)."
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
}


class Docker:
    """Runs each command in a fresh container: conforms to `groundwire.sandboxes.Sandbox`.

    Open it with `Docker.open`. The image is used as it is; it needs `python3`, 3.9 or newer.
    """

    def __init__(self, client: Any, image: str, digest: str, version: str) -> None:
        self._client = client
        self._image = image
        self._python = Path("python3")
        self._code = GuestCode()
        self._seccomp = compile_filters()
        self._run_id = uuid.uuid4().hex
        workers = max(2, os.cpu_count() or 1)
        self._slots = asyncio.Semaphore(workers)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="groundwire-docker")
        self._info = SandboxInfo(kind=KIND, version=version, image_digest=digest, enforcement=ENFORCEMENT)

    @classmethod
    async def open(cls, image: str) -> Docker:
        """Opens and probes it by running a program in it.

        Raises:
            SandboxUnavailable: the extra is not installed, no engine answers, the image is missing or has no Python.
        """
        sandbox = await asyncio.to_thread(cls._connect, image)
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

    @classmethod
    def _connect(cls, image: str) -> Docker:
        try:
            docker: Any = importlib.import_module("docker")
        except ImportError as error:
            raise SandboxUnavailable(
                "Docker's Python client is not installed.", do="pip install 'groundwire[docker]'"
            ) from error
        _knock()
        # asked with a client of a fixed version first: one that negotiates can't be closed when nobody answers
        probe: Any = docker.from_env(version=ANY_API)
        try:
            said: dict[str, Any] = probe.version(api_version=False)
        except Exception as error:
            raise SandboxUnavailable(f"No Docker engine answers: {error}.", do=NO_ENGINE) from error
        finally:
            probe.close()
        client: Any = docker.from_env(version=said["ApiVersion"])
        try:
            found: Any = client.images.get(image)
        except docker.errors.ImageNotFound as error:
            client.close()
            raise SandboxUnavailable(f"There is no image {image!r} here.", do=f"docker pull {image}") from error
        digests: list[str] = found.attrs.get("RepoDigests") or []
        _remove_orphans(client)
        # by identity, so that a tag moved meanwhile does not change what the signals say
        return cls(client, str(found.id), digests[0] if digests else str(found.id), str(said["Version"]))

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
        """See `groundwire.sandboxes.Sandbox.run`."""
        require(limits, self._info)
        for path in support or {}:
            check_path(path)
        box_bytes = laid_bytes(tree.files)
        job = make_job(
            box=BOX,
            arguments=command,
            python="" if self._python == Path("python3") else str(self._python),
            tree=tree,
            env=make_environment(
                str(self._python.parent),
                temporary=f"{BOX}/tmp",
                out=f"{BOX}/out",
                support=SUPPORT if support else "",
                extra=env,
            ),
            stdin=stdin,
            collect=collect,
            limits=limits,
            disk_bytes=limits.disk_bytes + box_bytes,
            nproc=0,
            watch=False,
            uid=UNPRIVILEGED,
        )
        laid: wire.Support = {"folder": SUPPORT, "files": dict(support or {}), "seccomp": self._seccomp}
        messages = self._code.image(CONTAINED_MODULES) + b"".join(wire.pack_value(v) for v in ("contained", laid, job))
        labels = {LABEL_RUN: self._run_id, LABEL_OWNER: _owner()}
        run = ContainerRun(self._client, container_options(self._image, labels, limits, box_bytes), messages, job)
        async with self._slots:
            done, late = await self._finished(run, START_S + limits.wall_s + GRACE_S)
        if done.outcome is None and not late and not done.oom:
            raise SandboxCrashed(f"The container ended without a result: {done.said or 'no message'}.", do="Try again.")
        return make_result(done.outcome, late, done.out, done.err, None, limits, oom=done.oom)

    async def _finished(self, run: ContainerRun, timeout_s: float) -> tuple[Contained, bool]:
        """Waits for a run in its thread; when late or cancelled, stops it and still waits, so that nothing is left."""
        working = self._threads.submit(run.run)
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(asyncio.wrap_future(working)), False
        except TimeoutError:
            run.stop()
            return working.result(GRACE_S), True
        except asyncio.CancelledError:
            run.stop()
            with contextlib.suppress(Exception):
                working.result(GRACE_S)
            raise

    async def warm(
        self, tree: Tree, *, preload: Sequence[str] = (), support: Mapping[str, bytes] | None = None
    ) -> WarmSandbox:
        """Has none yet.

        Raises:
            SandboxUnavailable: always.
        """
        raise SandboxUnavailable("Docker has no fork server.", do="Use `run`, or the sandbox bubblewrap.")

    async def aclose(self) -> None:
        """Ends everything it started and removes its containers."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with contextlib.suppress(Exception):
            for container in self._client.containers.list(all=True, filters={"label": f"{LABEL_RUN}={self._run_id}"}):
                with contextlib.suppress(Exception):
                    container.remove(force=True, v=True)
        self._threads.shutdown(wait=True)
        self._client.close()


def _knock() -> None:
    """Tries the engine's socket before the client does, which would neither say so plainly nor close it.

    Raises:
        SandboxUnavailable: nobody answers there, or this user may not knock.
    """
    host = os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock"
    if not host.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as door:
        try:
            door.connect(host.removeprefix("unix://"))
        except OSError as error:
            what = f"No Docker engine answers at {host}: {error.strerror or error}."
            raise SandboxUnavailable(what, do=NO_ENGINE) from error


def _owner() -> str:
    """This process, so that no other one, on whatever machine and after whatever restart, is taken for it."""
    return f"{_boot()}:{os.getpid()}:{_started(os.getpid())}"


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _remove_orphans(client: Any) -> None:
    """Removes containers whose groundwire was killed before it could; never those of a living one."""
    with contextlib.suppress(Exception):
        for container in client.containers.list(all=True, filters={"label": LABEL_OWNER}):
            boot, _, rest = container.labels.get(LABEL_OWNER, "").partition(":")
            pid, _, started = rest.partition(":")
            if boot == _boot() and pid.isdigit() and _started(int(pid)) != started:
                with contextlib.suppress(Exception):
                    container.remove(force=True, v=True)
