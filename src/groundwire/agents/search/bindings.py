"""Which names a function or module binds, where, and what kind of value they hold as far as its text tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from groundwire.agents.search.examples import Examples
from groundwire.agents.search.kinds import RECEIVERS, UNKNOWN, annotation_kind, element, kind_of
from groundwire.agents.search.source import Site

__all__ = ["Variable", "assigned_kinds", "bindings", "bound_names"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A name in scope.

    Args:
        name: the name.
        kind: what it holds, as far as known.
        start: first byte of its first binding.
        until: the byte after the region where it exists.
        parameter: True for a parameter of the function.
    """

    name: str
    kind: str
    start: int
    until: int
    parameter: bool = False


def bindings(scope: Site, examples: Examples) -> Iterator[Variable]:
    """The names that a function (or the module) binds, each once; parameters first.

    Args:
        scope: a function's site, or the module's.
        examples: tell the kinds of arguments.
    """
    seen: set[str] = set()
    for variable in (*_parameters(scope, examples), *_assigned(scope)):
        if variable.name not in seen:
            seen.add(variable.name)
            yield variable


def _parameters(scope: Site, examples: Examples) -> Iterator[Variable]:
    if not isinstance(scope.node, cst.FunctionDef):
        return
    tested = examples.arguments.get(scope.node.name.value, {})
    declared = scope.child("params")
    named = [s for s in declared.children if isinstance(s.node, cst.Param)] if declared is not None else []
    own = [(s.start, s.node) for s in named if isinstance(s.node, cst.Param)]
    if own and own[0][1].name.value in ("self", "cls"):
        del own[0]
    for position, (start, node) in enumerate(own):
        noted = annotation_kind(node.annotation.annotation if node.annotation else None)
        kind = max(noted, tested.get(position, UNKNOWN), key=len)
        yield Variable(node.name.value, kind, start, scope.end, parameter=True)


_BINDERS = (cst.AssignTarget, cst.For, cst.AugAssign, cst.AnnAssign, cst.NamedExpr)


def _assigned(scope: Site) -> Iterator[Variable]:
    inner = scope if isinstance(scope.node, cst.FunctionDef) else None
    for site in scope.walk():
        binds = site.parent is not None and isinstance(site.parent.node, _BINDERS)
        if binds and site.function is inner and site.slot == "target":
            yield from (Variable(name, UNKNOWN, start, scope.end) for name, start in bound_names(site))


def bound_names(target: Site) -> Iterator[tuple[str, int]]:
    """The names that a target binds, with their first byte: all of `a, (b, c)`, none of `a.b` or `a[b]`."""
    if isinstance(target.node, cst.Name):
        yield target.node.value, target.start
    elif isinstance(target.node, (cst.Tuple, cst.List, cst.Element, cst.StarredElement)):
        for child in target.children:
            yield from bound_names(child)


def assigned_kinds(scope: Site, names: Mapping[str, str], calls: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What the assignments and loops of a scope tell about kinds: name and kind, empty where they tell nothing.

    Args:
        scope: a function's site, or the module's.
        names: kinds known so far.
        calls: kinds that the file's functions return.
    """
    inner = scope if isinstance(scope.node, cst.FunctionDef) else None
    hints: dict[str, str] = {}
    for site in scope.walk():
        if site.function is not inner:
            continue
        match site.node:
            case cst.Call(func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name(value=method))):
                # a weak hint, which any assignment overrides
                hints.setdefault(name, RECEIVERS.get(method, UNKNOWN))
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                yield from _pairs(target, value, names, calls)
            case cst.For(target=target, iter=iterable):
                yield from _loop(target, iterable, names, calls)
            case _:
                pass
    yield from ((name, kind) for name, kind in hints.items() if not names.get(name))


def _pairs(
    target: cst.BaseExpression, value: cst.BaseExpression, names: Mapping[str, str], calls: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    if isinstance(target, cst.Name):
        yield target.value, kind_of(value, names, calls)
    elif isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple) and len(target.elements) == len(value.elements):
        for left, right in zip(target.elements, value.elements, strict=True):
            if isinstance(left, cst.StarredElement) or isinstance(right, cst.StarredElement):
                return
            yield from _pairs(left.value, right.value, names, calls)


def _loop(
    target: cst.BaseExpression, iterable: cst.BaseExpression, names: Mapping[str, str], calls: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    match target, iterable:
        case cst.Name(value=name), _:
            yield name, element(kind_of(iterable, names, calls))
        case (
            cst.Tuple(elements=[cst.Element(value=cst.Name(value=first)), cst.Element(value=second)]),
            cst.Call(func=cst.Name(value="enumerate"), args=[cst.Arg(value=counted), *_]),
        ):
            yield first, "int"
            if isinstance(second, cst.Name):
                yield second.value, element(kind_of(counted, names, calls))
        case _:
            pass
