"""A plain subprocess: no isolation at all. Only for code one trusts, and only when named."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxUnavailable
from groundwire.core._sandboxes import Enforcement, ExecResult, Limits, SandboxInfo, WarmSandbox
from groundwire.sandbox._environment import prove, require
from groundwire.sandbox._interpreter import inspect_interpreter
from groundwire.sandbox._local_run import LocalRunner

KIND = "subprocess"
CURE = "Use another sandbox."


class Subprocess:
    """Runs commands as the caller, in a temporary folder: conforms to `groundwire.core._sandboxes.Sandbox`.

    The command can read and change what the caller can. Limits, a clean environment and the end of the whole process
    tree are there; a process that first kills our keeper and then clears its own environment can get away.
    """

    def __init__(self, python: Path) -> None:
        self._python = python
        self._runner = LocalRunner(python)
        self._info = SandboxInfo(
            kind=KIND,
            version=platform.release(),
            enforcement=self._runner.enforcement(Enforcement.UNAVAILABLE),
            isolated=False,
        )

    @classmethod
    async def open(cls, python: Path) -> Subprocess:
        """Opens and probes it by running a program in it.

        Raises:
            SandboxUnavailable: it does not work here.
        """
        sandbox = cls(inspect_interpreter(python).executable)
        await prove(sandbox, "A subprocess", CURE)
        return sandbox

    @property
    def info(self) -> SandboxInfo:
        """What commands really run in: nothing that isolates."""
        return self._info

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self._python

    async def run(
        self,
        command: Sequence[str],
        tree: Tree,
        limits: Limits,
        *,
        env: Mapping[str, str] | None = None,
        support: Mapping[str, bytes] | None = None,
        collect: Sequence[str] = (),
        stdin: bytes = b"",
    ) -> ExecResult:
        """See `groundwire.core._sandboxes.Sandbox.run`."""
        require(limits, self._info)
        return await self._runner.run(
            command, tree, limits, env=env, support=support or {}, collect=collect, stdin=stdin
        )

    async def warm(
        self,
        tree: Tree,
        *,
        preload: Sequence[str] = (),
        support: Mapping[str, bytes] | None = None,
        flags: Sequence[str] = (),
    ) -> WarmSandbox:
        """Has none: commands of one server could reach each other.

        Raises:
            SandboxUnavailable: always.
        """
        raise SandboxUnavailable("A plain subprocess has no fork server.", do="Use `run`, or the sandbox bubblewrap.")

    async def aclose(self) -> None:
        """Ends everything it started."""
        await self._runner.aclose()
