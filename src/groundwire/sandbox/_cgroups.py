"""Control groups that hold memory and processes, where this user may make any; version 1 or 2."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from groundwire.core._errors import SandboxCrashed
from groundwire.sandbox.guest import watch

ROOT = Path("/sys/fs/cgroup")
PREFIX = "groundwire"
GIVE_UP_S = 10.0
PAUSE_S = 0.001
MAX_FREE = 64
MAX_KILLED = 64
"""Members that are killed at a time: each takes a descriptor of ours."""
READ_BYTES = 1 << 16
MOVERS = 4
_numbers = itertools.count()


def movers() -> Executor:
    """Threads that put processes into groups, and do nothing else: nobody waits there for a person or a model."""
    return _movers_of(os.getpid())


@lru_cache(maxsize=1)
def _movers_of(_pid: int) -> Executor:
    return ThreadPoolExecutor(MOVERS, "groundwire-cgroups")  # by process: threads don't come along with a fork


@dataclass(frozen=True)
class Parents:
    """Where groups can be made.

    Args:
        version: 1 or 2.
        memory: the folder in which a group that holds memory can be made.
        pids: the same for processes; version 2: the same folder.
    """

    version: int
    memory: Path
    pids: Path


@dataclass
class Counts:
    """How often limits were hit, as the kernel counts it."""

    oom_kills: int = 0
    refused_forks: int = 0


class Cgroup:
    """One group, used for one command at a time and then for the next.

    Args:
        parents: where it is made.

    Raises:
        OSError: it can't be made.
    """

    def __init__(self, parents: Parents) -> None:
        name = f"{PREFIX}-{_owner(os.getpid())}-{next(_numbers)}"
        self._version = parents.version
        self._memory = parents.memory / name
        self._pids = parents.pids / name
        self._limits = (0, 0)
        self._before = Counts()
        self._counting = str(self._pids / "pids.current")
        self._processes = str(self._pids / "cgroup.procs")
        self._events = (
            str(self._memory / ("memory.events" if self._version == 2 else "memory.oom_control")),
            str(self._pids / "pids.events"),
        )
        for folder in self._folders:
            folder.mkdir()

    @property
    def _folders(self) -> list[Path]:
        return [self._memory] if self._version == 2 else [self._memory, self._pids]

    def prepare(self, memory_bytes: int, processes: int) -> None:
        """Sets the limits and starts counting.

        Raises:
            OSError: the kernel does not take them.
        """
        if self._limits != (memory_bytes, processes):
            if self._version == 2:
                (self._memory / "memory.max").write_text(str(memory_bytes))
                with contextlib.suppress(OSError):
                    (self._memory / "memory.swap.max").write_text("0")
            else:
                self._limit_version_1(memory_bytes)
            (self._pids / "pids.max").write_text(str(processes))
            self._limits = (memory_bytes, processes)
        self._before = self._read()

    def _limit_version_1(self, memory_bytes: int) -> None:
        # memory with swap may never be below memory alone, so the order depends on the direction
        both = self._memory / "memory.memsw.limit_in_bytes"
        with contextlib.suppress(OSError):
            both.write_text("-1")
        (self._memory / "memory.limit_in_bytes").write_text(str(memory_bytes))
        with contextlib.suppress(OSError):
            both.write_text(str(memory_bytes))

    def add(self, pid: int) -> None:
        """Puts a process, and with it all it will start, into the group.

        Raises:
            OSError: the process is gone, or may not be moved.
        """
        for folder in self._folders:
            (folder / "cgroup.procs").write_text(str(pid))

    def end_all(self) -> None:
        """Kills whoever is in it, and returns once nobody is.

        Raises:
            SandboxCrashed: somebody can't be killed.
        """
        give_up = time.monotonic() + GIVE_UP_S
        if self._members():
            # one that forks and ends faster than a list of members can be read has to stop forking first
            self._limits = None
            (self._pids / "pids.max").write_text("0")
        while members := self._members():
            if time.monotonic() > give_up:
                raise SandboxCrashed(f"Processes of a command can't be ended: {members[:10]}.")
            self._kill(members)
            time.sleep(PAUSE_S)

    def _kill(self, members: list[int]) -> None:
        """By descriptor: refused forks use up process numbers too, so that one that was read may be somebody else's."""
        opened: dict[int, int] = {}
        try:
            for pid in members[:MAX_KILLED]:
                with contextlib.suppress(OSError):
                    opened[pid] = os.pidfd_open(pid)
            for pid in opened.keys() & set(self._members()):  # who is in it now had the number when it was opened
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(opened[pid], signal.SIGKILL)
        finally:
            for descriptor in opened.values():
                os.close(descriptor)

    @property
    def is_empty(self) -> bool:
        """True if nobody counts against its limit any more; the dead do until they are reaped."""
        try:
            return int(_content(self._counting)) == 0
        except (OSError, ValueError):
            return False

    def _members(self) -> list[int]:
        try:
            return [int(line) for line in _content(self._processes).split()]
        except OSError:
            return []

    def hits(self) -> Counts:
        """What was counted since `prepare`."""
        now = self._read()
        return Counts(now.oom_kills - self._before.oom_kills, now.refused_forks - self._before.refused_forks)

    def _read(self) -> Counts:
        memory, pids = self._events
        return Counts(_value(memory, b"oom_kill"), _value(pids, b"max"))

    def remove(self) -> None:
        """Removes it; one that still holds a process stays behind and is removed at a later start."""
        for folder in self._folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


