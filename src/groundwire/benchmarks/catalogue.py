"""All benchmarks by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from groundwire.benchmarks.base import Benchmark
from groundwire.benchmarks.evalplus import HumanEvalPlus, MbppPlus
from groundwire.benchmarks.humaneval import HumanEval
from groundwire.benchmarks.humanevalfix import HumanEvalFix
from groundwire.benchmarks.lr2bench import Lr2Bench
from groundwire.benchmarks.mbpp import Mbpp
from groundwire.benchmarks.swebench import SweBench
from groundwire.errors import ConfigError

__all__ = ["BENCHMARKS", "benchmark"]

BENCHMARKS: Mapping[str, Callable[[], Benchmark]] = {
    "humaneval": HumanEval,
    "humaneval-plus": HumanEvalPlus,
    "humanevalfix": HumanEvalFix,
    "lr2bench": Lr2Bench,
    "mbpp": Mbpp,
    "mbpp-sanitized": lambda: Mbpp(sanitized=True),
    "mbpp-plus": MbppPlus,
}
"""Those that need nothing but their files."""
SWEBENCH = "swebench"


def benchmark(name: str, *, repos: Path | None = None) -> Benchmark:
    """The benchmark of that name.

    Args:
        name: as on the command line.
        repos: folder of git clones; only for `swebench`, which needs it.

    Raises:
        ConfigError: there is none, or it lacks clones, or has no use for them.
    """
    if name == SWEBENCH:
        if repos is None:
            raise ConfigError(
                "SWE-bench instances name a commit of a repository, and no clones were named.",
                do="Give their folder with --repos; one clone a repository, OWNER__NAME, OWNER/NAME or NAME.",
            )
        return SweBench(repos)
    if repos is not None:
        raise ConfigError(f"The benchmark {name} has no use for --repos.", do="Leave it out.")
    if name not in BENCHMARKS:
        raise ConfigError(f"There is no benchmark {name!r}.", do=f"Choose one of {', '.join((*BENCHMARKS, SWEBENCH))}.")
    return BENCHMARKS[name]()
