"""Containers of a task's own image: built here without a pull, writable, for one command that its author wrote.

The sandbox in `_containers.py` runs commands in a box of ours, whatever the image. Here the image itself is the world:
its files, its user and its folders are part of the task. So the root is writable and the command may be root's in it;
what it may not do is reach the network unless told, gain rights, or outlive the judging.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import io
import tarfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, cast

from groundwire.core._errors import SandboxCrashed, SandboxUnavailable
from groundwire.core._sandboxes import Enforcement, ExecResult, LimitName, Limits, SandboxInfo
from groundwire.sandbox._container_run import STDOUT_STREAM, close_stream
from groundwire.sandbox._docker_engine import LABEL_OWNER, Engine, owner, reach, remove_orphans
from groundwire.sandbox._run_slots import RunSlots
from groundwire.sandbox.guest.headtail import HeadTail

KIND = "docker"
AT_ONCE = 4
LABEL_RUN = "groundwire.run"
COLLECTED_BYTES = 16 << 20
ARCHIVE_BYTES = 128 << 20
_EMPTY = bytes(10240)
"""An archive with nothing in it."""
TOLD_CHARS = 2000
RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETGID", "SETUID", "SETPCAP", "KILL", "NET_BIND_SERVICE")
"""Of a container's usual rights those that installing and running programs takes; the others are dropped."""
HELD: Mapping[LimitName, Enforcement] = {
    "wall_s": Enforcement.WATCHED,
    "memory_bytes": Enforcement.ENFORCED,
    "processes": Enforcement.ENFORCED,
    "output_bytes": Enforcement.ENFORCED,
    "network": Enforcement.ENFORCED,
    **dict.fromkeys(("cpu_s", "open_files", "file_bytes", "disk_bytes", "allow_list"), Enforcement.UNAVAILABLE),
}


@dataclass(frozen=True)
class ImageSource:
    """Where an image comes from.

    Args:
        prebuilt: an image that is here already; empty: it is built.
        context: the files that it is built of, among them `Dockerfile`.
        executable: those of them that carry the executable bit.
        bases: the images that the Dockerfile begins with.
        timeout_s: wall seconds of the build.
        network: True: what the Dockerfile runs may use the network.
    """

    prebuilt: str = ""
    context: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    executable: frozenset[str] = frozenset()
    bases: tuple[str, ...] = ()
    timeout_s: float = 600.0
    network: bool = False


@dataclass(frozen=True)
class ContainerCommand:
    """One command in a container, and what lies in it before and after.

    Args:
        command: program and arguments; never given to a shell.
        laid: absolute path → content, put there before.
        executable: those of them that can be executed.
        deleted: absolute paths that are removed before, folders with all that is in them.
        unpacked: a tar archive from the root on, unpacked before anything is laid.
        exact: an absolute folder in which no regular file stays but those that are laid.
        folders: absolute paths of folders that are made before, for everyone to write in.
        collect: an absolute folder whose files come back, by their paths below it.
        archives: absolute paths that come back instead, each whole: a tar archive by its path.
        may_change: absolute folders in which it may change something; what it changes elsewhere comes back by path.
            Empty: that is not looked at.
        env: its environment variables, beside the image's.
        workdir: its current folder; empty: the image's.
        user: who it runs as; empty: the image's user.
        cpus: CPUs that it may use; 0: all.
    """

    command: tuple[str, ...]
    laid: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    executable: frozenset[str] = frozenset()
    deleted: tuple[str, ...] = ()
    unpacked: bytes = b""
    exact: str = ""
    folders: tuple[str, ...] = ()
    collect: str = ""
    archives: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    workdir: str = ""
    user: str = ""
    cpus: float = 0.0


@dataclass(frozen=True)
class ContainerEnd(ExecResult):
    """How a command ended in a container.

    Args:
        changed_elsewhere: what it changed outside of the folders in which it may.
    """

    changed_elsewhere: tuple[str, ...] = ()


