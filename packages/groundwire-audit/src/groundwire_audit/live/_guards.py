"""Guards: processes in which a stranger's module is imported; the one of our own needs nothing that is installed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol, cast

from groundwire_audit._errors import AuditError, GuardUnavailable

GROUP = "groundwire_audit.guards"
"""The entry points under which an installed distribution offers its guard; that of groundwire has its sandboxes."""
KINDS = ("bubblewrap", "landlock", "docker", "subprocess")
GIB = 1 << 30
MAX_FILE_BYTES = 16 << 20
MAX_SAID_BYTES = 64 << 10
PLAIN = "imported in a subprocess with a time limit and none of the environment; the network was reachable"
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
# where a limit can't be had, the others still hold
LIMITS = """
import resource as _r
for _limit, _most in ({limits}):
    try:
        _r.setrlimit(getattr(_r, _limit), (_most, _most))
    except (AttributeError, OSError, ValueError):
        pass
"""


@dataclass(frozen=True)
class GuardedJob:
    """A script that a guard runs.

    Args:
        script: Python source.
        arguments: what it gets as `sys.argv[1:]`.
        files: laid out in a folder of its own, which is its current folder: path → content.
        support: laid out beside that, in the folder that the variable `GROUNDWIRE_SUPPORT` names; no part of the import
            path by itself.
        collect: the file that comes back, below the folder that the variable `GROUNDWIRE_OUT` names.
        env: variables beside a minimal environment.
        wall_s: seconds of wall time, after which all that it started is ended.
        python: the interpreter; None: the current one.
    """

    script: str
    arguments: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    support: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    collect: str = ""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    wall_s: float = 60.0
    python: Path | None = None


@dataclass(frozen=True)
class GuardedEnd:
    """How a script ended.

    Args:
        guard: one sentence that says how it was guarded.
        collected: the file that was asked for; None: it left none.
        exit_code: None: a signal or a limit ended it.
        stderr: what it wrote there; the end of it where that is too much.
        limit_hit: the limit that ended it, or empty; `wall_s` is the time.
    """

    guard: str
    collected: bytes | None = None
    exit_code: int | None = None
    stderr: bytes = b""
    limit_hit: str = ""


class Guard(Protocol):
    """Runs scripts in processes that see little and reach less."""

    def __call__(self, job: GuardedJob, kind: str | None) -> GuardedEnd:
        """Runs one.

        Args:
            job: what is run.
            kind: one of the guard's kinds of sandbox; None: the strongest that works here.

        Raises:
            AuditError: there is no such kind.
            GuardUnavailable: it does not work here.
        """
        ...


def find_guard() -> Guard:
    """The guard of an installed distribution, or `run_in_subprocess` where there is none."""
    offered = sorted(entry_points(group=GROUP), key=lambda e: e.name)
    return cast("Guard", offered[0].load()) if offered else run_in_subprocess


def run_in_subprocess(job: GuardedJob, kind: str | None) -> GuardedEnd:
    """Runs a script as the caller, in a temporary folder: limits, a clean environment, no isolation. See `Guard`."""
    if kind is not None and kind not in KINDS:
        raise AuditError(f"There is no sandbox {kind!r}.", do=f"Choose one of: {', '.join(KINDS)}.")
    if kind not in {None, "subprocess"}:
        raise GuardUnavailable(
            f"The sandbox {kind!r} is part of groundwire, which is not installed here.",
            do="Install groundwire beside this, or name --sandbox subprocess: no isolation.",
        )
    said = PLAIN if kind else f"{PLAIN}: install groundwire for a sandbox"
    with tempfile.TemporaryDirectory(prefix="groundwire-audit-", ignore_cleanup_errors=True) as name:
        box = Path(name)
        for folder in ("work", "support", "out", "tmp"):
            (box / folder).mkdir()
        _lay_out(box / "work", job.files)
        _lay_out(box / "support", job.support)
        code, stderr = _ran(job, box)
        if code is None:
            return GuardedEnd(said, stderr=stderr, limit_hit="wall_s")
        collected = _collected(box / "out", job.collect)
        return GuardedEnd(said, collected, code if code >= 0 else None, stderr)


def _lay_out(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _ran(job: GuardedJob, box: Path) -> tuple[int | None, bytes]:
    """The exit status, None where its time was up, and the end of what it wrote to its standard error."""
    python = str(job.python or sys.executable)
    with (box / "stderr").open("w+b") as said:
        try:
            process = subprocess.Popen(
                [python, "-c", _limits(job.wall_s) + job.script, *job.arguments],
                cwd=box / "work",
                env=_environment(job, box, python),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        except OSError as error:
            raise AuditError(f"{python} can't be started: {error.strerror}.", do="Name another --python.") from error
        try:
            code = process.wait(job.wall_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            # what it has started and left behind too
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(max(0, said.seek(0, os.SEEK_END) - MAX_SAID_BYTES))
        return code, said.read()


def _limits(wall_s: float) -> str:
    most = {
        "RLIMIT_CPU": int(wall_s) + 1,
        "RLIMIT_DATA": 4 * GIB,
        "RLIMIT_FSIZE": GIB,
        "RLIMIT_NOFILE": 1024,
        "RLIMIT_CORE": 0,
    }
    return LIMITS.format(limits=", ".join(f"({name!r}, {value})" for name, value in most.items()))


def _environment(job: GuardedJob, box: Path, python: str) -> dict[str, str]:
    return {
        "PATH": ":".join((str(Path(python).parent), *SYSTEM_PATH)),
        "HOME": str(box / "tmp"),
        "TMPDIR": str(box / "tmp"),
        "LANG": "C.UTF-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "GROUNDWIRE_OUT": str(box / "out"),
        "GROUNDWIRE_SUPPORT": str(box / "support"),
        **job.env,
    }


def _collected(folder: Path, name: str) -> bytes | None:
    """What the script has left there, be that what it may: no link is followed, no pipe is waited for."""
    try:
        file = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode) or about.st_size > MAX_FILE_BYTES:
            return None
        with open(file, "rb", closefd=False) as opened:
            return opened.read()
    finally:
        os.close(file)
