"""Published logs as runs of a ledger: each trial and reflection as logged, and marked as taken from there."""

from groundwire.logs.runs._found import runs_in
from groundwire.logs.runs._logged import LoggedEpisode, LoggedRun, LoggedTrial
from groundwire.logs.runs._writing import write_run

__all__ = ["LoggedEpisode", "LoggedRun", "LoggedTrial", "runs_in", "write_run"]
