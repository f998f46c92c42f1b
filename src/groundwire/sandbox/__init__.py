"""Sandboxes: where untrusted commands run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.sandbox._opening import DEFAULT_KINDS, Probe, open_sandbox, probe_all

__all__ = ["DEFAULT_KINDS", "Probe", "open_sandbox", "probe_all"]

__getattr__, __dir__ = at_first_use(
    __name__,
    {"DEFAULT_KINDS": "_opening", "Probe": "_opening", "open_sandbox": "_opening", "probe_all": "_opening"},
)
