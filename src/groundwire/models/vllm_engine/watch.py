"""Ends an engine's processes when the program that started them is gone: `python -I watch.py`.

vLLM's engine process outlives a program that is killed, and keeps the GPU's memory. So a small process of its own reads
their pids, a line each, from a pipe that only the program holds. When that ends, because the program closed it or died
in whatever way, it kills those processes that are still there, and all that they had started. Needs Linux's /proc, and
nothing but the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


def main() -> None:
    """As the module says."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watched: dict[int, str] = {}
    for line in sys.stdin:
        process = int(line)
        watched[process] = started(process)
    # a pid may have been given to another process since
    for process in [process for process, since in watched.items() if since and started(process) == since]:
        for one in [*below(process), process]:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)


def started(process: int) -> str:
    """When it started, in ticks of the kernel; empty where there is no such process."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def below(process: int) -> list[int]:
    """All that it has started, directly or not."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                found += [*below(child), child]
    return found


if __name__ == "__main__":
    main()
