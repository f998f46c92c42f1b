"""LR²Bench (arXiv 2502.17848): puzzles of six families, whose rules are visible and whose key is hidden."""

from groundwire.benchmarks.lr2bench.loader import Lr2Bench
from groundwire.benchmarks.lr2bench.published import Match, Published

__all__ = ["Lr2Bench", "Match", "Published"]
