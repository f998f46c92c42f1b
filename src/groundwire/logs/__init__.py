"""Published logs of self-repair, read into tasks, recordings and typed rows. Nothing in them is taken for a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core.first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.logs.environments import EnvironmentTrial, read_environments
    from groundwire.logs.functions import function_task
    from groundwire.logs.hotpotqa import Answered, Outcome, TrialSummary, read_hotpotqa
    from groundwire.logs.ldb import LdbRow, read_ldb, recording_of
    from groundwire.logs.reflexion import ReflexionRow, WrittenTestsRow, read_reflexion, read_written_tests

__all__ = [
    "Answered",
    "EnvironmentTrial",
    "LdbRow",
    "Outcome",
    "ReflexionRow",
    "TrialSummary",
    "WrittenTestsRow",
    "function_task",
    "read_environments",
    "read_hotpotqa",
    "read_ldb",
    "read_reflexion",
    "read_written_tests",
    "recording_of",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Answered": "hotpotqa",
        "EnvironmentTrial": "environments",
        "LdbRow": "ldb",
        "Outcome": "hotpotqa",
        "ReflexionRow": "reflexion",
        "TrialSummary": "hotpotqa",
        "WrittenTestsRow": "reflexion",
        "function_task": "functions",
        "read_environments": "environments",
        "read_hotpotqa": "hotpotqa",
        "read_ldb": "ldb",
        "read_reflexion": "reflexion",
        "read_written_tests": "reflexion",
        "recording_of": "ldb",
    },
)
