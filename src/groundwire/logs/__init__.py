"""Published logs of self-repair, read into tasks, recordings and typed rows. Nothing in them is taken for a verdict."""

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
