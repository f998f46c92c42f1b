"""Functions that have a signature and a docstring and no body yet: found in a tree, filled with what a model wrote."""

from __future__ import annotations

import ast
import doctest
import re
import warnings
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import TypeGuard, cast

from groundwire.core._errors import TaskError
from groundwire.core._reply_parts import fenced_blocks
from groundwire.core._tasks import Task

INDENT = "    "
MOST_LINES = 2000
"""Of a reply that are read as a program."""
MOST_BEGINNINGS = 16
"""Lines of a reply without a fence that may begin a program."""
MOST_CUTS = 100
"""Times that a program is cut at what is no Python."""
_BEGINS_PROGRAM = re.compile(r"^(?:async def |def |class |import |from |@)", re.MULTILINE)
_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
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
        margin: what indents its docstring.
    """

    path: str
    signature: str
    doc: str
    before: str
    after: str
    margin: str

    @property
    def name(self) -> str:
        """The function's."""
        return self.signature.partition("def ")[2].partition("(")[0].strip()

    def description(self) -> str:
        """What the docstring says beside its examples, in one line."""
        return " ".join(" ".join(part for part in _parts(self.doc) if isinstance(part, str)).split())

    def examples(self) -> list[tuple[str, str]]:
        """The docstring's examples: what is called, and what it gives."""
        found = [part for part in _parts(self.doc) if isinstance(part, doctest.Example)]
        return [(example.source.strip(), example.want.strip()) for example in found]

    def filled(self, reply: str) -> str | None:
        """The module with the function's body from a reply; None where there is none.

        A reply goes on after the signature, or writes the function anew, in a fence or not, perhaps behind the stub as
        it was given. What comes with the function and is used by it, imports, constants and other functions, is put
        below it. A reply that was cut off, or ends in prose, is read as far as it is Python.
        """
        around = _parsed(f"{self.before}{self.after}")
        known = {name for node in around.body for name in _names_of(node)}
        for text, goes_on in self._readings(reply):
            try:
                written = _written_in(text, self, known, first=goes_on)
                module = self._with(written) if written else ""
            except RecursionError:
                continue  # it can be parsed, and is nested too deep to be looked into
            if written and program_in(module):
                return module
        return None

    def _readings(self, reply: str) -> Iterator[tuple[str, bool]]:
        """What may hold the function, the likeliest first, each with whether it goes on after the signature."""
        begun = reply.replace("\r\n", "\n").lstrip("\n")
        one_line = begun[:1] == " " and begun[1:2] not in (" ", "\t")  # it stands behind the colon
        body = f"{self.signature}\n{INDENT if one_line else ''}{begun[one_line:]}"
        if begun[:1] in (" ", "\t"):
            yield body, True
        for block in fenced_blocks(reply):
            yield block.text, False
        yield reply, False
        for found in islice(_BEGINS_PROGRAM.finditer(reply), MOST_BEGINNINGS):
            yield reply[found.start() :], False
        yield f"{self.signature}\n{INDENT}{begun.lstrip()}", True  # its first blanks may have been lost on the way

    def _with(self, written: _Written) -> str:
        before = self.before
        own = cast("ast.FunctionDef", _parsed(f"{self.signature}\n{INDENT}pass").body[0])
        if written.reads - {argument.arg for argument in _arguments(own.args)}:
            # its parameters have other names, and its body says these
            head, _, below = before.rpartition(self.signature)
            before = f"{head}{_signature(own, written.arguments)}{below}"
        beside = f"\n\n{written.beside}" if written.beside else ""
        return f"{before}{written.body}{beside}{self.after}"


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
        margin=lines[doc.lineno - 1][: doc.col_offset],
    )


def _is_empty(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """True if the function has a docstring below its signature, and nothing that does anything."""
    own_line = node.body[0].lineno > node.lineno
    return own_line and ast.get_docstring(node) is not None and all(map(_says_nothing, node.body[1:]))


def _says_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(ast.Constant() | ast.Name()):
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


# What a reply writes: the function itself, and what it needs beside it.


@dataclass(frozen=True)
class _Written:
    """A function as a reply writes it.

    Args:
        body: its lines, without a docstring, indented as the stub is.
        arguments: its own.
        reads: those of them that its body reads.
        beside: imports, constants, functions and classes of the reply's that it uses, as source.
    """

    body: str
    arguments: ast.arguments
    reads: frozenset[str]
    beside: str


def _written_in(text: str, stub: Stub, known: Container[str], *, first: bool) -> _Written | None:
    """The function of a stub's name in the longest beginning of a text that is Python, where it does anything.

    Args:
        text: a program, and what may stand behind it.
        stub: what is to be written.
        known: names that the module around the stub has already.
        first: of several, take the first: the text goes on after the signature. Else the last, which is the one that
            Python would call.
    """
    lines = text.replace("\r\n", "\n").split("\n")[:MOST_LINES]
    module = _longest_program(lines)
    own = [node for node in module.body if isinstance(node, _FUNCTION) and node.name == stub.name]
    doing = [node for node in own if not all(map(_says_nothing, node.body))]
    if not doing:
        return None
    function = doing[0 if first else -1]
    needed = _needed(function, [node for node in module.body if node not in own], known)
    named = {argument.arg for argument in _arguments(function.args)}
    loaded = {node.id for part in function.body for node in ast.walk(part) if _loads(node)}
    return _Written(
        body=_body(function, lines, stub.margin),
        arguments=function.args,
        reads=frozenset(named & loaded),
        beside="".join(_joined(lines[_first_line(node) - 1 : node.end_lineno]) for node in needed),
    )


def _longest_program(lines: list[str]) -> ast.Module:
    """The longest beginning of these lines that is Python."""
    end = len(lines)
    for _ in range(MOST_CUTS):
        try:
            return _parsed("\n".join(lines[:end]))
        except SyntaxError as error:
            end = max(0, min(end, error.lineno or end) - 1)
        except UNREADABLE:
            break  # nested too deep
    return ast.Module(body=[], type_ignores=[])


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str], margin: str) -> str:
    has_doc = len(function.body) > 1 and ast.get_docstring(function) is not None
    first = function.body[1 if has_doc else 0]
    at = _first_line(first)
    begins = lines[at - 1].encode()[: first.col_offset].decode()
    if begins.strip():  # on the line of the signature
        return _joined([f"{margin}{lines[at - 1][len(begins) :]}", *lines[at : function.end_lineno]])
    while at - 1 > function.lineno and lines[at - 2].lstrip().startswith("#"):
        at -= 1  # a comment belongs to what is below it
    own = lines[at - 1 : function.end_lineno]
    # what begins further left stands in a string or in brackets
    return _joined([f"{margin}{line.removeprefix(begins)}" if line.startswith(begins) else line for line in own])


