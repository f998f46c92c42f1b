"""Processes of this machine as tests look for them, by what stands on their command line or by number.

A number is somebody else's soon after its process has ended, where many forks are made, or refused, beside it: so who
is waited for is known by the moment of its start as well.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

Seen = tuple[int, str]
"""The number of a process, and when it started, in ticks of the kernel."""


def marked(mark: str) -> list[int]:
    """Living processes that have `mark` on their command line."""
    processes = (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [int(entry.name) for entry in processes if mark.encode() in _read(entry / "cmdline")]


def is_alive(pid: int) -> bool:
    """True for a number that a process has; the dead have it until they are reaped, and don't count."""
    return bool(seen([pid]))


def seen(pids: Iterable[int]) -> set[Seen]:
    """Those of them that live."""
    return {(pid, started) for pid in pids if (started := _started(pid))}


def left_of(processes: set[Seen], *, within_s: float = 60.0) -> set[Seen]:
    """Those that are still there when all had time to go: what is killed with its parent dies a moment after it."""
    end = time.monotonic() + within_s
    while (left := processes & seen(pid for pid, _ in processes)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


def wait_for_sandbox(pid: int, *, within_s: float = 60.0) -> set[Seen]:
    """Waits until a process has a sandbox below it; gives all processes of these sandboxes."""
    end = time.monotonic() + within_s
    while time.monotonic() < end:
        below = seen(_below(pid))
        if any(_read(Path(f"/proc/{child}/comm")) == b"bwrap\n" for child, _ in below):
            return below
        time.sleep(0.02)
    raise AssertionError(f"no sandbox was started within {within_s} s")


def open_files() -> list[Path]:
    """What this process has open, as far as it has a name; a thread may close one meanwhile."""
    found: list[Path] = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(link.readlink())
    return found


def _below(pid: int) -> Iterator[int]:
    try:
        listed = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return
    for child in [int(word) for children in listed for word in _read(children).split()]:
        yield child
        yield from _below(child)


def _started(pid: int) -> str:
    fields = _read(Path(f"/proc/{pid}/stat")).rpartition(b")")[2].split()
    return fields[19].decode() if fields and fields[0] not in b"ZX" else ""


def _read(path: Path) -> bytes:
    """What stands there; nothing where the process has gone, also between the file's opening and its reading."""
    try:
        return path.read_bytes()
    except OSError:
        return b""
