"""The logs of LDB (LLM Debugger, arXiv 2402.16906): for each task every program that was tried, in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import Field

from groundwire.core._errors import RecordingError
from groundwire.core._models import Completion
from groundwire.core._paths import at_home
from groundwire.core._recordings import Recorded, Recording
from groundwire.core._sandboxes import Limits
from groundwire.core._tasks import Task
from groundwire.core._text import json_lines
from groundwire.logs._functions import function_task
from groundwire.logs._rows import Row, checked

LOG = "an LDB log"


class LdbRow(Row):
    """One task with what was tried on it.

    Its verdicts are here to be compared with; nothing of ours rests on them. The reference solution is not read.
    """

    task_id: str = Field(min_length=1)
    prompt: str
    """Signature and docstring."""
    entry_point: str
    hidden_test: str = Field(alias="test")
    """Defines `check(candidate)`; judged once, at the end."""
    given_tests: list[str]
    """The visible asserts that the task comes with."""
    used_tests: list[str] = Field(alias="generated_test")
    """The visible asserts that were really run after each program; in 18 rows of the MBPP log there are none."""
    programs: list[str] = Field(alias="implementations", min_length=1)
    """Every program that was tried, in order, repeated ones too; the first is the seed."""
    feedback: list[list[str]] = Field(alias="test_feedback")
    """For each program the visible asserts that failed in the log."""
    logged_passing: bool = Field(alias="is_passing")
    logged_solved: bool = Field(alias="is_solved")

    @property
    def family(self) -> str:
        """Tasks that share lessons: `humaneval` or `mbpp`."""
        return self.task_id.partition("/")[0].lower()

    def task(self, limits: Limits | None = None) -> Task:
        """The row as a task: the visible tests are those that were really run.

        Args:
            limits: ceilings of one judging.
        """
        return function_task(
            self.task_id,
            self.prompt,
            self.entry_point,
            visible=self.used_tests,
            hidden=self.hidden_test,
            family=self.family,
            limits=limits,
        )


def read_ldb(path: str | Path) -> Iterator[LdbRow]:
    """The rows of a log, plain or gzipped, one at a time.

    Raises:
        RecordingError: the file can't be read or is damaged, or a row lacks what it needs; with the line's number.
    """
    file = at_home(path)
    for number, fields in json_lines(file):
        row = checked(LdbRow, fields, f"{file}:{number}", LOG)
        if len(row.feedback) != len(row.programs):
            raise RecordingError(
                f"{file}:{number}: {row.task_id} has {len(row.programs)} programs and {len(row.feedback)} feedbacks.",
                do="Check the file: each program has one feedback.",
            )
        yield row


def recording_of(rows: Iterable[LdbRow], *, source: str = "", model: str = "") -> Recording:
    """The rows' programs as a recording, by task and order. Tokens and prices are not in the log.

    Args:
        rows: each task once.
        source: where they come from, for people.
        model: the model that wrote them.
    """
    calls = (Recorded(task=row.task_id, completion=Completion(texts=(text,))) for row in rows for text in row.programs)
    return Recording(calls, source=source, model=model)
