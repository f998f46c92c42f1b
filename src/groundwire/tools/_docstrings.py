"""The examples in docstrings: what doctest judges by, read off the source without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

MAX_SOURCE_BYTES = 1024 * 1024
Node = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstrings(source: bytes) -> Mapping[str, str] | None:
    """Qualified name (`""`: the module) → docstring; None where the source can't be parsed."""
    try:
        return dict(_docstrings(ast.parse(source), ""))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def examples(source: bytes | None) -> dict[str, list[tuple[str, str]]] | None:
    """Qualified name → (code, wanted output) of each example; None where the source can't be parsed (it won't run)."""
    if source is None or len(source) > MAX_SOURCE_BYTES:
        return {}
    import doctest  # here, since it brings unittest and pdb, and most projects have none

    texts = docstrings(source)
    if texts is None:
        return None
    found: dict[str, list[tuple[str, str]]] = {}
    for name, text in texts.items():
        try:
            told = doctest.DocTestParser().get_examples(text, name)
        except ValueError:
            return None
        if told:
            found[name] = [(e.source, e.want) for e in told]
    return found


def is_plain(source: bytes) -> bool:
    """True if every example of a module stands in a docstring that can be read off its source."""
    texts = docstrings(source)
    return texts is not None and source.count(b">>>") == sum(text.count(">>>") for text in texts.values())


def _docstrings(node: Node, name: str) -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node, clean=False)
    if text:
        yield name, text
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _docstrings(child, f"{name}.{child.name}" if name else child.name)
