"""MBPP (Austin et al., arXiv 2108.07732): small functions from a sentence and three asserts; full and sanitized."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import AliasChoices, Field

from groundwire.benchmarks.base import Item, find_file, read_rows
from groundwire.benchmarks.examples import called_name
from groundwire.core.errors import TaskError
from groundwire.core.sandboxes import Limits
from groundwire.core.tasks import Task
from groundwire.logs.functions import function_task, statement
from groundwire.logs.rows import Row

__all__ = ["Mbpp", "MbppRow", "assert_task", "split_of"]

SPLITS = ((10, "prompt"), (510, "test"), (600, "validation"))
"""The last task of each; the rest is for training (as published with the data)."""


class MbppRow(Row):
    """What is read of a row, of either file: everything but its solution."""

    task_id: int
    text: str = Field(min_length=1, validation_alias=AliasChoices("text", "prompt"))
    test_list: list[str] = Field(min_length=1)
    challenge_test_list: list[str] = Field(default_factory=list)
    test_setup_code: str = ""
    test_imports: list[str] = Field(default_factory=list)

    @property
    def setup(self) -> str:
        """What the asserts need first."""
        return "\n".join(filter(None, (self.test_setup_code, *self.test_imports)))


@dataclass(frozen=True)
class Mbpp:
    """Visible: the first assert, which also shows the function's name. Hidden: all the others.

    Args:
        sanitized: the 427 tasks that people looked over, not all 974.
        limits: ceilings of one judging.
    """

    sanitized: bool = False
    limits: Limits = Limits(cpu_s=10)
    repairs: bool = False

    @property
    def name(self) -> str:
        """As on the command line."""
        return "mbpp-sanitized" if self.sanitized else "mbpp"

    @property
    def files(self) -> tuple[str, ...]:
        """The file that is read."""
        return ("sanitized-mbpp.json",) if self.sanitized else ("mbpp.jsonl",)

    @property
    def download(self) -> str:
        """Where it is published."""
        return f"https://github.com/google-research/google-research (mbpp/{self.files[0]})"

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        for row, where in read_rows(MbppRow, find_file(data, self.files, self), self.name):
            visible = row.test_list[:1]
            hidden = [one for one in (*row.test_list[1:], *row.challenge_test_list) if one not in visible]
            entry_point = called_name(row.test_list)
            if not entry_point:
                raise TaskError(f"{where}: which function the asserts of task {row.task_id} call can't be told.")
            yield Item(
                assert_task(
                    f"MBPP/{row.task_id}",
                    row.text,
                    entry_point,
                    setup=row.setup,
                    visible=visible,
                    hidden=_check(hidden, row.setup),
                    limits=self.limits,
                ),
                split_of(row.task_id),
            )


def split_of(number: int) -> str:
    """The published split that a task belongs to."""
    return next((name for last, name in SPLITS if number <= last), "train")


def assert_task(
    task_id: str,
    text: str,
    entry_point: str,
    *,
    setup: str,
    visible: Sequence[str],
    hidden: str,
    limits: Limits,
) -> Task:
    """A function to be written from a sentence and visible asserts, since nothing else names its parameters.

    Args:
        task_id: its id.
        text: what it does.
        entry_point: its name.
        setup: what the asserts need first.
        visible: asserts that are shown, and steer.
        hidden: source that defines `check(candidate)`.
        limits: ceilings of one judging.
    """
    shown = "\n".join((text.strip(), *visible)).replace("\\", "\\\\").replace('"""', r"\"\"\"")
    begun = f"{setup}\n\n" if setup else ""
    return function_task(
        task_id,
        f'{begun}"""{shown}\n"""\n',
        entry_point,
        visible=[f"{setup}\n{one}" if setup else one for one in visible],
        hidden=hidden,
        family="mbpp",
        limits=limits,
    )


def _check(asserts: Sequence[str], setup: str) -> str:
    body = "".join(f"{textwrap.indent(statement(text), '    ')}\n" for text in asserts) or "    pass\n"
    return f"{setup}\n\n\ndef check(candidate):\n{body}"
