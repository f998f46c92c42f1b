"""A sandbox that keeps fork servers by itself: what comes again is run in a fork, alone or in two boxes at once.

A server is kept for one interpreter with its flags, one set of files of ours and one base tree. Commands of many tasks
share one where they bring their whole tree, which then lies on an empty one.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from groundwire.core._candidates import NO_MODES, Tree
from groundwire.core._errors import SandboxCrashed, SandboxError
from groundwire.core._sandboxes import (
    BoxCommand,
    ExecResult,
    HeadStart,
    Limits,
    Pair,
    Sandbox,
    SandboxInfo,
    WarmSandbox,
)
from groundwire.sandbox._bubblewrap import Bubblewrap
from groundwire.sandbox._pairing import run_pair
from groundwire.sandbox._run_slots import usual_slots
from groundwire.sandbox._warm import ForkServer

MOST_SERVERS = 8
"""Fork servers that are kept; each is an interpreter that waits, with what it has loaded."""
MOST_SEEN = 1024
"""Kinds of command that are remembered."""
_PYTHON = ("python", "python3")
_Kind = tuple[tuple[str, ...], frozenset[tuple[str, bytes]], str]
"""Flags of the interpreter, our files, and the digest of the base tree."""


def with_fork_servers(sandbox: Sandbox, *, owned: bool = True) -> Sandbox:
    """The same sandbox with fork servers of its own, where it can have any; else itself.

    A container is kept from one command to the next anyhow; Landlock and plain processes have no fork server.

    Args:
        sandbox: an open one.
        owned: it is closed with what is returned.
    """
    return ForkServers(sandbox, owned=owned) if isinstance(sandbox, Bubblewrap) else sandbox


@dataclass
class _Kept:
    """A place for a server.

    Args:
        server: None before it has started.
        users: commands that run in it, or wait for it.
        starting: held by who starts it.
    """

    server: ForkServer | None = None
    users: int = 0
    starting: asyncio.Lock = field(default_factory=asyncio.Lock)


class ForkServers:
    """Conforms to `groundwire.core._sandboxes.ForkingSandbox`.

    Args:
        sandbox: what everything runs in.
        owned: it is closed with this.
    """

    def __init__(self, sandbox: Bubblewrap, *, owned: bool = True) -> None:
        self._sandbox = sandbox
        self._owned = owned
        self._kept: OrderedDict[_Kind, _Kept] = OrderedDict()
        self._seen: OrderedDict[_Kind, None] = OrderedDict()
        self._has_none = False
        # a pair takes a place in two servers: were there more pairs than places, they could wait for each other
        self._pairs = asyncio.Semaphore(usual_slots())

    @property
    def info(self) -> SandboxInfo:
        """What commands really run in."""
        return self._sandbox.info

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self._sandbox.python

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
        """See `groundwire.core._sandboxes.Sandbox.run`: always a fresh start."""
        return await self._sandbox.run(command, tree, limits, env=env, support=support, collect=collect, stdin=stdin)

    async def warm(
        self,
        tree: Tree,
        *,
        preload: Sequence[str] = (),
        support: Mapping[str, bytes] | None = None,
        flags: Sequence[str] = (),
    ) -> WarmSandbox:
        """See `groundwire.core._sandboxes.Sandbox.warm`."""
        return await self._sandbox.warm(tree, preload=preload, support=support, flags=flags)

    async def run_forked(
        self,
        command: BoxCommand,
        changes: Mapping[str, bytes | None],
        limits: Limits,
        *,
        modes: Mapping[str, bool] = NO_MODES,
        head_start: HeadStart | None = None,
    ) -> ExecResult:
        """See `groundwire.core._sandboxes.ForkingSandbox`."""
        _, arguments = _parted(command.arguments)
        if self._comes_again(command, command.tree):
            for last in (False, True):  # once more in a fresh server where this one has died
                try:
                    async with self._server(command, command.tree) as server:
                        if server is None:
                            break
                        return await server.run(
                            arguments, changes, limits, modes=modes, env=command.env, collect=command.collect,
                            stdin=command.stdin, head_start=head_start,
                        )  # fmt: skip
                except SandboxCrashed:
                    if last:
                        raise
        return await self._sandbox.run(
            command.arguments,
            command.tree.with_changes(changes, modes),
            limits,
            env=command.env,
            support=command.support,
            collect=command.collect,
            stdin=command.stdin,
        )

    async def run_pair(self, asking: BoxCommand, answering: BoxCommand, limits: Limits) -> Pair:
        """See `groundwire.core._sandboxes.PairingSandbox.run_pair`. Each command brings its whole tree."""
        again = [self._comes_again(command, Tree()) for command in (asking, answering)]
        # two of one kind would take two places of one server
        alone = _kind(asking, Tree()) == _kind(answering, Tree())
        if not all(again) or alone or limits.network:
            return await self._sandbox.run_pair(asking, answering, limits)
        async with self._pairs, self._server(asking, Tree()) as asks, self._server(answering, Tree()) as answers:
            if asks is None or answers is None:
                return await self._sandbox.run_pair(asking, answering, limits)
            servers = {id(asking): asks, id(answering): answers}

            async def run(command: BoxCommand, limits: Limits, line: int) -> ExecResult:
                _, arguments = _parted(command.arguments)
                return await servers[id(command)].run(
                    arguments, command.tree.files, limits, modes=dict.fromkeys(command.tree.executable, True),
                    env=command.env, collect=command.collect, stdin=command.stdin, line=line,
                )  # fmt: skip

            return await run_pair(run, asking, answering, limits)

    def _comes_again(self, command: BoxCommand, base: Tree) -> bool:
        """True for what has come before, so that a server is worth its start."""
        if self._has_none or command.arguments[0] not in _PYTHON:
            return False
        kind = _kind(command, base)
        known = kind in self._seen
        self._seen[kind] = None
        self._seen.move_to_end(kind)
        while len(self._seen) > MOST_SEEN:
            self._seen.popitem(last=False)
        return known

    @asynccontextmanager
    async def _server(self, command: BoxCommand, base: Tree) -> AsyncGenerator[ForkServer | None]:
        """The server for such commands, started where there is none; None where there can be none.

        One that is found dead, as whoever uses it says by raising, is not used again.
        """
        kind = _kind(command, base)
        kept = self._kept.setdefault(kind, _Kept())
        self._kept.move_to_end(kind)
        kept.users += 1
        try:
            async with kept.starting:
                if kept.server is None and not self._has_none:
                    kept.server = await self._start(command, base)
            yield kept.server
        except SandboxCrashed:
            if self._kept.get(kind) is kept:
                del self._kept[kind]
            raise
        finally:
            kept.users -= 1
            if not kept.users and self._kept.get(kind) is not kept:
                await _close(kept)
            await self._keep_few()

    async def _start(self, command: BoxCommand, base: Tree) -> ForkServer | None:
        flags, _ = _parted(command.arguments)
        server = await self._sandbox.warm(base, preload=command.preload, support=command.support, flags=flags)
        if isinstance(server, ForkServer):
            return server
        self._has_none = True
        return None

    async def _keep_few(self) -> None:
        """Ends the servers that have not been used for longest."""
        idle = [kind for kind, kept in self._kept.items() if not kept.users]
        for kind in idle[: max(0, len(self._kept) - MOST_SERVERS)]:
            await _close(self._kept.pop(kind))

    async def aclose(self) -> None:
        """Ends everything it started, and the sandbox where that is its own."""
        while self._kept:
            await _close(self._kept.popitem()[1])
        if self._owned:
            await self._sandbox.aclose()


async def _close(kept: _Kept) -> None:
    server, kept.server = kept.server, None
    if server is not None:
        with suppress(SandboxError, OSError):  # one that is dead can't be ended any better
            await server.aclose()


def _kind(command: BoxCommand, base: Tree) -> _Kind:
    flags, _ = _parted(command.arguments)
    return flags, frozenset(command.support.items()), base.digest


def _parted(arguments: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The interpreter's flags, and what it runs: behind the program's name."""
    start = next((n for n, word in enumerate(arguments) if (n and word in ("-c", "-m")) or (n and word[:1] != "-")), 1)
    return tuple(arguments[1:start]), tuple(arguments[start:])
