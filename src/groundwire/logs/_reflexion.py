"""Reflexion's logs on HumanEval and MBPP (arXiv 2303.11366): for each task one program and the reflections.

The programs tried in between are not in these logs, and in tasks that were not solved the one that is there is most
likely the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import AliasChoices, Field

from groundwire.core._paths import at_home
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import Task
from groundwire.core._text import json_lines
from groundwire.logs._functions import function_task
from groundwire.logs._rows import Row, checked

LOG = "a Reflexion log of programs"
LOG_OF_TESTS = "a Reflexion log of written tests"


class _Head(Row):
    task_id: str = Field(min_length=1, validation_alias=AliasChoices("task_id", "name"))
    """`HumanEval/0`, or `mbpp_234_volume_cube`."""
    prompt: str
    """Imports, signature and docstring."""
    entry_point: str
    logged_solved: bool = Field(validation_alias="is_solved")

    @property
    def family(self) -> str:
        """Tasks that share lessons: `humaneval` or `mbpp`."""
        return "mbpp" if self.task_id.startswith("mbpp_") else "humaneval"


class ReflexionRow(_Head):
    """One task with the program that was kept and every reflection."""

    hidden_test: str = Field(validation_alias="test")
    solution: str
    """A body, or a whole function; see `program`."""
    reflections: list[str] = Field(default_factory=list)
    """One a retry, in order; empty in runs without any."""

    @property
    def program(self) -> str:
        """The whole program: both forms of `solution` stand behind the prompt."""
        return f"{self.prompt}{self.solution}"

    def task(self, limits: Limits | None = None) -> Task:
        """The row as a task. It has hidden tests only: the visible ones were a model's and are not in the log.

        Args:
            limits: ceilings of one judging.
        """
        return function_task(
            self.task_id,
            self.prompt,
            self.entry_point,
            visible=(),
            hidden=self.hidden_test,
            family=self.family,
            limits=limits,
        )


class WrittenTestsRow(_Head):
    """One task with the asserts that a model wrote for it; `logged_solved`: the reference passes all of them."""

    tests: list[str] = Field(validation_alias="solution")


def read_reflexion(path: str | Path) -> Iterator[ReflexionRow]:
    """The rows of a log of programs, plain or gzipped, one at a time.

    Raises:
        RecordingError: the file can't be read or is damaged, or a row lacks what it needs; with the line's number.
    """
    file = at_home(path)
    for number, fields in json_lines(file):
        yield checked(ReflexionRow, fields, f"{file}:{number}", LOG)


def read_written_tests(path: str | Path) -> Iterator[WrittenTestsRow]:
    """The rows of a log of tests that a model wrote; as `read_reflexion`."""
    file = at_home(path)
    for number, fields in json_lines(file):
        yield checked(WrittenTestsRow, fields, f"{file}:{number}", LOG_OF_TESTS)
