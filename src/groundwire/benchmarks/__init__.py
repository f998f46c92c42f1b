"""Public benchmarks as tasks, read from files that are already here; nothing is fetched, and no answer key is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.benchmarks._base import Benchmark, Item
    from groundwire.benchmarks._catalogue import BENCHMARKS, benchmark
    from groundwire.benchmarks._evalplus import HumanEvalPlus, MbppPlus
    from groundwire.benchmarks._function_tasks import HumanEval, Mbpp
    from groundwire.benchmarks._humanevalfix import HumanEvalFix
    from groundwire.benchmarks._swebench import SweBench
    from groundwire.benchmarks.lr2bench import Lr2Bench

__all__ = [
    "BENCHMARKS",
    "Benchmark",
    "HumanEval",
    "HumanEvalFix",
    "HumanEvalPlus",
    "Item",
    "Lr2Bench",
    "Mbpp",
    "MbppPlus",
    "SweBench",
    "benchmark",
]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "BENCHMARKS": "_catalogue",
        "Benchmark": "_base",
        "HumanEval": "_function_tasks",
        "HumanEvalFix": "_humanevalfix",
        "HumanEvalPlus": "_evalplus",
        "Item": "_base",
        "Lr2Bench": "lr2bench",
        "Mbpp": "_function_tasks",
        "MbppPlus": "_evalplus",
        "SweBench": "_swebench",
        "benchmark": "_catalogue",
    },
)
