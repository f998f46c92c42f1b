"""What code in a sandbox may use, and what came back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, field_validator

from groundwire.destinations import canonical_destinations

__all__ = ["Enforcement", "ExecResult", "LimitName", "Limits", "Network", "SandboxInfo"]

LimitName = Literal[
    "wall_s",
    "cpu_s",
    "memory_bytes",
    "processes",
    "open_files",
    "file_bytes",
    "disk_bytes",
    "output_bytes",
    "network",
    "allow_list",
]
Network = bool | tuple[str, ...]
"""See `Limits.network`."""
MIB = 1024 * 1024


class Enforcement(StrEnum):
    """How firmly a limit holds in a sandbox."""

    ENFORCED = "enforced"
    """The kernel refuses to go beyond it."""
    WATCHED = "watched"
    """Measured from outside; the process tree is killed shortly after it is crossed."""
    UNAVAILABLE = "unavailable"
    """Can't be held here."""


class Limits(BaseModel):
    """Ceilings for one command and everything it starts."""

    model_config = ConfigDict(frozen=True)

    wall_s: float = 60.0
    """Seconds of wall time; then the whole process tree is killed."""
    cpu_s: float = 60.0
    """Seconds of CPU time of any one process."""
    memory_bytes: int = 1024 * MIB
    """Bytes of memory of all processes together."""
    processes: int = 64
    """Processes and threads alive at once."""
    open_files: int = 256
    """File descriptors a process may hold."""
    file_bytes: int = 64 * MIB
    """Bytes in any one file that is written."""
    disk_bytes: int = 256 * MIB
    """Bytes of all that is written to the work folder and /tmp together."""
    output_bytes: int = 1 * MIB
    """Bytes kept of stdout and of stderr each: the head and the tail; the rest is counted and dropped."""
    network: Network = False
    """True: the host's network can be reached. False: no network, loopback of its own. A list of `host:port`: these,
    through a proxy that the command's environment names, and nothing else. None on it: no network."""
    required: frozenset[LimitName] = frozenset()
    """Limits that must be enforced or watched; a sandbox that can't hold one of them refuses."""

    @field_validator("network")
    @classmethod
    def _canonical(cls, network: Network) -> Network:
        return network if isinstance(network, bool) else canonical_destinations(network) or False


class SandboxInfo(BaseModel):
    """What a command really ran in; part of the signal that is sealed."""

    model_config = ConfigDict(frozen=True)

    kind: str
    """`bubblewrap`, `landlock`, `docker` or `subprocess` (no isolation)."""
    version: str = ""
    image_digest: str = ""
    """Docker: the image's content digest."""
    enforcement: Mapping[LimitName, Enforcement] = {}
    isolated: bool = True
    """False: the command could reach the host's files."""
    network: Network = False
    """What of the network was open to this command; see `Limits.network`."""

    def under(self, limits: Limits) -> Self:
        """The same for one command with these limits."""
        return self if limits.network == self.network else self.model_copy(update={"network": limits.network})


@dataclass(frozen=True)
class ExecResult:
    """What one command did.

    Args:
        exit_code: the exit status; None if a signal or the sandbox ended it.
        signal: the signal number that ended it, if any.
        limit_hit: the limit that ended it or cut it, if any.
        stdout: what was kept of standard output: head and tail when it was cut.
        stdout_cut: bytes of standard output that were dropped.
        duration_s: wall seconds.
        cpu_s: CPU seconds of the command and its children, 0 where it can't be read.
        files: the contents of the files that were asked for, by path; a missing file is absent.
        refused: destinations that an allow list refused, the first few that differ, in the command's words, printable.
        refused_count: how many times it refused one.
    """

    exit_code: int | None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_cut: int = 0
    stderr_cut: int = 0
    signal: int | None = None
    limit_hit: LimitName | None = None
    duration_s: float = 0.0
    cpu_s: float = 0.0
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    refused: tuple[str, ...] = ()
    refused_count: int = 0