class CgroupPool:
    """Groups to be used again, since making and removing one for each command would cost more than the command."""

    def __init__(self, parents: Parents | None) -> None:
        self._parents = parents
        self._free: list[Cgroup] = []

    @property
    def available(self) -> bool:
        """True if groups can be made here."""
        return self._parents is not None

    def take(self, memory_bytes: int, processes: int) -> Cgroup | None:
        """A group with these limits; None where none can be made.

        Raises:
            SandboxCrashed: it can't be made any more.
        """
        if self._parents is None:
            return None
        for group in self._free[::-1]:
            if not group.is_empty:
                continue
            self._free.remove(group)
            try:
                group.prepare(memory_bytes, processes)
            except OSError:
                # pages of an earlier command are still charged to it and exceed the new limit
                group.remove()
                continue
            return group
        try:
            return _prepared(self._parents, memory_bytes, processes)
        except OSError as error:
            raise SandboxCrashed(f"No control group can be made any more: {error}.") from error

    def give_back(self, group: Cgroup | None) -> None:
        """Takes back a group; whoever is still in it is ended first, however it left its keeper."""
        if group is not None:
            group.end_all()
            self._free.append(group)
            if len(self._free) > MAX_FREE:
                self._free.pop(0).remove()

    def close(self) -> None:
        """Removes the groups that were given back."""
        while self._free:
            self._free.pop().remove()


def _prepared(parents: Parents, memory_bytes: int, processes: int) -> Cgroup:
    group = Cgroup(parents)
    try:
        group.prepare(memory_bytes, processes)
    except OSError:
        group.remove()
        raise
    return group


def _content(path: str) -> bytes:
    """All of a small file: without the layers of `Path`, since a dozen are read for each command."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts: list[bytes] = []
        while part := os.read(opened, READ_BYTES):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(opened)


def _value(path: str, key: bytes) -> int:
    try:
        for line in _content(path).splitlines():
            name, _, value = line.partition(b" ")
            if name == key:
                return int(value)
    except (OSError, ValueError):
        return 0
    return 0


def find_parents(root: Path = ROOT, membership: Path = Path("/proc/self/cgroup")) -> Parents | None:
    """Where this process may make groups that hold both memory and processes; tried by making one.

    Groups that a killed groundwire left behind are removed on the way.
    """
    for parents in _candidates(root, membership):
        try:
            _remove_orphans(parents)
            _prepared(parents, 64 << 20, 8).remove()
        except OSError:
            continue
        return parents
    return None


def _candidates(root: Path, membership: Path) -> list[Parents]:
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    own = {
        controller: path for line in lines for _, names, path in [line.split(":", 2)] for controller in names.split(",")
    }
    found: list[Parents] = []
    if (root / "memory").is_dir() and (root / "pids").is_dir():
        places = [(root / "memory" / own.get("memory", "/")[1:], root / "pids" / own.get("pids", "/")[1:])]
        found += [Parents(1, memory, pids) for memory, pids in places]
    if (root / "cgroup.controllers").is_file() and "" in own:
        # a group with processes of its own can't hand controllers to groups below it, so beside ours, not below
        mine = root / own[""][1:]
        for folder in (mine.parent, mine, root):
            if folder.is_relative_to(root) and _hands_down(folder):
                found.append(Parents(2, folder, folder))
    return found


def _hands_down(folder: Path) -> bool:
    try:
        controllers = (folder / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return "memory" in controllers and "pids" in controllers


def _remove_orphans(parents: Parents) -> None:
    for folder in {parents.memory, parents.pids}:
        for group in folder.glob(f"{PREFIX}-*-*"):
            owner = group.name.split("-")[1]
            number = owner.partition(".")[0]
            if number.isdigit() and owner != _owner(int(number)):
                with contextlib.suppress(OSError):
                    group.rmdir()


def _owner(pid: int) -> str:
    """A living process by its number and the moment of its start, as numbers are soon given to others; else ""."""
    fields = watch.stat(pid)
    return f"{pid}.{int(fields[watch.STARTED])}" if fields else ""
