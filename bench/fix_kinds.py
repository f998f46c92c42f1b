"""Which kinds of fix can the search make at all, and how early? No test is run: for machines that are never quiet.

    .venv/bin/python bench/fix_kinds.py [--each 5] [--seed 0] [--packages click jinja2] [--show]

Takes installed pure-Python packages, undoes fixes of some forty kinds in them (a guard for None goes, an argument, an
`else`, a call around a value, one of the exceptions that are caught, …) and counts the search's proposals up to the
one whose syntax tree is the original's. All lines of the function are blamed alike and nothing is known of the
failure, so places are later than where tests fail; they can be compared between kinds and between revisions.
`--show` names each bug. Kinds that `planting.py` has are taken from there; the rest is made here, and neither shares
code with the search.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import math
import random
import statistics
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bench_planted import bare
from planting import KINDS, Function, Plant, Source, Span, is_change

from groundwire.agents.search._blame import NOT_RUN, Blame
from groundwire.agents.search._candidates import Stream
from groundwire.agents.search._examples import read_examples
from groundwire.agents.search._source import apply
from groundwire.core import Tree

LOOKED_AT = ("click", "jinja2", "markdown", "requests", "pluggy", "simpy", "pathspec", "mergedeep")
"""Packages whose bugs were looked at while operators were written; with other ones the figures are blind."""
LEAST_BYTES, MOST_BYTES = 3_000, 40_000
MOST_LINES = 80

Maker = Callable[[Source, Function], Iterator[tuple[Span, ...]]]


def _nodes(function: Function) -> Iterator[ast.AST]:
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop(0)
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.JoinedStr)):
            waiting[:0] = ast.iter_child_nodes(node)


def _blocks(function: Function) -> Iterator[list[ast.stmt]]:
    for node in (function, *_nodes(function)):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def _dedented(source: Source, body: Sequence[ast.stmt], outer: ast.stmt) -> str:
    first, last = source.lines(body[0], body[-1])
    less = body[0].col_offset - outer.col_offset
    lines = source.data[first:last].decode().splitlines(keepends=True)
    return "".join(line[less:] if not line[:less].strip() else line for line in lines)


def _guards(about_none: bool) -> Maker:
    """`if x is None: return …` goes, or another guard that leaves the block."""

    def make(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
        for block in _blocks(function):
            for statement in block:
                if not isinstance(statement, ast.If) or statement.orelse or not source.owns_lines(statement):
                    continue
                if source.data[source.span(statement)[0] :].startswith(b"elif") or len(block) == 1:
                    continue
                said = "None" in source.text(statement.test) or isinstance(statement.test, (ast.Name, ast.UnaryOp))
                leaves = isinstance(statement.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
                if (leaves or about_none) and said == about_none and len(statement.body) == 1:
                    yield ((*source.lines(statement), ""),)

    return make


def _opened(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """`if c: f()` → `f()`: what was guarded stays."""
    for block in _blocks(function):
        for statement in block:
            if isinstance(statement, ast.If) and not statement.orelse and source.owns_lines(statement):
                inner, plain = statement.body, not source.data[source.span(statement)[0] :].startswith(b"elif")
                leaves = isinstance(inner[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
                if plain and not leaves and source.owns_lines(inner[0]):
                    yield ((*source.lines(statement), _dedented(source, inner, statement)),)


def _tried(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for block in _blocks(function):
        for statement in block:
            plain = isinstance(statement, ast.Try) and not statement.orelse and not statement.finalbody
            if isinstance(statement, ast.Try) and plain and len(statement.handlers) == 1:
                yield ((*source.lines(statement), _dedented(source, statement.body, statement)),)


def _else(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.If) and node.orelse and not isinstance(node.orelse[0], ast.If):
            start, end = source.lines(node.body[0], node.body[-1])[1], source.lines(node.orelse[-1])[1]
            yield ((start, end, ""),)


def _elif(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            branch = node.orelse[0]
            if source.data[source.span(branch)[0] :].startswith(b"elif") and len(branch.body) <= 2:
                yield ((source.lines(branch)[0], source.lines(branch.body[0], branch.body[-1])[1], ""),)


def _exceptions(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Tuple):
            for kept in node.type.elts:
                yield (source.put(node.type, source.text(kept)),)
        elif isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name):
            for other in ("KeyError", "ValueError", "TypeError", "IndexError", "AttributeError"):
                if other != node.type.id:
                    yield (source.put(node.type, other),)


def _classes(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """`isinstance(x, (A, B))` → `isinstance(x, A)`, and other tuples that are asked `in`, `startswith`."""
    for node in _nodes(function):
        match node:
            case ast.Call(args=[*_, ast.Tuple(elts=elements) as held]) if 1 < len(elements) < 5:
                pass
            case ast.Compare(comparators=[(ast.Tuple() | ast.List() | ast.Set()) as held]) if 1 < len(held.elts) < 5:
                for place in range(len(held.elts)):
                    kept = [source.text(e) for n, e in enumerate(held.elts) if n != place]
                    if len(kept) > 1:
                        open_, close = {"Tuple": "()", "List": "[]", "Set": "{}"}[type(held).__name__]
                        yield (source.put(held, f"{open_}{', '.join(kept)}{close}"),)
                continue
            case _:
                continue
        for kept in held.elts:
            yield (source.put(held, source.text(kept)),)


def _order(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for block in _blocks(function):
        for one, two in pairwise(block):
            simple = all(isinstance(s, (ast.Assign, ast.AugAssign, ast.Expr)) for s in (one, two))
            if simple and source.owns_lines(one) and source.owns_lines(two):
                first, second = source.lines(one), source.lines(two)
                if first[1] == second[0] and not isinstance(getattr(one, "value", None), ast.Constant):
                    texts = source.data[slice(*second)].decode(), source.data[slice(*first)].decode()
                    yield ((first[0], second[1], "".join(t if t[-1:] == "\n" else t + "\n" for t in texts)),)


def _not(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield (source.put(node, source.text(node.operand)),)


_IDENTITY: Mapping[type[ast.cmpop], str] = {ast.Is: "==", ast.IsNot: "!=", ast.Eq: "is", ast.NotEq: "is not"}


def _identity(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = source.text(node.left), source.text(node.comparators[0])
            swap = _IDENTITY.get(type(node.ops[0]))
            if swap and "\n" not in left + right:
                yield (source.put(node, f"{left} {swap} {right}"),)
            if isinstance(node.ops[0], (ast.Is, ast.IsNot)) and right == "None":
                # `if x is not None` → `if x`
                yield (source.put(node, left if isinstance(node.ops[0], ast.IsNot) else f"not {left}"),)


def _shared_default(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """`def f(x=None): if x is None: x = []` → `def f(x=[])`."""
    taken = function.args.args[len(function.args.args) - len(function.args.defaults) :]
    defaults = {a.arg: d for a, d in zip(taken, function.args.defaults, strict=True)}
    for statement in function.body:
        match statement:
            case ast.If(
                test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(value=None)]),
                body=[ast.Assign(targets=[ast.Name(id=same)], value=value)],
                orelse=[],
            ) if name == same and name in defaults and len(function.body) > 1:
                known = source.text(value)
                if "\n" not in known and not any(isinstance(n, ast.Name) for n in ast.walk(value)):
                    yield source.put(defaults[name], known), (*source.lines(statement), "")
            case _:
                pass


def _formatted(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """A field of an f-string, or a value of `%` and `format`, is another variable's, or goes."""
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    names += [n.id for n in _nodes(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for node in _nodes(function):
        if isinstance(node, ast.JoinedStr) and sys.version_info >= (3, 12):
            for value in node.values:
                if isinstance(value, ast.FormattedValue) and isinstance(value.value, ast.Name):
                    yield from ((source.put(value.value, n),) for n in names if n != value.value.id)
        elif isinstance(node, ast.JoinedStr) and "\n" not in source.text(node):
            start, text = source.span(node)[0], source.text(node)
            for value in node.values:
                if isinstance(value, ast.FormattedValue) and isinstance(value.value, ast.Name):
                    name = value.value.id
                    place = text.encode().find(f"{{{name}".encode()) + 1
                    if place:
                        ends = place + len(name)
                        yield from (((start + place, start + ends, n),) for n in names if n != name)
                        if text.encode()[ends : ends + 2] == b"!r":
                            yield ((start + ends, start + ends + 2, ""),)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.right, ast.Tuple):
            for one, two in pairwise(node.right.elts):
                yield source.put(one, source.text(two)), source.put(two, source.text(one))


def _twice(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """The same wrong name, attribute or constant at two places of a function."""
    known: dict[str, list[ast.AST]] = {}
    kinds: dict[str, list[str]] = {}
    for node in _nodes(function):
        if isinstance(node, (ast.Attribute, ast.Constant)) or (
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        ):
            text = source.text(node)
            if "\n" not in text and len(text) < 30 and not (isinstance(node, ast.Constant) and node.value is None):
                known.setdefault(text, []).append(node)
                kinds.setdefault(type(node).__name__ + type(getattr(node, "value", 0)).__name__, []).append(text)
    for text, nodes in known.items():
        if len(nodes) == 2:
            like = kinds[type(nodes[0]).__name__ + type(getattr(nodes[0], "value", 0)).__name__]
            for other in dict.fromkeys(t for t in like if t != text):
                yield tuple(source.put(node, other) for node in nodes)


def _get(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        match node:
            case ast.Call(func=ast.Attribute(value=held, attr="get"), args=[key, *_], keywords=[]):
                yield (source.put(node, f"{source.text(held)}[{source.text(key)}]"),)
            case ast.Call(func=ast.Name(id="getattr"), args=[held, ast.Constant(value=str(name)), _]):
                yield (source.put(node, f"{source.text(held)}.{name}"),)
            case _:
                pass


def _fallback(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    """`x = a or b` → `x = a`, `a if c else b` → `a`."""
    for node in _nodes(function):
        match node:
            case ast.Assign(value=value) | ast.Return(value=value) | ast.keyword(value=value):
                pass
            case _:
                continue
        if isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or) and len(value.values) == 2:
            yield (source.put(value, source.text(value.values[0])),)
        elif isinstance(value, ast.IfExp):
            yield (source.put(value, source.text(value.body)),)
            yield (source.put(value, source.text(value.orelse)),)


def _own(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                yield (source.put(node, name),)
            case _:
                pass


def _sliced(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield (source.put(node, source.text(node.value)),)


def _container(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    swaps = {"[]": ("{}", "()", "None"), "{}": ("[]", "None"), "()": ("[]",), "set()": ("[]", "{}"), '""': ("None",)}
    for node in _nodes(function):
        if isinstance(node, (ast.Assign, ast.Return, ast.AnnAssign)) and node.value is not None:
            yield from ((source.put(node.value, t),) for t in swaps.get(source.text(node.value), ()))


def _starred(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load):
            yield (source.put(node, source.text(node.value)),)
        elif isinstance(node, ast.Call) and any(k.arg is None for k in node.keywords):
            (*_, last) = node.keywords
            if last.arg is None and (node.args or len(node.keywords) > 1):
                before = [*node.args, *(k for k in node.keywords if k is not last)]
                start = max(source.span(b)[1] for b in before)
                yield ((start, source.span(last.value)[1], ""),)


def _term(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            for side in (node.left, node.right):
                yield (source.put(node, f"({source.text(side)})"),)


def _filter(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.comprehension) and len(node.ifs) == 1:
            yield ((source.span(node.iter)[1], source.span(node.ifs[0])[1], ""),)


def _return(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for block in _blocks(function):
        for statement in block:
            if isinstance(statement, ast.Return) and statement.value is not None and source.owns_lines(statement):
                yield (source.put(statement, source.text(statement.value)),)
                if len(block) > 1:
                    yield ((*source.lines(statement), ""),)


def _decorator(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for decorator in function.decorator_list:
        start = source.data.rfind(b"\n", 0, source.span(decorator)[0]) + 1
        end = source.data.find(b"\n", source.span(decorator)[1]) + 1
        if isinstance(decorator, ast.Name):
            yield ((start, end, ""),)


def _keyword(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
    for node in _nodes(function):
        if isinstance(node, ast.Call) and node.keywords and node.keywords[-1].arg:
            before = [*node.args, *node.keywords[:-1]]
            if before:
                yield ((max(source.span(b)[1] for b in before), source.span(node.keywords[-1])[1], ""),)


def _published(*names: str) -> Maker:
    def make(source: Source, function: Function) -> Iterator[tuple[Span, ...]]:
        for name in names:
            yield from KINDS[name][0](source, function)

    return make


FIXES: Mapping[str, Maker] = {
    "missing None guard": _guards(about_none=True), "missing guard": _guards(about_none=False),
    "missing condition": _opened, "missing clause": _published("more_specific_if", "less_specific_if"),
    "wrong comparison": _published("token_comparison"), "missing not": _not, "is or ==": _identity,
    "and or or": _published("token_word"), "wrong arithmetic": _published("token_arithmetic"),
    "missing term": _term, "off by one": _published("numeric", "token_subscript"),
    "boundary twice": KINDS["boundary"][0],
    "wrong variable": _published("identifier", "wrong_local"), "wrong target": _published("wrong_target"),
    "wrong attribute": _published("attribute"), "missing attribute": _published("add_attribute"), "missing self": _own,
    "wrong call": _published("function_name"), "wrong receiver": _published("caller"),
    "wrong text": _published("token_string"), "wrong flag": _published("boolean"),
    "wrong container": _container, "wrong type of constant": _published("constant_type"),
    "swapped arguments": _published("swap_arguments"), "missing argument": _published("more_arguments"),
    "argument too much": _published("less_arguments"), "missing keyword": _keyword,
    "wrong keyword": _published("keyword"), "missing star": _starred,
    "missing method call": _published("add_method"), "missing function call": _published("add_function"),
    "missing subscript": _sliced, "missing element": _published("add_elements"), "missing alternative": _classes,
    "wrong default": _published("token_default"), "shared default": _shared_default,
    "get": _get, "missing fallback": _fallback, "missing filter": _filter, "missing return": _return,
    "missing else": _else, "missing elif": _elif, "missing try": _tried, "exception too narrow": _exceptions,
    "wrong order": _order, "missing statement": _published("lost_statement"), "wrong jump": _published("token_jump"),
    "formatting": _formatted, "the same at two places": _twice, "two tokens": _published("two_tokens"),
    "missing decorator": _decorator,
}  # fmt: skip
"""Kind of fix → what undoes it."""


@dataclass(frozen=True)
class Bug:
    """A fix undone.

    Args:
        kind: of the fix.
        path: the file.
        source: without the bug.
        plant: the bug.
    """

    kind: str
    path: Path
    source: Source
    plant: Plant


def files_of(names: Sequence[str]) -> list[Path]:
    """The source files of installed packages, or of folders, those that are neither tiny nor huge; tests left out."""
    found: list[Path] = []
    for name in names:
        if "/" in name:
            folder = Path(name)
            found += [p for p in sorted(folder.rglob("*.py")) if "test" not in p.relative_to(folder).as_posix()]
            continue
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed in this environment.")
        origin = Path(spec.origin)
        found += sorted(origin.parent.rglob("*.py")) if origin.name == "__init__.py" else [origin]
    return [p for p in found if LEAST_BYTES <= p.stat().st_size <= MOST_BYTES and "test" not in p.name]


def drawn(paths: Sequence[Path], each: int, seed: int) -> Iterator[Bug]:
    """So many bugs of each kind, the same for the same files and seed."""
    chance = random.Random(seed)
    sources = {path: Source(path.read_bytes()) for path in paths}
    for kind, maker in FIXES.items():
        order = list(paths)
        chance.shuffle(order)
        made = 0
        for path in order:
            source = sources[path]
            short = [f for f in source.functions if (f.end_lineno or f.lineno) - f.lineno < MOST_LINES]
            offered = [(f, tuple(sorted(spans))) for f in short for spans in maker(source, f)]
            chance.shuffle(offered)
            for function, spans in offered[:6]:
                plant = Plant(kind, spans, source.line(spans[0][0]), function.name)
                if made < each and is_change(source, plant):
                    made += 1
                    yield Bug(kind, path, source, plant)
                    break
            if made == each:
                break


def place_of(bug: Bug, most: int) -> tuple[int | None, str]:
    """The place of the fix among different proposals, from 1, and its operator; None where it is not among them."""
    data = bug.plant.applied_to(bug.source.data)
    first, last = bug.plant.line, bug.source.line(bug.plant.spans[-1][0])
    around = [
        (n.lineno, n.end_lineno or n.lineno)
        for n in ast.walk(ast.parse(data))
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) and n.name == bug.plant.function
    ]
    low, high = min(around, key=lambda span: (max(span[0] - first, last - span[1], 0), span[1] - span[0]))
    blame = Blame({"it.py": dict.fromkeys(range(low, high + 1), 1.0)}, NOT_RUN, ("it.py",))
    stream = Stream(Tree({"it.py": data}), blame, read_examples([]), {}, 0)
    wanted, tree = bare(bug.source.data), ast.dump(bug.source.tree)
    seen: set[bytes] = set()
    index = 0
    while len(seen) < most and (edit := stream.at(index)) is not None:
        index += 1
        after = bare(apply(data, edit.proposal.splices))
        if after in seen:
            continue
        seen.add(after)
        if after == wanted:
            try:
                if ast.dump(ast.parse(apply(data, edit.proposal.splices))) == tree:
                    return len(seen), edit.name
            except SyntaxError:
                continue
    return None, ""


def main() -> int:
    """Prints a line a kind, the worst last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", default=list(LOOKED_AT), help="importable, or folders with a `/`")
    parser.add_argument("--kinds", nargs="+", choices=list(FIXES), default=list(FIXES), metavar="KIND")
    parser.add_argument("--each", type=int, default=5, help="bugs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=1500, help="proposals looked at for each bug")
    parser.add_argument("--show", action="store_true", help="each bug")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # an edit such as `1 is x` makes the compiler warn
    places: dict[str, list[int | None]] = {}
    for bug in drawn(files_of(options.packages), options.each, options.seed):
        if bug.kind not in options.kinds:
            continue
        place, name = place_of(bug, options.most)
        places.setdefault(bug.kind, []).append(place)
        if options.show:
            start, end, text = bug.plant.spans[0]
            was = " ".join(bug.source.data[start:end].decode().split())[:70]
            print(f"{place or '-':>5} {name:17} {bug.kind:24} {bug.path.name}:{bug.plant.line} {was!r} → "
                  f"{' '.join(text.split())[:60]!r}", flush=True)  # fmt: skip
    print(f"{'kind of fix':26}{'n':>3}{'in space':>10}{'first 50':>10}{'first 200':>11}{'first 1000':>12}{'median':>8}")
    order = sorted(places.items(), key=lambda item: -sum(p is not None for p in item[1]) / len(item[1]))
    for kind, some in [*order, ("all", [p for of in places.values() for p in of])]:
        within = [p for p in some if p]
        median = f"{statistics.median(p or math.inf for p in some):.0f}"
        firsts = "".join(f"{sum(p <= n for p in within):>{10 + (n > 50) + (n > 200)}}" for n in (50, 200, 1000))
        print(f"{kind:26}{len(some):>3}{len(within):>10}{firsts}{median if median != 'inf' else '-':>8}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
