"""Source mode: finds the graphs of files, folders and notebooks, without importing anything."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from groundwire_audit._errors import AuditError
from groundwire_audit._folders import Chosen, choose
from groundwire_audit._known import without_ignored
from groundwire_audit._plain_loops import declare_classes, node_classes, plain_loops
from groundwire_audit._report import AuditReport, Finding, GraphReport, Mode, SourcePlace, failed
from groundwire_audit.judging._audit_graph import audit_graphs
from groundwire_audit.reading._chats import MAKES_CHATS
from groundwire_audit.reading._conditions import Taint, TaintKind
from groundwire_audit.reading._frames import Arguments, Frame, names_in
from groundwire_audit.reading._frameworks import circles_of_agents
from groundwire_audit.reading._graph import DeclaredGraph, GraphValue
from groundwire_audit.reading._langgraph_calls import AGENTS, BUILDERS
from groundwire_audit.reading._members import member
from groundwire_audit.reading._modules import ModuleFinder
from groundwire_audit.reading._pydantic_graphs import loose_graphs
from groundwire_audit.reading._reader import TooComplex
from groundwire_audit.reading._source_reader import SourceReader
from groundwire_audit.reading._values import ClassValue, Const, FunctionValue, Instance, Module, Scope, Value, data

MAKERS = (
    BUILDERS | AGENTS | MAKES_CHATS | {"entrypoint", "create_supervisor", "create_swarm", "Pipeline", "AsyncPipeline"}
)
WIRES = frozenset({"add_node", "add_edge", "add_conditional_edges", "set_entry_point"})


def audit_path(
    path: Path,
    *,
    wanted: str = "",
    roles: Mapping[str, str] | None = None,
    target: str = "",
    timeout_s: float = math.inf,
    exclude: Sequence[str] = (),
    tests: bool = False,
) -> AuditReport:
    """Audits a file, notebook or folder from its source.

    Args:
        path: an existing file or folder.
        wanted: only the graph of this name: a variable, or the function or class that makes it.
        roles: node or tool → declared role.
        target: how the target was named.
        timeout_s: of processor time; what is not read by then is said to be too complex.
        exclude: of a folder: patterns as in a .gitignore.
        tests: of a folder: tests too.

    Raises:
        AuditError: there is no graph of the wanted name.
    """
    root = path if path.is_dir() else path.parent
    finder = ModuleFinder([root, root / "src", Path.cwd(), Path.cwd() / "src"], Path.cwd())
    reader = SourceReader(finder, until=time.process_time() + timeout_s)
    reader.roles = dict(roles or {})
    findings: list[Finding] = []
    chosen = choose(path, exclude=exclude, tests=tests) if path.is_dir() else Chosen([path])
    files = chosen.files
    for at, file in enumerate(files):
        if reader.is_late():
            said = f"After {timeout_s:g} s {len(files) - at} of {len(files)} files were not read: raise --timeout."
            findings.append(Finding("too-complex", said, SourcePlace(finder.open(file).code.shown, 1)))
            break
        module = finder.open(file)
        try:
            reader.refill()
            reader.read_module(module)
            declare_classes(reader, module)
            _follow_makers(reader, module)
        except (TooComplex, RecursionError):
            findings.append(Finding("too-complex", "It is too large to follow.", SourcePlace(module.code.shown, 1)))
        except Exception as error:  # strangers write what nobody foresaw
            findings.append(failed(module.code.shown, error, SourcePlace(module.code.shown, 1)))
    _name_graphs(reader, finder)
    reader.graphs += [*loose_graphs(reader, node_classes(finder.modules.values())), *circles_of_agents(reader.graphs)]
    findings += [f for m in finder.modules.values() for f in m.code.findings]
    graphs = [g for g in _distinct(reader.graphs) if g.nodes or g.kind == "functional"]
    inside = {m.code.shown for m in finder.modules.values()}
    chosen_graphs = [g for g in graphs if _is_called(wanted, g)]
    reports = audit_graphs(reader, chosen_graphs, Mode.SOURCE)
    if not (wanted and chosen_graphs):
        read = [m for m in finder.modules.values() if m.code.path in {f.resolve() for f in files}]
        plain = plain_loops(reader, read, {x.place for r in reports for x in r.loops})
        reports += audit_graphs(reader, [g for g in plain if _is_called(wanted, g)], Mode.SOURCE)
        if wanted and not reports:
            raise _no_such(wanted, [*graphs, *plain], target or str(path))
    findings += reader.unused_roles()
    kept = _unlike(r for r in reports if r.place.file in inside or not r.place.file)
    report = AuditReport(target or str(path), kept, tuple(_once(findings)), _left_out(chosen))
    codes = [m.code for m in finder.modules.values() if m.code.path in {f.resolve() for f in files} or m.code.ignores]
    return without_ignored(report, {c.place(line): said for c in codes for line, said in c.ignores.items()})


def _unlike(reports: Iterable[GraphReport]) -> tuple[GraphReport, ...]:
    """One report of a graph that a function makes and that is the same wherever it is called; the first."""
    kept: dict[object, GraphReport] = {}
    for report in reports:
        ways = tuple((x.path, x.verdict, x.why) for x in report.loops)
        kept.setdefault((report.place, report.nodes, report.edges, ways) if report.nodes else id(report), report)
    return tuple(kept.values())


def _left_out(chosen: Chosen) -> tuple[str, ...]:
    said: list[str] = []
    if chosen.tests:
        said.append(f"{chosen.tests} test file{'s' * (chosen.tests != 1)} left out: --tests audits them too")
    if chosen.ignored:
        said.append(f"{chosen.ignored} file{'s' * (chosen.ignored != 1)} left out, ignored by git or excluded")
    return tuple(said)


def _is_called(wanted: str, graph: DeclaredGraph) -> bool:
    return not wanted or wanted in graph.aliases or wanted == graph.name or graph.name.startswith(f"{wanted}.")


def _no_such(wanted: str, graphs: list[DeclaredGraph], target: str) -> AuditError:
    """The error that no graph has a name; those that there are, are named."""
    names = sorted({n for g in graphs for n in (*g.aliases, g.name) if n})
    there = f"Those that are there: {', '.join(names)}." if names else "No graph was found there at all."
    return AuditError(f"There is no graph {wanted!r} in {target.removesuffix(f':{wanted}')}.", do=there)


def _once(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _follow_makers(reader: SourceReader, module: Module) -> None:
    """Follows functions and classes that make graphs and that nothing in the file calls."""
    if not isinstance(module.scope, Scope):
        return
    frame = Frame(module, module.scope, depth=1)
    own = [(n, v) for n, v in module.scope.names.items() if _module_of(v) is module]
    # who calls a maker gives it real arguments, so callers come first
    for name, value in [x for x in own if not _wires(x[1])] + [x for x in own if _wires(x[1])]:
        match value.thing:
            case FunctionValue(node=node) if node not in reader.called and _makes(value):
                _try(reader, value, name, frame)
            case ClassValue() if _makes(value):
                _follow_class(reader, value, name, frame)
            case _:
                continue


def _module_of(value: Value) -> Module | None:
    return value.thing.module if isinstance(value.thing, FunctionValue | ClassValue) else None


MAX_CALLS = 4


def _makes(value: Value, depth: int = 0) -> bool:
    """True if a function or class makes or wires a graph, or calls one that does."""
    if _wires(value):
        return True
    module = _module_of(value)
    if module is None or depth > MAX_CALLS or not isinstance(value.thing, FunctionValue | ClassValue):
        return False
    names = _called_in(value.thing.node)
    found = (module.scope.get(n) for n in names)
    return any(v is not None and v.thing is not value.thing and _makes(v, depth + 1) for v in found)


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
    decides = _decides_wiring(thing.node)
    return {
        name: data(frozenset({Taint(TaintKind.FIXED)}))
        for name, default in thing.defaults.items()
        if isinstance(default.thing, Const) and (isinstance(default.thing.value, bool) or name in decides)
    }


def _decides_wiring(node: ast.AST) -> set[str]:
    """Names that are tested before something is wired, or not, and those that they are made of."""
    tested: set[str] = set()
    made_of: dict[str, set[str]] = {}
    for part in ast.walk(node):
        match part:
            case ast.If() if any(not _called_in(s).isdisjoint(WIRES) for s in (*part.body, *part.orelse)):
                tested.update(names_in(part.test))
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                made_of.setdefault(name, set()).update(names_in(value))
            case _:
                continue
    pending = list(tested)
    while pending:
        more = made_of.get(pending.pop(), set()) - tested
        tested |= more
        pending += more
    return tested


def _follow_class(reader: SourceReader, value: Value, name: str, frame: Frame) -> None:
    cls = value.thing
    assert isinstance(cls, ClassValue)
    makers = _making_methods(cls)
    if _was_called(reader, cls.members.get("__init__")) and any(_was_called(reader, m) for m in makers.values()):
        return
    made = _try(reader, value, name, frame)
    if made is None or not isinstance(made.thing, Instance):
        return
    for name_of, held in makers.items():
        thing = held.thing
        assert isinstance(thing, FunctionValue)
        if thing.node not in reader.called or (_switches(held) and not name_of.startswith("_") and _wires(held)):
            # whoever has the object can call it again, and switch on what the class itself leaves off
            inner = Frame(frame.module, Scope(frame.module.scope), f"{name}.{name_of}", 1)
            method = reader.attribute(made, name_of, inner)
            if isinstance(method.thing, FunctionValue):
                _try(reader, method, f"{name}.{name_of}", frame)


def _was_called(reader: SourceReader, method: Value | None) -> bool:
    """True if a method was followed to its end, or is none of this source's."""
    return not (method is not None and isinstance(method.thing, FunctionValue)) or method.thing.node in reader.called


