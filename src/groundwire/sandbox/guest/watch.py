"""Measures and kills the processes of one command, through /proc."""

# pathlib and contextlib are slow to import; see the package
# ruff: noqa: PTH208, SIM105
from __future__ import annotations

import os
import time

from groundwire.sandbox.guest import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PAGE = os.sysconf("SC_PAGE_SIZE")
KILL_S = 5.0
GONE = (b"Z", b"X")
"""States of a process that has ended."""
STARTED = 19
"""Where `stat` has the moment at which the process started, in ticks since the machine did."""


def all_processes() -> list[int]:
    """Every process in sight."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def descendants(of: int) -> list[int]:
    """Every living process below `of`, itself not counted."""
    children: dict[int, list[int]] = {}
    for pid in all_processes():
        parent = _parent(pid)
        if parent is not None:
            children.setdefault(parent, []).append(pid)
    found: list[int] = []
    pending = [of]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def stat(pid: int) -> list[bytes]:
    """The state of a process, its parent, its group and what follows; empty: there is no such process."""
    text = _read(f"/proc/{pid}/stat")
    # the name stands in parentheses and may hold anything, parentheses too
    return text[text.rfind(b")") + 2 :].split()


def _parent(pid: int) -> int | None:
    fields = stat(pid)
    return None if not fields or fields[0] in GONE else int(fields[1])


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 4096)
    except OSError:
        return b""
    finally:
        os.close(fd)


def memory(pids: Iterable[int]) -> int:
    """Bytes of their own that `pids` hold in memory; pages of shared files are not counted."""
    total = 0
    for pid in pids:
        fields = _read(f"/proc/{pid}/statm").split()
        if len(fields) > 2:
            total += max(0, int(fields[1]) - int(fields[2])) * PAGE
    return total


def tasks(pids: Iterable[int]) -> int:
    """Processes and threads among `pids`."""
    total = 0
    for pid in pids:
        try:
            total += len(os.listdir(f"/proc/{pid}/task"))
        except OSError:
            continue
    return total


def end_all() -> None:
    """Ends every process that we can reach, at once: no fork gets away from one signal to all.

    Only for one who reaches nobody but those it started: the first of a PID namespace, or one in a Landlock domain of
    its own; and who is their reaper. Returns once we have no child, so that nobody can live below one.
    """
    if os.getpid() != 1 and _reaches(os.getppid()):
        raise RuntimeError("others can be reached")
    while True:
        try:
            os.kill(-1, signals.SIGKILL)
        except ProcessLookupError:
            pass
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _reaches(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def end_descendants() -> None:
    """Ends every process below this one, also those that left their parent: we are their reaper.

    Returns only once we have no child at all, so that nobody can live below one.

    Raises:
        TimeoutError: one can't be ended.
    """
    give_up = time.monotonic() + KILL_S
    while time.monotonic() < give_up:
        found = descendants(os.getpid())
        family = {os.getpid(), *found}
        for pid in found:
            # who was reaped below us meanwhile may have left the number to somebody else
            if _parent(pid) in family:
                try:
                    os.kill(pid, signals.SIGKILL)
                except ProcessLookupError:
                    continue
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.001)
        except ChildProcessError:
            return
    raise TimeoutError("a process of the command can't be ended")
