"""The dependences inside one function, from what each statement reads, binds and changes.

Data dependences are reaching definitions over the control-flow graph (Aho, Sethi, Ullman, "Compilers", 1986, 10.5).
Control dependences are read off the nesting; a jump is a predicate for what follows it, after Ball and Horwitz,
"Slicing programs with arbitrary control-flow", AADEBUG 1993.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

# What a statement reads, binds, changes in place and calls.

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


# The dependences inside one function: which statements decide what another one reads, and whether it runs at all.

Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module
MAX_NODES = 3000
"""Statements of one function; larger ones are treated as if every definition reached every use."""


@dataclass(eq=False)
class Node:
    """A statement, or the head of a compound one; the first of a function stands for its parameters.

    Args:
        first: 1-based first line.
        last: last line.
        uses: names it reads, attributes with a leading dot.
        binds: names it gives a new value.
        touches: names whose value it may change in place, and attributes that it sets.
        calls: last names of the functions that it calls.
        result: True if the function's caller sees what it does: `return`, `yield`, `raise`.
        control: the nodes that decide whether it runs.
        data: the nodes that may have made what it reads.
    """

    first: int
    last: int
    uses: frozenset[str] = frozenset()
    binds: frozenset[str] = frozenset()
    touches: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    result: bool = False
    control: set[Node] = field(default_factory=set["Node"])
    data: set[Node] = field(default_factory=set["Node"])


@dataclass(frozen=True)
class Flow:
    """A function with its dependences.

    Args:
        name: the function's name; empty for a module.
        nodes: its nodes, the entry first.
    """

    name: str
    nodes: Sequence[Node]

    @property
    def entry(self) -> Node:
        """Binds the parameters."""
        return self.nodes[0]


def flow_of(scope: Scope) -> Flow:
    """The dependences of a function, or of a module's own statements."""
    return _Builder(isinstance(scope, ast.Module)).build(scope)


Jumps = dict[Node, frozenset[Node]]
"""Jump → it and what decides whether it runs: together they decide what follows it."""


@dataclass
class _Loop:
    head: Node
    breaks: set[Node] = field(default_factory=set[Node])
    continues: set[Node] = field(default_factory=set[Node])


