"""Harbor: its tasks judged here, ours in its form, its trajectory format, and groundwire as an agent of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.integrations.harbor._agent import GroundwireAgent
    from groundwire.integrations.harbor._atif import atif_of
    from groundwire.integrations.harbor._steps import StepResult, StepsResult, run_steps
    from groundwire.integrations.harbor._task import HarborTask
    from groundwire.integrations.harbor._verifier import HarborChange, HarborVerifier, oracle_candidate
    from groundwire.integrations.harbor._writing import write_harbor_task

__all__ = [
    "GroundwireAgent",
    "HarborChange",
    "HarborTask",
    "HarborVerifier",
    "StepResult",
    "StepsResult",
    "atif_of",
    "oracle_candidate",
    "run_steps",
    "write_harbor_task",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "GroundwireAgent": "_agent",
        "HarborChange": "_verifier",
        "HarborTask": "_task",
        "HarborVerifier": "_verifier",
        "StepResult": "_steps",
        "StepsResult": "_steps",
        "atif_of": "_atif",
        "oracle_candidate": "_verifier",
        "run_steps": "_steps",
        "write_harbor_task": "_writing",
    },
)
