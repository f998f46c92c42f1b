"""Begins a program once for many commands: up to where it says that it is ready, and nothing of a candidate is there.

What the candidates of a base tree may change is there as files that end whoever imports them. The program itself says
when it is ready, by `ready()` of the module `groundwire_ready`, which only such a process has. It must by then have
started no thread and no process, left no file behind, and loaded nothing of the project; else there is no head start,
and its commands begin by themselves.
"""

# pathlib and contextlib are slow to import; see the package
# ruff: noqa: PTH123, PTH202, PTH208, SIM105
from __future__ import annotations

import gc
import importlib.machinery
import os
import socket
import sys
import warnings

from groundwire.sandbox.guest import forking, keeper, kernel, layout, pyrun, signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, NoReturn

    from groundwire.sandbox.guest.forking import Parent
    from groundwire.sandbox.guest.wire import Beginning

MODULE = "groundwire_ready"
READY_S = 20.0
MOST_CODE_BYTES = 2 << 20
"""Of source that is compiled in advance."""
ENDS_WHO_IMPORTS_IT = b"import os\nos._exit(1)\n"


def begin(beginning: Beginning, parent: Parent, foreign: Iterable[socket.socket]) -> socket.socket | None:
    """Begins a program, in a process of its own.

    Args:
        beginning: the program.
        parent: what this process is.
        foreign: what is none of the program's business.

    Returns:
        Where commands that go on from there are handed over; None where it did not become ready.
    """
    near, far = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            for line in (near, *foreign):
                line.close()
            _Begun(beginning, parent, far).run()
        finally:
            os._exit(1)
    far.close()
    near.settimeout(READY_S)
    try:
        ready = near.recv(1)
    except OSError:
        ready = b""
    if not ready:
        near.close()
        try:
            os.kill(pid, signals.SIGKILL)
        except OSError:
            pass
        return None
    near.settimeout(None)
    return near


