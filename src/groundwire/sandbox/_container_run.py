"""Containers, from their creation to their removal. Blocking: used in a thread, and stopped from another."""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import threading
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.core._errors import SandboxCrashed
from groundwire.core._sandboxes import Limits
from groundwire.sandbox._exchange import FrameReader, JobReport, read_outcome
from groundwire.sandbox._guestcode import BOOT
from groundwire.sandbox.guest import wire
from groundwire.sandbox.guest.headtail import HeadTail

BOX = "/box"
SUPPORT = "/support"
UNPRIVILEGED = 65534
SUPPORT_BYTES = 32 << 20
SHARED_MEMORY_BYTES = 16 << 20
GUEST_BYTES = 64 << 20
STDOUT_STREAM = 1
MAX_SAID = 4096
END_S = 10
LINE_BYTES = 64 * 1024
LOOK_MS = 50


def container_options(
    image: str,
    labels: Mapping[str, str],
    limits: Limits,
    box_bytes: int,
    *,
    support_bytes: int,
    kept: bool,
) -> dict[str, Any]:
    """How a container is created: everything off that a command does not need.

    The guest starts as root with the three rights it needs to become the unprivileged user, to end that user's
    processes, and to own the support files; the command itself runs as that user with no rights.

    Args:
        image: the image, by digest or name.
        labels: mark the container as ours.
        limits: the command's limits.
        box_bytes: what is laid into the box before the command starts.
        support_bytes: what is laid beside it.
        kept: commands run in it one after the other; the guest watches the memory of each, and the engine's own limit
            leaves the guest room.
    """
    docker: Any = importlib.import_module("docker")
    own = f"uid={UNPRIVILEGED},gid={UNPRIVILEGED}"
    # two file systems, and together no more than the limit; the temporary folder of the environment is in the box
    tmp_bytes = limits.disk_bytes // 4
    memory = limits.memory_bytes + (GUEST_BYTES if kept else 0)
    return {
        "image": image,
        "entrypoint": [],
        "command": ["python3", "-I", "-S", "-B", "-c", BOOT, "0", "1"],
        "environment": {},
        "labels": dict(labels),
        "user": "0:0",
        "working_dir": "/",
        "stdin_open": True,
        "tty": False,
        "init": False,
        "network_mode": "bridge" if limits.network is True else "none",
        "ipc_mode": "private",
        "read_only": True,
        "tmpfs": {
            BOX: f"rw,exec,nosuid,nodev,mode=0755,size={limits.disk_bytes - tmp_bytes + box_bytes},{own}",
            "/tmp": f"rw,noexec,nosuid,nodev,mode=1777,size={max(tmp_bytes, 4096)}",
            SUPPORT: f"rw,noexec,nosuid,nodev,mode=0755,size={SUPPORT_BYTES + support_bytes}",
        },
        "shm_size": SHARED_MEMORY_BYTES,
        "cap_drop": ["ALL"],
        "cap_add": ["SETUID", "SETGID", "KILL"],
        "security_opt": ["no-new-privileges"],
        "pids_limit": limits.processes + 1,
        "mem_limit": memory,
        "memswap_limit": memory,
        "oom_kill_disable": False,
        # the attached stream is all that is read; a log would grow without bound
        "log_config": docker.types.LogConfig(type="none"),
    }


def close_stream(stream: Any) -> None:
    """Closes an attached stream with all that the client keeps it in: the response, the connection, the socket."""
    holders = [getattr(stream, name, None) for name in ("_response", "_sock")]
    for holder in (*holders, stream):
        if holder is not None:
            # each closes what it can of the others, and then finds it closed
            with contextlib.suppress(OSError, ValueError):
                holder.close()


@dataclass
class Contained:
    """What came of a container.

    Args:
        outcome: what the guest reported; None if it ended without a report.
        out: standard output.
        err: standard error.
        oom: the kernel killed a process in it for its memory.
        said: what the guest itself wrote, if it did not start.
    """

    outcome: JobReport | None
    out: HeadTail
    err: HeadTail
    oom: bool
    said: str


