"""Holds a sandbox to the limits that were required of it."""

from __future__ import annotations

from groundwire.errors import SandboxUnavailable
from groundwire.limits import Enforcement, LimitName, Limits, SandboxInfo

__all__ = ["require"]


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
