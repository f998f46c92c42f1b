"""Gets the syntax tree of a file or notebook, whatever state it is in."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
import tokenize
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from groundwire_audit._report import Finding, SourcePlace
from groundwire_audit.reading._newer_strings import with_sums

MAX_SOURCE_BYTES = 4 * 1024 * 1024
MAX_NOTEBOOK_BYTES = 64 * 1024 * 1024
DIRECTIVE = re.compile(r"#\s*groundwire:\s*(ignore\[[^\]]*\].*|[A-Za-z_-]+)")
IGNORE = re.compile(r"ignore\[([^\]]*)\](.*)")
MAGIC_ASSIGNMENT = re.compile(r"^(\s*[A-Za-z_][\w., ]*=\s*)[!%].*$")
MAGIC_LINE = re.compile(r"^(\s*)(%|!|\?)")
CELLS_OF_OTHERS = re.compile(
    r"%%(bash|sh|script|html|javascript|js|latex|markdown|svg|writefile|file|perl|ruby|sql|cmd|pip|R|cython)"
)
LAYOUT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})
TO_TREE = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


@dataclass
class Code:
    """A file's syntax tree.

    Args:
        path: the file.
        shown: how the file is named in reports.
        tree: its statements; those of all cells, one after another, in a notebook.
        directives: line → role named in a comment `# groundwire: ROLE` on it, or in lines of comments right above it.
        ignores: line → rules that a comment `# groundwire: ignore[RULE] REASON` leaves out there, and the reason.
        findings: what could not be read.
        cells: notebook: first line of each cell, 1-based cell number.
    """

    path: Path
    shown: str
    tree: ast.Module
    directives: dict[int, str] = field(default_factory=dict[int, str])
    ignores: dict[int, tuple[tuple[str, ...], str]] = field(default_factory=dict[int, tuple[tuple[str, ...], str]])
    findings: list[Finding] = field(default_factory=list[Finding])
    cells: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def place(self, line: int, column: int = 0) -> SourcePlace:
        """Where a line stands, for people."""
        if not self.cells:
            return SourcePlace(self.shown, line, 0, column)
        start, number = max(((s, n) for s, n in self.cells if s <= line), default=(1, 1))
        return SourcePlace(self.shown, line - start + 1, number, column)

    def line_of(self, place: SourcePlace) -> int:
        """The line of the tree that stands at a place."""
        start = next((s for s, n in self.cells if n == place.cell), 1)
        return place.line + start - 1


def read_code(path: Path, shown: str) -> Code:
    """Reads a `.py` or `.ipynb` file. Never raises: what can't be read is a finding and an empty tree."""
    code = Code(path, shown, ast.Module([], []))
    try:
        if not path.is_file():
            raise OSError("not a plain file")  # a pipe or a device would be waited for
        if is_too_large(path):
            size = path.stat().st_size >> 20
            code.findings.append(
                Finding("file-too-large", f"{size} MiB: larger than what is read.", SourcePlace(shown, 1))
            )
            return code
        if path.suffix == ".ipynb":
            _read_notebook(path, code)
        else:
            _read_python(_decoded(path.read_bytes()), code, 1, code.place(1))
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError) as error:
        code.findings.append(Finding("unreadable-file", f"It can't be read: {_short(error)}.", SourcePlace(shown, 1)))
    return code


def is_too_large(path: Path) -> bool:
    """True for a file that is not read.

    Raises:
        OSError: there is no such file.
    """
    return path.stat().st_size > (MAX_NOTEBOOK_BYTES if path.suffix == ".ipynb" else MAX_SOURCE_BYTES)


def code_of_text(text: str, shown: str) -> Code:
    """The syntax tree of source that lies in no file."""
    code = Code(Path(shown), shown, ast.Module([], []))
    _read_python(without_magics(text), code, 1, SourcePlace(shown, 1))
    return code


def _decoded(content: bytes) -> str:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return content.decode(encoding, "replace")


MAX_MENDED = 12


def _read_python(text: str, code: Code, first_line: int, start: SourcePlace) -> None:
    """Reads source; a statement at the top that can't be read is a finding, and the others are read."""
    if sys.version_info < (3, 12) and not _parses(text):
        older = with_sums(text)
        text = older if _parses(older) else text
    for _ in range(MAX_MENDED):
        broken = _read_once(text, code, first_line, start)
        if not broken:
            return
        text = _without_statement(text, broken)


def _parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "", "exec", TO_TREE, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def _without_statement(text: str, line: int) -> str:
    """The source with the statement at the top blank that a line belongs to; all others keep their lines."""
    lines = text.split("\n")
    first = min(line, len(lines)) - 1
    while first > 0 and not _begins(lines[first]):
        first -= 1
    last = first + 1
    while last < len(lines) and (last < line or not _begins(lines[last])):
        last += 1
    return "\n".join(["" if first <= i < last else x for i, x in enumerate(lines)])


def _begins(line: str) -> bool:
    return (
        bool(line.strip()) and line[0] not in " \t)]}#" and not line.startswith(("else", "elif", "except", "finally"))
    )


