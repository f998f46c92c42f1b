"""Public benchmarks as tasks, read from files that are already here; nothing is fetched, and no answer key is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.core._first_use import at_first_use

if TYPE_CHECKING:
    from groundwire.benchmarks._base import Benchmark, Item
    from groundwire.benchmarks._catalogue import BENCHMARKS, benchmark

__all__ = ["BENCHMARKS", "Benchmark", "Item", "benchmark"]

__getattr__, __dir__ = at_first_use(
    __name__,
    {
        "BENCHMARKS": "_catalogue",
        "Benchmark": "_base",
        "Item": "_base",
        "benchmark": "_catalogue",
    },
)
