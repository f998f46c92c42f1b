"""The sandbox Protocol: what code in a sandbox may use and reach, and what came back."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, Self, runtime_checkable

from pydantic import BaseModel, ConfigDict, field_validator

from groundwire.core._candidates import NO_MODES, Tree

# Where a command may connect to: a host and a port, named exactly.

MOST = 64
HIGHEST_PORT = 65535
MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")
# what a C library reads as an address, however odd: 2130706433, 127.1, 0x7f.1
_NUMERIC = re.compile(r"([0-9]+|0x[0-9a-f]*)")
_FORM = "Write HOST:PORT, like api.example.org:443, 10.0.0.5:5432 or [2001:db8::1]:443"


class Destination(NamedTuple):
    """A host and a port in their one canonical form.

    Args:
        host: a name in lower case, or an address.
        port: 1 to 65535.
        is_address: the host is an address, which is not looked up.
    """

    host: str
    port: int
    is_address: bool

    @classmethod
    def parse(cls, text: str) -> Destination:
        """Reads `host:port`.

        Raises:
            ValueError: it is no such thing; says why, and what to write.
        """
        shown = ascii(text[:80])
        if "://" in text or "/" in text:
            raise ValueError(f"{shown} is more than a host and a port. {_FORM}, without a scheme or a path.")
        if "*" in text:
            raise ValueError(f"{shown} has a wildcard. Name each host separately. {_FORM}.")
        host, colon, port = text.rpartition(":")
        if not colon or not host or host.endswith(":"):
            raise ValueError(f"{shown} has no port. {_FORM}.")
        if not _PORT.fullmatch(port) or int(port) > HIGHEST_PORT:
            raise ValueError(f"{shown} has no port from 1 to {HIGHEST_PORT}. {_FORM}.")
        address = _address(host, shown)
        if address is not None:
            return cls(str(address), int(port), True)
        return cls(_name(host, shown), int(port), False)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def canonical_destinations(texts: Iterable[str]) -> tuple[str, ...]:
    """The list, each entry in its canonical form, sorted, none twice.

    Raises:
        ValueError: an entry is not `host:port`, or there are too many.
    """
    found = sorted({str(Destination.parse(text)) for text in texts})
    if len(found) > MOST:
        raise ValueError(f"{len(found)} destinations are too many: at most {MOST} are allowed.")
    return tuple(found)


def _address(host: str, shown: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    bracketed = host.startswith("[") and host.endswith("]")
    if not bracketed and ":" in host:
        raise ValueError(f"{shown} has an address that is not in brackets. {_FORM}.")
    try:
        address = ipaddress.IPv6Address(host[1:-1]) if bracketed else ipaddress.IPv4Address(host)
    except ValueError:
        if bracketed:
            raise ValueError(f"{shown} has no IPv6 address in its brackets. {_FORM}.") from None
        return None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise ValueError(f"{shown} names an interface, which can't be listed. {_FORM}.")
        address = address.ipv4_mapped or address
    if address.is_unspecified or address.is_multicast:
        raise ValueError(f"{shown} is not the address of one host. {_FORM}.")
    return address


def _name(host: str, shown: str) -> str:
    name = host.lower()
    if not name.isascii():
        raise ValueError(f"{shown} has letters beyond ASCII. Write such a name as DNS does: xn--….")
    labels = name.split(".")
    if len(name) > MAX_NAME or not all(map(_LABEL.fullmatch, labels)) or _NUMERIC.fullmatch(labels[-1]):
        raise ValueError(f"{shown} has no host name and no address before its port. {_FORM}.")
    return name


# What code in a sandbox may use, and what came back.

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
    case_s: float = 10.0
    """Seconds of CPU time of any one test case; kept by the tools that know cases, not by a sandbox."""
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


# The sandbox Protocol. Implementations live in `groundwire.sandbox`.


class Sandbox(Protocol):
    """Runs untrusted commands. Nothing of one run is seen by the next."""

    @property
    def info(self) -> SandboxInfo:
        """What commands really run in, probed, with how firmly each limit holds."""
        ...

    @property
    def python(self) -> Path:
        """The interpreter, as a path inside the sandbox, that runs the project."""
        ...

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
        """Runs one command in a fresh copy of `tree`.

        Args:
            command: program and arguments; never given to a shell. `python`, `python3` as program: the project's.
            tree: laid out in the work folder, which is the current folder.
            limits: ceilings; the whole process tree is gone when this returns.
            env: added to a minimal environment of our own; nothing of the host's is passed on.
            support: files of ours (report plugins), laid outside the work folder, read-only, in a folder whose path is
                in the environment as `GROUNDWIRE_SUPPORT`; it is no part of the import path by itself.
            collect: paths relative to the folder in the environment variable `GROUNDWIRE_OUT` (writable, outside the
                work folder) whose contents come back; each at most 16 MiB, else it is left out.
            stdin: standard input; then it is closed.

        Returns:
            What the command did. A command that fails, or hits a limit, is a result and not an error. A program that
            is not found gives exit code 127, one that can't be executed 126.

        Raises:
            SandboxUnavailable: a required limit can't be held here.
            SandboxCrashed: the sandbox itself broke.
            SandboxError: it is closed, or was before the command had ended.
        """
        ...

    async def warm(
        self,
        tree: Tree,
        *,
        preload: Sequence[str] = (),
        support: Mapping[str, bytes] | None = None,
        flags: Sequence[str] = (),
    ) -> WarmSandbox:
        """Starts a fork server in this sandbox: `tree` laid out, `preload` modules imported.

        Args:
            tree: what commands find, but for their changes.
            preload: installed modules.
            support: see `run`.
            flags: of the interpreter (`-S`), the same for all commands.

        Raises:
            SandboxUnavailable: this kind of sandbox has none; use `run`.
        """
        ...

    async def aclose(self) -> None:
        """Ends everything it started."""
        ...


# Two boxes at once, for what must not be reached by what it asks.

LINE = "GROUNDWIRE_LINE"
"""The variable with the number of the descriptor that each command of a pair holds."""


@dataclass(frozen=True)
class BoxCommand:
    """What one box of a pair runs. For what each part means see `Sandbox.run`."""

    arguments: Sequence[str]
    tree: Tree
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    support: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    collect: Sequence[str] = ()
    stdin: bytes = b""
    preload: Sequence[str] = ()
    """Modules that a fork server imports, where the command runs in one."""


@dataclass(frozen=True)
class Pair:
    """What the two commands of a pair did.

    Args:
        asking: the one that decides how long both run.
        answering: the other; None where it still ran when the first had ended, and was killed.
    """

    asking: ExecResult
    answering: ExecResult | None


@runtime_checkable
class PairingSandbox(Sandbox, Protocol):
    """A sandbox that can run two commands at once, each in a box of its own, with one line between them.

    The boxes share no file, no process and no namespace: nothing that one writes can be read, named or signalled by the
    other. The line is a socket pair that is made outside; the variable `GROUNDWIRE_LINE` names each command's end.
    """

    async def run_pair(self, asking: BoxCommand, answering: BoxCommand, limits: Limits) -> Pair:
        """Runs both, each under these limits. They live and die together.

        When the asking command ends, the answering one is killed; when that ends first, the asking one reads the end of
        the line. When this returns or raises, also by cancellation, both are gone.

        Raises:
            SandboxUnavailable: a required limit can't be held here.
            SandboxCrashed: one of the boxes broke.
        """
        ...


@dataclass(frozen=True)
class HeadStart:
    """Lets a program begin once for many commands: up to where it says so, before any change is there.

    It says so by `ready()` of the module `groundwire_ready`, which is there only then. The call returns in each command
    that goes on from there, and gives its variables; those whose names begin with `GROUNDWIRE_` may differ from one to
    the next. A program that started threads or processes, wrote files or imported a module of the project by then has
    no head start.

    Args:
        withheld: files of the tree that may be changed; a program that imports one before it is ready has no head
            start either.
    """

    withheld: tuple[str, ...] = ()


class WarmSandbox(Protocol):
    """A fork server: runs `python …` commands on variations of one tree, each in a fresh fork with its own limits."""

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
        """As `Sandbox.run(["python", *arguments], tree.with_changes(changes, modes), …)`, but faster.

        Args:
            arguments: as on Python's command line: `-m MODULE …`, `-c CODE …` or `SCRIPT …`.
            head_start: the program may have begun before; where that can't be done, it begins now.

        Raises:
            SandboxCrashed: the fork server died; start another.
        """
        ...

    async def aclose(self) -> None:
        """Ends the fork server and everything in it."""
        ...


@runtime_checkable
class ForkingSandbox(PairingSandbox, Protocol):
    """A sandbox that keeps fork servers by itself, for whatever comes again: so pairs run in forks, too."""

    async def run_forked(
        self,
        command: BoxCommand,
        changes: Mapping[str, bytes | None],
        limits: Limits,
        *,
        modes: Mapping[str, bool] = NO_MODES,
        head_start: HeadStart | None = None,
    ) -> ExecResult:
        """One command, in a fork server on `command.tree` where such a one has come before; else in a fresh start.

        Args:
            command: `python`, flags of the interpreter, then what `WarmSandbox.run` takes.
            changes: what its tree differs by from the server's.
            limits: ceilings.
            modes: path → whether it carries the executable bit.
            head_start: see `WarmSandbox.run`.

        Raises:
            SandboxUnavailable: a required limit can't be held here.
            SandboxCrashed: the sandbox itself broke.
        """
        ...