@dataclass
class _Builder:
    is_module: bool
    nodes: list[Node] = field(default_factory=list[Node])
    before: dict[Node, set[Node]] = field(default_factory=dict[Node, set[Node]])
    loops: list[_Loop] = field(default_factory=list["_Loop"])
    """Those around, the innermost last."""

    def build(self, scope: Scope) -> Flow:
        parameters = frozenset[str]()
        if not isinstance(scope, ast.Module):
            arguments = scope.args
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
            parameters = frozenset(a.arg for a in every if a is not None)
        line = scope.body[0].lineno if isinstance(scope, ast.Module) and scope.body else getattr(scope, "lineno", 1)
        entry = self._add(Node(line, line, binds=parameters), set(), set())
        self._block(scope.body, {entry}, set())
        self._connect()
        return Flow("" if isinstance(scope, ast.Module) else scope.name, self.nodes)

    def _add(self, node: Node, before: set[Node], control: set[Node]) -> Node:
        self.nodes.append(node)
        self.before[node] = set(before)
        node.control |= control
        return node

    def _block(self, body: Iterable[ast.stmt], before: set[Node], control: set[Node]) -> tuple[set[Node], Jumps]:
        """Returns the nodes after which the block is left at its end, and the jumps that decide what follows it."""
        jumps: Jumps = {}
        for statement in body:
            before, more = self._statement(statement, before, control | _deciders(jumps))
            jumps |= more
        return before, jumps

    def _statement(self, statement: ast.stmt, before: set[Node], control: set[Node]) -> tuple[set[Node], Jumps]:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                return self._branches(self._head(statement, [test], before, control), [body, orelse], control)
            case ast.For(body=body, orelse=orelse) | ast.AsyncFor(body=body, orelse=orelse):
                head = self._head(statement, [statement.iter, statement.target], before, control)
                return self._loop(head, body, orelse, control)
            case ast.While(test=test, body=body, orelse=orelse):
                return self._loop(self._head(statement, [test], before, control), body, orelse, control)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                head = self._head(statement, items, before, control)
                return self._block(body, {head}, control)
            case ast.Try() | ast.TryStar():
                return self._try(statement, before, control)
            case ast.Match():
                return self._match(statement, before, control)
            case _:
                return self._simple(statement, before, control)

    def _simple(self, statement: ast.stmt, before: set[Node], control: set[Node]) -> tuple[set[Node], Jumps]:
        node = self._head(statement, self._parts(statement), before, control)
        match statement:
            case ast.Return() | ast.Raise():
                node.result = True
                return set(), {node: frozenset({node, *control})}
            case ast.Break() if self.loops:
                self.loops[-1].breaks.add(node)
                return set(), {node: frozenset({node, *control})}
            case ast.Continue() if self.loops:
                self.loops[-1].continues.add(node)
                return set(), {node: frozenset({node, *control})}
            case ast.Assert():
                return {node}, {node: frozenset({node, *control})}
            case _:
                node.result = any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(statement))
                return {node}, {}

    def _parts(self, statement: ast.stmt) -> Sequence[ast.AST]:
        """What a statement reads at once: the body of a module's function is read where that is called."""
        if self.is_module and isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            made = ast.Name(statement.name, ast.Store())
            return [
                made,
                *statement.decorator_list,
                *statement.args.defaults,
                *(d for d in statement.args.kw_defaults if d),
            ]
        return [statement]

    def _head(self, statement: ast.stmt, parts: Sequence[ast.AST], before: set[Node], control: set[Node]) -> Node:
        body: object = getattr(statement, "body", None)
        inner = body[0].lineno - 1 if isinstance(body, list) and body and isinstance(body[0], ast.stmt) else 0
        last = max(statement.lineno, inner) if inner else statement.end_lineno or statement.lineno
        names = names_in(parts)
        node = Node(statement.lineno, last, *names)
        return self._add(node, before, control)

    def _branches(
        self, head: Node, bodies: Iterable[Sequence[ast.stmt]], control: set[Node]
    ) -> tuple[set[Node], Jumps]:
        after: set[Node] = set()
        jumps: Jumps = {}
        for body in bodies:
            ends, more = self._block(body, {head}, control | {head})
            after |= ends
            jumps |= more
        return after, jumps

    def _match(self, statement: ast.Match, before: set[Node], control: set[Node]) -> tuple[set[Node], Jumps]:
        line = statement.subject.end_lineno or statement.lineno
        head = self._add(Node(statement.lineno, line, *names_in([statement.subject])), before, control)
        after: set[Node] = {head}
        jumps: Jumps = {}
        for case in statement.cases:
            parts = [case.pattern, *([case.guard] if case.guard else [])]
            last = case.guard.end_lineno if case.guard else case.pattern.end_lineno
            node = Node(case.pattern.lineno, last or case.pattern.lineno, *names_in(parts))
            chosen = self._add(node, {head}, control | {head})
            ends, more = self._block(case.body, {chosen}, control | {head, chosen})
            after |= ends
            jumps |= more
        return after, jumps

    def _loop(
        self, head: Node, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], control: set[Node]
    ) -> tuple[set[Node], Jumps]:
        self.loops.append(_Loop(head))
        ends, jumps = self._block(body, {head}, control | {head})
        loop = self.loops.pop()
        self.before[head] |= ends | loop.continues
        head.control |= _deciders(jumps)
        after, more = self._block(orelse, {head}, control | {head})
        # what only leaves the loop, or goes on with it, decides nothing behind it
        ended = loop.breaks | loop.continues
        return after | loop.breaks, {jump: why for jump, why in jumps.items() if jump not in ended} | more

    def _try(self, statement: ast.Try | ast.TryStar, before: set[Node], control: set[Node]) -> tuple[set[Node], Jumps]:
        start = len(self.nodes)
        ends, jumps = self._block(statement.body, before, control)
        tried = set(self.nodes[start:])
        ends, more = self._block(statement.orelse, ends, control | _deciders(jumps))
        jumps |= more
        for handler in statement.handlers:
            names = names_in([handler.type] if handler.type else [])
            bound = frozenset({handler.name}) if handler.name else frozenset[str]()
            node = Node(handler.lineno, handler.lineno, names[0], bound, *names[2:])
            head = self._add(node, tried | before, control | tried)
            after, more = self._block(handler.body, {head}, control | {head})
            ends |= after
            jumps |= more
        after, more = self._block(statement.finalbody, ends or tried or before, control)
        return (after if statement.finalbody else ends), jumps | more

    def _connect(self) -> None:
        """Reaching definitions: the data dependences."""
        makers = {node: node.binds | node.touches for node in self.nodes}
        if len(self.nodes) > MAX_NODES:
            for node in self.nodes:
                node.data |= {m for m in self.nodes if makers[m] & node.uses}
            return
        reach: dict[Node, dict[str, frozenset[Node]]] = {node: {} for node in self.nodes}
        changed = True
        while changed:
            changed = False
            for node in self.nodes:
                arriving = _merged(reach[b] for b in self.before[node])
                node.data |= {m for name in node.uses for m in arriving.get(name, ())}
                leaving = dict(arriving)
                for name in node.touches:
                    leaving[name] = leaving.get(name, frozenset()) | {node}
                for name in node.binds:
                    leaving[name] = frozenset({node})
                if leaving != reach[node]:
                    reach[node] = leaving
                    changed = True


def _deciders(jumps: Jumps) -> set[Node]:
    return {node for why in jumps.values() for node in why}


def _merged(many: Iterable[dict[str, frozenset[Node]]]) -> dict[str, frozenset[Node]]:
    found: dict[str, frozenset[Node]] = {}
    for one in many:
        for name, nodes in one.items():
            found[name] = found.get(name, frozenset()) | nodes
    return found
