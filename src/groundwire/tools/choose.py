"""Chooses the tool for a command."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.contexts import Tool
from groundwire.tools.command_tool import Command
from groundwire.tools.commands import read_command
from groundwire.tools.doctest_tool import Doctest
from groundwire.tools.pytest_tool import Pytest
from groundwire.tools.unittest_tool import Unittest

__all__ = ["tool_for"]


def tool_for(command: Sequence[str], report: str | None = None, *, apart: bool = False) -> Tool:
    """The tool that gets most out of a command.

    Args:
        command: split; `()`: pytest.
        report: path of the JUnit XML file that the command writes; then its cases decide, whatever the command is.
        apart: keep the assertions in another process than the candidate, where runner and tests allow it.

    Returns:
        `Pytest` for `pytest` and `python -m pytest`, `Unittest` for `python -m unittest`, `Doctest` for
        `python -m doctest`, else `Command`.

    Raises:
        ConfigError: `report` is not a plain relative path.
    """
    if report is not None:
        return Command(command or None, report=report)
    runner = read_command(command).runner if command else "pytest"
    if runner == "pytest":
        return Pytest(command or None, apart=apart)
    if runner == "unittest":
        return Unittest(command, apart=apart)
    return Doctest(command) if runner == "doctest" else Command(command)
