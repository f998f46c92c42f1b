"""Chooses the tool for a command."""

from __future__ import annotations

from collections.abc import Sequence

from groundwire.contexts import Tool
from groundwire.tools.commands import read_command

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
    runner = "command" if report is not None else read_command(command).runner if command else "pytest"
    if runner == "pytest":
        from groundwire.tools.pytest_tool import Pytest

        return Pytest(command or None, apart=apart)
    if runner == "unittest":
        from groundwire.tools.unittest_tool import Unittest

        return Unittest(command, apart=apart)
    if runner == "doctest":
        from groundwire.tools.doctest_tool import Doctest

        return Doctest(command)
    from groundwire.tools.command_tool import Command

    return Command(command or None, report=report)
