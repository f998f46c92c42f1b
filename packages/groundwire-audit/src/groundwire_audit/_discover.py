"""Source mode: finds the graphs of files, folders and notebooks, without importing anything."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from groundwire_audit._report import AuditReport, Finding, Mode, SourcePlace, failed
from groundwire_audit.judging._audit_graph import audit_graphs
from groundwire_audit.reading._conditions import Taint, TaintKind
from groundwire_audit.reading._files import is_too_large
from groundwire_audit.reading._frames import Arguments, Frame
from groundwire_audit.reading._graph import DeclaredGraph, GraphValue
from groundwire_audit.reading._langgraph_calls import AGENTS, BUILDERS
from groundwire_audit.reading._members import member
from groundwire_audit.reading._modules import ModuleFinder
from groundwire_audit.reading._reader import TooComplex
from groundwire_audit.reading._source_reader import SourceReader
from groundwire_audit.reading._values import ClassValue, Const, FunctionValue, Instance, Module, Scope, Value, data

SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages", "build", "dist", "venv", "env"})
MENTIONS = (b"langgraph", b"create_agent", b"StateGraph", b"create_react_agent")
MAKERS = BUILDERS | AGENTS | {"entrypoint", "create_supervisor", "create_swarm"}
WIRES = frozenset({"add_node", "add_edge", "add_conditional_edges", "set_entry_point"})
MAX_FILES = 20_000


def audit_path(
    path: Path, *, wanted: str = "", roles: Mapping[str, str] | None = None, target: str = ""
) -> AuditReport:
    """Audits a file, notebook or folder from its source.

    Args:
        path: an existing file or folder.
        wanted: only the graph of this name: a variable, or the function or class that makes it.
        roles: node or tool → declared role.
        target: how the target was named.
    """
    root = path if path.is_dir() else path.parent
    finder = ModuleFinder([root, root / "src", Path.cwd(), Path.cwd() / "src"], Path.cwd())
    reader = SourceReader(finder)
    reader.roles = dict(roles or {})
    findings: list[Finding] = []
    files = list(_files(path)) if path.is_dir() else [path]
    for file in files:
        module = finder.open(file)
        try:
            reader.refill()
            reader.read_module(module)
            _follow_makers(reader, module)
        except (TooComplex, RecursionError):
            findings.append(Finding("too-complex", "It is too large to follow.", SourcePlace(module.code.shown, 1)))
        except Exception as error:  # strangers write what nobody foresaw
            findings.append(failed(module.code.shown, error, SourcePlace(module.code.shown, 1)))
    _name_graphs(reader, finder)
    findings += [f for m in finder.modules.values() for f in m.code.findings]
    graphs = [g for g in _distinct(reader.graphs) if g.nodes or g.kind == "functional"]
    if wanted:
        graphs = [g for g in graphs if wanted in g.aliases or wanted == g.name or g.name.startswith(f"{wanted}.")]
    inside = {m.code.shown for m in finder.modules.values()}
    reports = audit_graphs(reader, graphs, Mode.SOURCE)
    findings += reader.unused_roles()
    return AuditReport(
        target or str(path),
        tuple(r for r in reports if r.place.file in inside or not r.place.file),
        tuple(_once(findings)),
    )


def _once(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _files(folder: Path) -> Iterator[Path]:
    pending, seen = [folder], 0
    while pending:
        current = pending.pop()
        try:
            children = sorted(current.iterdir())
        except OSError:
            continue
        for child in children:
            if (
                child.is_symlink()
                or child.name.startswith(".")
                or child.name in SKIPPED
                or child.name.endswith(".egg-info")
            ):
                continue
            if child.is_dir():
                if not os.path.lexists(child / "pyvenv.cfg"):
                    pending.append(child)
            elif child.suffix in {".py", ".ipynb"} and child.is_file() and _mentions(child):
                seen += 1
                if seen > MAX_FILES:
                    return
                yield child


def _mentions(file: Path) -> bool:
    """True if it is about LangGraph, or can't be told, so that it is reported."""
    try:
        if is_too_large(file):
            return True
        content = file.read_bytes()
    except OSError:
        return True
    return any(word in content for word in MENTIONS)


