"""Runs one job with a keeper in some sandbox: admits it, feeds it, reads all it says, and sees it end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from groundwire.core._errors import SandboxCrashed
from groundwire.core._sandboxes import ExecResult, LimitName, Limits
from groundwire.sandbox._capture import Drain
from groundwire.sandbox._cgroups import Cgroup, movers
from groundwire.sandbox._exchange import Channel, JobReport
from groundwire.sandbox._process import ProcessHandle
from groundwire.sandbox.guest import wire
from groundwire.sandbox.guest.headtail import HeadTail

if TYPE_CHECKING:
    from groundwire.sandbox._proxy import AllowListProxy


START_S = 30.0
GRACE_S = 10.0
"""How long after its deadline a keeper may still be busy with ending and reporting, on a machine under load."""
DRAIN_S = 1.0
SIGKILL = 9


async def converse(
    channel: Channel,
    job: wire.Job,
    limits: Limits,
    *,
    stdout: int,
    stderr: int,
    group: Cgroup | None,
    adopts: bool = False,
    proxy: AllowListProxy | None = None,
) -> ExecResult:
    """Runs `job` to its end.

    When this returns or raises, also by cancellation, the keeper and all below it are gone.

    Args:
        channel: leads to a keeper that is starting.
        job: what to run.
        limits: the job's limits, for what is kept and for how long is waited.
        stdout: reading end of the command's standard output; the caller closes it.
        stderr: reading end of its standard error.
        group: the keeper is put into it before it learns what to run.
        adopts: the keeper has no PID namespace of its own; see `ProcessHandle`.
        proxy: is opened on the socket that the keeper hands out; the caller closes it.

    Raises:
        CandidateError: the tree can't be laid out.
        SandboxCrashed: the keeper did not start, or ended without a result and no limit explains it.
    """
    out, err = HeadTail(limits.output_bytes), HeadTail(limits.output_bytes)
    readers = [Drain(stdout, out), Drain(stderr, err)]
    keeper: ProcessHandle | None = None
    try:
        try:
            async with asyncio.timeout(START_S):
                keeper = await _admit(channel, group, adopts)
                if proxy is not None:
                    proxy.open(await channel.door())
                await channel.send(job)
        except (SandboxCrashed, TimeoutError) as error:
            raise await _explain(error, readers, err) from error
        outcome, late = await _outcome(channel, keeper, job, limits)
        await keeper.gone()
        # in a PID namespace all writers are gone by now; elsewhere one may have got away and hold the pipe
        await asyncio.wait([r.ended for r in readers], timeout=DRAIN_S)
        return make_result(outcome, late, out, err, group, limits)
    finally:
        for reader in readers:
            reader.close()
        if keeper is not None:
            channel.hang_up()
            keeper.dismiss()
            keeper.end()


async def _admit(channel: Channel, group: Cgroup | None, adopts: bool) -> ProcessHandle:
    pid = await channel.hello()
    try:
        keeper = ProcessHandle(pid, adopts=adopts)
    except ProcessLookupError as error:
        raise SandboxCrashed("The sandbox ended as soon as it had started.") from error
    if group is not None:
        # in a thread: the kernel may take milliseconds, for which everybody else's commands would stand still
        moving = asyncio.get_running_loop().run_in_executor(movers(), group.add, pid)
        try:
            await asyncio.shield(moving)
        except OSError as error:
            keeper.end()
            raise SandboxCrashed(f"The sandbox can't be put into its control group: {error}.") from error
        except BaseException:
            keeper.end()
            # nobody else gets the group, or the number, while that may still be written
            await _ended(moving)
            raise
    return keeper


async def _ended(moving: asyncio.Future[None]) -> None:
    while not moving.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait({moving})
    if not moving.cancelled():
        moving.exception()  # that it failed says nothing of a process that was killed


async def _explain(error: Exception, readers: Sequence[Drain], err: HeadTail) -> SandboxCrashed:
    await asyncio.wait([r.ended for r in readers], timeout=DRAIN_S)
    said = err.kept.decode(errors="replace").strip()[-2000:]
    what = f"The sandbox did not start within {START_S:.0f} s" if isinstance(error, TimeoutError) else str(error)
    return SandboxCrashed(f"{what.rstrip('.')}{': ' + said if said else '.'}")


async def _outcome(
    channel: Channel, keeper: ProcessHandle, job: wire.Job, limits: Limits
) -> tuple[JobReport | None, bool]:
    """What the keeper reported, and whether it had to be killed for being late."""
    try:
        async with asyncio.timeout(limits.wall_s + GRACE_S):
            return await channel.outcome(job["collect"]), False
    except TimeoutError:
        keeper.kill()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            return await channel.outcome(job["collect"]), True
    return None, True


def make_result(
    outcome: JobReport | None,
    late: bool,
    out: HeadTail,
    err: HeadTail,
    group: Cgroup | None,
    limits: Limits,
    *,
    oom: bool = False,
) -> ExecResult:
    """What came of a command, from what was reported, kept and counted.

    Args:
        outcome: what the keeper reported, None if it ended without a report.
        late: it had to be killed for being late.
        out: standard output.
        err: standard error.
        group: what counted its memory and processes.
        limits: its limits.
        oom: something was killed for its memory, where no group of ours counts that.

    Raises:
        SandboxCrashed: the keeper ended without a report, and no limit explains it.
    """
    limit: LimitName | None = "wall_s" if late else None
    if outcome is not None:
        limit = outcome.limit_hit
    if oom and limit != "wall_s":
        limit = "memory_bytes"
    if group is not None and limit != "wall_s":
        limit = _counted(group) or limit
    if outcome is None and limit is None:
        raise SandboxCrashed("The sandbox was killed from outside, before it had a result.", do="Try again.")
    stdout_cut = out.cut + (outcome.stdout_cut if outcome else 0)
    stderr_cut = err.cut + (outcome.stderr_cut if outcome else 0)
    if limit is None and stdout_cut + stderr_cut:
        limit = "output_bytes"
    return ExecResult(
        exit_code=outcome.exit_code if outcome else None,
        stdout=out.kept,
        stderr=err.kept,
        stdout_cut=stdout_cut,
        stderr_cut=stderr_cut,
        signal=outcome.signal if outcome else SIGKILL,
        limit_hit=limit,
        duration_s=outcome.duration_s if outcome else limits.wall_s,
        cpu_s=outcome.cpu_s if outcome else 0.0,
        files=outcome.files if outcome else {},
    )


def _counted(group: Cgroup) -> LimitName | None:
    hits = group.hits()
    if hits.oom_kills:
        return "memory_bytes"
    return "processes" if hits.refused_forks else None
