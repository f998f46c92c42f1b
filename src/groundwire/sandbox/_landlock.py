"""For where namespaces are refused (inside a default container, say): Landlock, seccomp and limits on the host itself.

Weaker than bubblewrap, and said so: which paths exist can be seen, processes can be counted, /proc, /tmp and every
socket but socket pairs are out of reach, so that test suites which need them do not run here.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from groundwire.core._candidates import Tree
from groundwire.core._errors import SandboxUnavailable
from groundwire.core._sandboxes import BoxCommand, Enforcement, ExecResult, Limits, Pair, SandboxInfo, WarmSandbox
from groundwire.sandbox._bwrap_arguments import ETC_FILES, ETC_NETWORK, ETC_SHARED
from groundwire.sandbox._environment import prove, require
from groundwire.sandbox._interpreter import SYSTEM_FOLDERS, Interpreter, inspect_interpreter
from groundwire.sandbox._interpreter_view import InterpreterView, barrier
from groundwire.sandbox._local_run import LocalRunner
from groundwire.sandbox._seccomp import compile_filter, is_supported
from groundwire.sandbox._seccomp_host import compile_host_filter
from groundwire.sandbox._warm import ColdForks
from groundwire.sandbox.guest import landlock as guest
from groundwire.sandbox.guest import wire

KIND = "landlock"
CURE = "Use bubblewrap or docker, or a kernel with Landlock 6 (Linux 6.12 or newer, with landlock among its modules)."
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Landlock:
    """Runs each command shut into its box: conforms to `groundwire.core._sandboxes.Sandbox`."""

    def __init__(self, interpreter: Interpreter, version: int) -> None:
        self._interpreter = interpreter
        is_root = os.getuid() == 0
        hidden = is_root and any(barrier(folder) for folder in interpreter.folders)
        # by whether the network is there
        etc = {False: (*ETC_FILES, *ETC_SHARED), True: (*ETC_FILES, *ETC_SHARED, *ETC_NETWORK)}
        folders = (*SYSTEM_FOLDERS, *interpreter.folders)
        self._readable = {on: [*map(str, folders), *(f"/etc/{name}" for name in names)] for on, names in etc.items()}
        self._seccomp = {
            on: [compile_filter(), compile_host_filter(network=on, own_files=not is_root)] for on in (False, True)
        }
        self._runner = LocalRunner(
            interpreter.executable,
            confine=self._confinement,
            unprivileged=is_root,
            view=InterpreterView(interpreter.folders) if hidden else None,
        )
        self._info = SandboxInfo(
            kind=KIND,
            version=f"{version} ({platform.release()})",
            enforcement=self._runner.enforcement(Enforcement.ENFORCED),
        )

    @classmethod
    async def open(cls, python: Path) -> Landlock:
        """Opens and probes it by running a program in it.

        Args:
            python: the interpreter that runs the project.

        Raises:
            SandboxUnavailable: it does not work here; says why and what to do.
        """
        version = guest.version()
        if version < guest.ABI:
            found = f"version {version}" if version else "none that may be used"
            raise SandboxUnavailable(f"This kernel has no Landlock {guest.ABI}: {found}.", do=CURE)
        if not is_supported():
            raise SandboxUnavailable(
                f"No system call filter is known for {platform.machine()}; x86_64 and aarch64 have one.", do=CURE
            )
        interpreter = inspect_interpreter(python)
        interpreter.refuse_private_folders()
        sandbox = cls(interpreter, version)
        await prove(sandbox, "Landlock", CURE)
        return sandbox

    @property
    def info(self) -> SandboxInfo:
        """What commands really run in, probed."""
        return self._info

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self._interpreter.executable

    async def run(
        self,
        command: Sequence[str],
        tree: Tree,
        limits: Limits,
        *,
        env: Mapping[str, str] | None = None,
        support: Mapping[str, bytes] | None = None,
        collect: Sequence[str] = (),
        stdin: bytes = b"",
    ) -> ExecResult:
        """See `groundwire.core._sandboxes.Sandbox.run`."""
        require(limits, self._info)
        return await self._runner.run(
            command, tree, limits, env=env, support=support or {}, collect=collect, stdin=stdin
        )

    async def run_pair(self, asking: BoxCommand, answering: BoxCommand, limits: Limits) -> Pair:
        """See `groundwire.core._sandboxes.PairingSandbox.run_pair`.

        Each is shut into a domain of its own: the folders of the other are none of its own, and neither a signal nor a
        debugger crosses from one domain to another.
        """
        require(limits, self._info)
        return await self._runner.run_pair(asking, answering, limits)

    async def warm(
        self,
        tree: Tree,
        *,
        preload: Sequence[str] = (),
        support: Mapping[str, bytes] | None = None,
        flags: Sequence[str] = (),
    ) -> WarmSandbox:
        """See `groundwire.core._sandboxes.Sandbox.warm`. Every command gets a fresh start: slower, and as clean."""
        return ColdForks(self, tree, support or {}, flags)

    async def aclose(self) -> None:
        """Ends everything it started."""
        await self._runner.aclose()

    def _confinement(self, box: str, limits: Limits) -> wire.Confinement:
        open_to_all = limits.network is True
        return {
            "readable": [*self._readable[open_to_all], f"{box}/support"],
            "writable": [f"{box}/{name}" for name in ("work", "tmp", "out")],
            "devices": list(DEVICES),
            "network": open_to_all,
            "seccomp": self._seccomp[open_to_all],
        }
