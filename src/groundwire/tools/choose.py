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


def tool_for(command: Sequence[str], report: str | None = None) -> Tool:
    """The tool that gets most out of a command.

    Args:
        command: split; `()`: pytest.
        report: path of the JUnit XML file that the command writes; then its cases decide, whatever the command is.

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
        return Pytest(command or None)
    if runner == "unittest":
        return Unittest(command)
    return Doctest(command) if runner == "doctest" else Command(command)
