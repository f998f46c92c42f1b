"""Finds the lines on which a live graph's edges are wired, in the files its functions come from."""

from __future__ import annotations

import ast
from dataclasses import replace

from groundwire.auditing.declared_graph import END, START, Graph
from groundwire.auditing.places import NOWHERE, Place
from groundwire.auditing.source.modules import ModuleFinder
from groundwire.auditing.values import Module

__all__ = ["Wired"]

NAMES = {"START": START, "END": END}
Call = tuple[str, list[str], Place]


class Wired:
    """Calls of `add_node`, `add_edge` and `add_conditional_edges` whose node names can be read."""

    def __init__(self, finder: ModuleFinder) -> None:
        self._calls = [call for module in finder.modules.values() for call in _calls(module)]

    def place(self, graph: Graph) -> None:
        """Gives nodes, edges and branches the line on which they are wired, where exactly one can be found."""
        graph.edges = [replace(e, place=self._find("edge", e.source, e.target)) for e in graph.edges]
        for branch in graph.branches:
            found = self._find("branch", branch.source)
            branch.place = found if found != NOWHERE else branch.place
        places = [e.place for e in graph.edges if e.place != NOWHERE] + [
            b.place for b in graph.branches if b.place != NOWHERE
        ]
        graph.place = min(places, default=NOWHERE)

    def _find(self, kind: str, *names: str) -> Place:
        found = {place for k, called, place in self._calls if k == kind and called[: len(names)] == list(names)}
        return next(iter(found)) if len(found) == 1 else NOWHERE


def _calls(module: Module) -> list[Call]:
    found: list[Call] = []
    for node in ast.walk(module.code.tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="add_edge", end_lineno=line), args=[source, target]):
                place = module.code.place(line or node.lineno)
                sources = source.elts if isinstance(source, ast.List | ast.Tuple) else [source]
                found += [("edge", [_name(one), _name(target)], place) for one in sources]
            case ast.Call(func=ast.Attribute(attr="add_conditional_edges", end_lineno=line), args=[source, *_]):
                found.append(("branch", [_name(source)], module.code.place(line or node.lineno)))
            case ast.Call(func=ast.Attribute(attr="set_entry_point", end_lineno=line), args=[target]):
                found.append(("edge", [START, _name(target)], module.code.place(line or node.lineno)))
            case ast.Call(func=ast.Attribute(attr="set_finish_point", end_lineno=line), args=[source]):
                found.append(("edge", [_name(source), END], module.code.place(line or node.lineno)))
            case _:
                continue
    return found


def _name(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name):
            return NAMES.get(name, name)
        case ast.Attribute(attr=name):
            return NAMES.get(name, name)
        case _:
            return ""
