"""Finds a Docker engine and the image on it, wherever it is, and clears away what a killed groundwire left there."""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundwire.core._errors import SandboxUnavailable

ANY_API = "1.41"
LABEL_OWNER = "groundwire.owner"
DEFAULT_SOCKET = "/var/run/docker.sock"
NO_ENGINE = "Start it (systemctl start docker), and check that this user may use it (docker info)."


@dataclass(frozen=True)
class Engine:
    """An engine that answers.

    Args:
        client: Docker's client.
        version: the engine's.
        image_id: by identity, so that a tag moved meanwhile does not change what the signals say.
        image_digest: by content, where a registry gave it one; else the identity.
        runtime: the OCI runtime; empty: the engine's default.
    """

    client: Any
    version: str
    image_id: str
    image_digest: str
    runtime: str

    @property
    def described(self) -> str:
        """Its version, with the runtime where one was named."""
        return f"{self.version} ({self.runtime})" if self.runtime else self.version

    def labelled(self, label: str) -> Sequence[Any]:
        """All containers with a label, also those that have ended."""
        return self.client.containers.list(all=True, filters={"label": label}, ignore_removed=True)

    def remove(self, label: str) -> None:
        """Removes all containers with a label; what can't be removed is left."""
        with contextlib.suppress(Exception):
            for container in self.labelled(label):
                with contextlib.suppress(Exception):
                    container.remove(force=True, v=True)


def connect(image: str, runtime: str = "") -> Engine:
    """The engine of `DOCKER_HOST` (rootless and remote ones too), else the system's, else this user's own.

    Raises:
        SandboxUnavailable: the extra is not installed, no engine answers, or it has no such image or runtime.
    """
    client, version = reach()
    try:
        return _with_image(client, version, image, runtime)
    except BaseException:
        client.close()
        raise


def reach() -> tuple[Any, str]:
    """A client of the engine, and the engine's version; whoever asks for it closes it.

    Raises:
        SandboxUnavailable: the extra is not installed, or no engine answers.
    """
    try:
        docker: Any = importlib.import_module("docker")
    except ImportError as error:
        raise SandboxUnavailable(
            "Docker's Python client is not installed.", do="pip install 'groundwire[docker]'"
        ) from error
    environment = {**os.environ, "DOCKER_HOST": _host()}
    _knock(environment["DOCKER_HOST"])
    # asked with a client of a fixed version first: one that negotiates can't be closed when nobody answers
    probe: Any = docker.from_env(version=ANY_API, environment=environment)
    try:
        said: dict[str, Any] = probe.version(api_version=False)
    except Exception as error:
        raise SandboxUnavailable(f"No Docker engine answers: {error}.", do=NO_ENGINE) from error
    finally:
        probe.close()
    return docker.from_env(version=said["ApiVersion"], environment=environment), str(said["Version"])


def _with_image(client: Any, version: str, image: str, runtime: str) -> Engine:
    docker: Any = importlib.import_module("docker")
    try:
        found: Any = client.images.get(image)
    except docker.errors.ImageNotFound as error:
        raise SandboxUnavailable(f"There is no image {image!r} here.", do=f"docker pull {image}") from error
    if runtime:
        known = sorted(client.info().get("Runtimes") or {})
        if runtime not in known:
            raise SandboxUnavailable(
                f"The Docker engine has no runtime {runtime!r}; it has {', '.join(known) or 'none that it names'}.",
                do="Install it and name it in the engine's configuration, or leave the runtime out.",
            )
    digests: list[str] = found.attrs.get("RepoDigests") or []
    engine = Engine(client, version, str(found.id), digests[0] if digests else str(found.id), runtime)
    remove_orphans(engine)
    return engine


def _host() -> str:
    named = os.environ.get("DOCKER_HOST")
    if named:
        return named
    own = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "docker.sock"
    rootless = own.is_socket() and not Path(DEFAULT_SOCKET).is_socket()
    return f"unix://{own if rootless else DEFAULT_SOCKET}"


def _knock(host: str) -> None:
    """Tries the engine's socket before the client does, which would neither say so plainly nor close it.

    Raises:
        SandboxUnavailable: nobody answers there, or this user may not knock.
    """
    if not host.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as door:
        try:
            door.connect(host.removeprefix("unix://"))
        except OSError as error:
            what = f"No Docker engine answers at {host}: {error.strerror or error}."
            raise SandboxUnavailable(what, do=NO_ENGINE) from error


def owner() -> str:
    """This process, so that no other one, on whatever machine and after whatever restart, is taken for it."""
    return f"{_numbered_by()}:{os.getpid()}:{_started(os.getpid())}"


def _numbered_by() -> str:
    """Where process numbers mean what they mean to us: this boot, and the PID namespace that we are in."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def remove_orphans(engine: Engine) -> None:
    """Removes containers whose groundwire was killed before it could; never those of a living one."""
    with contextlib.suppress(Exception):
        for container in engine.labelled(LABEL_OWNER):
            numbered_by, _, rest = container.labels.get(LABEL_OWNER, "").partition(":")
            pid, _, started = rest.partition(":")
            if numbered_by == _numbered_by() and pid.isdigit() and _started(int(pid)) != started:
                with contextlib.suppress(Exception):
                    container.remove(force=True, v=True)
