"""Keeps one command: starts it, watches its limits, ends all it started, reports.

The keeper is the first process of a PID namespace where there is one: what the command starts can't outlive it, can't
kill it, and falls to it when its parent dies.
"""

from __future__ import annotations

import os
import resource
import select
import time

from groundwire.sandbox.guest import child, layout, signals, watch, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from groundwire.sandbox.guest.relay import Relay
    from groundwire.sandbox.guest.wire import Job

    T = TypeVar("T")


class GoesOn(BaseException):
    """Raised by what becomes the command: whoever called `keep` goes on as it, instead of a program of its own.

    Args:
        env: the command's variables.
    """

    def __init__(self, env: dict[str, str]) -> None:
        super().__init__()
        self.env = env


TICK_S = 0.05
RELAY_TICK_S = 0.01


def keep(
    job: Job,
    report: int,
    stdout: int,
    stderr: int,
    start: Callable[[Job, int, int], None],
    relay: Relay | None = None,
    scoped: bool = False,
) -> None:
    """Runs one command to its end and reports.

    Args:
        job: what to run.
        report: where frames go.
        stdout: the command's standard output; closed here.
        stderr: the command's standard error; closed here.
        start: becomes the command, in the fork; never returns.
        relay: holds the other ends of `stdout` and `stderr`; None: they lead out by themselves.
        scoped: we reach nobody but those we start.

    Raises:
        GoesOn: in the fork, where `start` raised it.
    """
    refused = _as_user(job, lambda: _lay_out(job))
    if refused:
        os.close(stdout)
        os.close(stderr)
        if relay:
            relay.finish()
        wire.write_frame(report, *refused)
        return
    first = os.getpid() == 1
    signals.pthread_sigmask(signals.SIG_BLOCK, [signals.SIGCHLD])
    began, spent = time.monotonic(), _cpu_of_children()
    pid = os.fork()
    if pid == 0:
        _become(job, report, stdout, stderr, start)
    os.close(stdout)
    os.close(stderr)
    if job["line"] >= 0:
        os.close(job["line"])  # the command's alone, so that its end is the line's
    status, limit = _wait(job, pid, began + job["wall_s"], None if first else report, relay)
    if first or scoped:
        watch.end_all()
    else:
        watch.end_descendants()
    took = time.monotonic() - began
    cpu = _cpu_of_children() - spent
    code, ended_by = _explain(status)
    limit = limit or _as_user(job, lambda: _limit_seen(job, code, ended_by, cpu))
    _as_user(job, lambda: _send_files(job, report))
    cut = relay.finish() if relay else (0, 0)
    outcome = wire.OUTCOME.pack(code, ended_by, wire.LIMITS.index(limit), cpu, took, *cut)
    wire.write_frame(report, wire.RESULT, outcome)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _as_user(job: Job, step: Callable[[], T]) -> T:
    # what the command owns, only its user may touch
    if not job["uid"]:
        return step()
    child.act_as(job["uid"])
    try:
        return step()
    finally:
        child.act_as(0)


def _send_files(job: Job, report: int) -> None:
    for index, path in enumerate(job["collect"]):
        content = layout.read_back(f"{job['box']}/out", path)
        if content is not None:
            wire.write_frame(report, wire.FILE, wire.INDEX.pack(index) + content)


def _lay_out(job: Job) -> tuple[bytes, bytes] | None:
    """Lays the tree out; where that can't be done, the frame that says so."""
    work = f"{job['box']}/work"
    try:
        layout.make_box(job["box"])
        if job["base"]:
            layout.copy_tree(job["base"], work)
        layout.lay(work, job["files"], job["deleted"], frozenset(job["executable"]))
    except (ValueError, FileExistsError, IsADirectoryError, NotADirectoryError) as error:
        return _refusal(error)
    except OSError as error:
        if error.errno == 36:  # name too long
            return _refusal(error)
        if error.errno == 28:  # no space left
            return wire.RESULT, wire.OUTCOME.pack(-1, 0, wire.LIMITS.index("disk_bytes"), 0, 0, 0, 0)
        raise
    return None


def _refusal(error: Exception) -> tuple[bytes, bytes]:
    return wire.REFUSED, str(error).encode("utf-8", "replace")


def _become(job: Job, report: int, stdout: int, stderr: int, start: Callable[[Job, int, int], None]) -> None:
    code = 125
    try:
        os.close(report)
        child.set_dumpable(dumpable=True)  # the keeper is closed to others; the command is a process like any other
        os.setsid()
        os.umask(0o022)
        os.chdir(f"{job['box']}/work")
        start(job, stdout, stderr)
    except GoesOn:
        raise
    except BaseException as error:
        try:
            os.write(stderr, f"groundwire: the command could not be started: {error!r}\n".encode("utf-8", "replace"))
        finally:
            os._exit(code)
    os._exit(code)


def _wait(job: Job, pid: int, deadline: float, listener: int | None, relay: Relay | None) -> tuple[int | None, str]:
    """The command's wait status, and the limit that made us stop it.

    Args:
        job: its limits.
        pid: the command.
        deadline: on the monotonic clock.
        listener: where we report, if nobody but us ends the command when the listener is gone.
        relay: has to be kept going.
    """
    while True:
        while True:
            reaped, status = os.waitpid(-1, os.WNOHANG)
            if reaped == pid:
                return status, ""
            if not reaped:
                break
        left = deadline - time.monotonic()
        if left <= 0:
            return None, "wall_s"
        limit = _over(job, listener is None)
        if limit:
            return None, limit
        if listener is not None and _hung_up(listener):
            return None, ""
        if job["watch"] or job["watch_disk_bytes"] or listener is not None:
            left = min(left, TICK_S)
        if relay is None:
            signals.sigtimedwait([signals.SIGCHLD], left)
        else:
            relay.pump(min(left, RELAY_TICK_S))


def _hung_up(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, 0)
    return bool(poll.poll(0))


def _over(job: Job, first: bool) -> str:
    if _disk_over(job):
        return "disk_bytes"
    if not job["watch"]:
        return ""
    own = os.getpid()
    pids = [p for p in watch.all_processes() if p != own] if first else watch.descendants(own)
    if watch.memory(pids) > job["memory_bytes"]:
        return "memory_bytes"
    if watch.tasks(pids) > job["processes"]:
        return "processes"
    return ""


def _disk_over(job: Job) -> bool:
    limit = job["watch_disk_bytes"]
    return bool(limit) and layout.bytes_below(job["box"]) > limit


def _explain(status: int | None) -> tuple[int, int]:
    if status is None:
        return -1, int(signals.SIGKILL)
    if os.WIFSIGNALED(status):
        return -1, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), 0


def _limit_seen(job: Job, code: int, ended_by: int, cpu: float) -> str:
    if ended_by == signals.SIGXCPU or (ended_by == signals.SIGKILL and cpu >= job["cpu_s"]):
        return "cpu_s"
    if ended_by == signals.SIGXFSZ:
        return "file_bytes"
    if _disk_over(job):
        return "disk_bytes"
    if code == 0:
        return ""
    if not job["disk_bytes"]:
        return "file_bytes" if layout.holds_file_of(job["box"], job["file_bytes"]) else ""
    disk = os.statvfs(job["box"])
    if disk.f_bavail * disk.f_frsize < watch.PAGE:
        return "disk_bytes"
    used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
    if used >= job["file_bytes"] and layout.holds_file_of(job["box"], job["file_bytes"]):
        return "file_bytes"
    return ""
