"""Imports the targets of `groundwire-audit` in our sandboxes: its entry point `groundwire_audit.guards`."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from pathlib import Path

from groundwire.core._candidates import Tree
from groundwire.core._errors import ConfigError, SandboxCrashed, SandboxError, SandboxUnavailable
from groundwire.core._sandboxes import ExecResult, Limits, Sandbox
from groundwire.sandbox._choosing import open_sandbox
from groundwire_audit import AuditError, GuardedEnd, GuardedJob, GuardUnavailable

GIB = 1 << 30
ATTEMPTS = 3


def run_in_sandbox(job: GuardedJob, kind: str | None) -> GuardedEnd:
    """Runs a script of the audit in a sandbox. See `groundwire_audit.Guard`.

    Args:
        job: what is run.
        kind: of the sandbox; None: the strongest that works, else a subprocess, which isolates nothing.

    Raises:
        AuditError: there is no such kind.
        GuardUnavailable: it does not work here.
    """
    try:
        return asyncio.run(_run(job, kind))
    except ConfigError as error:
        raise AuditError(error.what, do=error.do) from error
    except SandboxError as error:
        raise GuardUnavailable(error.what, do=error.do) from error


async def _run(job: GuardedJob, kind: str | None) -> GuardedEnd:
    for _ in range(ATTEMPTS - 1):
        try:
            return await _run_once(job, kind)
        except SandboxCrashed:
            continue
    return await _run_once(job, kind)


async def _run_once(job: GuardedJob, kind: str | None) -> GuardedEnd:
    sandbox, said = await _open(job, kind)
    async with aclosing(sandbox):
        result = await sandbox.run(
            ["python", "-c", job.script, *job.arguments],
            Tree(job.files),
            Limits(
                wall_s=job.wall_s,
                cpu_s=job.wall_s,
                memory_bytes=4 * GIB,
                processes=128,
                disk_bytes=GIB,
                open_files=1024,
            ),
            env=job.env,
            support={**job.support, **_ours()},
            collect=[job.collect],
        )
    return _ended(result, job, said)


def _ours() -> dict[str, bytes]:
    """Our package, for a target that imports it and an interpreter that may not have it."""
    package = Path(__file__).parents[1]
    return {
        f"{package.name}/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in sorted(package.rglob("*.py"))
        if "projects" not in path.parts
    }


def _ended(result: ExecResult, job: GuardedJob, said: str) -> GuardedEnd:
    return GuardedEnd(said, result.files.get(job.collect), result.exit_code, result.stderr, result.limit_hit or "")


async def _open(job: GuardedJob, kind: str | None) -> tuple[Sandbox, str]:
    try:
        sandbox = await open_sandbox(kind, python=job.python)
        name = sandbox.info.kind
        if sandbox.info.isolated:
            return sandbox, f"imported in a {name} sandbox: no network, none of the environment"
        return sandbox, f"imported in a {name} with a time limit and none of the environment; the network was reachable"
    except SandboxUnavailable:
        if kind is not None:
            raise
        sandbox = await open_sandbox("subprocess", python=job.python)
        return sandbox, "no sandbox works here: imported in a subprocess with a time limit and none of the environment"
