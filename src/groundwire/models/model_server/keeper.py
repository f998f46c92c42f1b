"""Runs one program and sees to it that nothing of it stays: `python -I keeper.py GRACE_S PROGRAM ARGUMENT…`.

It is a process of its own between us and a server. Its standard input is a pipe that only we hold: when that ends,
because we closed it or died in whatever way, it ends the program's process group, and then all that the program had
started, wherever it went: what loses its parent becomes a child of the keeper. If the keeper itself is killed, the
kernel kills the program. Needs Linux, and nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def main(grace_s: float, program: list[str]) -> int:
    """Runs `program`; returns its exit status, or 128 + the signal's number."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # it ends when the pipe does
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def before() -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    # the keeper has one thread, so preexec_fn is safe, and the signal of its death is that of the process
    try:
        child = subprocess.Popen(program, stdin=subprocess.DEVNULL, process_group=0, preexec_fn=before)
    except OSError as error:
        print(f"{program[0]} can't be started: {error}", file=sys.stderr, flush=True)
        return 127
    ended = os.pidfd_open(child.pid)
    while ended not in (ready := select.select([0, ended], [], [])[0]):
        if ready and not os.read(0, 1):
            _send(child.pid, signal.SIGTERM)
            select.select([ended], [], [], grace_s)
            break
    # before its status is asked for: then the number of its group may be somebody else's
    _send(child.pid, signal.SIGKILL)
    status = child.wait()
    _end_all_that_is_left()
    return status if status >= 0 else 128 - status


def _send(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):  # whoever led it may have left it
        os.killpg(group, number)


def _end_all_that_is_left() -> None:
    while left := _children():
        for process in left:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(0.01)


def _children() -> list[int]:
    """Of this process, zombies included; those of the killed come here next."""
    return [int(pid) for pid in Path("/proc/self/task", str(os.getpid()), "children").read_text().split()]


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
