"""LR²Bench (arXiv 2502.17848): puzzles of six families, whose rules are visible and whose key is hidden."""

from groundwire.benchmarks.lr2bench._loader import Lr2Bench, Match, Published

__all__ = ["Lr2Bench", "Match", "Published"]
