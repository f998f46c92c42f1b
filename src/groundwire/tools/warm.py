"""Runs many candidates in a fork server, with a fresh one in its place when it dies."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from groundwire.errors import SandboxCrashed, SandboxError
from groundwire.limits import ExecResult, Limits
from groundwire.sandboxes import Sandbox, WarmSandbox
from groundwire.tools.running import Start
from groundwire.trees import Candidate, Tree

__all__ = ["WarmRuns"]


class WarmRuns:
    """A fork server on one base tree. An `Execute` of `groundwire.tools.judging`.

    Args:
        sandbox: where the server runs.
        tree: the base tree.
        start: any run on that tree; support files and preloaded modules are the same for all.
    """

    def __init__(self, sandbox: Sandbox, tree: Tree, start: Start) -> None:
        self._sandbox = sandbox
        self._tree = tree
        self._start = start
        self._server: WarmSandbox | None = None
        self._turn = asyncio.Lock()

    async def open(self) -> None:
        """Starts the server.

        Raises:
            SandboxUnavailable: this kind of sandbox has none.
            SandboxCrashed: it did not start.
        """
        self._server = await self._sandbox.warm(self._tree, preload=self._start.preload, support=self._start.support)

    async def __call__(self, start: Start, candidate: Candidate, limits: Limits, key: str) -> ExecResult:
        """One candidate; tried once more in a fresh server where the server died.

        Raises:
            SandboxCrashed: that one died too.
        """
        used = self._server
        if used is None:
            used = await self._replace(None)
        try:
            return await self._run(used, start, candidate, limits, key)
        except SandboxCrashed:
            return await self._run(await self._replace(used), start, candidate, limits, key)

    async def _run(
        self, server: WarmSandbox, start: Start, candidate: Candidate, limits: Limits, key: str
    ) -> ExecResult:
        env = {**start.env, "GROUNDWIRE_KEY": key}
        return await server.run(
            start.warm or (), candidate.changes, limits, modes=candidate.modes, env=env, collect=start.collect
        )

    async def _replace(self, dead: WarmSandbox | None) -> WarmSandbox:
        """A fresh server in the place of a dead one; those who waited meanwhile share it."""
        async with self._turn:
            if self._server is None or self._server is dead:
                self._server = None
                if dead is not None:
                    await _close(dead)
                await self.open()
            assert self._server is not None
            return self._server

    async def aclose(self) -> None:
        """Ends the server."""
        server, self._server = self._server, None
        if server is not None:
            await _close(server)


async def _close(server: WarmSandbox) -> None:
    # a server that is dead already can't be ended any better
    with suppress(SandboxError, OSError):
        await server.aclose()
