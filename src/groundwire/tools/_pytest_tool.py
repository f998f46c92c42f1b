"""The pytest tool, and what a run of pytest can leave out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from groundwire.core._candidates import Candidate
from groundwire.core._contexts import ToolContext
from groundwire.core._signals import Observation
from groundwire.core._tasks import Task
from groundwire.tools._batches import JudgedTool
from groundwire.tools._commands import Invocation
from groundwire.tools._guard import tampering_with_doctests
from groundwire.tools._python_runner import PythonRunner, declared_names
from groundwire.tools._running import CONFIRMED, Separation

if TYPE_CHECKING:
    from groundwire.tools._behaviour import Behaviour


# What a run of pytest can leave out, and what a fork server should have loaded: most of a small run is start-up.

# `import pytest` leaves most of these for later; names that another version of pytest lacks are passed over
_OWN = (
    "_argcomplete", "cacheprovider", "capture", "debugging", "doctest", "faulthandler", "fixtures", "helpconfig",
    "junitxml", "legacypath", "logging", "main", "mark", "monkeypatch", "nose", "pastebin", "python", "python_path",
    "recwarn", "reports", "runner", "setuponly", "setupplan", "skipping", "stepwise", "subtests", "terminal",
    "terminalprogress", "threadexception", "tmpdir", "tracemalloc", "unittest", "unraisableexception", "warnings",
)  # fmt: skip
PRELOAD = ("pytest", *(f"_pytest.{name}" for name in _OWN), "_pytest.assertion.rewrite", "unittest")
"""Modules that every run of pytest imports."""

_ASKS_FOR_CACHE = re.compile(
    rb"\bcache\b|cache_dir|--(lf|ff|nf|sw)\b|--(last-failed|failed-first|new-first|stepwise)|--cache-"
)
_ASKS_FOR: Mapping[str, re.Pattern[bytes]] = {
    "pastebin": re.compile(rb"pastebin"),
    "stepwise": re.compile(rb"stepwise|--sw"),
    "setuponly": re.compile(rb"setup.?(only|show|plan)"),
    "setupplan": re.compile(rb"setup.?(only|show|plan)"),
}
_ASKS_FOR_ALONE: Mapping[str, re.Pattern[bytes]] = {
    "junitxml": re.compile(rb"junit|record_"),
    # unittest and doctest read options of the debugging plugin
    "debugging": re.compile(rb"pdb|breakpoint|--trace|set_trace|unittest|TestCase|twisted|doctest"),
    "doctest": re.compile(rb"doctest"),
    "legacypath": re.compile(
        rb"tmpdir|testdir|pytester|legacypath|startdir|fspath|rootdir|inifile|invocation_dir|py\.path|getini"
    ),
    "unittest": re.compile(rb"unittest|TestCase|twisted"),
    "logging": re.compile(rb"\blog|caplog"),
    "recwarn": re.compile(rb"recwarn"),
    "monkeypatch": re.compile(rb"monkeypatch|pytester|testdir"),
    "tmpdir": re.compile(rb"tmp_?path|tmp_?dir|basetemp|pytester|testdir"),
    "subtests": re.compile(rb"subtests"),
    # these turn what happens in threads and finalizers into warnings, which only matter where warnings do
    "threadexception": re.compile(rb"(?i)warn|-W"),
    "unraisableexception": re.compile(rb"(?i)warn|-W"),
}
"""As above; a plugin that the project declares could make use of these without the project naming them."""


def without_cache(task: Task, invocation: Invocation) -> tuple[str, ...]:
    """Every run starts from nothing, so a tenth of its time can be saved, unless the project speaks of the cache."""
    asked = any(_ASKS_FOR_CACHE.search(text) for text in _texts(task, invocation))
    return () if asked else ("-p", "no:cacheprovider")


def for_nobody(task: Task, invocation: Invocation) -> tuple[str, ...]:
    """Arguments that leave out what only people read, and the plugins of pytest's own that nothing here asks for.

    A third of a small run's time goes into tracebacks, which the cases' messages replace; a fifth into those plugins.
    """
    candidates = dict(_ASKS_FOR) if _may_load_strangers(task, invocation) else {**_ASKS_FOR, **_ASKS_FOR_ALONE}
    if any(path.endswith((".txt", ".rst")) for path in task.tree.files):
        for name in ("doctest", "debugging"):  # it collects such files, and needs the other
            candidates.pop(name, None)
    for text in _texts(task, invocation):
        candidates = {name: asks for name, asks in candidates.items() if not asks.search(text)}
    return (*(word for name in candidates for word in ("-p", f"no:{name}")), "--tb=no")


def _may_load_strangers(task: Task, invocation: Invocation) -> bool:
    """True where plugins may be loaded whose text is not at hand."""
    options = (*invocation.arguments, *shlex.split(invocation.env.get("PYTEST_ADDOPTS", "")))
    named = "PYTEST_PLUGINS" in invocation.env or any(a.startswith("-p") for a in options)
    return named or bool(declared_names(task.tree)) or any(b"pytest_plugins" in c for c in task.tree.files.values())


def _texts(task: Task, invocation: Invocation) -> Iterator[bytes]:
    yield " ".join((*invocation.arguments, *invocation.env, *invocation.env.values())).encode("utf-8", "replace")
    for path, content in task.tree.files.items():
        if path.endswith((".py", ".toml", ".ini", ".cfg")):
            yield content


# The pytest tool.

MISSING = (
    "Install pytest 7 or later into the project's environment (python -m pip install pytest), "
    "or name an interpreter that has it (--python)."
)


class Pytest(JudgedTool):
    """Judges by the project's tests, run with the project's own pytest (7 or later, Python 3.9 or later).

    Our report plugin is registered before every other plugin and before any code of the project. Of the plugins that
    are installed, those are loaded that the project declares: distributions which its requirement or tool files name,
    `-p NAME` in the command or in `addopts`, and `pytest_plugins` in a conftest. Cases run in one process, one after
    the other: workers of pytest-xdist and the reports of pytest-cov are switched off, and where one of these two,
    pytest-timeout or pytest-html is not installed, its options are passed over.

    Each case may take half of the run's wall limit; then it fails and the next one runs. `judge_many` runs four or more
    candidates in a fork server where the sandbox has one; there pytest starts and is configured once for all of them,
    up to where code of the project would first run. Once the base tree was judged it gives each of them the base
    tree's time and ten times that of its cases (at least three times its time and 2 s, at most the task's limit), and
    each case twenty times the processor time of the base tree's slowest (at least 0.1 s); one in some thirty candidates
    may have another look with five times as much, where it only ran out of time.

    Args:
        command: a command that goes before the task's, split (`("pytest", "-q", "tests/unit")`).
        separation: how far the assertions are to be kept from the candidate.
    """

    def __init__(self, command: Sequence[str] | None = None, *, separation: Separation = CONFIRMED) -> None:
        runner = PythonRunner(
            name="pytest",
            default=("pytest", "-q"),
            command=tuple(command) if command else None,
            preload=PRELOAD,
            in_search=for_nobody,
            cure=MISSING,
            more=without_cache,
            guard=_guard,
        )
        super().__init__(runner, separation)

    @cached_property
    def _behaviour(self) -> Behaviour:
        from groundwire.tools._behaviour import Behaviour

        return Behaviour()

    async def doubt(self, candidate: Candidate, task: Task, context: ToolContext) -> str:
        """See `groundwire.core._contexts.SkepticalTool`."""
        return await self._behaviour.doubt(candidate, task, context)


def _guard(candidate: Candidate, task: Task, invocation: Invocation) -> Observation | None:
    configured = any(
        b"doctest-modules" in task.tree.files.get(name, b"")
        for name in ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini")
    )
    if configured or "--doctest-modules" in invocation.arguments:
        return tampering_with_doctests(candidate, task)
    return None