class TaskContainers:
    """Runs commands in containers of one image, each in a fresh one that is gone afterwards.

    Args:
        engine: with the image.
        workdir: the image's own folder.
    """

    def __init__(self, engine: Engine, workdir: str) -> None:
        self._engine = engine
        self.workdir = workdir
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="groundwire-task")
        self._slots = RunSlots(AT_ONCE)
        self._running: set[_Held] = set()
        self._run_id = uuid.uuid4().hex

    @classmethod
    async def open(cls, source: ImageSource) -> TaskContainers:
        """Finds or builds the image.

        Raises:
            SandboxUnavailable: no engine answers, a base image is not here, or it can't be built; says what is missing.
        """
        return await asyncio.to_thread(cls._open, source)

    @classmethod
    def _open(cls, source: ImageSource) -> TaskContainers:
        client, version = reach()
        try:
            image: Any = _found(client, source.prebuilt) if source.prebuilt else _built(client, source)
            config: dict[str, Any] = image.attrs.get("Config") or {}
            workdir = str(config.get("WorkingDir") or "/")
            digests: list[str] = image.attrs.get("RepoDigests") or []
            digest = digests[0] if digests else str(image.id)
            engine = Engine(client, version, str(image.id), digest, "")
            remove_orphans(engine)
            return cls(engine, workdir)
        except BaseException:
            client.close()
            raise

    @property
    def info(self) -> SandboxInfo:
        """What commands run in."""
        engine = self._engine
        return SandboxInfo(kind=KIND, version=engine.described, image_digest=engine.image_digest, enforcement=HELD)

    async def run(
        self, job: ContainerCommand, limits: Limits, *, before: Sequence[ContainerCommand] = ()
    ) -> ContainerEnd:
        """Runs one command in a container of its own.

        Args:
            job: the command.
            limits: its ceilings; of the network only all or nothing can be held.
            before: commands that are run in that container first, within the same ceilings; how they end is not looked
                at.

        Raises:
            SandboxCrashed: Docker failed, or what came back is more than can be taken.
            SandboxError: this was closed before the command had ended.
        """
        async with self._slots.one():
            held = _Held(self._engine.client)
            self._running.add(held)
            loop = asyncio.get_running_loop()
            work = loop.run_in_executor(self._threads, self._run, held, (*before, job), limits)
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                held.stop()
                with contextlib.suppress(Exception):
                    await asyncio.shield(work)
                raise
            finally:
                self._running.discard(held)

    def _run(self, held: _Held, jobs: Sequence[ContainerCommand], limits: Limits) -> ContainerEnd:
        docker: Any = importlib.import_module("docker")
        requests: Any = importlib.import_module("requests")
        try:
            held.open(self._options(jobs[-1], limits))
            return _done(held, jobs, limits)
        except (docker.errors.DockerException, requests.RequestException, OSError, tarfile.TarError) as error:
            raise SandboxCrashed(f"Docker failed: {error}.", do="Check that the Docker engine still runs.") from error
        finally:
            held.close()

    def _options(self, job: ContainerCommand, limits: Limits) -> dict[str, Any]:
        docker: Any = importlib.import_module("docker")
        return {
            "image": self._engine.image_id,
            "command": ["sh", "-c", "sleep infinity"],
            "labels": {LABEL_RUN: self._run_id, LABEL_OWNER: owner()},
            "environment": {},
            "network_mode": "bridge" if limits.network is True else "none",
            "ipc_mode": "private",
            "init": True,
            "cap_drop": ["ALL"],
            "cap_add": list(RIGHTS),
            "security_opt": ["no-new-privileges"],
            "pids_limit": limits.processes + 2,
            "mem_limit": limits.memory_bytes,
            "memswap_limit": limits.memory_bytes,
            "log_config": docker.types.LogConfig(type="none"),
            **({"nano_cpus": int(job.cpus * 1e9)} if job.cpus else {}),
        }

    async def aclose(self) -> None:
        """Removes what is left; the image stays, for the next time.

        A command that still runs raises `SandboxError` where it is awaited.
        """
        self._slots.close()
        running = tuple(self._running)
        await asyncio.to_thread(lambda: [held.stop() for held in running])
        await self._slots.left()
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._engine.remove(f"{LABEL_RUN}={self._run_id}")
        self._threads.shutdown(wait=True)
        self._engine.client.close()