class _Begun:
    """The process that has begun a program."""

    def __init__(self, beginning: Beginning, parent: Parent, control: socket.socket) -> None:
        self._beginning = beginning
        self._parent = parent
        self._control = control
        self._box = parent.setup["box"]
        self._laid: set[tuple[str, int, int]] = set()
        self._streams: list[int] = []

    def run(self) -> NoReturn:
        """Begins."""
        beginning, parent = self._beginning, self._parent
        if pyrun.needs_fresh(
            beginning["arguments"], beginning["env"], parent.setup["env"], parent.base_names, parent.loaded
        ):
            os._exit(1)
        self._lay_out()
        self._connect()
        _remember_code(self._parent.setup["base"], f"{self._box}/work")
        # a plugin may start a program and wait for it
        signals.signal(signals.SIGCHLD, signals.SIG_DFL)
        module: Any = type(sys)(MODULE)
        module.ready = self.ready
        sys.modules[MODULE] = module
        gc.enable()
        pyrun.run(beginning["arguments"], dict(beginning["env"]), beginning["python"], parent.path)

    def _lay_out(self) -> None:
        kernel.unshare(kernel.CLONE_NEWNS)
        size = 2 * self._parent.setup["base_bytes"]
        kernel.mount("tmpfs", self._box, "tmpfs", forking.PLAIN, f"size={size},mode=0755")
        layout.make_box(self._box)
        work = f"{self._box}/work"
        layout.copy_tree(self._parent.setup["base"], work)
        poisoned = {path: ENDS_WHO_IMPORTS_IT for path in self._beginning["withheld"] if path.endswith(".py")}
        layout.lay(work, poisoned, (), frozenset())
        os.umask(0o022)
        os.chdir(work)
        self._laid = self._files()

    def _connect(self) -> None:
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.close(nowhere)
        for stream in (1, 2):
            kept = os.memfd_create("said")
            os.dup2(kept, stream)
            os.close(kept)

    def ready(self) -> Mapping[str, str]:
        """Forks for commands from now on; returns in each of them.

        Returns:
            The command's variables; of those, what differs from command to command is not in `os.environ`.
        """
        sys.modules.pop(MODULE, None)
        if not self._is_clean():
            os._exit(1)
        said = [self._said(stream) for stream in (1, 2)]
        signals.signal(signals.SIGCHLD, signals.SIG_IGN)
        self._parent.settle()
        if self._parent.loaded & self._parent.base_names:
            os._exit(1)
        self._control.send(b"y")
        env = self._serve()
        for stream, text in zip((1, 2), said):  # noqa: B905  Python 3.9
            while text:
                text = text[os.write(stream, text) :]
        _forget_what_differs()
        return env

    def _serve(self) -> dict[str, str]:
        try:
            while True:
                message, fds, _, _ = socket.recv_fds(self._control, 1, max(forking.FDS_PER_COMMAND))
                if not message:
                    os._exit(0)
                if len(fds) in forking.FDS_PER_COMMAND:
                    self._parent.fork(fds, [self._control], self._beginning)
                for received in fds:
                    os.close(received)
        except keeper.GoesOn as command:
            return command.env
        except BaseException:
            os._exit(1)

    def _is_clean(self) -> bool:
        if len(os.listdir("/proc/self/task")) > 1 or self._files() != self._laid:
            return False
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            pass
        else:
            return False
        work = f"{self._box}/work/"
        files = (getattr(module, "__file__", None) for module in [*sys.modules.values()])
        return not any(isinstance(file, str) and file.startswith(work) for file in files)

    def _files(self) -> set[tuple[str, int, int]]:
        found: set[tuple[str, int, int]] = set()
        pending = [self._box]
        while pending:
            for entry in os.scandir(pending.pop()):
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                    found.add((entry.path, 0, 0))  # what was there for a moment has changed its time
                else:
                    status = entry.stat(follow_symlinks=False)
                    found.add((entry.path, status.st_size, status.st_mtime_ns))
        return found

    def _said(self, stream: int) -> bytes:
        for text in (sys.stdout, sys.stderr):
            text.flush()
        size = os.fstat(stream).st_size
        return os.pread(stream, size, 0)


def _remember_code(base: str, work: str) -> None:
    """Compiles the base tree's modules once: who imports one from the same source later gets the code of that.

    Nothing of it is run. What an import that compiles anew raises looks as ever: importlib leaves its own frames out.
    """
    loader: Any = importlib.machinery.SourceFileLoader
    original = loader.source_to_code
    kept: dict[str, tuple[bytes, Any]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what would be warned of then is compiled then
        for path, source in _modules(base):
            name = work + path[len(base) :]
            try:
                kept[name] = source, compile(source, name, "exec", dont_inherit=True)
            except (Warning, SyntaxError, ValueError, RecursionError, MemoryError):
                continue

    def source_to_code(self: object, data: Any, path: Any, **options: Any) -> Any:
        known = kept.get(path) if isinstance(path, str) and not options else None
        if known is not None and type(data) is bytes and known[0] == data:
            return known[1]
        return original(self, data, path, **options)

    source_to_code.__code__ = source_to_code.__code__.replace(co_filename=original.__code__.co_filename)
    loader.source_to_code = source_to_code


def _modules(base: str) -> Iterator[tuple[str, bytes]]:
    left = MOST_CODE_BYTES
    for folder, folders, names in os.walk(base):
        folders.sort()
        for name in sorted(names):
            path = f"{folder}/{name}"
            if name.endswith(".py") and os.path.getsize(path) <= left:
                with open(path, "rb") as file:
                    source = file.read()
                left -= len(source)
                yield path, source


def _forget_what_differs() -> None:
    """What a process that starts by itself would find out anew; `random` does so by itself."""
    sys.path_importer_cache.clear()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and "numpy.random" in sys.modules:
        numpy.random.seed()
