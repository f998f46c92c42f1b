"""Which sandbox the tools of a run get, opened at first use and closed with the run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from groundwire.core._errors import SandboxUnavailable
from groundwire.core._sandboxes import Sandbox


@dataclass(frozen=True)
class SandboxOptions:
    """What kind of sandbox to open.

    Args:
        kind: `bubblewrap`, `docker` or `subprocess` (no isolation); None: the strongest that works without a daemon.
        image: Docker: the image.
        python: interpreter that runs the project; None: the task's own.
        fork_servers: what comes again runs in forks of a few servers that all episodes share, where the sandbox can
            have such. For many short judgings: an interpreter's start costs more than most of them.
    """

    kind: str | None = None
    image: str = "python:3.12-slim"
    python: Path | None = None
    fork_servers: bool = False


SandboxChoice = Sandbox | SandboxOptions


class Sandboxes:
    """Opens each sandbox once, however many episodes ask.

    Args:
        choice: options, or an open sandbox that stays its owner's.
    """

    def __init__(self, choice: SandboxChoice | None) -> None:
        self._choice = choice or SandboxOptions()
        self._open: dict[Path | None, Sandbox] = {}
        self._plain: Sandbox | None = None
        self._lock = asyncio.Lock()

    async def open(self, python: Path | None) -> Sandbox:
        """The sandbox for a project that runs under `python`.

        Raises:
            SandboxUnavailable: it can't be had here.
        """
        if not isinstance(self._choice, SandboxOptions):
            return self._choice
        from groundwire.sandbox import open_sandbox
        from groundwire.sandbox._fork_servers import with_fork_servers

        wanted = self._choice.python or python
        async with self._lock:
            if wanted not in self._open:
                sandbox = await open_sandbox(self._choice.kind, python=wanted, image=self._choice.image)
                self._open[wanted] = with_fork_servers(sandbox) if self._choice.fork_servers else sandbox
            return self._open[wanted]

    async def for_programs(self, python: Path | None, *, isolated: bool) -> Sandbox:
        """See `groundwire.core._contexts.SandboxOpener`; `python` is the project's interpreter."""
        if isolated:
            sandbox = await self.open(python)
            if sandbox.info.isolated:
                return sandbox
            raise SandboxUnavailable(
                f"The actor is to run isolated, and the run's sandbox, {sandbox.info.kind}, isolates nothing.",
                do="Name another sandbox, or let the program run without one (--no-actor-sandbox).",
            )
        from groundwire.sandbox import open_sandbox

        async with self._lock:
            if self._plain is None:
                self._plain = await open_sandbox("subprocess")
            return self._plain

    async def aclose(self) -> None:
        """Closes what was opened here."""
        if self._plain is not None:
            plain, self._plain = self._plain, None
            await plain.aclose()
        while self._open:
            _, sandbox = self._open.popitem()
            await sandbox.aclose()
