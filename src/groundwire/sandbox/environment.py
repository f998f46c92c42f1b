"""The environment a command gets: minimal, ours, the same everywhere; nothing of the host's."""

from __future__ import annotations

from collections.abc import Mapping

from groundwire.errors import ConfigError

__all__ = ["make_environment"]

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
