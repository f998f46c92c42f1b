"""Audits anybody's LangGraph graph: is there a loop that nothing outside the model decides?"""

from groundwire.auditing.api import audit
from groundwire.auditing.grounded import assert_grounded
from groundwire.auditing.report import GraphReport, Loop, Mode, Report, Verdict

__all__ = ["GraphReport", "Loop", "Mode", "Report", "Verdict", "assert_grounded", "audit"]
