"""Plants small bugs in Python source: each the reverse of a kind of fix that people make, in published frequencies.

The frequencies are the counts (in thousands) of TSSB-3M's table of single-statement fixes (Richter and Wehrheim, MSR
2022), whose patterns extend those of ManySStuBs4J (Karampatsis and Sutton, MSR 2020) and PySStuBs (Kamienski et al.,
MSR 2021). The table leaves two large classes undivided: 740 thousand fixes of a single token that fit no pattern, and
1,150 thousand of a single statement. The first is divided here among what mutmut and cosmic-ray mutate in one token;
the second among edits of two tokens, a lost statement, a lost guard and a wrong local in an argument. How these two
are divided is ours, and so is every line of this module: it shares nothing with the operators of the search.
"""

from __future__ import annotations

import ast
import builtins
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["KINDS", "Plant", "Source", "plants"]

Span = tuple[int, int, str]
"""First byte, the byte after the last one, and what stands there afterwards."""
Function = ast.FunctionDef | ast.AsyncFunctionDef
_BLOCKS = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Plant:
    """A bug in a file.

    Args:
        kind: a key of `KINDS`.
        spans: what is replaced, in order, not overlapping.
        line: 1-based line of the first one.
        function: name of the function that it is in.
    """

    kind: str
    spans: tuple[Span, ...]
    line: int
    function: str

    def applied_to(self, data: bytes) -> bytes:
        """The file with the bug."""
        for start, end, text in reversed(self.spans):
            data = data[:start] + text.encode() + data[end:]
        return data


class Source:
    """A file, parsed; spans are in bytes.

    Args:
        data: the file.

    Raises:
        SyntaxError: it is no Python.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.tree = ast.parse(data)
        self._starts = [0]
        for line in data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self.functions = [n for n in ast.walk(self.tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
        self.attributes = sorted({n.attr for n in ast.walk(self.tree) if isinstance(n, ast.Attribute)})
        self.called = sorted({n.func.id for n in ast.walk(self.tree)
                              if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)})  # fmt: skip
        self.methods = sorted({n.func.attr for n in ast.walk(self.tree)
                               if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)})  # fmt: skip

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First byte and the byte after the last one; parentheses around an expression are not counted."""
        where: dict[str, int] = vars(node)
        return (
            self._starts[where["lineno"] - 1] + where["col_offset"],
            self._starts[where["end_lineno"] - 1] + where["end_col_offset"],
        )

    def lines(self, first: ast.stmt, last: ast.stmt | None = None) -> tuple[int, int]:
        """The whole lines of statements."""
        return self._starts[first.lineno - 1], self._starts[(last or first).end_lineno or first.lineno]

    def text(self, node: ast.AST) -> str:
        """The node's text."""
        start, end = self.span(node)
        return self.data[start:end].decode()

    def line(self, offset: int) -> int:
        """The 1-based line of a byte."""
        return bisect_right(self._starts, offset)

    def owns_lines(self, statement: ast.stmt) -> bool:
        """True if nothing else stands on the statement's lines."""
        start, end = self.span(statement)
        first, last = self.lines(statement)
        before, after = self.data[first:start].strip(), self.data[end:last].strip()
        return not before and (not after or after.startswith(b"#"))

    def put(self, node: ast.AST, text: str) -> Span:
        """Another text in a node's place."""
        return (*self.span(node), text)


Maker = Callable[[Source, Function], Iterator[tuple[Span, ...]]]


