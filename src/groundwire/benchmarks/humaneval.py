"""HumanEval (Chen et al., arXiv 2107.03374): 164 functions to be written from signature and docstring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from groundwire.benchmarks.base import Item, find_file, read_rows
from groundwire.benchmarks.examples import examples_of
from groundwire.core.sandboxes import Limits
from groundwire.core.tasks import Task
from groundwire.logs.functions import function_task
from groundwire.logs.rows import Row

__all__ = ["HumanEval", "HumanEvalRow"]


class HumanEvalRow(Row):
    """What is read of a row: everything but its solution."""

    task_id: str = Field(min_length=1)
    prompt: str = Field(min_length=1)
    """Imports, signature and docstring."""
    entry_point: str = Field(min_length=1)
    test: str = Field(min_length=1)
    """Defines `check(candidate)`."""

    def task(self, hidden: str, limits: Limits) -> Task:
        """The task: the examples in the docstring are visible.

        Args:
            hidden: the hidden tests.
            limits: ceilings of one judging.
        """
        visible = examples_of(self.prompt, self.entry_point)
        return function_task(
            self.task_id,
            self.prompt,
            self.entry_point,
            visible=visible,
            hidden=hidden,
            family="humaneval",
            limits=limits,
        )


@dataclass(frozen=True)
class HumanEval:
    """Visible: the examples in the docstring. Hidden: the benchmark's own `check`.

    A few docstrings show an example that the published solution itself fails; see docs/evaluation-running.md.

    Args:
        limits: ceilings of one judging.
    """

    limits: Limits = Limits(cpu_s=10)
    name: str = "humaneval"
    files: tuple[str, ...] = ("HumanEval.jsonl",)
    download: str = "https://github.com/openai/human-eval (data/HumanEval.jsonl.gz)"
    repairs: bool = False

    def items(self, data: Path) -> Iterator[Item]:
        """See `Benchmark`."""
        for row, _ in read_rows(HumanEvalRow, find_file(data, self.files, self), self.name):
            yield Item(row.task(row.test, self.limits))
