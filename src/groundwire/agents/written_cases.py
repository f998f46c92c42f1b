"""Reads test cases out of a model's answer: what can be parsed and checks something is kept, the rest is named."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from groundwire.contexts import WrittenCases

__all__ = ["read_cases"]

ANSWER_CHARS = 64 * 1024
SHOWN_CHARS = 300
_FENCE = re.compile(r"^(`{3,})[^\n`]*\n(.*?)^\1`*[ \t]*$", re.MULTILINE | re.DOTALL)
_BROKEN = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""What the parser raises; the last where Python 3.11 loses count of its own depth."""

Dropped = list[tuple[str, str]]


def read_cases(answer: str, n: int, *, by: str = "") -> WrittenCases:
    """At most `n` cases of an answer.

    An `assert` at the top and a function `test_…` without parameters are cases; each gets the answer's imports. Of an
    answer that does not parse as a whole, the lines that parse by themselves are used (Reflexion, arXiv 2303.11366).

    Args:
        answer: what the model said; its code in fences or bare.
        n: the most that are kept.
        by: the model.
    """
    text = answer[:ANSWER_CHARS]
    source = "\n".join(block for _, block in _FENCE.findall(text)) or text
    dropped: Dropped = []
    statements = list(_statements(source, dropped))
    imports = [s for s in statements if isinstance(s, ast.Import | ast.ImportFrom)]
    imports = [s for s in imports if _can_move(s, dropped)]
    cases: list[str] = []
    seen: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        body, why = _body_of(statement)
        known = "".join(ast.dump(node) for node in body)
        why = why or ("repeats another" if known in seen else "") or ("more than asked for" if len(cases) >= n else "")
        if why:
            dropped.append((_shown(ast.unparse(statement)), why))
            continue
        seen.add(known)
        cases.append(_function(f"test_{len(cases) + 1}", [*imports, *body]))
    return WrittenCases(cases=tuple(cases), dropped=tuple(dropped), by=by)


def _statements(source: str, dropped: Dropped) -> Iterator[ast.stmt]:
    try:
        yield from _checked(ast.parse(source).body)
    except _BROKEN:
        for line in source.splitlines():
            if line.strip():
                try:
                    yield from _checked(ast.parse(line.strip()).body)
                except _BROKEN:
                    dropped.append((_shown(line), "does not parse"))


def _checked(statements: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """Raises, as parsing does, where they are nested too deeply to be written out again."""
    for statement in statements:
        ast.unparse(statement)
    return statements


def _can_move(statement: ast.Import | ast.ImportFrom, dropped: Dropped) -> bool:
    """An import that may stand inside a function, and means the same there."""
    if isinstance(statement, ast.Import):
        return True
    odd = statement.level > 0 or statement.module == "__future__" or any(a.name == "*" for a in statement.names)
    if odd:
        dropped.append((_shown(ast.unparse(statement)), "an import of this form can't be used"))
    return not odd


def _body_of(statement: ast.stmt) -> tuple[list[ast.stmt], str]:
    """A case's statements, and why it is none."""
    if isinstance(statement, ast.Assert):
        body: list[ast.stmt] = [statement]
    elif isinstance(statement, ast.FunctionDef) and statement.name.startswith("test"):
        arguments = statement.args
        if any((arguments.posonlyargs, arguments.args, arguments.kwonlyargs, arguments.vararg, arguments.kwarg)):
            return [], "takes parameters"
        if statement.decorator_list:
            return [], "is decorated"
        body = statement.body
    else:
        return [], "is neither an import nor a test"
    nodes = [node for part in body for node in ast.walk(part)]
    checks = any(isinstance(node, ast.Assert) or _expects_an_error(node) for node in nodes)
    if not checks or not any(isinstance(node, ast.Call) for node in nodes):
        return [], "checks nothing that the code does"
    return body, ""


def _expects_an_error(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("raises", "assertRaises")


def _function(name: str, body: list[ast.stmt]) -> str:
    module = ast.parse(f"def {name}():\n    pass\n")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    return ast.unparse(module) + "\n"


def _shown(source: str) -> str:
    return source if len(source) <= SHOWN_CHARS else f"{source[: SHOWN_CHARS - 1]}…"
