"""The pytest tool."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from groundwire.contexts import ToolContext
from groundwire.signals import Observation
from groundwire.tasks import Task
from groundwire.tools.commands import Invocation
from groundwire.tools.guard import tampering_with_doctests
from groundwire.tools.judged import JudgedTool
from groundwire.tools.pytest_startup import PRELOAD, for_nobody, without_cache
from groundwire.tools.python_runner import PythonRunner
from groundwire.trees import Candidate

if TYPE_CHECKING:
    from groundwire.tools.behaviour import Behaviour

__all__ = ["Pytest"]

MISSING = (
    "Install pytest 7 or later into the project's environment (python -m pip install pytest), "
    "or name an interpreter that has it (--python)."
)


class Pytest(JudgedTool):
    """Judges by the project's tests, run with the project's own pytest (7 or later, Python 3.9 or later).

    Our report plugin is registered before every other plugin and before any code of the project. Of the plugins that
    are installed, those are loaded that the project declares: distributions which its requirement or tool files name,
    `-p NAME` in the command or in `addopts`, and `pytest_plugins` in a conftest. Cases run in one process, one after
    the other: workers of pytest-xdist and the reports of pytest-cov are switched off.

    Each case may take half of the run's wall limit; then it fails and the next one runs. `judge_many` runs four or more
    candidates in a fork server where the sandbox has one. Once the base tree was judged it gives each of them the base
    tree's time and ten times that of its cases (at least three times its time and 2 s, at most the task's limit), and
    each case twenty times the processor time of the base tree's slowest (at least 0.3 s); one in a hundred of those
    that only run out of time gets another look with five times as much.

    Args:
        command: a command that goes before the task's, split (`("pytest", "-q", "tests/unit")`).
        apart: keep the assertions in another process than the candidate, where the tests allow it.
    """

    def __init__(self, command: Sequence[str] | None = None, *, apart: bool = False) -> None:
        runner = PythonRunner(
            name="pytest",
            default=("pytest", "-q"),
            command=tuple(command) if command else None,
            preload=PRELOAD,
            in_search=for_nobody,
            cure=MISSING,
            more=without_cache,
            guard=_guard,
            apart=apart,
        )
        super().__init__(runner)

    @cached_property
    def _behaviour(self) -> Behaviour:
        from groundwire.tools.behaviour import Behaviour

        return Behaviour()

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """See `groundwire.contexts.DoubtingTool`."""
        return await self._behaviour.doubt(candidate, task, context)


def _guard(candidate: Candidate, task: Task, invocation: Invocation) -> Observation | None:
    configured = any(
        b"doctest-modules" in task.tree.files.get(name, b"")
        for name in ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini")
    )
    if configured or "--doctest-modules" in invocation.arguments:
        return tampering_with_doctests(candidate, task)
    return None
