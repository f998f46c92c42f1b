"""The smallest change that grounds a loop, as a patch: a person decides before it goes round again."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable
from pathlib import Path

from groundwire_audit._report import AuditReport, GraphReport, Grounding, Level, Loop, SourcePlace


def as_patch(report: AuditReport) -> str:
    """A unified diff over the files of the report, for `git apply` or `patch -p0`; empty where there is nothing to fix.

    Each graph that is compiled in plain sight of its file gets `interrupt_before=[…]` with the first node of each of
    its ungrounded loops. A checkpointer is needed for that, which only the project can choose.
    """
    wanted: dict[str, dict[SourcePlace, set[str]]] = {}
    for graph in report.graphs:
        for place, nodes in _pauses(graph):
            wanted.setdefault(place.file, {}).setdefault(place, set()).update(nodes)
    return "".join(_patched(Path(file), calls) for file, calls in sorted(wanted.items()))


def _pauses(graph: GraphReport) -> Iterable[tuple[SourcePlace, set[str]]]:
    nodes = {x.nodes[0] for x in graph.loops if _is_fixable(x)}
    if nodes and graph.compiled.file.endswith(".py"):
        yield graph.compiled, nodes


def _is_fixable(loop: Loop) -> bool:
    names = "".join(loop.nodes)
    return (
        loop.verdict is Grounding.UNGROUNDED
        and loop.level is Level.ERROR
        and not (loop.inside or loop.known or "/" in names or "{" in names)
    )


def _patched(path: Path, calls: dict[SourcePlace, set[str]]) -> str:
    try:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError, RecursionError):
        return ""
    lines = text.splitlines(keepends=True)
    found = [c for c in ast.walk(tree) if isinstance(c, ast.Call) and _is_compile(c)]
    for call in sorted(found, key=lambda c: (c.end_lineno or 0, c.end_col_offset or 0), reverse=True):
        assert isinstance(call.func, ast.Attribute)
        line = call.func.end_lineno or 0
        nodes = {n for place, names in calls.items() if place.line == line for n in names}
        if nodes and not any(k.arg in {"interrupt_before", None} for k in call.keywords):
            _insert(lines, call, sorted(nodes))
    new = "".join(lines)
    name = path.as_posix()
    return "".join(difflib.unified_diff(text.splitlines(keepends=True), new.splitlines(keepends=True), name, name))


def _is_compile(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "compile"


def _insert(lines: list[str], call: ast.Call, nodes: list[str]) -> None:
    """Adds the argument before the closing bracket of a call."""
    at = (call.end_lineno or 1) - 1
    raw = lines[at].encode()
    end = (call.end_col_offset or 1) - 1
    before, after = raw[:end].decode(), raw[end:].decode()
    given = bool(call.args or call.keywords)
    spaced = not before.strip() and given  # the bracket stands on a line of its own, after a comma or none
    argument = f"interrupt_before={nodes!r}".replace("'", '"')
    if spaced:
        previous = lines[at - 1].rstrip()
        comma = "" if previous.endswith(",") else ","
        lines[at - 1] = f"{previous}{comma}\n"
        lines[at] = f"{before}    {argument},\n{before}{after}"
    else:
        comma = "" if not given else " " if before.rstrip().endswith(",") else ", "
        lines[at] = f"{before.rstrip() if given else before}{comma}{argument}{after}"