def _needed(function: ast.AST, others: Sequence[ast.stmt], known: Container[str]) -> list[ast.stmt]:
    """What a function uses of what is written beside it, and what that uses, as it stands there."""
    offered = {name: node for node in others for name in _names_of(node) if name not in known}
    found = [offered["*"]] if "*" in offered else []
    looked_into: list[ast.AST] = [function]
    for node in looked_into:
        for name in sorted(_free_names(node)):
            if name in offered and offered[name] not in found:
                found.append(offered[name])
                looked_into.append(offered[name])
    return sorted(found, key=_first_line)


def _names_of(node: ast.stmt) -> list[str]:
    """The names that a statement of a module gives something to."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [alias.asname or alias.name.partition(".")[0] for alias in names]
        case ast.Assign(targets=targets):
            named = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            return [name.id for name in named if not _loads(name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _free_names(node: ast.AST) -> set[str]:
    """Names that are read in it and set nowhere in it."""
    nodes = list(ast.walk(node))
    bound = {one.id for one in nodes if isinstance(one, ast.Name) and not _loads(one)}
    return {one.id for one in nodes if _loads(one)} - bound - {one.arg for one in nodes if isinstance(one, ast.arg)}


def _loads(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _arguments(arguments: ast.arguments) -> list[ast.arg]:
    more = [one for one in (arguments.vararg, arguments.kwarg) if one]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *more]


def _signature(own: ast.FunctionDef, arguments: ast.arguments) -> str:
    """The stub's signature with other names for its arguments; what it says of their types stays, place by place."""
    said = [argument.annotation for argument in _arguments(own.args)]
    for argument, annotation in zip_longest(_arguments(arguments), said[: len(_arguments(arguments))]):
        argument.annotation = annotation
    made = ast.FunctionDef(own.name, arguments, [ast.Pass()], [], own.returns, lineno=1, col_offset=0)
    kind = "async " if isinstance(own, ast.AsyncFunctionDef) else ""
    return kind + ast.unparse(made).partition("\n")[0]


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(part.lineno for part in getattr(node, "decorator_list", ()))])


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        # an invalid escape in what a model wrote is its own affair
        warnings.simplefilter("ignore")
        return ast.parse(text)


# Whole programs, where no function was begun.


def program_in(text: str) -> ast.Module | None:
    """The module that a text is; None where it is no Python."""
    try:
        return _parsed(text)
    except UNREADABLE:
        return None


def defined_by(module: ast.Module) -> dict[str, bool]:
    """The names that a module gives something to, but what it imports, members as `Class.member`; each with whether it
    does anything, as a function without a body does not."""
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    found: dict[str, bool] = {}
    for prefix, body in (("", module.body), *((f"{one.name}.", one.body) for one in classes)):
        for node in body:
            if not isinstance(node, ast.Import | ast.ImportFrom):
                does = not isinstance(node, _FUNCTION) or not all(map(_says_nothing, node.body))
                found |= {f"{prefix}{name}": does for name in _names_of(node)}
    return found


def keeps_all(module: ast.Module, before: ast.Module) -> bool:
    """True if a program defines whatever a module does, and has no mere placeholder for any of it."""
    mine = defined_by(module)
    return all(name in mine and (mine[name] or not does) for name, does in defined_by(before).items())


def imports_beside(before: str, module: ast.Module) -> str:
    """What the file imports now and the answer does not: a model that was shown them writes the function alone."""
    known = program_in(before)
    if known is None:
        return ""
    # imports alone: a hostile expression can be nested too deep to be walked
    theirs = {ast.dump(node) for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)}
    kept = [node for node in known.body if isinstance(node, ast.Import | ast.ImportFrom)]
    lines = [ast.unparse(node) for node in kept if ast.dump(node) not in theirs]
    if any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in module.body):
        return ""  # nothing may stand before that
    return "".join(f"{line}\n" for line in lines)
