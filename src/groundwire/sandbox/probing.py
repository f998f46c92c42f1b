"""Proves that a sandbox works by running a program in it."""

from __future__ import annotations

from groundwire.errors import SandboxCrashed, SandboxUnavailable
from groundwire.limits import Limits
from groundwire.sandboxes import Sandbox
from groundwire.trees import Tree

__all__ = ["prove"]

PROBE_S = 30.0


async def prove(sandbox: Sandbox, name: str, cure: str) -> None:
    """Returns if `print(1)` runs; else closes the sandbox.

    Args:
        sandbox: is tried.
        name: what it is called in the message.
        cure: what to do where it does not work.

    Raises:
        SandboxUnavailable: it does not work here; says why.
    """
    try:
        await _try(sandbox, name, cure)
    except BaseException:
        await sandbox.aclose()
        raise


async def _try(sandbox: Sandbox, name: str, cure: str) -> None:
    try:
        result = await sandbox.run(["python", "-c", "print(1)"], Tree(), Limits(wall_s=PROBE_S))
    except SandboxCrashed as error:
        raise SandboxUnavailable(f"{name} does not work here: {error.what}", do=cure) from error
    if result.exit_code != 0 or result.stdout != b"1\n":
        said = result.stderr.decode(errors="replace").strip()[-500:]
        raise SandboxUnavailable(
            f"{sandbox.python} does not run in it ({name}): exit code {result.exit_code}, {said or 'no message'}.",
            do=cure,
        )