def _read_once(text: str, code: Code, first_line: int, start: SourcePlace) -> int:
    """Reads source as a whole; the line of an error, or 0."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape in somebody's file is not ours to report
            tree = cast("ast.Module", compile(text, code.shown, "exec", TO_TREE, dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        line = getattr(error, "lineno", None) or 1
        place = SourcePlace(start.file, start.line + line - 1, start.cell, getattr(error, "offset", None) or 0)
        said = error.msg if isinstance(error, SyntaxError) else _short(error)
        newer = _newer_syntax(text.split("\n")[line - 1 : line], said)
        if newer:
            reads = ".".join(map(str, sys.version_info[:2]))
            what = f"Syntax of Python {newer}, which Python {reads} does not read: audit with --python of a newer one."
            code.findings.append(Finding("newer-syntax", what, place))
        else:
            code.findings.append(Finding("syntax-error", f"Not Python that can be read: {said}.", place))
        return line if isinstance(error, SyntaxError) and text.strip() else 0
    if first_line > 1:
        ast.increment_lineno(tree, first_line - 1)
    code.tree.body += tree.body
    for line, said in _directives(text):
        ignored = IGNORE.match(said)
        if ignored is None:
            code.directives[line + first_line - 1] = said
        else:
            rules = tuple(r.strip().lower() for r in ignored.group(1).split(",") if r.strip())
            code.ignores[line + first_line - 1] = (rules, ignored.group(2).strip(" -:\u2013\u2014"))
    return 0


NEWER: tuple[tuple[tuple[int, int], re.Pattern[str], str], ...] = (
    ((3, 12), re.compile(r"f-string: "), "3.12 (what may stand in an f-string)"),
    ((3, 12), re.compile(r"\n\s*type\s+\w+\s*(\[.*\])?\s*="), "3.12 (`type`)"),
    ((3, 12), re.compile(r"\n\s*(async\s+)?(def|class)\s+\w+\["), "3.12 (type parameters)"),
    (
        (3, 14),
        re.compile(r"multiple exception types must be parenthesized\n\s*except[^,]+,\s*[A-Z]"),
        "3.14 (`except A, B`)",
    ),
    ((3, 14), re.compile(r"\n.*(?<![\w])(t|tr|rt)[\"']"), "3.14 (template strings)"),
)


def _newer_syntax(lines: list[str], said: str) -> str:
    """The version whose syntax a line is of, where that is newer than this Python; else empty."""
    text = f"{said}\n{''.join(lines)}"
    return next((name for version, shape, name in NEWER if sys.version_info < version and shape.search(text)), "")


def _directives(text: str) -> list[tuple[int, str]]:
    if "groundwire:" not in text:
        return []
    found: list[tuple[int, str]] = []
    above = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in LAYOUT:
                continue
            line, column = token.start
            if token.type != tokenize.COMMENT:
                found += [(line, above)] if above else []
                above = ""
            elif match := DIRECTIVE.search(token.string):
                # a comment after code belongs to that code alone, never to the line below
                alone = not token.line[:column].strip()
                said = match.group(1)
                said = said if said.startswith("ignore[") else said.lower()
                above = said if alone else above
                found += [] if alone else [(line, said)]
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser has the last word; a comment after what it could not read does not count
    return found


def _read_notebook(path: Path, code: Code) -> None:
    body: object = json.loads(path.read_bytes().decode("utf-8", "replace"))
    cells = cast("dict[str, object]", body).get("cells") if isinstance(body, dict) else None
    if not isinstance(cells, list):
        raise ValueError("a notebook without cells")
    line = 1
    for number, cell in enumerate(cast("list[Any]", cells), start=1):
        if not isinstance(cell, dict):
            continue
        content = cast("dict[str, Any]", cell)
        if content.get("cell_type") != "code":
            continue
        source = content.get("source", "")
        text = "".join(map(str, cast("list[Any]", source))) if isinstance(source, list) else str(source)
        plain = without_magics(text)
        code.cells.append((line, number))
        _read_python(plain, code, line, SourcePlace(code.shown, 1, number))
        line += plain.count("\n") + 1


def without_magics(text: str) -> str:
    """A cell as plain Python, line for line: magics and shell lines become `pass`, other languages vanish."""
    lines = text.split("\n")
    first = next((i for i, x in enumerate(lines) if x.strip()), 0)
    if CELLS_OF_OTHERS.match(lines[first].strip() if lines else ""):
        return "\n".join("" for _ in lines)
    kept: list[str] = []
    inside_string = False
    for line in lines:
        quotes = line.count('"""') + line.count("'''")
        if not inside_string:
            assignment = MAGIC_ASSIGNMENT.match(line)
            magic = MAGIC_LINE.match(line)
            if magic and not (magic.group(2) == "%" and kept and kept[-1].rstrip().endswith(("(", ",", "%", "\\"))):
                kept.append(f"{magic.group(1)}pass")
                continue
            if assignment:
                kept.append(f"{assignment.group(1)}None")
                continue
            if line.rstrip().endswith("?") and "#" not in line:
                kept.append(f"{line[: len(line) - len(line.lstrip())]}pass")
                continue
        inside_string ^= quotes % 2 == 1
        kept.append(line)
    return "\n".join(kept)


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:160]}"
