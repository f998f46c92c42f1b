"""Makes a command out of a fork: namespaces, a box, limits and a filter of its own; then it is what it is to be."""

from __future__ import annotations

import gc
import os
import socket
import sys

from groundwire.sandbox.guest import child, keeper, kernel, pyrun, signals, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn, cast

    from groundwire.sandbox.guest.wire import Beginning, Job, Setup
else:

    def cast(_: object, value: object) -> object:
        """Stands in for typing's, whose import is slow."""
        return value


FDS_PER_COMMAND = (3, 4)
"""Where we talk, two streams, and perhaps the line to another box."""
MAX_INODES = 200_000
PLAIN = kernel.MS_NOSUID | kernel.MS_NODEV


class Parent:
    """What a process is that forks for commands.

    Args:
        setup: what the server started with.
        base_names: what the base tree's own modules are called.
        startup: names of the modules that a bare interpreter has.
        path: the import path of a command, without the entry for its program.
        own: our PID namespace.
    """

    def __init__(self, setup: Setup, base_names: set[str], startup: frozenset[str], path: list[str], own: int) -> None:
        self.setup = setup
        self.base_names = base_names
        self.path = path
        self._startup = {name.partition(".")[0] for name in startup}
        self._own = own
        self.loaded: set[str] = set()

    def settle(self) -> None:
        """From now on there are only forks of this process: what they share stays shared."""
        self.loaded = {name.partition(".")[0] for name in sys.modules} - self._startup
        gc.collect()
        gc.disable()
        gc.freeze()

    def fork(self, fds: list[int], foreign: Iterable[socket.socket], begun: Beginning | None) -> None:
        """Forks for a command that is read over the first of `fds`.

        Args:
            fds: where we talk with the other side about it, its two streams, and its line, if it has one.
            foreign: what is none of the command's business.
            begun: what this process has begun; None: the command begins by itself.

        Raises:
            GoesOn: in the fork that has become a command which was begun.
        """
        kernel.unshare(kernel.CLONE_NEWPID)
        if os.fork() == 0:
            for line in foreign:
                line.close()
            os.close(self._own)
            self._keep(fds, begun)
        kernel.setns(self._own, kernel.CLONE_NEWPID)

    def _keep(self, fds: list[int], begun: Beginning | None) -> NoReturn:
        talk, stdout, stderr, *line = fds
        try:
            signals.signal(signals.SIGCHLD, signals.SIG_DFL)
            wire.write_frame(talk, wire.HELLO)
            self._leave_namespaces()
            job = cast("Job", wire.read_value(talk))
            job["line"] = line[0] if line else -1
            self._mount_box(job)

            def become(job: Job, stdout: int, stderr: int) -> None:
                self._become(job, stdout, stderr, begun)

            keeper.keep(job, talk, stdout, stderr, become)
        except keeper.GoesOn:
            raise
        except EOFError:
            os._exit(1)
        except BaseException as error:
            wire.write_frame(talk, wire.BROKEN, repr(error).encode("utf-8", "replace"))
            os._exit(1)
        os._exit(0)

    def _leave_namespaces(self) -> None:
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWNET)
        kernel.mount("proc", "/proc", "proc", PLAIN | kernel.MS_NOEXEC)
        kernel.mount("tmpfs", "/dev/shm", "tmpfs", PLAIN, f"size={self.setup['shared_memory_bytes']},mode=1777")
        kernel.mount("devpts", "/dev/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, "newinstance,ptmxmode=0666")
        kernel.loopback_up()

    def _mount_box(self, job: Job) -> None:
        options = f"size={job['disk_bytes']},nr_inodes={MAX_INODES},mode=0755"
        kernel.mount("tmpfs", job["box"], "tmpfs", PLAIN, options)
        if self.setup["own_count"]:
            kernel.own_user_namespace()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)

    def _become(self, job: Job, stdout: int, stderr: int, begun: Beginning | None) -> None:
        line = child.keep_line(job)
        child.connect(job["stdin"], stdout, stderr)
        child.set_limits(job)
        kernel.drop_capabilities()
        kernel.load_filter(self.setup["seccomp"])
        child.restore_signals()
        arguments, env, python = job["arguments"], job["env"], job["python"]
        names = self.base_names | pyrun.importable_names(job["files"])
        other = begun is not None and not is_of(begun, job)
        if other or pyrun.needs_fresh(arguments, env, self.setup["env"], names, self.loaded):
            child.close_others(line)
            child.execute([python, *self.setup["flags"], *arguments], env, python)
        signals.signal(signals.SIGPIPE, signals.SIG_IGN)
        signals.signal(signals.SIGXFSZ, signals.SIG_IGN)
        signals.signal(signals.SIGINT, signals.default_int_handler)
        gc.enable()
        if begun is not None:
            raise keeper.GoesOn(env)
        pyrun.run(arguments, env, python, self.path)


def is_of(begun: Beginning, job: Job) -> bool:
    """True if the job is the command that was begun, whatever the variables say that differ from one to the next."""
    return begun["arguments"] == job["arguments"] and _lasting(begun["env"]) == _lasting(job["env"])


def _lasting(env: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if not wire.differs(name)}
