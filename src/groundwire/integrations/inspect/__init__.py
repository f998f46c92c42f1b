"""inspect_ai: a grounded loop as a solver, sealed verdicts as scores, tasks both ways, and runs as its logs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.integrations.inspect._logs import eval_log_of, write_inspect_log
    from groundwire.integrations.inspect._solving import grounded_loop, inspect_task, sealed_verdict, tasks_of_dataset

__all__ = ["eval_log_of", "grounded_loop", "inspect_task", "sealed_verdict", "tasks_of_dataset", "write_inspect_log"]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "eval_log_of": "_logs",
        "grounded_loop": "_solving",
        "inspect_task": "_solving",
        "sealed_verdict": "_solving",
        "tasks_of_dataset": "_solving",
        "write_inspect_log": "_logs",
    },
)
