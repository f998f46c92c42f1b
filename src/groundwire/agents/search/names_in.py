"""What a statement reads, binds, changes in place and calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["Names", "names_in"]

Names = tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[str]]
"""Read, bound, touched and called; attributes have a leading dot."""
OWNER = ("self", "cls")


def names_in(parts: Iterable[ast.AST]) -> Names:
    """What expressions, patterns or one simple statement do with names.

    A name that only exists inside a comprehension is not bound. Of a nested definition its name is bound, and all that
    its body reads is read.
    """
    nodes = list(_inside(parts))
    loops = (node for node in nodes if isinstance(node, ast.comprehension))
    own = {id(name) for loop in loops for name in ast.walk(loop.target)}
    found = _Found()
    for node in nodes:
        if id(node) not in own:
            found.take(node)
    return frozenset(found.uses), frozenset(found.binds), frozenset(found.touches), frozenset(found.calls)


class _Found:
    def __init__(self) -> None:
        self.uses: set[str] = set()
        self.binds: set[str] = set()
        self.touches: set[str] = set()
        self.calls: set[str] = set()

    def take(self, node: ast.AST) -> None:
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                self.uses.add(name)
            case ast.Name(id=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                self.binds.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.binds.add(name)
            case ast.alias(name=name, asname=other):
                self.binds.add(other or name.partition(".")[0])
            case ast.Attribute(attr=attribute, ctx=ast.Load()):
                self.uses.add(f".{attribute}")
            case ast.Attribute(attr=attribute):
                self.touches.update({f".{attribute}", *_root(node)})
            case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()):
                self.touches.update(_root(value))
            case ast.AugAssign(target=target):
                self.uses.update(_root(target))
            case ast.Call(func=function):
                self.calls.update(_called(function))
                # it may change what it is called on
                self.touches.update(_root(function.value) if isinstance(function, ast.Attribute) else ())
            case ast.Expr(value=ast.Call(args=arguments)):
                # and, where nothing is made of its result, what it is given
                self.touches.update(name for a in arguments for name in _root(a))
            case _:
                pass


def _inside(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of an expression or simple statement; of a nested definition what it reads, but not what it binds."""
    for part in parts:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield part
            yield from (n for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        else:
            yield from ast.walk(part)


def _root(value: ast.expr) -> Iterator[str]:
    """What a chain of attributes and subscripts changes: its first variable; of an object's own parts the first."""
    attribute = ""
    while isinstance(value, (ast.Attribute, ast.Subscript, ast.Starred)):
        attribute = f".{value.attr}" if isinstance(value, ast.Attribute) else attribute
        value = value.value
    if isinstance(value, ast.Name) and value.id not in OWNER:
        yield value.id
    elif attribute:
        yield attribute


def _called(function: ast.expr) -> Iterator[str]:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            yield name
        case _:
            pass
