"""Audits anybody's LangGraph graph: is there a loop that nothing outside the model decides?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.auditing.api import audit
    from groundwire.auditing.grounded import assert_grounded
    from groundwire.auditing.report import GraphReport, Loop, Mode, Report, Verdict

__all__ = ["GraphReport", "Loop", "Mode", "Report", "Verdict", "assert_grounded", "audit"]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "GraphReport": "report",
        "Loop": "report",
        "Mode": "report",
        "Report": "report",
        "Verdict": "report",
        "assert_grounded": "grounded",
        "audit": "api",
    },
)
