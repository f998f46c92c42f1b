"""All benchmarks by name; the module of one is imported when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundwire.core._errors import ConfigError
from groundwire.core._text import one_of

if TYPE_CHECKING:
    from groundwire.benchmarks._base import Benchmark


def _make(module: str, name: str, *arguments: Any, **options: Any) -> Benchmark:
    return getattr(import_module(f"groundwire.benchmarks.{module}"), name)(*arguments, **options)


EXACT = (
    "gsm8k", "math", "math-500", "aime", "amc", "olympiadbench", "gpqa", "mmlu", "commonsenseqa", "processbench",
)  # fmt: skip
"""Sets of questions whose key is a number, a formula or a letter."""
OPEN = ("hotpotqa", "2wiki", "musique", "bamboogle", "nq", "triviaqa", "popqa")
"""Sets of open questions, compared in words."""


def _question_set(module: str, sets: str, name: str) -> Benchmark:
    every = getattr(import_module(f"groundwire.benchmarks.answers.{module}"), sets)
    return next(one for one in every if one.name == name)


BENCHMARKS: Mapping[str, Callable[[], Benchmark]] = {
    "humaneval": partial(_make, "_function_tasks", "HumanEval"),
    "humaneval-plus": partial(_make, "_evalplus", "HumanEvalPlus"),
    "humanevalfix": partial(_make, "_humanevalfix", "HumanEvalFix"),
    "lr2bench": partial(_make, "lr2bench", "Lr2Bench"),
    "mbpp": partial(_make, "_function_tasks", "Mbpp"),
    "mbpp-sanitized": partial(_make, "_function_tasks", "Mbpp", sanitized=True),
    "mbpp-signatures": partial(_make, "_function_tasks", "Mbpp", signatures=True),
    "mbpp-plus": partial(_make, "_evalplus", "MbppPlus"),
    **{name: partial(_question_set, "_exact", "EXACT", name) for name in EXACT},
    **{name: partial(_question_set, "_open", "OPEN", name) for name in OPEN},
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
        raise ConfigError(f"The benchmark {name} does not use --repos.", do="Leave it out.")
    if name not in BENCHMARKS:
        raise ConfigError(f"There is no benchmark {name!r}.", do=one_of(name, (*BENCHMARKS, SWEBENCH)))
    return BENCHMARKS[name]()
