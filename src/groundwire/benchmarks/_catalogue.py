"""All benchmarks by name; the module of one is imported when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundwire.core._errors import ConfigError

if TYPE_CHECKING:
    from groundwire.benchmarks._base import Benchmark


def _make(module: str, name: str, *arguments: Any, **options: Any) -> Benchmark:
    return getattr(import_module(f"groundwire.benchmarks.{module}"), name)(*arguments, **options)


BENCHMARKS: Mapping[str, Callable[[], Benchmark]] = {
    "humaneval": partial(_make, "_function_tasks", "HumanEval"),
    "humaneval-plus": partial(_make, "_evalplus", "HumanEvalPlus"),
    "humanevalfix": partial(_make, "_humanevalfix", "HumanEvalFix"),
    "lr2bench": partial(_make, "lr2bench", "Lr2Bench"),
    "mbpp": partial(_make, "_function_tasks", "Mbpp"),
    "mbpp-sanitized": partial(_make, "_function_tasks", "Mbpp", sanitized=True),
    "mbpp-plus": partial(_make, "_evalplus", "MbppPlus"),
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
        return _make("_swebench", "SweBench", repos)
    if repos is not None:
        raise ConfigError(f"The benchmark {name} has no use for --repos.", do="Leave it out.")
    if name not in BENCHMARKS:
        raise ConfigError(f"There is no benchmark {name!r}.", do=f"Choose one of {', '.join((*BENCHMARKS, SWEBENCH))}.")
    return BENCHMARKS[name]()
