"""The pytest tool."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence

from groundwire.contexts import ToolContext
from groundwire.signals import Observation
from groundwire.tasks import Task
from groundwire.tools.baselines import Baselines
from groundwire.tools.commands import Invocation
from groundwire.tools.guard import tampering_with_doctests
from groundwire.tools.judging import Judge
from groundwire.tools.many import judge_many
from groundwire.tools.python_runner import PythonRunner
from groundwire.trees import Candidate

__all__ = ["Pytest"]

MISSING = (
    "Install pytest 7 or later into the project's environment (python -m pip install pytest), "
    "or name an interpreter that has it (--python)."
)


class Pytest:
    """Judges by the project's tests, run with the project's own pytest (7 or later, Python 3.9 or later).

    Our report plugin is registered before every other plugin and before any code of the project. Of the plugins that
    are installed, those are loaded that the project declares: distributions which its requirement or tool files name,
    `-p NAME` in the command or in `addopts`, and `pytest_plugins` in a conftest. Cases run in one process, one after
    the other: workers of pytest-xdist and the reports of pytest-cov are switched off.

    Each case may take half of the run's wall limit; then it fails and the next one runs. `judge_many` runs four or more
    candidates in a fork server where the sandbox has one. Once the base tree was judged it gives each of them the base
    tree's time and ten times that of its cases (at least three times its time and 2 s, at most the task's limit); one
    in a hundred of those that only run out of time gets another look with five times as much.

    Args:
        command: a command that goes before the task's, split (`("pytest", "-q", "tests/unit")`).
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        runner = PythonRunner(
            name="pytest",
            default=("pytest", "-q"),
            command=tuple(command) if command else None,
            preload=("pytest",),
            # a third of a small run's time goes into tracebacks; the cases' messages have what matters of them
            in_search=("--tb=no",),
            cure=MISSING,
            more=_without_cache,
            guard=_guard,
        )
        self._judge = Judge(runner, Baselines())

    async def judge(self, candidate: Candidate, task: Task, context: ToolContext) -> Observation:
        """See `groundwire.contexts.Tool`."""
        return await self._judge.judge(candidate, task, context)

    def judge_many(
        self, candidates: Sequence[Candidate], task: Task, context: ToolContext
    ) -> AsyncGenerator[Observation, None]:
        """See `groundwire.contexts.Tool`."""
        return judge_many(self._judge, candidates, task, context)


def _guard(candidate: Candidate, task: Task, invocation: Invocation) -> Observation | None:
    configured = any(
        b"doctest-modules" in task.tree.files.get(name, b"")
        for name in ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini")
    )
    if configured or "--doctest-modules" in invocation.arguments:
        return tampering_with_doctests(candidate, task)
    return None


_ASKS_FOR_CACHE = re.compile(
    rb"\bcache\b|cache_dir|--(lf|ff|nf|sw)\b|--(last-failed|failed-first|new-first|stepwise)|--cache-"
)


def _without_cache(task: Task, invocation: Invocation) -> tuple[str, ...]:
    """Every run starts from nothing, so a tenth of its time can be saved, unless the project speaks of the cache."""
    texts = (c for p, c in task.tree.files.items() if p.endswith((".py", ".toml", ".ini", ".cfg")))
    words = " ".join(invocation.arguments).encode()
    asked = any(_ASKS_FOR_CACHE.search(text) for text in (words, *texts))
    return () if asked else ("-p", "no:cacheprovider")
