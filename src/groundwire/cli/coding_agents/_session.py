"""What one server may do: in which folders, how often, how long; and what runs ends with whoever asked for it."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import anyio

from groundwire.core._errors import BudgetExceeded, ConfigError
from groundwire.core._paths import expand_user
from groundwire.core._text import plain

Done = TypeVar("Done")
MOST_PATH_CHARS = 4096
CANCELLED_S = 30.0
"""Wall seconds that what was cancelled may take to clean up."""


@dataclass(frozen=True)
class ToolLimits:
    """What the calls of one server may use.

    Args:
        call_seconds: wall seconds of one call.
        total_seconds: wall seconds of all calls together.
        calls: how many calls that run something.
        at_once: how many of these side by side; others wait.
    """

    call_seconds: float = 600.0
    total_seconds: float = 7200.0
    calls: int = 500
    at_once: int = 2


class Projects:
    """The folders that the user named, and what lies in them.

    Args:
        roots: the folders.

    Raises:
        ConfigError: one of them is no folder.
    """

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(expand_user(root).resolve() for root in roots)
        for root in self.roots:
            if not root.is_dir():
                raise ConfigError(f"{root} is not a folder.", do="Name folders with --root.")

    def folder(self, asked: str) -> Path:
        """The folder that a client names: one of the roots, or one within them, reached without links.

        Args:
            asked: an absolute path, or one relative to the only root; empty: that root.

        Raises:
            ConfigError: it is outside, reached through a link, somebody else's, or no folder.
        """
        path = self.path(asked)
        if not path.is_dir():
            raise ConfigError(f"{plain(asked)!r} is not a folder.", do="Name a project's root.")
        return path

    def path(self, asked: str) -> Path:
        """As `folder`, of a file or folder."""
        given = Path(asked) if len(asked) <= MOST_PATH_CHARS and "\0" not in asked else None
        root = self._root_of(given) if given is not None and ".." not in given.parts else None
        if given is None or root is None:
            raise self._outside(asked)
        at = root
        for part in given.parts[len(root.parts) :] if given.is_absolute() else given.parts:
            at /= part
            if at.is_symlink():
                raise ConfigError(f"{plain(asked)!r} is reached through a link.", do="Name the folder itself.")
        try:
            owner = at.stat().st_uid
        except OSError:
            named = plain(asked or str(root))
            raise ConfigError(f"There is no file or folder {named!r}.", do="Name one below a root.") from None
        if owner not in (os.getuid(), root.stat().st_uid):
            raise ConfigError(f"{plain(asked)!r} belongs to another user.", do="Name a project of your own.")
        return at

    def holds(self, folder: str | None) -> bool:
        """True if a recorded folder is one of the roots, or lies within."""
        return bool(folder) and any(Path(str(folder)).is_relative_to(root) for root in self.roots)

    def _root_of(self, given: Path) -> Path | None:
        if not given.is_absolute():
            return self.roots[0] if len(self.roots) == 1 else None
        return next((root for root in self.roots if given.is_relative_to(root)), None)

    def _outside(self, asked: str) -> ConfigError:
        roots = ", ".join(map(str, self.roots))
        return ConfigError(
            f"{plain(asked)!r} is in none of the folders that this server is for.",
            do=f"Name one of these, or a folder below: {plain(roots, limit=600)}",
        )


class ToolSession:
    """Counts what a server's calls use, and ends what runs with whoever asked for it.

    Args:
        limits: what they may use.
    """

    def __init__(self, limits: ToolLimits) -> None:
        self.limits = limits
        self.calls = 0
        self.seconds = 0.0
        self._free = asyncio.Semaphore(limits.at_once)

    async def run(self, work: Callable[[float], Coroutine[Any, Any, Done]], *, gone: asyncio.Event | None) -> Done:
        """Does a call's work within the limits.

        Args:
            work: what is done; told how many wall seconds it may take.
            gone: set when the client has gone.

        Raises:
            BudgetExceeded: the session's calls or seconds are used up.
            TimeoutError: the call took longer than it may.
            ConnectionAbortedError: the client has gone. It is no cancellation: that would end all of its session's
                calls, and the session.
        """
        async with self._counted() as seconds:
            task = asyncio.create_task(work(seconds))
            waits = [asyncio.create_task(gone.wait())] if gone is not None else []
            try:
                done, _ = await asyncio.wait({task, *waits}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if task in done:
                    return task.result()
                if not done:
                    raise TimeoutError(f"the call took longer than {seconds:g} s, and was ended")
                raise ConnectionAbortedError("the client has gone, and the call was ended")
            finally:
                # a cancelled scope of anyio would cancel each step of the cleaning up as well
                with anyio.CancelScope(shield=True):
                    await _end(task, *waits)

    @asynccontextmanager
    async def _counted(self) -> AsyncGenerator[float]:
        async with self._free:
            limits = self.limits
            left = limits.total_seconds - self.seconds
            if self.calls >= limits.calls or left <= 0:
                what = f"{limits.calls} calls" if self.calls >= limits.calls else f"{limits.total_seconds:g} s"
                raise BudgetExceeded(
                    "calls" if self.calls >= limits.calls else "seconds",
                    f"This server's {what} are used up.",
                    do="Ask the user: they started it with these limits.",
                )
            self.calls += 1
            begun = time.monotonic()
            try:
                yield min(limits.call_seconds, left)
            finally:
                self.seconds += time.monotonic() - begun


async def _end(*tasks: asyncio.Task[Any]) -> None:
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=CANCELLED_S)
    for task in tasks:
        if task.done() and not task.cancelled():
            task.exception()  # asked for, so that nobody is told that it was not


async def ended(command: Sequence[str], folder: Path, env: dict[str, str]) -> tuple[int, bytes]:
    """Runs a program of ours to its end; it is killed with whoever waits for it.

    Returns:
        Its exit code and standard output.
    """
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    )
    try:
        out, _ = await (await asyncio.shield(starting)).communicate()
        return (await starting).returncode or 0, out
    finally:
        # whoever is cancelled while it starts waits for that: asyncio would kill it alone, and not what it has started
        process = await starting
        if process.returncode is None:
            with suppress(ProcessLookupError):  # it ended, and asyncio has not heard of it yet
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
