"""Public benchmarks as tasks, read from files that are already here; nothing is fetched, and no answer key is read."""

from groundwire.benchmarks.base import Benchmark, Item
from groundwire.benchmarks.catalogue import BENCHMARKS, benchmark

__all__ = ["BENCHMARKS", "Benchmark", "Item", "benchmark"]
