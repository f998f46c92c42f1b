"""Ends all that a process has started, from outside, where no PID namespace does it.

For a process to which its descendants fall when they lose their parent (a subreaper). It is stopped first: it stays
there to be fallen to, and can start nothing. Then whoever lives below it is killed until nobody does.

Why one more look than the first that finds nobody: while one list of processes is read, a process may fork and end. It
then lies dead below the stopped one, which reaps nobody. So nobody is left once a whole look finds no living process
and no dead one that the look before did not find.

Whole process groups are killed, which is one act: no fork gets away from it. A family whose members each make a group
of their own and end at once can outrun this; a control group or a Landlock domain, where there is one, can't be outrun.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

__all__ = ["end_descendants"]

GIVE_UP_S = 10.0
STOPPED, GONE = b"Tt", b"ZX"
PAUSE_S = 0.001


def end_descendants(pid: int) -> None:
    """Stops `pid` and ends everything below it; `pid` itself is left stopped.

    Args:
        pid: a subreaper that is not reaped before this returns.
    """
    give_up = time.monotonic() + GIVE_UP_S
    own_group = _group(_stat(pid))
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    while _state(_stat(pid)) not in STOPPED + GONE and time.monotonic() < give_up:
        time.sleep(PAUSE_S)
    dead_before: dict[int, int] | None = None
    while time.monotonic() < give_up:
        living, dead = _below(pid)
        if not living and dead == dead_before:
            return
        dead_before = dead
        # a group of theirs keeps its number for as long as one of them lies dead in it
        for target in {-group for group in (*living.values(), *dead.values()) if group > 1} - {-own_group} | {*living}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(target, signal.SIGKILL)
        if living:
            time.sleep(PAUSE_S)


def _below(root: int) -> tuple[dict[int, int], dict[int, int]]:
    """Who lives below `root`, and who lies dead there; each with its process group."""
    children: dict[int, list[int]] = {}
    groups: dict[int, int] = {}
    dead: set[int] = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            pid = int(entry.name)
            children.setdefault(int(fields[1]), []).append(pid)
            groups[pid] = _group(fields)
            if fields[0] in GONE:
                dead.add(pid)
    below: set[int] = set()
    pending = [root]
    while pending:
        found = children.get(pending.pop(), [])
        below.update(found)
        pending += found
    return {pid: groups[pid] for pid in below - dead}, {pid: groups[pid] for pid in below & dead}


def _stat(pid: int) -> list[bytes]:
    """The state, the parent and what follows; empty: there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return []
    # the name stands in parentheses and may hold anything, parentheses too
    return text[text.rfind(b")") + 2 :].split()


def _group(fields: list[bytes]) -> int:
    return int(fields[2]) if fields else 0


def _state(fields: list[bytes]) -> bytes:
    return fields[0] if fields else b"X"