class _Held:
    """A container that another thread may stop."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.container: Any = None
        self.stopped = threading.Event()
        self._lock = threading.Lock()

    def open(self, options: Mapping[str, Any]) -> None:
        with self._lock:
            if not self.stopped.is_set():
                self.container = self.client.containers.create(**options)
        if self.container is None:
            raise SandboxCrashed("The judging was given up before it began.")

    def stop(self) -> None:
        with self._lock:
            self.stopped.set()
            if self.container is not None:
                with contextlib.suppress(Exception):
                    self.container.kill()

    def close(self) -> None:
        with self._lock:
            if self.container is not None:
                with contextlib.suppress(Exception):
                    self.container.remove(force=True, v=True)


def _done(held: _Held, jobs: Sequence[ContainerCommand], limits: Limits) -> ContainerEnd:
    container = held.container
    container.start()
    began, late = time.monotonic(), threading.Event()

    def end() -> None:
        late.set()
        held.stop()

    timer = threading.Timer(limits.wall_s, end)
    timer.daemon = True
    job = jobs[-1]
    out, err = HeadTail(limits.output_bytes), HeadTail(limits.output_bytes)
    status: int | None = None
    known: set[str] = set()
    try:
        for number, one in enumerate(jobs):
            _laid(held, one)
            known = _changed(container, one.may_change)
            if number == 0:
                timer.start()
            began = time.monotonic()
            status = _executed(held, one, *((out, err) if one is job else (HeadTail(0), HeadTail(0))))
            if late.is_set():
                break
    finally:
        timer.cancel()
    if late.is_set():
        status = None
    elif held.stopped.is_set():
        raise SandboxCrashed("The judging was given up.")
    oom = False
    if status is None and not late.is_set():
        container.reload()
        oom = bool(container.attrs["State"].get("OOMKilled"))
    result = ContainerEnd(
        exit_code=status,
        stdout=out.kept,
        stderr=err.kept,
        stdout_cut=out.cut,
        stderr_cut=err.cut,
        limit_hit="wall_s" if late.is_set() else "memory_bytes" if oom else None,
        duration_s=time.monotonic() - began,
    )
    if late.is_set():
        return result
    if job.may_change:
        found = _changed(container, job.may_change) - known  # not what the engine put there
        result = replace(result, changed_elsewhere=tuple(sorted(found)))
    if job.archives:
        found = {path: _archived(container, path) for path in job.archives}
        return replace(result, files={path: body for path, body in found.items() if body is not None})
    return replace(result, files=_collected(container, job.collect)) if job.collect else result


def _laid(held: _Held, job: ContainerCommand) -> None:
    """What lies in the container before a command is run."""
    container = held.container
    deleted = [*job.deleted, *(_others(container, job) if job.exact else ())]
    if deleted:
        _executed(held, ContainerCommand(("rm", "-rf", "--", *deleted), user="0"), HeadTail(0), HeadTail(0))
    if job.unpacked:
        container.put_archive("/", job.unpacked)
    container.put_archive("/", _packed(job))


def _others(container: Any, job: ContainerCommand) -> Iterator[str]:
    """The regular files in the folder `exact` that are not laid."""
    parent = PurePosixPath(job.exact).parent
    with tarfile.open(fileobj=io.BytesIO(_archived(container, job.exact) or _EMPTY)) as tar:
        for entry in tar:
            if entry.isfile() and (path := str(parent / entry.name)) not in job.laid:
                yield path


def _executed(held: _Held, job: ContainerCommand, out: HeadTail, err: HeadTail) -> int | None:
    api = held.client.api
    made = api.exec_create(
        held.container.id,
        list(job.command),
        environment=dict(job.env),
        workdir=job.workdir or None,
        user=job.user,
    )
    stream: Any = api.exec_start(made["Id"], socket=True)
    try:
        for which, chunk in importlib.import_module("docker.utils.socket").frames_iter(stream, tty=False):
            (out if which == STDOUT_STREAM else err).add(chunk)
    finally:
        close_stream(stream)
    code: object = api.exec_inspect(made["Id"])["ExitCode"]
    return code if isinstance(code, int) else None


def _packed(job: ContainerCommand) -> bytes:
    """What is laid into the container, as one archive from its root on."""
    body = io.BytesIO()
    with tarfile.open(fileobj=body, mode="w") as tar:
        for folder in job.folders:
            entry = tarfile.TarInfo(folder.lstrip("/"))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o777
            tar.addfile(entry)
        for path, content in job.laid.items():
            entry = tarfile.TarInfo(path.lstrip("/"))
            entry.size = len(content)
            entry.mode = 0o755 if path in job.executable else 0o644
            entry.mtime = int(time.time())
            tar.addfile(entry, io.BytesIO(content))
    return body.getvalue()


def _changed(container: Any, folders: Sequence[str]) -> set[str]:
    """What is changed of the image outside of these folders: files, and folders in which nothing else is."""
    if not folders:
        return set()
    told: list[Mapping[str, Any]] = container.diff() or []
    changed = [PurePosixPath(one["Path"]) for one in told]
    inner = {parent for path in (*changed, *map(PurePosixPath, folders)) for parent in path.parents}
    return {
        str(path)
        for path in changed
        if path not in inner and not any(path.is_relative_to(folder or "/") for folder in folders)
    }


def _archived(container: Any, path: str, most: int = ARCHIVE_BYTES) -> bytes | None:
    """What lies at a path, as a tar archive in memory; None where there is nothing."""
    docker: Any = importlib.import_module("docker")
    try:
        chunks, _ = container.get_archive(path)
    except docker.errors.NotFound:
        return None
    body = bytearray()
    for chunk in cast("Iterator[bytes]", chunks):
        body += chunk
        if len(body) > most:
            raise SandboxCrashed(f"{path} holds more than {most >> 20} MiB after the command.")
    return bytes(body)


def _collected(container: Any, folder: str) -> dict[str, bytes]:
    """The regular files below a folder: read out of the archive in memory, never written anywhere."""
    body = _archived(container, folder, COLLECTED_BYTES)
    if body is None:
        return {}
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        for entry in tar:
            if entry.isreg() and (file := tar.extractfile(entry)) is not None:
                found[PurePosixPath(*PurePosixPath(entry.name).parts[1:]).as_posix()] = file.read()
    return found


# Images: found here, or built without a pull.


def _found(client: Any, name: str) -> Any:
    docker: Any = importlib.import_module("docker")
    try:
        return client.images.get(name)
    except docker.errors.ImageNotFound as error:
        raise SandboxUnavailable(f"There is no image {name!r} here.", do=f"docker pull {name}") from error


def _built(client: Any, source: ImageSource) -> Any:
    docker: Any = importlib.import_module("docker")
    requests: Any = importlib.import_module("requests")
    for base in source.bases:
        _found(client, base)
    laid = ContainerCommand((), laid=source.context, executable=source.executable)
    said = HeadTail(TOLD_CHARS)
    try:
        steps = client.api.build(
            fileobj=io.BytesIO(_packed(laid)),
            custom_context=True,
            pull=False,
            rm=True,
            forcerm=True,
            decode=True,
            network_mode=None if source.network else "none",
            labels={"groundwire.task": "1"},
            timeout=source.timeout_s,
        )
        image = _image_of(steps, said, time.monotonic() + source.timeout_s)
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise SandboxUnavailable(f"The task's image can't be built: {error}.", do=_cure(source)) from error
    if not image:
        told = said.kept.decode(errors="replace").strip()[-500:]
        raise SandboxUnavailable(f"The task's image can't be built: {told}", do=_cure(source))
    return client.images.get(image)


def _image_of(steps: Iterator[Mapping[str, Any]], said: HeadTail, until: float) -> str:
    """The id of what was built; empty where it could not be, and then `said` ends with why."""
    image = ""
    for step in steps:
        if time.monotonic() > until:
            said.add(b"\nit took longer than the task allows")
            return ""
        if (aux := step.get("aux")) and "ID" in aux:
            image = str(aux["ID"])
        if error := step.get("error"):
            said.add(f"\n{error}".encode())
            return ""
        said.add(str(step.get("stream", "")).encode())
    return image


def _cure(source: ImageSource) -> str:
    offline = "" if source.network else " (it was built without network)"
    build = "build it yourself (docker build -t NAME environment) and give --image NAME."
    return f"Correct its Dockerfile{offline}, or {build}"
