"""What a task's and an answer's words tell: that code would do better, and how sure a model says that it is.

Both are for people. What a model says of itself is kept and scored, and starts, stops and steers nothing: no origin of
a signal stands for it, and the predictor from history is not shown it (arXiv 2506.05068).
"""

from __future__ import annotations

import re
from enum import StrEnum

WORDING_CHARS = 2000
"""Of an answer's words that are kept for the predictor."""
WORDING_TRIALS = 3000
"""Latest trials that the predictor is scored on: of the others no words are kept."""


class CodeHint(StrEnum):
    """Why a task had better be done by code that runs than by words."""

    NUMERIC_ITERATIVE = "numeric_iterative"
    """It asks for the steps of a numeric method. Asked for such steps, models write values that look like them, and
    keep 55 to 60 % of constraints at every size."""
    LOW_PROBABILITY = "low_probability"
    """It asks for what is rare in texts, like a shift by 12 letters: accuracy follows how likely an output is, even
    where the task is deterministic (51 % against 13 %, arXiv 2309.13638)."""


ADVICE = {
    CodeHint.NUMERIC_ITERATIVE: "ask for the steps of a numeric method",
    CodeHint.LOW_PROBABILITY: "ask for letters or orders that are rare in texts",
}
"""What is said of tasks with that hint."""

_NUMERIC = re.compile(
    r"numeric_iterative|newton(?:'s|[- ]raphson| (?:method|step|iteration))|gradient (?:descent|step)"
    r"|\bsimplex (?:method|tableau)|bisection|fixed[- ]point iteration|runge[- ]kutta|power iteration|primal[- ]dual"
    r"|interior[- ]point|(?:jacobi|gauss[- ]seidel|euler'?s?) (?:method|iteration)|until (?:it |they )?converge"
    r"|(?:iterate|iterates|iterated|iterating|iterations?) \d+ times",
    re.I,
)
_RARE = re.compile(
    r"low_probability|\b(?:caesar|vigen[eè]re|shift|substitution)[- ]ciphers?\b|\brot-?\d{1,2}\b|pig latin"
    r"|\bspell\w* .{0,30}backwards|reverse (?:the )?(?:letters|string|words)"
    r"|count (?:the |how many )?(?:letters|occurrences of the letter)|how many (?:times does the letter|letters?)\b",
    re.I,
)


def code_hints(text: str, family: str = "") -> tuple[CodeHint, ...]:
    """Whether a task had better be done by code, by rule from its words; a task may name a hint itself as its family.

    Args:
        text: what was asked.
        family: the task's family.
    """
    said = f"{family}\n{text}"
    rules = ((CodeHint.NUMERIC_ITERATIVE, _NUMERIC), (CodeHint.LOW_PROBABILITY, _RARE))
    return tuple(hint for hint, rule in rules if rule.search(said))


_OF_ITSELF = re.compile(
    r"\b(?:self[-_ ]?report|confidence)\b\W{0,6}(?:level |score |is |of |about |around ){0,3}"
    r"(?P<named>\d{1,3}(?:\.\d+)?)\s*(?P<unit>%|/\s*100?\b)?"
    r"|\b(?P<sure>\d{1,3}(?:\.\d+)?)\s*%\s*(?:sure|certain|confident|confidence)\b",
    re.I,
)


def self_report(text: str) -> float | None:
    """How sure a model says that it is, from 0 to 1; None where it does not say so in a number."""
    found = [report for match in _OF_ITSELF.finditer(text) if (report := _as_share(match)) is not None]
    return found[-1] if found else None


def without_self_report(text: str) -> str:
    """The words without what the model says of itself."""
    return _OF_ITSELF.sub(" ", text)


def _as_share(match: re.Match[str]) -> float | None:
    value, unit = float(match["named"] or match["sure"]), (match["unit"] or "").replace(" ", "")
    whole = 10.0 if unit == "/10" else 100.0 if unit or match["sure"] or value > 1 else 1.0
    return value / whole if value <= whole else None
