"""Functions that have a signature and a docstring and no body yet: found in a tree, filled with what a model wrote."""

from __future__ import annotations

import ast
import doctest
import warnings
from dataclasses import dataclass

from groundwire.errors import TaskError
from groundwire.tasks import Task

__all__ = ["Stub", "find_stub"]

INDENT = "    "
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Stub:
    """A function without a body, and the module around it.

    Args:
        path: the module, in the task's tree.
        signature: the function's text to the colon before its docstring.
        doc: its docstring, without what indents it.
        before: the module's text to the end of the docstring.
        after: the module's text below the function.
    """

    path: str
    signature: str
    doc: str
    before: str
    after: str

    def description(self) -> str:
        """What the docstring says beside its examples, in one line."""
        return " ".join(" ".join(part for part in _parts(self.doc) if isinstance(part, str)).split())

    def examples(self) -> list[tuple[str, str]]:
        """The docstring's examples: what is called, and what it gives."""
        found = [part for part in _parts(self.doc) if isinstance(part, doctest.Example)]
        return [(example.source.strip(), example.want.strip()) for example in found]

    def filled(self, reply: str) -> str | None:
        """The module with the function's body from a reply that goes on after the signature; None where there is none.

        The body ends at the first line that is not indented. Lines at its end that don't parse, since the reply was cut
        off, are dropped.
        """
        lines = _body_lines(reply)
        while lines:
            text = f"{self.before}{''.join(_without_docstring(lines))}{self.after}"
            if _parses(text):
                return text
            lines.pop()
        return None


def find_stub(task: Task) -> Stub:
    """The first function of the task's editable files that has no body.

    Raises:
        TaskError: there is none.
    """
    for path in sorted(task.tree.files):
        if path.endswith(".py") and task.may_edit(path):
            found = _stub_in(path, task.tree.files[path])
            if found is not None:
                return found
    raise TaskError(
        f"Task {task.id} has no function to write: none of its editable files has a function without a body.",
        do="Give a module with a signature, a docstring and `raise NotImplementedError`.",
    )


def _stub_in(path: str, content: bytes) -> Stub | None:
    try:
        text = content.decode()
        module = _parsed(text)
    except UNREADABLE:
        return None
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_empty(node):
            return _stub_of(node, path, text.replace("\r\n", "\n"))
    return None


def _stub_of(node: ast.FunctionDef | ast.AsyncFunctionDef, path: str, text: str) -> Stub:
    # not splitlines: it also ends lines at characters where Python does not
    lines = text.split("\n")
    doc = node.body[0]
    return Stub(
        path=path,
        signature="\n".join(lines[node.lineno - 1 : doc.lineno - 1]).strip(),
        doc=ast.get_docstring(node) or "",
        before=_joined(lines[: doc.end_lineno]),
        after="\n".join(lines[node.end_lineno :]),
    )


def _is_empty(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if the function has a docstring below its signature, and nothing that does anything."""
    own_line = node.body[0].lineno > node.lineno
    return own_line and ast.get_docstring(node) is not None and all(map(_says_nothing, node.body[1:]))


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name("NotImplementedError") | ast.Call(func=ast.Name("NotImplementedError"))):
            return True
        case _:
            return False


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _parts(doc: str) -> list[str | doctest.Example]:
    try:
        return doctest.DocTestParser().parse(doc)
    except ValueError:
        return [doc]


def _body_lines(reply: str) -> list[str]:
    """The body's lines: what stands behind the colon, and all below it up to the first line that is not indented."""
    first, _, below = reply.partition("\n")
    kept = [f"{INDENT}{first.strip()}\n"] if first.strip() else []
    for line in below.split("\n"):
        if line.strip() and not line.startswith((" ", "\t")):
            break
        kept.append(f"{line.rstrip()}\n")
    while kept and not kept[-1].strip():
        kept.pop()
    return kept


def _without_docstring(lines: list[str]) -> list[str]:
    """`lines` without a docstring of the model's own, since the stub has one, and without empty lines before."""
    try:
        function = _parsed(f"def f():\n{''.join(lines)}").body[0]
    except UNREADABLE:
        return lines
    assert isinstance(function, ast.FunctionDef)
    first = 1 if len(function.body) > 1 and ast.get_docstring(function) is not None else 0
    return lines[function.body[first].lineno - 2 :]


def _parses(text: str) -> bool:
    try:
        _parsed(text)
    except UNREADABLE:
        return False
    return True


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        # an invalid escape in what a model wrote is its own affair
        warnings.simplefilter("ignore")
        return ast.parse(text)
