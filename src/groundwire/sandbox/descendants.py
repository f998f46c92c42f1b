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

from groundwire.sandbox.guest import watch

__all__ = ["end_descendants"]

GIVE_UP_S = 10.0
STOPPED = (b"T", b"t")
PAUSE_S = 0.001


def end_descendants(pid: int) -> None:
    """Stops `pid` and ends everything below it; `pid` itself is left stopped.

    Args:
        pid: a subreaper that is not reaped before this returns.
    """
    give_up = time.monotonic() + GIVE_UP_S
    own_group = _group(watch.stat(pid))
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    while _state(watch.stat(pid)) not in (*STOPPED, *watch.GONE) and time.monotonic() < give_up:
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
    for pid in watch.all_processes():
        if fields := watch.stat(pid):
            children.setdefault(int(fields[1]), []).append(pid)
            groups[pid] = _group(fields)
            if fields[0] in watch.GONE:
                dead.add(pid)
    below: set[int] = set()
    pending = [root]
    while pending:
        found = children.get(pending.pop(), [])
        below.update(found)
        pending += found
    return {pid: groups[pid] for pid in below - dead}, {pid: groups[pid] for pid in below & dead}


def _group(fields: list[bytes]) -> int:
    return int(fields[2]) if fields else 0


def _state(fields: list[bytes]) -> bytes:
    return fields[0] if fields else b"X"
