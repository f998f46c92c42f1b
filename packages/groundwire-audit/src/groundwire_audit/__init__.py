"""Audits anybody's LangGraph graph: is there a loop that nothing outside the model decides?

PYTEST_DONT_REWRITE: it comes with a pytest plugin, and may be imported before pytest starts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundwire_audit._audit import assert_grounded, audit
    from groundwire_audit._command import main
    from groundwire_audit._errors import AuditError, GuardUnavailable, ImportFailed
    from groundwire_audit._report import (
        AuditReport,
        Finding,
        GraphReport,
        Grounding,
        Level,
        Loop,
        LoopStep,
        Mode,
        SourcePlace,
    )
    from groundwire_audit.live._graphs import GatedEdge, GatedGraph, GatedWiring
    from groundwire_audit.live._guards import Guard, GuardedEnd, GuardedJob
    from groundwire_audit.live._tracing import TraceReport

__all__ = [
    "AuditError",
    "AuditReport",
    "Finding",
    "GatedEdge",
    "GatedGraph",
    "GatedWiring",
    "GraphReport",
    "Grounding",
    "Guard",
    "GuardUnavailable",
    "GuardedEnd",
    "GuardedJob",
    "ImportFailed",
    "Level",
    "Loop",
    "LoopStep",
    "Mode",
    "SourcePlace",
    "TraceReport",
    "assert_grounded",
    "audit",
    "main",
]

_HOMES = {
    "_audit": ("assert_grounded", "audit"),
    "_command": ("main",),
    "_errors": ("AuditError", "GuardUnavailable", "ImportFailed"),
    "_report": (
        "AuditReport",
        "Finding",
        "GraphReport",
        "Grounding",
        "Level",
        "Loop",
        "LoopStep",
        "Mode",
        "SourcePlace",
    ),
    "live._graphs": ("GatedEdge", "GatedGraph", "GatedWiring"),
    "live._guards": ("Guard", "GuardedEnd", "GuardedJob"),
    "live._tracing": ("TraceReport",),
}


def __getattr__(name: str) -> Any:
    """A public name, loaded when it is first used (PEP 562)."""
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *globals()})
