"""What both kinds of environment need of our tasks: which can be one, what a model is shown, who judges."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from groundwire.core._contexts import Tool
from groundwire.core._environments import start_in
from groundwire.core._errors import ConfigError, TaskError
from groundwire.core._prompt_text import data
from groundwire.core._signals import Verdict
from groundwire.core._tasks import Task
from groundwire.integrations.gated import OutputGate, OutputRefused, OutputRuling

CheckFunction = Callable[..., object]


def part_of(module: str, extra: str) -> Any:
    """A module of another framework's.

    Raises:
        ConfigError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        what = f"{module.partition('.')[0]} is not installed: {error}"
        raise ConfigError(what, do=f'pip install "groundwire[{extra}]"') from error


def checked_tasks(tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Tasks that are solved by handing something in.

    Raises:
        ConfigError: there is none, or two have one id.
        TaskError: one is a world, which is acted in.
    """
    found = tuple(tasks)
    if not found:
        raise ConfigError("There is no task.", do="Give one or more.")
    if worlds := [task.id for task in found if start_in(task.tree) is not None]:
        raise TaskError(
            f"Task {worlds[0]} is a world, which is acted in step by step.", do="Give tasks that are judged by tests."
        )
    ids = [task.id for task in found]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise ConfigError(f"Two tasks have the id {twice[0]}.", do="Give each one of its own:  Task.of(…, id=…)")
    return found


def shown(task: Task) -> str:
    """What a model is asked: the prompt, and the files that it may see. Nothing that is hidden is in it."""
    public = task.public()
    files = [
        data("file", content.decode("utf-8", "replace"), path=path)
        for path, content in sorted(public.tree.files.items())
        if content
    ]
    return "\n\n".join([public.prompt, *files])


def gate_of(
    task: Task,
    check: Tool | CheckFunction | None,
    *,
    tries: int,
    fails_on: type[Exception] | tuple[type[Exception], ...],
    sandbox: str | None,
    db: str | None,
) -> OutputGate:
    """What judges a task's outputs."""
    return OutputGate(check, tries=tries, task=lambda _: task, fails_on=fails_on, sandbox=sandbox, db=db)


def reward_of(ruling: OutputRuling) -> float:
    """1 for a sealed PASS, 0 for a sealed FAIL.

    Raises:
        OutputRefused: there is no verdict, which is no reward of any size.
    """
    if ruling.verdict is Verdict.NONE:
        raise OutputRefused(ruling)
    return 1.0 if ruling.verdict is Verdict.PASS else 0.0