class Container:
    """One container with its guest, from its creation to its removal.

    Args:
        client: Docker's client.
        options: how it is created.
        opening: what the guest is told first, packed.
    """

    def __init__(self, client: Any, options: Mapping[str, Any], opening: bytes) -> None:
        self._client = client
        self._options = options
        self._opening = opening
        self._container: Any = None
        self._stream: Any = None
        self._frames: Iterator[tuple[bytes, bytes]] = iter(())
        self._said = HeadTail(MAX_SAID)
        self._stopped = threading.Event()

    def open(self) -> None:
        """Starts it.

        Raises:
            SandboxCrashed: it can't be made.
        """
        with _told():
            self._container = self._client.containers.create(**self._options)
            params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            self._stream = self._client.api.attach_socket(self._container.id, params=params)
            self._frames = self._read()
            self._container.start()
            if self._stopped.is_set():
                self.stop()
            self._send(self._opening)

    def run(self, job: wire.Job, line: int | None = None) -> Contained:
        """Has the guest run one job.

        Args:
            job: the job.
            line: descriptor of a line to another box, over which the command's own goes on.

        Raises:
            CandidateError: the tree can't be laid out.
            SandboxCrashed: the guest breaks the protocol.
        """
        out, err = HeadTail(job["output_bytes"]), HeadTail(job["output_bytes"])
        with _told():
            # in a thread of its own: a command that writes before it has read all would block both sides
            ended = threading.Event()
            sender = threading.Thread(target=self._feed, args=(wire.pack_value(job), line, ended), daemon=True)
            sender.start()
            try:
                outcome = read_outcome(_sorted(self._frames, out, err, line), job["collect"])
            finally:
                ended.set()
                if line is not None:
                    sender.join(END_S)  # the descriptor is about to be closed
        return Contained(outcome, out, err, oom=False, said=self._said.kept.decode(errors="replace").strip())

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel killed something in it for its memory; known only once it has ended, which is awaited."""
        with _told():
            self._container.wait(timeout=END_S)
            self._container.reload()
            return bool(self._container.attrs["State"].get("OOMKilled"))

    def _feed(self, data: bytes, line: int | None, ended: threading.Event) -> None:
        """Sends a job, and then what comes over its line until the job has ended."""
        self._send(data)
        if line is None:
            return
        poll = select.poll()
        poll.register(line, select.POLLIN)
        while not ended.is_set():
            if poll.poll(LOOK_MS):
                part = _read(line)
                self._send(wire.INDEX.pack(len(part)) + part)
                if not part:
                    return

    def _send(self, data: bytes) -> None:
        # the guest may end before it has read everything; what it did is in its frames
        with contextlib.suppress(OSError):
            getattr(self._stream, "_sock", self._stream).sendall(data)

    def _read(self) -> Iterator[tuple[bytes, bytes]]:
        reader = FrameReader()
        for which, chunk in importlib.import_module("docker.utils.socket").frames_iter(self._stream, tty=False):
            if which != STDOUT_STREAM:
                self._said.add(chunk)
                continue
            reader.feed(chunk)
            while (frame := reader.next()) is not None:
                yield frame

    def stop(self) -> None:
        """Kills it, from another thread; what runs in it then comes to its end."""
        self._stopped.set()
        if self._container is not None:
            with contextlib.suppress(Exception):
                self._container.kill()

    def close(self) -> None:
        """Removes it; a second time nothing happens."""
        stream, container = self._stream, self._container
        self._stream = self._container = None
        if stream is not None:
            close_stream(stream)
        if container is not None:
            docker: Any = importlib.import_module("docker")
            with _told(), contextlib.suppress(docker.errors.NotFound):
                container.remove(force=True, v=True)


def run_once(container: Container, job: wire.Job, line: int | None = None) -> Contained:
    """Runs one job in a container of its own, which is gone afterwards.

    Raises:
        CandidateError: the tree can't be laid out.
        SandboxCrashed: the container can't be made, or its guest breaks the protocol.
    """
    try:
        container.open()
        done = container.run(job, line)
        done.oom = container.ran_out_of_memory()
        return done
    finally:
        container.close()


def _sorted(
    frames: Iterator[tuple[bytes, bytes]], out: HeadTail, err: HeadTail, line: int | None
) -> Iterator[tuple[bytes, bytes]]:
    """The frames that are neither output nor the line's; these go where they belong."""
    for kind, body in frames:
        if kind == wire.STDOUT:
            out.add(body)
        elif kind == wire.STDERR:
            err.add(body)
        elif kind == wire.LINE and line is not None:
            _write(line, body)
        else:
            yield kind, body


def _read(line: int) -> bytes:
    try:
        return os.read(line, LINE_BYTES)
    except OSError:
        return b""


def _write(line: int, body: bytes) -> None:
    """Hands on what one box says to the other."""
    view = memoryview(body)
    with contextlib.suppress(OSError):  # the other one listens no more
        while view:
            view = view[os.write(line, view) :]


@contextlib.contextmanager
def _told() -> Generator[None]:
    """Docker's own errors in our words."""
    docker: Any = importlib.import_module("docker")
    requests: Any = importlib.import_module("requests")
    try:
        yield
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        raise SandboxCrashed(f"Docker failed: {error}.", do="Check that the Docker engine still runs.") from error
