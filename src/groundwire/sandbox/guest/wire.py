"""Messages between groundwire and its guest.

Towards the guest: a length and a marshalled value; the sender is trusted. From the guest: a kind byte, a length and
plain bytes, since what is in the sandbox is not.
"""

from __future__ import annotations

import marshal
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    class Job(TypedDict):
        """One command, as the guest gets it."""

        box: str
        """The writable folder; `work`, `tmp` and `out` are below it."""
        base: str
        """A folder that holds the tree already; empty: all of it is in `files`."""
        arguments: list[str]
        """A program and its arguments; in a fork server: what stands after `python` on a command line."""
        python: str
        files: dict[str, bytes]
        deleted: list[str]
        executable: list[str]
        env: dict[str, str]
        stdin: bytes
        collect: list[str]
        wall_s: float
        cpu_s: int
        memory_bytes: int
        processes: int
        open_files: int
        file_bytes: int
        disk_bytes: int
        """Size of the box's own file system; 0: it has none."""
        watch_disk_bytes: int
        """The box is measured here, since nothing else holds it; 0: it is not."""
        output_bytes: int
        nproc: int
        """RLIMIT_NPROC, where it counts this sandbox's processes only; 0: it would not."""
        watch: bool
        """Memory and processes are measured here, since no cgroup holds them."""
        uid: int
        """The user the command becomes; 0: it stays who the guest is."""
        line: int
        """The guest's descriptor that leads to another box, which the command keeps; -1: there is none."""

    class Support(TypedDict):
        """What a command in a container gets beside its job."""

        folder: str
        files: dict[str, bytes]
        """Read by the command, and can't be changed by it."""
        executable: list[str]
        seccomp: dict[str, list[bytes]]
        """Filters by processor, loaded in this order."""
        keep: bool
        """Jobs come one after the other, each in the same clean state."""

    class Confinement(TypedDict):
        """What a command on the host's own file system is shut into."""

        readable: list[str]
        """Files and folders, read and executed."""
        writable: list[str]
        devices: list[str]
        network: bool
        seccomp: list[bytes]
        """Filters, loaded in this order."""

    class Setup(TypedDict):
        """What a fork server starts with."""

        box: str
        base: str
        files: dict[str, bytes]
        executable: list[str]
        preload: list[str]
        env: dict[str, str]
        seccomp: bytes
        shared_memory_bytes: int
        base_bytes: int
        flags: list[str]
        """What the interpreter was started with, and each command's is."""
        own_count: bool
        """Each command gets a user namespace, in which its processes are counted."""

    class Beginning(TypedDict):
        """A program that a fork server begins before it is asked for; see `core.HeadStart`."""

        arguments: list[str]
        python: str
        env: dict[str, str]
        withheld: list[str]


RUN = b"r"
"""To a fork server, with three descriptors, or four: where we talk, standard output, standard error, the line."""
BEGIN = b"b"
"""To a fork server, with one descriptor, from which a `Beginning` is read."""
GO_ON = b"g"
"""As `RUN`, with the number of a beginning (u32) behind it: the command goes on from there, if it got that far."""
OURS = "GROUNDWIRE_"
"""How variables begin that differ from command to command, and that no project is to see."""

HELLO = b"H"
"""The keeper of one command is alive; the kernel adds its process id."""
DOOR = b"D"
"""Comes with the socket that `door` hands out."""
CODE = b"C"
"""The guest's own code, compiled by the interpreter in the sandbox."""
STDOUT = b"O"
STDERR = b"E"
LINE = b"L"
"""What the command wrote to its line, where no descriptor leads out."""
FILE = b"F"
"""The index of a collected file (u32) and its content."""
RESULT = b"R"
REFUSED = b"X"
"""The tree can't be laid out: why, as text."""
BROKEN = b"B"
"""The guest itself failed: why, as text."""
READY = b"Y"
"""The fork server takes commands."""
UNNESTED = b"N"
"""There can be no fork server: it may not make namespaces."""

HEADER = struct.Struct("<cI")
INDEX = struct.Struct("<I")
OUTCOME = struct.Struct("<iiBddQQ")
"""exit code (-1: none), signal (0: none), limit (index into LIMITS, 0: none), CPU s, wall s, cut stdout, cut stderr."""
LIMITS = ("", "wall_s", "cpu_s", "memory_bytes", "processes", "file_bytes", "disk_bytes")
MAX_FILE_BYTES = 16 * 1024 * 1024
MARSHAL_VERSION = 2  # read by every Python 3, written by every host


def pack_value(value: Any) -> bytes:
    """A value of plain types for the guest."""
    body = marshal.dumps(value, MARSHAL_VERSION)
    return INDEX.pack(len(body)) + body


def read_value(fd: int) -> object:
    """The next value for the guest.

    Raises:
        EOFError: the sender is gone.
    """
    (size,) = INDEX.unpack(_read_exactly(fd, INDEX.size))
    return marshal.loads(_read_exactly(fd, size))


def differs(name: str) -> bool:
    """True for a variable that differs from command to command."""
    return name.startswith(OURS)


def read_index(fd: int) -> int:
    """The next number for the guest.

    Raises:
        EOFError: the sender is gone.
    """
    (number,) = INDEX.unpack(_read_exactly(fd, INDEX.size))
    return int(number)


def read_part(fd: int) -> bytes:
    """The next bytes for a command's line; none at the end."""
    try:
        (size,) = INDEX.unpack(_read_exactly(fd, INDEX.size))
        return _read_exactly(fd, size)
    except EOFError:
        return b""


def _read_exactly(fd: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_frame(fd: int, kind: bytes, body: bytes = b"") -> None:
    """Sends one frame; short writes are carried on."""
    view = memoryview(HEADER.pack(kind, len(body)) + body)
    while view:
        view = view[os.write(fd, view) :]