def _inside(function: Function) -> list[ast.AST]:
    """All nodes of a function's body, those of nested functions left out."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            waiting.extend(ast.iter_child_nodes(node))
    return [node for node in found if not isinstance(node, ast.JoinedStr)]


def _all(function: Function, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    formatted = {id(n) for f in ast.walk(function) if isinstance(f, ast.JoinedStr) for n in ast.walk(f)}
    return (n for n in _inside(function) if isinstance(n, kinds) and id(n) not in formatted)


def _locals(function: Function) -> list[str]:
    arguments = function.args
    found = dict.fromkeys(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
    for node in _inside(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
    return [name for name in found if name not in ("self", "cls", "_")]


def _loads(function: Function) -> list[ast.Name]:
    callees = {id(n.func) for n in _inside(function) if isinstance(n, ast.Call)}
    names = set(_locals(function))
    loads = (n for n in _all(function, ast.Name) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    return [n for n in loads if id(n) not in callees and n.id in names]


def _calls(function: Function) -> list[ast.Call]:
    return [n for n in _all(function, ast.Call) if isinstance(n, ast.Call)]


# the patterns of the table, each turned round


def _identifier(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _loads(function):
        yield from ((source.put(node, other),) for other in _locals(function) if other != node.id)


def _operand(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.BinOp, ast.Compare, ast.BoolOp):
        match node:
            case ast.BinOp(left=left, right=right):
                sides = [left, right]
            case ast.Compare(left=left, comparators=[right]):
                sides = [left, right]
            case ast.BoolOp(values=sides):
                pass
            case _:
                continue
        for side in sides:
            offers = [*_locals(function), "0", "1", "None"] if not isinstance(node, ast.BoolOp) else _locals(function)
            yield from ((source.put(side, text),) for text in offers if text != source.text(side))


def _drop_argument(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for call in _calls(function):
        parts: list[ast.AST] = [*call.args, *call.keywords]
        if any(isinstance(p, ast.GeneratorExp) for p in parts):
            continue
        yield from ((_without(source, parts, place),) for place in range(len(parts)))


def _without(source: Source, parts: Sequence[ast.AST], place: int) -> Span:
    start, end = source.span(parts[place])
    if place + 1 < len(parts):
        return (start, source.span(parts[place + 1])[0], "")
    return (source.span(parts[place - 1])[1], end, "") if place else (start, end, "")


_ALIKE = (
    ("min", "max"), ("any", "all"), ("sum", "len"), ("sorted", "list"), ("list", "tuple"), ("set", "list"),
    ("int", "float"), ("int", "str"), ("isinstance", "issubclass"), ("append", "extend"), ("startswith", "endswith"),
    ("lower", "upper"), ("strip", "rstrip"), ("strip", "lstrip"), ("find", "rfind"), ("split", "rsplit"),
    ("keys", "values"), ("items", "values"), ("get", "pop"), ("update", "setdefault"), ("add", "discard"),
    ("isdigit", "isalpha"), ("index", "find"), ("match", "search"), ("next", "iter"), ("getattr", "hasattr"),
)  # fmt: skip


def _function_name(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for call in _calls(function):
        match call.func:
            case ast.Name(id=name):
                others = [n for n in source.called if not hasattr(builtins, n)]
                start, end = source.span(call.func)
            case ast.Attribute(attr=name):
                others = source.methods
                _, end = source.span(call.func)
                start = end - len(name.encode())
            case _:
                continue
        alike = [b if a == name else a for a, b in _ALIKE if name in (a, b)]
        yield from (((start, end, other),) for other in (*alike, *alike, *others) if other != name)


def _take_function_away(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for call in _calls(function):
        if len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], (ast.Starred, ast.GeneratorExp)):
            inner = source.text(call.args[0])
            yield (source.put(call, f"({inner})" if " " in inner else inner),)


def _attribute(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    callees = {id(n.func) for n in _calls(function)}
    for node in _all(function, ast.Attribute):
        if isinstance(node, ast.Attribute) and id(node) not in callees:
            _, end = source.span(node)
            for other in source.attributes:
                if other != node.attr and other not in source.methods:
                    yield ((end - len(node.attr.encode()), end, other),)


def _numeric(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.Constant):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            for new in (value + 1, value - 1, value * 2, 0, 1, 2, 10):
                if new != value and new >= 0:
                    yield (source.put(node, repr(new)),)


def _tests(function: Function) -> Iterator[ast.expr]:
    for node in _inside(function):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test):
                yield test
            case ast.comprehension(ifs=ifs):
                yield from ifs
            case ast.Return(value=ast.BoolOp() as test):
                yield test
            case _:
                pass


def _clause(kind: type[ast.boolop]) -> Maker:
    def make(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
        for test in _tests(function):
            for node in ast.walk(test):
                if isinstance(node, ast.BoolOp) and isinstance(node.op, kind) and len(node.values) == 2:
                    yield from ((source.put(node, f"({source.text(value)})"),) for value in node.values)

    return make


def _take_method_away(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for call in _calls(function):
        if isinstance(call.func, ast.Attribute) and not isinstance(call.func.value, ast.Constant):
            yield (source.put(call, source.text(call.func.value)),)


def _drop_element(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.Tuple, ast.List, ast.Set):
        if isinstance(node, (ast.Tuple, ast.List, ast.Set)) and len(node.elts) > 1:
            store = isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Store)
            if not store and not (isinstance(node, ast.Tuple) and len(node.elts) == 2):
                yield from ((_without(source, node.elts, place),) for place in range(len(node.elts)))


def _add_argument(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for call in _calls(function):
        if call.args and not call.keywords and not isinstance(call.args[-1], (ast.Starred, ast.GeneratorExp)):
            _, end = source.span(call.args[-1])
            yield from (((end, end, f", {text}"),) for text in (*_locals(function)[:4], "1", "None"))


def _boolean(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            yield (source.put(node, str(not node.value)),)


def _take_attribute_away(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    callees = {id(n.func) for n in _calls(function)}
    for node in _all(function, ast.Attribute):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in callees:
            yield (source.put(node, source.text(node.value)),)


_SIGNS: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.And: "and", ast.Or: "or",
}  # fmt: skip
_OTHER_SIGNS: dict[str, tuple[str, ...]] = {
    "+": ("-", "*"), "-": ("+", "*"), "*": ("/", "+"), "/": ("*", "//"), "//": ("/", "%"), "%": ("//", "*"),
    "**": ("*",), "&": ("|",), "|": ("&",), "^": ("&",), "<<": (">>",), ">>": ("<<",),
    "==": ("!=", ">="), "!=": ("==",), "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"),
    "is": ("is not",), "is not": ("is",), "in": ("not in",), "not in": ("in",), "and": ("or",), "or": ("and",),
}  # fmt: skip


def _sign_between(source: Source, left: ast.AST, right: ast.AST, sign: str) -> tuple[int, int] | None:
    """Where an operator stands between two operands."""
    start, end = source.span(left)[1], source.span(right)[0]
    between = source.data[start:end]
    words = sign.split()
    place = between.find(words[0].encode())
    last = between.find(words[-1].encode(), place)
    if place < 0 or last < 0 or b"#" in between:
        return None
    return start + place, start + last + len(words[-1])


def _signs(source: Source, function: Function) -> Iterator[tuple[ast.AST, str, tuple[int, int]]]:
    for node in _all(function, ast.BinOp, ast.Compare, ast.BoolOp):
        match node:
            case ast.BinOp(left=left, right=right, op=op):
                pass
            case ast.Compare(left=left, comparators=[right], ops=[op]):
                pass
            case ast.BoolOp(values=[left, right], op=op):
                pass
            case _:
                continue
        sign = _SIGNS.get(type(op), "")
        place = _sign_between(source, left, right, sign) if sign else None
        if place:
            yield node, sign, place


def _operator(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for _, sign, place in _signs(source, function):
        yield from (((*place, other),) for other in _OTHER_SIGNS[sign])


def _caller(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for call in _calls(function):
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            receiver = call.func.value
            yield from ((source.put(receiver, other),) for other in _locals(function) if other != receiver.id)


def _keyword(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    names = sorted({k.arg for n in ast.walk(source.tree) if isinstance(n, ast.Call) for k in n.keywords if k.arg})
    for call in _calls(function):
        for keyword in call.keywords:
            if keyword.arg:
                start, _ = source.span(keyword)
                for other in names:
                    if other != keyword.arg:
                        yield ((start, start + len(keyword.arg.encode()), other),)


def _unary(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.UnaryOp):
        if isinstance(node, ast.UnaryOp):
            yield (source.put(node, f"({source.text(node.operand)})"),)
    for test in _tests(function):
        if not isinstance(test, ast.UnaryOp):
            yield (source.put(test, f"(not ({source.text(test)}))"),)
    for node in _all(function, ast.Constant):
        if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value:
            yield (source.put(node, f"(-{source.text(node)})"),)


def _swap_arguments(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for call in _calls(function):
        for first, second in zip(call.args, call.args[1:], strict=False):
            texts = source.text(first), source.text(second)
            if texts[0] != texts[1] and not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                yield (source.put(first, texts[1]), source.put(second, texts[0]))


def _constant_type(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.Constant):
        if isinstance(node, ast.Constant):
            match node.value:
                case None:
                    offers = ["0", "''", "False"]
                case bool():
                    offers = ["None", repr(int(node.value))]
                case int():
                    offers = [f"{float(node.value)}", f"'{node.value}'", "None"]
                case str() if not isinstance(getattr(node, "kind", None), str) and "\n" not in source.text(node):
                    offers = ["None", f"b{source.text(node)}"] if source.text(node)[0] in "'\"" else []
                case _:
                    offers = []
            yield from ((source.put(node, text),) for text in offers)


# one token, as mutmut and cosmic-ray change it


def _comparison(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node, sign, place in _signs(source, function):
        if isinstance(node, ast.Compare):
            yield from (((*place, other),) for other in _OTHER_SIGNS[sign])


def _arithmetic(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node, sign, place in _signs(source, function):
        if isinstance(node, ast.BinOp):
            yield from (((*place, other),) for other in _OTHER_SIGNS[sign])
    for node in _all(function, ast.AugAssign):
        if isinstance(node, ast.AugAssign):
            sign = _SIGNS.get(type(node.op), "")
            place = _sign_between(source, node.target, node.value, f"{sign}=") if sign else None
            if place:
                yield from (((*place, f"{other}="),) for other in _OTHER_SIGNS[sign])
                yield ((*place, "="),)


def _word(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node, sign, place in _signs(source, function):
        if isinstance(node, ast.BoolOp):
            yield from (((*place, other),) for other in _OTHER_SIGNS[sign])


def _string(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    documentation = {id(n.value) for n in _inside(function) if isinstance(n, ast.Expr)}
    for node in _all(function, ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            text = source.text(node)
            if text[0] in "'\"" and len(text) > 2 and text[:3] not in ('"""', "'''") and "\n" not in text:
                inner = text[1:-1]
                for new in (f"XX{inner}XX", inner.upper(), inner.lower(), inner[1:], inner[:-1]):
                    if new != inner and not new.endswith("\\"):
                        yield (source.put(node, f"{text[0]}{new}{text[0]}"),)


