"""Runs one candidate as it was prepared: in a sandbox run of its own, in a fork, or in two boxes at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from groundwire.core._candidates import Candidate, Tree
from groundwire.core._sandboxes import (
    BoxCommand,
    ExecResult,
    ForkingSandbox,
    HeadStart,
    Limits,
    Pair,
    PairingSandbox,
    Sandbox,
)
from groundwire.core._tasks import Task
from groundwire.tools._boxes import candidates_box
from groundwire.tools._guard import why_from_scratch
from groundwire.tools._running import Launch

SMALL_BYTES = 256 * 1024
"""Of a tree that is sent whole with each candidate, so that its task needs no fork server of its own."""


class Execute(Protocol):
    """Runs what was prepared."""

    async def __call__(self, start: Launch, candidate: Candidate, limits: Limits, key: str) -> ExecResult:
        """See `Sandbox.run`."""
        ...


def in_shared_server(sandbox: Sandbox, start: Launch, task: Task) -> bool:
    """True where `cold` runs this in a server that the sandbox keeps for many tasks: none of its own is any faster."""
    return isinstance(sandbox, ForkingSandbox) and start.warm is not None and _is_sent_whole(start, task)


def _is_sent_whole(start: Launch, task: Task) -> bool:
    return start.begins_alike and sum(map(len, task.tree.files.values())) <= SMALL_BYTES


def cold(sandbox: Sandbox, task: Task) -> Execute:
    """Runs each candidate in a sandbox run of its own, or in two at once; in forks where the sandbox keeps servers."""

    async def execute(start: Launch, candidate: Candidate, limits: Limits, key: str) -> ExecResult:
        stdin = f"{key}\n".encode() if start.sealed else b""
        if start.partner is None and start.warm is not None and isinstance(sandbox, ForkingSandbox):
            return await _forked(sandbox, start, candidate, task, limits, stdin)
        if start.partner is None or start.tree is None:
            tree = candidate.applied_to(task.tree)
            return await sandbox.run(
                start.command,
                tree,
                limits,
                env=start.env,
                support=start.support,
                collect=start.collect,
                stdin=stdin,
            )
        assert isinstance(sandbox, PairingSandbox), "two boxes are asked only of a sandbox that has them"
        partner, tree = start.partner, candidates_box(candidate, task)
        pair = await sandbox.run_pair(
            BoxCommand(start.command, start.tree, start.env, start.support, start.collect, stdin, start.preload),
            BoxCommand(partner.command, tree, partner.env, partner.support, preload=partner.preload),
            limits,
        )
        return _told(pair)

    return execute


async def _forked(
    sandbox: ForkingSandbox, start: Launch, candidate: Candidate, task: Task, limits: Limits, stdin: bytes
) -> ExecResult:
    """One candidate in a fork server: the task's own, or one for all tasks whose runs begin alike, if it is small."""
    base, changes, modes, head = task.tree, candidate.changes, candidate.modes, start.head_start
    if head is not None and why_from_scratch(candidate, task, start.warm or ()):
        head = None
    if _is_sent_whole(start, task):
        whole = candidate.applied_to(base)
        base, changes, modes = Tree(), whole.files, dict.fromkeys(whole.executable, True)
        head = HeadStart() if head is not None else None
    command = BoxCommand(start.command, base, start.env, start.support, start.collect, stdin, start.preload)
    return await sandbox.run_forked(command, changes, limits, modes=modes, head_start=head)


def _told(pair: Pair) -> ExecResult:
    """What the tests' box did, with why the other one ended where a limit ended it."""
    other = pair.answering
    if other is None:
        return pair.asking
    said = f"\nThe candidate's box hit its limit {other.limit_hit}.".encode() if other.limit_hit else b""
    return replace(pair.asking, stderr=pair.asking.stderr + said, cpu_s=pair.asking.cpu_s + other.cpu_s)
