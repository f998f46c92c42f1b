"""Sees to it that no process of an engine stays, however this program ends."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path

WATCH = Path(__file__).with_name("watch.py")
LOOK_EVERY_S = 0.1
NAME = "EngineCore"
"""In the name that vLLM gives to an engine's process."""
END_TIMEOUT_S = 10.0

_one_at_a_time = threading.Lock()
"""Held while an engine starts: what appears then is its own."""


class Leftovers:
    """The watching process of one engine; it is started with the engine."""

    def __init__(self) -> None:
        self._watch: subprocess.Popen[str] | None = None
        self._before: set[BaseProcess] = set()
        self._processes: set[BaseProcess] = set()

    @contextmanager
    def noticing(self) -> Generator[None]:
        """Processes of an engine that are started in here are watched from then on. One engine starts at a time."""
        with _one_at_a_time:
            yield from self._noticing()

    def _noticing(self) -> Generator[None]:
        self._before = set(multiprocessing.active_children())
        self._watch = subprocess.Popen(
            [sys.executable, "-I", str(WATCH)], stdin=subprocess.PIPE, text=True, start_new_session=True
        )
        done = threading.Event()

        def look() -> None:
            while not done.wait(LOOK_EVERY_S):
                self._tell()

        looking = threading.Thread(target=look, daemon=True)
        looking.start()
        try:
            yield
        finally:
            done.set()
            looking.join()
            self._tell()

    def kill(self) -> None:
        """Kills the engine's processes; for one that is still being started."""
        for process in list(self._processes):
            process.kill()

    def end(self) -> None:
        """Kills what is left of the engine, and ends the watch."""
        watch, self._watch = self._watch, None
        if watch is None or watch.stdin is None:
            return
        with suppress(OSError):
            watch.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            watch.wait(END_TIMEOUT_S)
        for process in self._processes:
            process.join(END_TIMEOUT_S)  # nobody else waits for what was killed

    def _tell(self) -> None:
        watch = self._watch
        if watch is None or watch.stdin is None:
            return
        for process in set(multiprocessing.active_children()) - self._before - self._processes:
            if process.pid is not None and NAME in process.name:
                self._processes.add(process)
                with suppress(OSError):
                    watch.stdin.write(f"{process.pid}\n")
                    watch.stdin.flush()
