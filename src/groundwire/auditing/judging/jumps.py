"""Where a node can jump with a Command or Send, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundwire.auditing.conditions import ALWAYS, Formula, Test, all_of, paths, when
from groundwire.auditing.declared_graph import END, START, Node
from groundwire.auditing.judging.destinations import literal_names
from groundwire.auditing.judging.steps import Edge, Way, Wiring
from groundwire.auditing.nodes.following import function_of
from groundwire.auditing.reading.frames import Effect, Frame
from groundwire.auditing.reading.merging import deep, options
from groundwire.auditing.report import Finding, Level
from groundwire.auditing.scopes import Scope
from groundwire.auditing.taints import Kind, Taint
from groundwire.auditing.values import Const, External, GraphValue, Items, Send, Table, Value

if TYPE_CHECKING:
    from groundwire.auditing.reading.reader import Reader

__all__ = ["add_jumps"]


def add_jumps(reader: Reader, wiring: Wiring, node: Node) -> None:
    """Adds each step that a node can take by itself."""
    facts = wiring.facts[node.name]
    function, _, _ = function_of(reader, node.action, Frame(reader.nowhere, Scope(), depth=2))
    annotated = literal_names(
        reader, function, getattr(function.node, "returns", None) if function is not None else None
    )
    declared = (
        node.destinations if node.destinations is not None else tuple(annotated) if annotated is not None else None
    )
    for jump in facts.jumps:
        if jump.to_parent:
            wiring.to_parent.add(node.name)
            continue
        for value, formula in options(jump.target):
            _jump(wiring, node, declared, value, all_of([jump.when, formula]), jump.asked)
    if not facts.jumps and declared and not _is_graph(node):
        # declared, and not seen to jump: whatever does it is out of sight
        unseen = when(
            Test(frozenset({Taint(Kind.UNKNOWN, f"{node.name} declares jumps that are not in sight")}), text="?")
        )
        opens = ALWAYS if facts.declared else unseen
        for target in declared:
            wiring.add(Edge(node.name, target, [Way(p, before=True) for p in paths(opens)], "jump", node.place))


def _is_graph(node: Node) -> bool:
    return isinstance(node.action.thing, GraphValue)


def _jump(
    wiring: Wiring, node: Node, declared: tuple[str, ...] | None, value: Value, opens: Formula, asked: frozenset[Effect]
) -> None:
    match value.thing:
        case Items(items=held, rest=rest):
            for item in (*held, *([rest] if rest is not None else [])):
                for inner, formula in options(item):
                    _jump(wiring, node, declared, inner, all_of([opens, formula]), asked)
        case Send(target=target):
            for inner, formula in options(target):
                _jump(wiring, node, declared, inner, all_of([opens, formula]), asked)
        case Const(value=str(name)):
            _jump_to(wiring, node, declared, {"END": END}.get(name, name), opens, asked)
        case External(path=path) if path.endswith(".END"):
            _jump_to(wiring, node, declared, END, opens, asked)
        case Const() | Table():
            pass
        case _ if declared is not None:
            for target in declared:
                chosen = when(Test(deep(value), text=f"the jump names {target!r}", constant=True))
                _jump_to(wiring, node, declared, target, all_of([opens, chosen]), asked)
        case _:
            said = f"{node.name} jumps with Command(goto=…) to undeclared targets: declare them"
            wiring.anywhere.setdefault(node.name, (said, node.place))


def _jump_to(
    wiring: Wiring, node: Node, declared: tuple[str, ...] | None, target: str, opens: Formula, asked: frozenset[Effect]
) -> None:
    if target not in wiring.graph.nodes and target not in {END, START}:
        wiring.findings.append(
            Finding("unknown-target", f"{node.name} can jump to {target!r}, which is no node.", node.place)
        )
        return
    if declared is not None and target not in declared:
        message = f"{node.name} can jump to {target!r}, which it does not declare ({', '.join(declared)})."
        wiring.findings.append(Finding("undeclared-jump", message, node.place, Level.WARNING))
    wiring.add(Edge(node.name, target, [Way(p, before=True, asked=asked) for p in paths(opens)], "jump", node.place))