def _making_methods(cls: ClassValue) -> dict[str, Value]:
    """Methods that make a graph, those first that call others of them, and so give them real arguments."""
    methods = {n: m for n, m in cls.members.items() if isinstance(m.thing, FunctionValue)}
    direct = {n: m for n, m in methods.items() if _makes(m)}
    found = dict(direct)
    while True:
        more = {n: m for n, m in methods.items() if n not in found and n != "__init__" and _calls(m, found)}
        if not more:
            return found
        found = {**more, **found}


def _calls(method: Value, names: Mapping[str, Value]) -> bool:
    return isinstance(method.thing, FunctionValue) and not _called_in(method.thing.node).isdisjoint(names)


def _wires(value: Value) -> bool:
    """True if the source of a function or class itself calls what makes or wires a graph."""
    thing = value.thing
    return isinstance(thing, FunctionValue | ClassValue) and not _called_in(thing.node).isdisjoint(MAKERS | WIRES)


@lru_cache(maxsize=4096)
def _called_in(node: ast.AST) -> frozenset[str]:
    """The last names of all that is called in a piece of source."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            match part.func:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(value=ast.Name(id=name)):
                    found.add(name)
                case _:
                    continue
    return frozenset(found)


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
        graph.name = graph.owner.node.name if graph.owner is not None else _best(held) or graph.name or "graph"


def _best(names: list[str]) -> str:
    liked = [n for n in names if n in {"graph", "app"}]
    return (liked or sorted(names, key=lambda n: (len(n) < 2, n)) or [""])[0]


def _distinct(graphs: list[DeclaredGraph]) -> list[DeclaredGraph]:
    """One graph for each place in the source and set of nodes: a factory that is called twice makes one kind. Agents of
    a chat that have one name are still others where they are made elsewhere."""
    kept: dict[object, DeclaredGraph] = {}
    for graph in graphs:
        made = tuple(node.place for node in graph.nodes.values()) if graph.kind == "chat" else ()
        kept.setdefault((graph.place, tuple(graph.nodes), made, tuple(sorted(graph.aliases))), graph)
    found = list(kept.values())
    return [g for g in found if not any(_holds_all(other, g) or _names_all(other, g) for other in found)]


def _names_all(named: DeclaredGraph, graph: DeclaredGraph) -> bool:
    """True if the names of a graph's nodes are parameters, and another one was made with arguments for them."""
    return named.place == graph.place and _is_symbolic(graph) and not _is_symbolic(named) and bool(named.nodes)


def _is_symbolic(graph: DeclaredGraph) -> bool:
    return any(n.startswith("{") for n in graph.nodes)


def _holds_all(larger: DeclaredGraph, graph: DeclaredGraph) -> bool:
    """True if a graph is another one, made at the same place, with something switched off."""
    if larger.place != graph.place or len(larger.nodes) <= len(graph.nodes) or not graph.nodes:
        return False
    return graph.nodes.keys() <= larger.nodes.keys() and {n.place for n in graph.nodes.values()} <= {
        n.place for n in larger.nodes.values()
    }
