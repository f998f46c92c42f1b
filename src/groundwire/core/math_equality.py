"""Says which of some mathematical answers a new one equals, by `math-verify` (extra `math`): a program of its own.

It reads a line of JSON a question, `{"said": "…", "known": ["…"]}`, and answers with a line each: the place of the
first known one that equals it, or -1. Whoever started it ends it where it takes too long; it holds itself to little
memory. What is asked is read by LaTeX's grammar, and no text is ever evaluated as Python: SymPy would do that with
strings, so all that it may make of them here is a number or a symbol.
"""

from __future__ import annotations

import ast
import json
import logging
import os
import resource
import sys
from collections.abc import Callable
from typing import Any

MEMORY_BYTES = 2 << 30
CPU_S = 600
"""Seconds of this process in all, should nobody be left to end it."""
MADE_OF_TEXT = frozenset({"Integer", "Float", "Rational", "Symbol"})


def is_harmless(code: str) -> bool:
    """True for code that makes one number or symbol out of a literal, which is all that reading LaTeX needs."""
    try:
        node = ast.parse(code.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in MADE_OF_TEXT
        and not node.keywords
        and all(isinstance(argument, ast.Constant) for argument in node.args)
    )


def equality() -> Callable[[str, str], bool]:
    """Whether two answers are equal; loads the libraries."""
    from math_verify import (  # pyright: ignore[reportMissingTypeStubs]
        LatexExtractionConfig,
        parse,  # pyright: ignore[reportUnknownVariableType]
        verify,  # pyright: ignore[reportUnknownVariableType]
    )
    from sympy.parsing import sympy_parser  # pyright: ignore[reportMissingTypeStubs]

    read: Any = parse
    compare: Any = verify
    parser: Any = sympy_parser
    forms = [LatexExtractionConfig()]

    def are_equal(one: str, other: str) -> bool:
        # its own time limits are signals of this process; who started it has the clock
        parsed = [read(f"${text}$", extraction_config=forms, parsing_timeout=None) for text in (one, other)]
        # the second of a reading is the text itself, which is there where nothing could be read
        first, second = ([part for part in parts if not isinstance(part, str)] for parts in parsed)
        return bool(first and second) and bool(compare(first, second, timeout_seconds=None))

    are_equal("(x+1)^2", "x^2+2x+1")  # loads what is loaded at first use, by code of the library's own
    evaluate = parser.eval_expr

    def guarded(code: str, *scope: Any) -> Any:
        if not is_harmless(code):
            raise ValueError("text is not evaluated")
        return evaluate(code, *scope)

    parser.eval_expr = guarded
    return are_equal


def main() -> None:
    """Answers until nobody asks any more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    logging.disable()
    are_equal = equality()
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        place = -1
        for at, known in enumerate(asked["known"]):
            try:
                if are_equal(known, asked["said"]):
                    place = at
                    break
            except Exception:  # what can't be read or compared equals nothing
                continue
        print(place, file=answers, flush=True)


if __name__ == "__main__":
    main()
