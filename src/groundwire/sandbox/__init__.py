"""Sandboxes: where untrusted commands run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.sandbox._choosing import DEFAULT_KINDS, Probe, open_sandbox, probe_all

__all__ = ["DEFAULT_KINDS", "Probe", "open_sandbox", "probe_all"]

__getattr__, __dir__ = at_first_use(
    __name__,
    {"DEFAULT_KINDS": "_choosing", "Probe": "_choosing", "open_sandbox": "_choosing", "probe_all": "_choosing"},
)