def _jump(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.Break, ast.Continue):
        yield (source.put(node, "continue" if isinstance(node, ast.Break) else "break"),)
        yield (source.put(node, "pass"),)


def _default(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in (*function.args.defaults, *function.args.kw_defaults):
        match node:
            case ast.Constant(value=bool()):
                offers = [str(not node.value)]
            case ast.Constant(value=int() as number):
                offers = [f"{number + 1}"]
            case ast.Constant(value=None):
                offers = ["0", "''"]
            case ast.Constant(value=str()):
                offers = ["'XX'"]
            case _:
                offers = []
        if node is not None:
            yield from ((source.put(node, text),) for text in offers)


_EXCEPTIONS = ("KeyError", "IndexError", "ValueError", "TypeError", "AttributeError", "StopIteration", "RuntimeError")


def _exception(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.ExceptHandler, ast.Raise):
        match node:
            case ast.ExceptHandler(type=ast.Name() as name):
                pass
            case ast.Raise(exc=ast.Call(func=ast.Name() as name)) | ast.Raise(exc=ast.Name() as name):
                pass
            case _:
                continue
        if name.id in _EXCEPTIONS:
            yield from ((source.put(name, other),) for other in _EXCEPTIONS if other != name.id)


def _subscript(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _all(function, ast.Subscript):
        if isinstance(node, ast.Subscript):
            match node.slice:
                case ast.Slice(lower=lower, upper=upper):
                    for bound in filter(None, (lower, upper)):
                        yield (source.put(bound, ""),)
                        yield (source.put(bound, f"{source.text(bound)} + 1"),)
                case ast.expr() as index if not isinstance(index, ast.Tuple):
                    yield (source.put(index, f"{source.text(index)} - 1"),)
                    yield (source.put(index, f"{source.text(index)}:"),)
                case _:
                    pass


_SINGLE_TOKENS: tuple[tuple[Maker, float], ...] = (
    (_comparison, 0.22), (_arithmetic, 0.14), (_word, 0.08), (_string, 0.18), (_numeric, 0.12), (_jump, 0.05),
    (_default, 0.06), (_exception, 0.05), (_subscript, 0.10),
)  # fmt: skip


# one statement


def _two_tokens(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """Two edits of one token each in one statement."""
    chance = random.Random(f"{function.name} {function.lineno} {len(source.data)}")
    makers = (_comparison, _arithmetic, _word, _string, _numeric, _identifier, _attribute, _boolean, _unary)
    by_line: dict[int, list[Span]] = {}
    for maker in makers:
        offered = list(maker(source, function))
        chance.shuffle(offered)
        for (span,) in (o for o in offered[:60] if len(o) == 1):
            by_line.setdefault(source.line(span[0]), []).append(span)
    for spans in by_line.values():
        chance.shuffle(spans)
        for first in spans[:4]:
            for second in spans[:8]:
                if first[1] < second[0]:
                    yield first, second


def _blocks(function: Function) -> Iterator[list[ast.stmt]]:
    for node in (function, *_inside(function)):
        for name in _BLOCKS:
            block: object = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _lost_statement(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for block in _blocks(function):
        for place, statement in enumerate(block):
            documentation = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            simple = isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Break))
            if simple and not documentation and source.owns_lines(statement):
                if len(block) > 1:
                    yield ((*source.lines(statement), ""),)
                elif place == 0:
                    yield (source.put(statement, "pass"),)


def _lost_guard(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """A guard goes: with what it did, where it left the block; else what it guarded stays."""
    for block in _blocks(function):
        for statement in block:
            if not isinstance(statement, ast.If) or statement.orelse or not source.owns_lines(statement):
                continue
            start, end = source.lines(statement)
            if source.data[source.span(statement)[0] :].startswith(b"elif"):
                continue
            if isinstance(statement.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)) and len(block) > 1:
                yield ((start, end, ""),)
            elif source.owns_lines(statement.body[0]):
                first, last = source.lines(statement.body[0], statement.body[-1])
                inner, outer = statement.body[0].col_offset, statement.col_offset
                body = source.data[first:last].decode().splitlines(keepends=True)
                moved = "".join(line[inner - outer :] if line[:inner].isspace() else line for line in body)
                yield ((start, end, moved),)


def _wrong_local(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    names = _locals(function)
    for call in _calls(function):
        for argument in (*call.args, *(k.value for k in call.keywords)):
            if isinstance(argument, ast.Name) and argument.id in names:
                yield from ((source.put(argument, other),) for other in names if other != argument.id)


def _wrong_target(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    names = _locals(function)
    for node in _all(function, ast.Assign, ast.AugAssign):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name):
                yield from ((source.put(target, other),) for other in names if other != target.id)


def _boundary(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """A boundary that is wrong twice: the comparison, and a term of one beside it."""
    for node, sign, place in _signs(source, function):
        if isinstance(node, ast.Compare) and sign in ("<", "<=", ">", ">="):
            right = node.comparators[0]
            _, end = source.span(right)
            term = " + 1" if sign in ("<", ">=") else " - 1"
            if not isinstance(right, (ast.BoolOp, ast.IfExp, ast.Lambda, ast.Compare)):
                yield (*place, _OTHER_SIGNS[sign][0]), (end, end, term)


KINDS: Mapping[str, tuple[Maker, float]] = {
    "identifier": (_identifier, 237), "operand": (_operand, 174), "more_arguments": (_drop_argument, 150),
    "function_name": (_function_name, 134), "add_function": (_take_function_away, 117), "attribute": (_attribute, 104),
    "numeric": (_numeric, 97), "more_specific_if": (_clause(ast.And), 68), "add_method": (_take_method_away, 60),
    "add_elements": (_drop_element, 57), "less_arguments": (_add_argument, 50), "boolean": (_boolean, 37),
    "add_attribute": (_take_attribute_away, 32), "operator": (_operator, 29), "caller": (_caller, 25),
    "less_specific_if": (_clause(ast.Or), 22), "keyword": (_keyword, 20), "unary": (_unary, 15),
    "swap_arguments": (_swap_arguments, 8), "constant_type": (_constant_type, 6),
    **{f"token{maker.__name__}": (maker, 740 * share) for maker, share in _SINGLE_TOKENS},
    "two_tokens": (_two_tokens, 1150 * 0.40), "lost_statement": (_lost_statement, 1150 * 0.16),
    "lost_guard": (_lost_guard, 1150 * 0.14), "wrong_local": (_wrong_local, 1150 * 0.14),
    "wrong_target": (_wrong_target, 1150 * 0.08), "boundary": (_boundary, 1150 * 0.08),
}  # fmt: skip
"""Kind → what makes it, and its weight."""


def plants(source: Source, kind: str) -> Iterator[Plant]:
    """All bugs of a kind in a file; some leave it as it was, or no program (see `is_change`).

    Args:
        source: the file.
        kind: a key of `KINDS`.
    """
    maker, _ = KINDS[kind]
    for function in source.functions:
        for made in maker(source, function):
            spans = tuple(sorted(made))
            yield Plant(kind, spans, source.line(spans[0][0]), function.name)


def is_change(source: Source, plant: Plant) -> bool:
    """True if the file with the bug compiles and is another program."""
    try:
        tree = ast.parse(plant.applied_to(source.data))
        compile(tree, "<planted>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return ast.dump(tree) != ast.dump(source.tree)
