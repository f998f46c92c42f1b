"""Published logs of self-repair, read into tasks, recordings and typed rows. Nothing in them is taken for a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.logs._environments import EnvironmentTrial, read_environments
    from groundwire.logs._functions import SOLUTION, function_task
    from groundwire.logs._hotpotqa import Answered, Outcome, TrialSummary, read_hotpotqa
    from groundwire.logs._intercode import InterCodeEpisode, read_intercode
    from groundwire.logs._ldb import LdbRow, read_ldb, recording_of
    from groundwire.logs._reflexion import ReflexionRow, WrittenTestsRow, read_reflexion, read_written_tests
    from groundwire.logs.runs import LoggedEpisode, LoggedRun, LoggedTrial, runs_in, write_run

__all__ = [
    "SOLUTION",
    "Answered",
    "EnvironmentTrial",
    "InterCodeEpisode",
    "LdbRow",
    "LoggedEpisode",
    "LoggedRun",
    "LoggedTrial",
    "Outcome",
    "ReflexionRow",
    "TrialSummary",
    "WrittenTestsRow",
    "function_task",
    "read_environments",
    "read_hotpotqa",
    "read_intercode",
    "read_ldb",
    "read_reflexion",
    "read_written_tests",
    "recording_of",
    "runs_in",
    "write_run",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "Answered": "_hotpotqa",
        "EnvironmentTrial": "_environments",
        "InterCodeEpisode": "_intercode",
        "LdbRow": "_ldb",
        "LoggedEpisode": "runs",
        "LoggedRun": "runs",
        "LoggedTrial": "runs",
        "Outcome": "_hotpotqa",
        "ReflexionRow": "_reflexion",
        "SOLUTION": "_functions",
        "TrialSummary": "_hotpotqa",
        "WrittenTestsRow": "_reflexion",
        "function_task": "_functions",
        "read_environments": "_environments",
        "read_hotpotqa": "_hotpotqa",
        "read_intercode": "_intercode",
        "read_ldb": "_ldb",
        "read_reflexion": "_reflexion",
        "read_written_tests": "_reflexion",
        "recording_of": "_ldb",
        "runs_in": "runs",
        "write_run": "runs",
    },
)
