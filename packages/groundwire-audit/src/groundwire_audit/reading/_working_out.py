"""Whether a function works anything out of what it is given, or only gives it back in other words."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from groundwire_audit.reading._knowledge import words
from groundwire_audit.reading._members import member
from groundwire_audit.reading._values import ClassValue, FunctionValue, Instance, Table

COMPUTING_CALLS = words("now today sorted sum max min round sqrt eval choice randint")
HELPERS = 3


def computes(function: FunctionValue, of: ClassValue | None = None, depth: int = 0) -> bool:
    """A function works something out, itself or in a helper in sight: a function, or a method of an object in sight.

    Args:
        function: the function.
        of: the class whose method it is.
        depth: how many calls deep it was found.
    """
    if _computes(function.node) or _looks_up(function):
        return True
    if depth >= HELPERS:
        return False
    return any(
        helper.node is not function.node and computes(helper, cls, depth + 1) for helper, cls in _helpers(function, of)
    )


def works_out(function: FunctionValue, depth: int = 0) -> bool:
    """A function, or a helper of it, looks something up in a table or calculates: more than it was given comes back."""
    if _looks_up(function) or any(_calculates(part) for part in ast.walk(function.node)):
        return True
    if depth >= HELPERS:
        return False
    return any(h.node is not function.node and works_out(h, depth + 1) for h, _ in _helpers(function, None))


def _calculates(part: ast.AST) -> bool:
    match part:
        case ast.BinOp(op=ast.Sub() | ast.Mult() | ast.Div() | ast.FloorDiv() | ast.Pow(), left=left, right=right):
            return not (isinstance(left, ast.Constant | ast.JoinedStr) or isinstance(right, ast.Constant))
        case _:
            return False


def _looks_up(function: FunctionValue) -> bool:
    """`ORDERS.get(number)`: what is found in a table of the source under a key that the model chose."""
    tables = {
        t.id
        for part in ast.walk(function.node)
        if isinstance(part, ast.Assign) and isinstance(part.value, ast.Dict)
        for t in part.targets
        if isinstance(t, ast.Name)
    }
    for part in ast.walk(function.node):
        match part:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[key, *_]):
                held = function.scope.get(name)
                known = name in tables or (held is not None and isinstance(held.thing, Table) and held.thing.entries)
                if known and not isinstance(key, ast.Constant):
                    return True
            case _:
                continue
    return False


def _helpers(function: FunctionValue, of: ClassValue | None) -> Iterator[tuple[FunctionValue, ClassValue | None]]:
    own = function.bound.thing if function.bound is not None else None
    of = own.of if isinstance(own, Instance) else of
    for part in ast.walk(function.node):
        match part:
            case ast.Call(func=ast.Name(id=name)):
                found, cls = function.scope.get(name), None
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                holder = function.scope.get(name)
                cls = holder.thing.of if holder is not None and isinstance(holder.thing, Instance) else None
                cls = of if name == "self" else cls
                found = member(cls, method) if cls is not None else None
            case _:
                continue
        if found is not None and isinstance(found.thing, FunctionValue):
            yield found.thing, cls


def _computes(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> bool:
    """True if a function works something out of its arguments, rather than giving them back in other words."""
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    for statement in body:
        for part in ast.walk(statement):
            match part:
                case ast.BinOp(op=ast.Add(), left=left, right=right) if _texts(left) or _texts(right):
                    continue
                case ast.BinOp(op=ast.Mod(), left=left) if _texts(left):
                    continue
                case ast.BinOp() | ast.Compare() | ast.For() | ast.While() | ast.ListComp() | ast.Match():
                    return True
                case ast.Subscript(value=ast.Name(), ctx=ast.Load()) if not isinstance(part.slice, ast.Constant):
                    return True
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in COMPUTING_CALLS:
                    return True
                case ast.Call(func=ast.Attribute(value=ast.Name(id="time"))):
                    return True
                case _:
                    continue
    return False


def _texts(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
