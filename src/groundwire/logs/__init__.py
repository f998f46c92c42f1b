"""Published logs of self-repair, read into tasks, recordings and typed rows. Nothing in them is taken for a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.logs._environments import EnvironmentTrial, read_environments
    from groundwire.logs._functions import function_task
    from groundwire.logs._hotpotqa import Answered, Outcome, TrialSummary, read_hotpotqa
    from groundwire.logs._ldb import LdbRow, read_ldb, recording_of
    from groundwire.logs._reflexion import ReflexionRow, WrittenTestsRow, read_reflexion, read_written_tests

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
        "Answered": "_hotpotqa",
        "EnvironmentTrial": "_environments",
        "LdbRow": "_ldb",
        "Outcome": "_hotpotqa",
        "ReflexionRow": "_reflexion",
        "TrialSummary": "_hotpotqa",
        "WrittenTestsRow": "_reflexion",
        "function_task": "_functions",
        "read_environments": "_environments",
        "read_hotpotqa": "_hotpotqa",
        "read_ldb": "_ldb",
        "read_reflexion": "_reflexion",
        "read_written_tests": "_reflexion",
        "recording_of": "_ldb",
    },
)