def _follow_makers(reader: SourceReader, module: Module) -> None:
    """Follows functions and classes that make graphs and that nothing in the file calls."""
    if not isinstance(module.scope, Scope):
        return
    frame = Frame(module, module.scope, depth=1)
    for name, value in list(module.scope.names.items()):
        match value.thing:
            case FunctionValue(node=node) if (
                value.thing.module is module and _makes(node) and node not in reader.called
            ):
                _try(reader, value, name, frame)
            case ClassValue() if value.thing.module is module and _makes(value.thing.node):
                _follow_class(reader, value, name, frame)
            case _:
                continue


def _try(reader: SourceReader, callee: Value, name: str, frame: Frame) -> Value | None:
    reader.refill()
    before = len(reader.graphs)
    inner = Frame(frame.module, Scope(frame.module.scope), name, 1)
    made = reader.call(callee, Arguments([], _switches(callee)), ast.Pass(), inner)
    for graph in reader.graphs[before:]:
        graph.name = graph.name or name
    if isinstance(made.thing, GraphValue):
        made.thing.graph.aliases.add(name)
    return made


def _switches(callee: Value) -> dict[str, Value]:
    """Parameters that are off or on by default: both ways are looked at where nobody calls the function."""
    thing = callee.thing
    if isinstance(thing, ClassValue):
        starter = member(thing, "__init__")
        thing = starter.thing if starter is not None else thing
    if not isinstance(thing, FunctionValue):
        return {}
    return {
        name: data(frozenset({Taint(TaintKind.FIXED)}))
        for name, default in thing.defaults.items()
        if isinstance(default.thing, Const) and isinstance(default.thing.value, bool)
    }


def _follow_class(reader: SourceReader, value: Value, name: str, frame: Frame) -> None:
    cls = value.thing
    assert isinstance(cls, ClassValue)
    functions = [m.thing for m in cls.members.values() if isinstance(m.thing, FunctionValue)]
    if any(f.node in reader.called for f in functions if _makes(f.node)):
        return
    made = _try(reader, value, name, frame)
    if made is None or not isinstance(made.thing, Instance):
        return
    for name_of, held in cls.members.items():
        if isinstance(held.thing, FunctionValue) and _makes(held.thing.node) and held.thing.node not in reader.called:
            inner = Frame(frame.module, Scope(frame.module.scope), f"{name}.{name_of}", 1)
            method = reader.attribute(made, name_of, inner)
            if isinstance(method.thing, FunctionValue):
                _try(reader, method, f"{name}.{name_of}", frame)


def _makes(node: ast.AST) -> bool:
    """True if the source of a function or class calls what makes or wires a graph."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            match part.func:
                case ast.Name(id=name) | ast.Attribute(attr=name) if name in MAKERS or name in WIRES:
                    return True
                case ast.Subscript(value=ast.Name(id=name)) if name in MAKERS:
                    return True
                case _:
                    continue
    return False


def _name_graphs(reader: SourceReader, finder: ModuleFinder) -> None:
    """A graph that a module's variable holds is called like it; the compiled one's name wins."""
    for module in finder.modules.values():
        if not isinstance(module.scope, Scope):
            continue
        for name, value in module.scope.names.items():
            if isinstance(value.thing, GraphValue):
                graph = value.thing.graph
                if not graph.aliases or graph.compiled:
                    graph.aliases.add(name)
    for graph in reader.graphs:
        held = sorted(graph.aliases)
        graph.name = _best(held) or graph.name or "graph"


def _best(names: list[str]) -> str:
    liked = [n for n in names if n in {"graph", "app"}]
    return (liked or names or [""])[0]


def _distinct(graphs: list[DeclaredGraph]) -> list[DeclaredGraph]:
    """One graph for each place in the source and set of nodes: a factory that is called twice makes one kind."""
    kept: dict[object, DeclaredGraph] = {}
    for graph in graphs:
        kept.setdefault((graph.place, tuple(graph.nodes), tuple(sorted(graph.aliases))), graph)
    return list(kept.values())
