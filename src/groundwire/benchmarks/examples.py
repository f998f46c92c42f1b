"""The examples that a docstring gives, as asserts: what is visible of a function that is still to be written."""

from __future__ import annotations

import ast
import builtins
import doctest
import re
from collections.abc import Iterator

__all__ = ["called_name", "examples_of"]

BETWEEN = re.compile(
    r"\s*(?:#\s*)?(?:={0,2}=>|==|->|➞|→|=|\breturns?\b|\bshould (?:return|be)\b|\bis equal to\b)\s*:?\s*"
)
MAX_EXAMPLES = 20


def examples_of(head: str, entry_point: str) -> tuple[str, ...]:
    """The asserts that a function's docstring stands for; none where it shows no call with its value.

    Read are doctests, and lines such as `f(1, 2) == 3` or `f([1]) ➞ 2`. Only literals are taken for values.

    Args:
        head: imports, signature and docstring.
        entry_point: the function's name.
    """
    found = dict.fromkeys((*_doctests(head, entry_point), *_lines(head, entry_point)))
    return tuple(found)[:MAX_EXAMPLES]


def called_name(asserts: list[str]) -> str:
    """The function that all these asserts call; empty where it can't be told.

    A task may ask for a function that is called like a built-in; so one of these is taken where no other is called.
    """
    names: list[set[str]] = []
    for text in asserts:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return ""
        called = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        names.append(set(called))
    common = set[str].intersection(*names) if names else set[str]()
    own = {name for name in common if not hasattr(builtins, name)} or common
    functions = {name for name in own if not name[0].isupper()} or own
    return functions.pop() if len(functions) == 1 else ""


def _doctests(head: str, entry_point: str) -> Iterator[str]:
    docstring = _docstring(head, entry_point)
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return
    for example in examples:
        source, want = example.source.strip(), example.want.strip()
        if f"{entry_point}(" in source and (value := _literal(want)) and _is_expression(source):
            yield f"assert {source} == {value}"


def _lines(head: str, entry_point: str) -> Iterator[str]:
    call = re.compile(rf"(?<![\w.]){re.escape(entry_point)}\(")
    for line in _docstring(head, entry_point).splitlines():
        for match in call.finditer(line):
            source = _balanced(line[match.start() :])
            rest = line[match.start() + len(source) :]
            between = BETWEEN.match(rest)
            value = _literal(rest[between.end() :]) if source and between else ""
            if value and _is_literal_call(source):
                yield f"assert {source} == {value}"


def _docstring(head: str, entry_point: str) -> str:
    """The function's docstring; a head without a body is no whole program, so it is given one."""
    for text in (head, f"{head}\n    pass\n"):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == entry_point:
                return ast.get_docstring(node) or ""
    return ""


def _balanced(text: str) -> str:
    """The call that `text` begins with; empty where its brackets never close."""
    for end in (at + 1 for at, char in enumerate(text) if char == ")"):
        if _is_expression(text[:end]):
            return text[:end]
    return ""


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


def _is_literal_call(text: str) -> bool:
    call = ast.parse(text, mode="eval").body
    return isinstance(call, ast.Call) and all(
        _literal(ast.unparse(value)) for value in (*call.args, *(k.value for k in call.keywords))
    )


def _literal(text: str) -> str:
    """The literal that `text` is, or begins with where words follow; empty where it is none."""
    text = text.strip()
    first, _, rest = text.partition(" ")
    word = first.rstrip(".,;:") if rest.lstrip()[:1].isalpha() or rest.lstrip()[:1] == "(" else ""
    for cut in (text.rstrip(".,;:"), text.split("#")[0].strip(), word):
        cut = {"true": "True", "false": "False"}.get(cut, cut)
        try:
            ast.literal_eval(cut)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        return cut
    return ""
