"""The fork server: an interpreter with modules loaded, from which each command is a fork in namespaces of its own.

It takes descriptors and forks, nothing more: what is to be run is read by the fork, so that the server never holds
anything of a command, and what a command writes goes to its reader directly.
"""

# pathlib and contextlib are slow to import; see the package
# ruff: noqa: PTH102
from __future__ import annotations

import gc
import importlib
import os
import socket
import sys

from groundwire.sandbox.guest import child, keeper, kernel, layout, pyrun, signals, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn, cast

    from groundwire.sandbox.guest.wire import Job, Setup
else:

    def cast(_: object, value: object) -> object:
        """Stands in for typing's, whose import is slow."""
        return value


FDS_PER_COMMAND = 3
MAX_INODES = 200_000
PLAIN = kernel.MS_NOSUID | kernel.MS_NODEV


def serve(setup: Setup, fd: int, startup: frozenset[str]) -> None:
    """Becomes the server; returns when the other side is gone.

    Args:
        setup: what it starts with.
        fd: a socket over which commands come and the sign of readiness goes.
        startup: names of the modules that a bare interpreter has.
    """
    try:
        _own_namespaces()
    except OSError:
        wire.write_frame(fd, wire.UNNESTED)
        return
    signals.signal(signals.SIGCHLD, signals.SIG_IGN)  # forks are reaped by the kernel
    kernel.mount("tmpfs", setup["base"], "tmpfs", PLAIN, f"size={setup['base_bytes']}")
    layout.lay(setup["base"], setup["files"], (), frozenset(setup["executable"]))
    _read_only(setup["base"])
    sys.path[:] = path = [entry for entry in sys.path if entry]
    base_names = pyrun.importable_names(setup["files"])
    _preload(setup)
    loaded = {name.partition(".")[0] for name in sys.modules} - {n.partition(".")[0] for n in startup}
    setup["files"] = {}
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    control = socket.socket(fileno=fd)
    gc.collect()
    gc.disable()
    gc.freeze()
    wire.write_frame(control.fileno(), wire.READY)
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1, FDS_PER_COMMAND)
        if not message:
            return
        if len(fds) == FDS_PER_COMMAND:
            kernel.unshare(kernel.CLONE_NEWPID)
            if os.fork() == 0:
                _Command(setup, base_names, loaded, [*path]).keep(fds, (control.fileno(), own))
            kernel.setns(own, kernel.CLONE_NEWPID)
        for received in fds:
            os.close(received)


def _own_namespaces() -> None:
    """A user namespace in which we may mount, and a PID namespace that belongs to it; goes on as its first process."""
    kernel.own_user_namespace(kernel.CLONE_NEWNS | kernel.CLONE_NEWPID)
    pid = os.fork()
    if pid:
        os.closerange(3, 64)
        os.waitpid(pid, 0)
        os._exit(0)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", PLAIN | kernel.MS_NOEXEC)


def _read_only(folder: str) -> None:
    flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | PLAIN
    kernel.mount("none", folder, "", flags)


def _preload(setup: Setup) -> None:
    # the project's own folder is not on the path: its modules are what candidates change
    os.environ.clear()
    os.environ.update(setup["env"])
    for name in ("tmp", "work"):
        os.mkdir(f"{setup['box']}/{name}")
    # some modules keep the folder they were loaded in: it is the one commands run in
    os.chdir(f"{setup['box']}/work")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.close(nowhere)
    for name in setup["preload"]:
        try:
            module = importlib.import_module(name)
            for plugin in getattr(getattr(module, "_pytest", module), "default_plugins", ()):
                importlib.import_module(f"_pytest.{plugin}")
        except (Exception, SystemExit):
            # the command that needs it will say so, in its own words
            continue
    os.chdir("/")


class _Command:
    """One command, in the fork that keeps it."""

    def __init__(self, setup: Setup, base_names: set[str], loaded: set[str], path: list[str]) -> None:
        self._setup = setup
        self._base_names = base_names
        self._loaded = loaded
        self._path = path

    def keep(self, fds: list[int], foreign: tuple[int, ...]) -> NoReturn:
        """Runs the command and ends the process."""
        talk, stdout, stderr = fds
        try:
            for fd in foreign:
                os.close(fd)
            signals.signal(signals.SIGCHLD, signals.SIG_DFL)
            wire.write_frame(talk, wire.HELLO)
            self._leave_namespaces()
            job = cast("Job", wire.read_value(talk))
            self._mount_box(job)
            keeper.keep(job, talk, stdout, stderr, self._become)
        except EOFError:
            os._exit(1)
        except BaseException as error:
            wire.write_frame(talk, wire.BROKEN, repr(error).encode("utf-8", "replace"))
            os._exit(1)
        os._exit(0)

    def _leave_namespaces(self) -> None:
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWNET)
        kernel.mount("proc", "/proc", "proc", PLAIN | kernel.MS_NOEXEC)
        kernel.mount("tmpfs", "/dev/shm", "tmpfs", PLAIN, f"size={self._setup['shared_memory_bytes']},mode=1777")
        kernel.mount("devpts", "/dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, "newinstance,ptmxmode=0666")
        kernel.loopback_up()

    def _mount_box(self, job: Job) -> None:
        options = f"size={job['disk_bytes']},nr_inodes={MAX_INODES},mode=0755"
        kernel.mount("tmpfs", job["box"], "tmpfs", PLAIN, options)
        if self._setup["own_count"]:
            kernel.own_user_namespace()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)

    def _become(self, job: Job, stdout: int, stderr: int) -> None:
        child.connect(job["stdin"], stdout, stderr)
        child.set_limits(job)
        kernel.drop_capabilities()
        kernel.load_filter(self._setup["seccomp"])
        child.restore_signals()
        arguments, env, python = job["arguments"], job["env"], job["python"]
        names = self._base_names | pyrun.importable_names(job["files"])
        if pyrun.needs_fresh(arguments, env, self._setup["env"], names, self._loaded):
            child.close_others()
            child.execute([python, *arguments], env, python)
        signals.signal(signals.SIGPIPE, signals.SIG_IGN)
        signals.signal(signals.SIGXFSZ, signals.SIG_IGN)
        signals.signal(signals.SIGINT, signals.default_int_handler)
        gc.enable()
        pyrun.run(arguments, env, python, self._path)
