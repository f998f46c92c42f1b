"""The fork server: an interpreter with modules loaded, from which each command is a fork in namespaces of its own.

It takes descriptors and forks, nothing more: what is to be run is read by the fork, so that the server never holds
anything of a command, and what a command writes goes to its reader directly. A program that many commands begin with
is begun once, in a process that from then on forks for those commands: see `headstart`.
"""

# pathlib and contextlib are slow to import; see the package
# ruff: noqa: PTH102
from __future__ import annotations

import importlib
import os
import socket
import sys

from groundwire.sandbox.guest import forking, headstart, kernel, layout, pyrun, signals, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import cast

    from groundwire.sandbox.guest.wire import Setup
else:

    def cast(_: object, value: object) -> object:
        """Stands in for typing's, whose import is slow."""
        return value


OURS, PREFIX = "GROUNDWIRE_SUPPORT", "_gw_"
"""The variable that names the folder of our own files, and how the names of modules in there begin."""


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
    kernel.mount("tmpfs", setup["base"], "tmpfs", forking.PLAIN, f"size={setup['base_bytes']}")
    layout.lay(setup["base"], setup["files"], (), frozenset(setup["executable"]))
    _read_only(setup["base"])
    sys.path[:] = path = [entry for entry in sys.path if entry]
    base_names = pyrun.importable_names(setup["files"])
    _preload(setup)
    setup["files"] = {}
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    control = socket.socket(fileno=fd)
    parent = forking.Parent(setup, base_names, startup, [*path], own)
    parent.settle()
    wire.write_frame(control.fileno(), wire.READY)
    begun: list[socket.socket | None] = []
    while True:
        message, fds, _, _ = socket.recv_fds(control, 1, max(forking.FDS_PER_COMMAND))
        if not message:
            return
        if message == wire.BEGIN:
            beginning = cast("wire.Beginning", wire.read_value(fds[0]))
            os.close(fds.pop())
            begun.append(headstart.begin(beginning, parent, [control, *filter(None, begun)]))
            continue
        place = wire.read_index(control.fileno()) if message == wire.GO_ON else -1
        if len(fds) in forking.FDS_PER_COMMAND and not (place >= 0 and _passed_on(begun, place, fds)):
            parent.fork(fds, [control, *filter(None, begun)], None)
        for received in fds:
            os.close(received)


def _passed_on(begun: list[socket.socket | None], place: int, fds: list[int]) -> bool:
    """Gives a command to the process that has begun it; False where there is none (any more)."""
    line = begun[place]
    if line is None:
        return False
    try:
        socket.send_fds(line, [wire.RUN], fds)
    except OSError:
        line.close()
        begun[place] = None
        return False
    return True


def _own_namespaces() -> None:
    """A user namespace in which we may mount, and a PID namespace that belongs to it; goes on as its first process."""
    kernel.own_user_namespace(kernel.CLONE_NEWNS | kernel.CLONE_NEWPID)
    pid = os.fork()
    if pid:
        os.closerange(3, 64)
        os.waitpid(pid, 0)
        os._exit(0)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", forking.PLAIN | kernel.MS_NOEXEC)


def _read_only(folder: str) -> None:
    flags = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY | forking.PLAIN
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
    before, ours = [*sys.path], setup["env"].get(OURS, "")
    for name in setup["preload"]:
        # files of ours are on nobody's path but their own
        sys.path[:] = [ours, *before] if ours and name.startswith(PREFIX) else before
        try:
            module = importlib.import_module(name)
            for plugin in getattr(getattr(module, "_pytest", module), "default_plugins", ()):
                importlib.import_module(f"_pytest.{plugin}")
        except (Exception, SystemExit):
            # the command that needs it will say so, in its own words
            continue
    sys.path[:] = before
    sys.path_importer_cache.pop(ours, None)
    os.chdir("/")
