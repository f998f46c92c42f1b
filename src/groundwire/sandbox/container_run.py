"""One container from its creation to its removal. Blocking: runs in a thread, and is stopped from another."""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundwire.errors import SandboxCrashed
from groundwire.limits import Limits
from groundwire.sandbox.exchange import FrameReader, Outcome, read_outcome
from groundwire.sandbox.guest import wire
from groundwire.sandbox.guest.headtail import HeadTail
from groundwire.sandbox.guestcode import BOOT

__all__ = ["BOX", "SUPPORT", "UNPRIVILEGED", "Contained", "ContainerRun", "container_options"]

BOX = "/box"
SUPPORT = "/support"
UNPRIVILEGED = 65534
SUPPORT_BYTES = 32 << 20
SHARED_MEMORY_BYTES = 16 << 20
STDOUT_STREAM = 1
MAX_SAID = 4096
END_S = 10


def container_options(image: str, labels: Mapping[str, str], limits: Limits, box_bytes: int) -> dict[str, Any]:
    """How a container is created: everything off that a command does not need.

    The guest starts as root with the three rights it needs to become the unprivileged user, to end that user's
    processes, and to own the support files; the command itself runs as that user with no rights.

    Args:
        image: the image, by digest or name.
        labels: mark the container as ours.
        limits: the command's limits.
        box_bytes: what is laid into the box before the command starts.
    """
    docker: Any = importlib.import_module("docker")
    own = f"uid={UNPRIVILEGED},gid={UNPRIVILEGED}"
    # two file systems, and together no more than the limit; the temporary folder of the environment is in the box
    tmp_bytes = limits.disk_bytes // 4
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
        "network_mode": "bridge" if limits.network else "none",
        "ipc_mode": "private",
        "read_only": True,
        "tmpfs": {
            BOX: f"rw,exec,nosuid,nodev,mode=0755,size={limits.disk_bytes - tmp_bytes + box_bytes},{own}",
            "/tmp": f"rw,noexec,nosuid,nodev,mode=1777,size={max(tmp_bytes, 4096)}",
            SUPPORT: f"rw,noexec,nosuid,nodev,mode=0755,size={SUPPORT_BYTES}",
        },
        "shm_size": SHARED_MEMORY_BYTES,
        "cap_drop": ["ALL"],
        "cap_add": ["SETUID", "SETGID", "KILL"],
        "security_opt": ["no-new-privileges"],
        "pids_limit": limits.processes + 1,
        "mem_limit": limits.memory_bytes,
        "memswap_limit": limits.memory_bytes,
        "oom_kill_disable": False,
        # the attached stream is all that is read; a log would grow without bound
        "log_config": docker.types.LogConfig(type="none"),
    }


def _close(stream: Any) -> None:
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

    outcome: Outcome | None
    out: HeadTail
    err: HeadTail
    oom: bool
    said: str


class ContainerRun:
    """One container, for one job.

    Args:
        client: Docker's client.
        options: how the container is created.
        messages: what the guest is told, packed.
        job: the job among them.
    """

    def __init__(self, client: Any, options: Mapping[str, Any], messages: bytes, job: wire.Job) -> None:
        self._client = client
        self._options = options
        self._messages = messages
        self._job = job
        self._container: Any = None
        self._stopped = threading.Event()

    def run(self) -> Contained:
        """Runs the job to its end; the container is gone afterwards.

        Raises:
            CandidateError: the tree can't be laid out.
            SandboxCrashed: the container can't be made, or its guest breaks the protocol.
        """
        docker: Any = importlib.import_module("docker")
        requests: Any = importlib.import_module("requests")
        try:
            self._container = self._client.containers.create(**self._options)
            try:
                return self._attached()
            finally:
                with contextlib.suppress(docker.errors.NotFound):
                    self._container.remove(force=True, v=True)
        except (docker.errors.DockerException, requests.RequestException, OSError) as error:
            raise SandboxCrashed(f"Docker failed: {error}.", do="Check that the Docker engine still runs.") from error

    def _attached(self) -> Contained:
        params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        stream: Any = self._client.api.attach_socket(self._container.id, params=params)
        try:
            self._container.start()
            if self._stopped.is_set():
                self._container.kill()
            # in a thread of its own: a command that writes before it has read all would block both sides
            sender = threading.Thread(target=self._send, args=(stream,), daemon=True)
            sender.start()
            done = self._read(stream)
        finally:
            _close(stream)
        # whether memory ran out is known only once it has ended
        self._container.wait(timeout=END_S)
        self._container.reload()
        done.oom = bool(self._container.attrs["State"].get("OOMKilled"))
        return done

    def _send(self, stream: Any) -> None:
        # the guest may end before it has read everything; what it did is in its frames
        with contextlib.suppress(OSError):
            getattr(stream, "_sock", stream).sendall(self._messages)

    def _read(self, stream: Any) -> Contained:
        out, err = HeadTail(self._job["output_bytes"]), HeadTail(self._job["output_bytes"])
        said = HeadTail(MAX_SAID)
        reader = FrameReader()

        def frames() -> Iterator[tuple[bytes, bytes]]:
            for which, chunk in importlib.import_module("docker.utils.socket").frames_iter(stream, tty=False):
                if which != STDOUT_STREAM:
                    said.add(chunk)
                    continue
                reader.feed(chunk)
                while (frame := reader.next()) is not None:
                    if frame[0] == wire.STDOUT:
                        out.add(frame[1])
                    elif frame[0] == wire.STDERR:
                        err.add(frame[1])
                    else:
                        yield frame

        outcome = read_outcome(frames(), self._job["collect"])
        return Contained(outcome, out, err, oom=False, said=said.kept.decode(errors="replace").strip())

    def stop(self) -> None:
        """Kills the container, from another thread; `run` then comes to its end."""
        self._stopped.set()
        if self._container is not None:
            with contextlib.suppress(Exception):
                self._container.kill()
