"""Sandboxes: where untrusted commands run."""

from __future__ import annotations

from groundwire.sandbox.opening import DEFAULT_KINDS, Probe, open_sandbox, probe_all

__all__ = ["DEFAULT_KINDS", "Probe", "open_sandbox", "probe_all"]
