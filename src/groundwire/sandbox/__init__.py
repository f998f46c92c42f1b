"""Sandboxes: where untrusted commands run."""

from __future__ import annotations

from groundwire.sandbox.opening import Probe, open_sandbox, probe_all

__all__ = ["Probe", "open_sandbox", "probe_all"]
