"""What a command gets and needs: a minimal environment, the limits that were required, and a proof that it works."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.core._candidates import Tree
from groundwire.core._errors import ConfigError, SandboxCrashed, SandboxUnavailable
from groundwire.core._sandboxes import Enforcement, LimitName, Limits, Sandbox, SandboxInfo

# The environment a command gets: minimal, ours, the same everywhere; nothing of the host's.

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")


def make_environment(
    bin_folder: str, *, temporary: str, out: str, support: str, extra: Mapping[str, str] | None
) -> dict[str, str]:
    """The variables of one command.

    Args:
        bin_folder: where the interpreter's programs lie; searched first.
        temporary: the private temporary folder, also the home.
        out: where files that are asked for are written.
        support: where our support files lie; empty: there are none.
        extra: added, and put in place of ours.

    Raises:
        ConfigError: a name or value of `extra` can't be an environment variable.
    """
    for name, value in (extra or {}).items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise ConfigError(f"{name!r} can't be an environment variable.", do="Correct its name or value.")
    return {
        "PATH": ":".join(dict.fromkeys((bin_folder, *SYSTEM_PATH))),
        "HOME": temporary,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        # one verdict for one candidate: no order that changes from run to run, no bytecode that outlives its source
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        # a thread for each of the host's cores would exceed the limits of a sandbox, and can't survive a fork
        "OMP_NUM_THREADS": "1",
        "GROUNDWIRE_OUT": out,
        **({"GROUNDWIRE_SUPPORT": support} if support else {}),
        **(extra or {}),
    }


# Holds a sandbox to the limits that were required of it.


def require(limits: Limits, info: SandboxInfo) -> None:
    """Returns if every required limit, and a list of hosts if there is one, is held in this sandbox.

    Raises:
        SandboxUnavailable: one is not; names it.
    """
    if not isinstance(limits.network, bool) and not _holds(info, "allow_list"):
        raise SandboxUnavailable(
            f"The sandbox {info.kind!r} can't hold a command to a list of hosts (network, allow_list).",
            do="Use the sandbox bubblewrap, or set the network to false or true.",
        )
    missing = sorted(name for name in limits.required if not _holds(info, name))
    if missing:
        raise SandboxUnavailable(
            f"The sandbox {info.kind!r} can't hold {', '.join(missing)}, which was required.",
            do="Use another sandbox, or don't require it.",
        )


def _holds(info: SandboxInfo, name: LimitName) -> bool:
    return info.enforcement.get(name, Enforcement.UNAVAILABLE) is not Enforcement.UNAVAILABLE


# Proves that a sandbox works by running a program in it.

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
