"""The sandbox Protocol. Implementations live in `groundwire.sandbox`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from groundwire.limits import ExecResult, Limits, SandboxInfo
from groundwire.trees import NO_MODES, Tree

__all__ = ["Sandbox", "WarmSandbox"]


class Sandbox(Protocol):
    """Runs untrusted commands. Nothing of one run is seen by the next."""

    @property
    def info(self) -> SandboxInfo:
        """What commands really run in, probed, with how firmly each limit holds."""
        ...

    @property
    def python(self) -> Path:
        """The interpreter, as a path inside the sandbox, that runs the project."""
        ...

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
        """Runs one command in a fresh copy of `tree`.

        Args:
            command: program and arguments; never given to a shell. `python`, `python3` as program: the project's.
            tree: laid out in the work folder, which is the current folder.
            limits: ceilings; the whole process tree is gone when this returns.
            env: added to a minimal environment of our own; nothing of the host's is passed on.
            support: files of ours (report plugins), laid outside the work folder, read-only, in a folder whose path is
                in the environment as `GROUNDWIRE_SUPPORT`; it is no part of the import path by itself.
            collect: paths relative to the folder in the environment variable `GROUNDWIRE_OUT` (writable, outside the
                work folder) whose contents come back; each at most 16 MiB, else it is left out.
            stdin: standard input; then it is closed.

        Returns:
            What the command did. A command that fails, or hits a limit, is a result and not an error. A program that
            is not found gives exit code 127, one that can't be executed 126.

        Raises:
            SandboxUnavailable: a required limit can't be held here.
            SandboxCrashed: the sandbox itself broke.
        """
        ...

    async def warm(
        self, tree: Tree, *, preload: Sequence[str] = (), support: Mapping[str, bytes] | None = None
    ) -> WarmSandbox:
        """Starts a fork server in this sandbox: `tree` laid out, `preload` modules imported.

        Raises:
            SandboxUnavailable: this kind of sandbox has none; use `run`.
        """
        ...

    async def aclose(self) -> None:
        """Ends everything it started."""
        ...


class WarmSandbox(Protocol):
    """A fork server: runs `python …` commands on variations of one tree, each in a fresh fork with its own limits."""

    async def run(
        self,
        arguments: Sequence[str],
        changes: Mapping[str, bytes | None],
        limits: Limits,
        *,
        modes: Mapping[str, bool] = NO_MODES,
        env: Mapping[str, str] | None = None,
        collect: Sequence[str] = (),
    ) -> ExecResult:
        """As `Sandbox.run(["python", *arguments], tree.with_changes(changes, modes), …)`, but faster.

        Args:
            arguments: as on Python's command line: `-m MODULE …`, `-c CODE …` or `SCRIPT …`.

        Raises:
            SandboxCrashed: the fork server died; start another.
        """
        ...

    async def aclose(self) -> None:
        """Ends the fork server and everything in it."""
        ...
