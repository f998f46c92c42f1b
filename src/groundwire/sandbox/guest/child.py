"""Turns a fresh fork into the command: its limits, its user, its environment, its program."""

# pathlib and contextlib are slow to import; see the package
# ruff: noqa: PTH208
from __future__ import annotations

import os
import resource

from groundwire.sandbox.guest import signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from groundwire.sandbox.guest.wire import Job

NOT_FOUND = 127
PR_SET_DUMPABLE = 4
NOT_EXECUTABLE = 126
LINE = "GROUNDWIRE_LINE"


def set_limits(job: Job) -> None:
    """Lowers this process's limits for good; its children inherit them."""
    _first_to_die()
    wanted = [
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, job["cpu_s"], job["cpu_s"] + 1),
        (resource.RLIMIT_FSIZE, job["file_bytes"], job["file_bytes"]),
        (resource.RLIMIT_NOFILE, job["open_files"], job["open_files"]),
    ]
    if job["nproc"]:
        wanted.append((resource.RLIMIT_NPROC, job["nproc"], job["nproc"]))
    if job["watch"]:
        # what one process can take between two looks at the whole tree
        wanted.append((resource.RLIMIT_DATA, job["memory_bytes"], job["memory_bytes"]))
    for kind, soft, hard in wanted:
        _, ceiling = resource.getrlimit(kind)
        if ceiling != resource.RLIM_INFINITY:
            hard = min(hard, ceiling)
        resource.setrlimit(kind, (min(soft, hard), hard))


def _first_to_die() -> None:
    """When memory runs out, the kernel takes the command and not its keeper."""
    try:
        fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        os.write(fd, b"1000")
    except OSError:
        pass
    finally:
        os.close(fd)


def set_dumpable(*, dumpable: bool) -> None:
    """Whether other processes of this user may look into the memory of this one.

    A keeper may hold what its command must not know, and what it reports counts: it is closed from the start. A program
    that is started is open again by itself. Without ctypes proper, whose import would cost a cold start 4 ms.
    """
    try:
        import _ctypes
    except ImportError:  # a Python that was built without it
        return
    libc: Any = _ctypes
    libc.call_function(libc.dlsym(libc.dlopen(None, 0), "prctl"), (PR_SET_DUMPABLE, int(dumpable), 0, 0, 0))


def keep_line(job: Job) -> int:
    """Makes the line to another box the command's own, and says its number there; -1 if there is none."""
    if job["line"] < 0:
        return -1
    # away from the three streams, which are about to be put in their places
    line = os.dup(job["line"]) if job["line"] < 3 else job["line"]
    os.set_inheritable(line, True)
    job["env"][LINE] = str(line)
    return line


def connect(stdin: bytes, stdout: int, stderr: int) -> None:
    """Puts the command's streams on 0, 1 and 2."""
    if stdin:
        source = os.memfd_create("stdin")
        view = memoryview(stdin)
        while view:
            view = view[os.write(source, view) :]
        os.lseek(source, 0, os.SEEK_SET)
    else:
        source = os.open("/dev/null", os.O_RDONLY)
    # none of the three may lie where another is about to be put
    moved = [os.dup(fd) if fd < 3 else fd for fd in (source, stdout, stderr)]
    for target, fd in enumerate(moved):
        os.dup2(fd, target)
    for fd in {source, *moved}:
        if fd > 2:
            os.close(fd)


def close_others(*keep: int) -> None:
    """Closes every descriptor but the three streams and those to keep."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) not in keep:
            try:
                os.close(int(name))
            except OSError:
                continue


def become_user(uid: int) -> None:
    """Gives up the guest's user for an unprivileged one."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def act_as(uid: int) -> None:
    """Touches files as `uid` from now on; 0: as ourselves again. The right to come back is kept."""
    if uid:
        os.setegid(uid)
        os.seteuid(uid)
    else:
        os.seteuid(0)
        os.setegid(0)


def restore_signals() -> None:
    """Undoes what the interpreter set for itself, so that a program starts as from a shell."""
    for number in (signals.SIGPIPE, signals.SIGXFSZ, signals.SIGCHLD, signals.SIGINT):
        signals.signal(number, signals.SIG_DFL)
    signals.pthread_sigmask(signals.SIG_UNBLOCK, [signals.SIGCHLD])


def execute(arguments: list[str], env: dict[str, str], python: str) -> NoReturn:
    """Becomes the program; never returns."""
    name = arguments[0]
    if name in ("python", "python3", python):
        # an interpreter finds its virtual environment by the path it was called by
        places, arguments = [python], [python, *arguments[1:]]
    elif "/" in name:
        places = [name]
    else:
        places = [f"{folder}/{name}" for folder in env.get("PATH", "").split(":") if folder]
    code, why = NOT_FOUND, "not found"
    for place in places:
        try:
            os.execve(place, arguments, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as error:
            code, why = NOT_EXECUTABLE, getattr(error, "strerror", None) or str(error)
    os.write(2, f"{name}: {why}\n".encode("utf-8", "replace"))
    os._exit(code)
