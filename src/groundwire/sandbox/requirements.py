"""Holds a sandbox to the limits that were required of it."""

from __future__ import annotations

from groundwire.errors import SandboxUnavailable
from groundwire.limits import Enforcement, Limits, SandboxInfo

__all__ = ["require"]


def require(limits: Limits, info: SandboxInfo) -> None:
    """Returns if every required limit is enforced or watched in this sandbox.

    Raises:
        SandboxUnavailable: one is not; names it.
    """
    missing = sorted(
        name
        for name in limits.required
        if info.enforcement.get(name, Enforcement.UNAVAILABLE) is Enforcement.UNAVAILABLE
    )
    if missing:
        raise SandboxUnavailable(
            f"The sandbox {info.kind!r} can't hold {', '.join(missing)}, which was required.",
            do="Use another sandbox, or don't require it.",
        )
