"""Shapes of a patch that passes its visible tests and need not solve anything: it answers the tests' own inputs with
what they expect, looks at nothing that it is given, takes a check out, swallows whatever goes wrong, asks who calls it.

Anti-patterns of program repair (Tan, Yoshida, Prasad and Roychoudhury, FSE 2016), read off the sources: nothing is run.
A right patch may have such a shape as well, where the tests ask for no more than it writes out. So this is said of a
verified patch, and never decides a verdict.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import cast

from groundwire.core._candidates import Candidate
from groundwire.core._tasks import Task
from groundwire.tools._written_out import (
    ANSWERS,
    MAX_BYTES,
    MISSING,
    PAIR,
    PLAIN,
    Function,
    Literals,
    VisibleTests,
    answered,
    asked,
    entries,
    is_far,
    last_name,
    parsed,
    text_of,
    written,
    written_out,
)

SHOWN = 60
MAX_BRANCHES, MAX_ROWS = 500, 20
"""Of what is looked at: a patch may be made to keep its reader busy."""
BRANCHES = (ast.If, ast.IfExp, ast.BoolOp, ast.match_case, ast.Dict, ast.List, ast.Tuple)
EVERY = frozenset({"Exception", "BaseException"})
LOOKS_ROUND = frozenset(
    {"PYTEST_CURRENT_TEST", "_getframe", "currentframe", "get_objects", "get_referrers", "settrace"}
)
OF_TESTS = frozenset({"pytest", "_pytest", "unittest", "doctest"})


def anti_patterns(candidate: Candidate, task: Task, lines: Mapping[str, Set[int]]) -> tuple[str, ...]:
    """What of a patch its visible tests say too little about, a line each.

    Args:
        candidate: passes the visible tests.
        task: the task.
        lines: the 1-based lines of each Python file that it wrote.
    """
    tests = VisibleTests(task, _words(candidate, lines))
    found: list[str] = []
    for path, content in sorted(candidate.changes.items()):
        before, after = parsed(task.tree.files.get(path, b"")), parsed(content or b"")
        if not path.endswith(".py"):  # data that lies beside it
            before, after = _data(task.tree.files.get(path, b"")), _data(content or b"")
        if before is not None and after is not None:
            # what is nested too deep, or a number that is too long to write down
            with suppress(RecursionError, MemoryError, ValueError, OverflowError):
                found += _Patch(path, before, after, lines.get(path, frozenset({1})), tests).said
    return tuple(dict.fromkeys(found))


def _data(content: bytes) -> ast.Module:
    """Data as a program that holds nothing but its text."""
    return ast.Module([ast.Expr(ast.Constant(content[:MAX_BYTES].decode("utf-8", "replace"), lineno=1))], [])


def _words(candidate: Candidate, lines: Mapping[str, Set[int]]) -> frozenset[bytes]:
    """What tests that have to do with a patch most likely name, so that they are read first."""
    found: set[str] = set()
    for path, content in candidate.changes.items():
        tree = parsed(content or b"") if path.endswith(".py") else None
        if tree is not None:
            found.add(PurePosixPath(path).stem)
            defined = (node for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef))
            found |= {node.name for node in defined if not lines.get(path, frozenset()).isdisjoint(_lines(node))}
    return frozenset(word.encode() for word in found)


@dataclass(frozen=True)
class _Patch:
    """One file of a patch.

    Args:
        path: the file.
        before: what it was.
        after: what the patch made of it.
        lines: the lines that the patch wrote.
        tests: the visible tests.
    """

    path: str
    before: ast.Module
    after: ast.Module
    lines: Set[int]
    tests: VisibleTests

    @property
    def said(self) -> list[str]:
        found = [*self._changed_places(), *self._changed_functions()]
        return [f"{self.path}:{line} {said}" for line, said in sorted(found)]

    def _changed_places(self) -> Iterator[tuple[int, str]]:
        rows: list[ast.List | ast.Tuple] = []
        of_tables: set[ast.AST] = set()
        known, shapes = self._known_entries, self._known_shapes
        looked_at = 0
        for node in ast.walk(self.after):
            yield from self._answered_after(node)
            if self.lines.isdisjoint(_lines(node)):
                continue
            looked_at += isinstance(node, BRANCHES)
            if looked_at > MAX_BRANCHES:
                break
            line, table = min(_lines(node), default=0), entries(node)
            if isinstance(node, ast.List | ast.Tuple) and len(table) > PAIR:
                of_tables.update(node.elts)
            if any(self._is_by_heart(given, answers) for given, answers in answered(node)):
                yield line, f"answers an input of the tests with what they expect (`{_short(node)}`)"
            elif self._is_table(table, known):
                yield line, f"holds inputs of the tests with what they expect (`{_short(node)}`)"
            elif isinstance(node, ast.List | ast.Tuple) and isinstance(node.ctx, ast.Load) and node not in of_tables:
                if any(self._is_table(list(zip(row.elts, node.elts, strict=False)), known) for row in rows):
                    yield line, f"holds inputs of the tests, and what they expect (`{_short(node)}`)"
                rows = [*rows[-MAX_ROWS:], node]
            elif shape := _shape(node):
                if shapes[shape] <= 0:
                    said, name = shape
                    yield line, f"{said} (`{name or _short(node)}`)"
                shapes[shape] -= 1

    def _answered_after(self, node: ast.AST) -> Iterator[tuple[int, str]]:
        """`if x != 3: return x`, and what follows is for `3` alone."""
        body = cast("Sequence[ast.AST]", found) if isinstance(found := getattr(node, "body", None), list) else ()
        for place, part in enumerate(body[:-1]):
            leaves = isinstance(part, ast.If) and not part.orelse and isinstance(part.body[-1], ast.Return | ast.Raise)
            if leaves and not self.lines.isdisjoint(_lines(part)):
                test = cast("ast.If", part).test
                differs = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.NotEq | ast.NotIn)
                if differs and self._is_by_heart(asked(test), written_out(body[place + 1 :])):
                    said = f"answers an input of the tests with what they expect (`{_short(test)}`)"
                    yield getattr(part, "lineno", 0), said

    def _changed_functions(self) -> Iterator[tuple[int, str]]:
        for name, was, function in _pairs(self.before, self.after):
            called = function.name
            if ast.dump(was) == ast.dump(function) or called.startswith("__") or not self.tests.name(called):
                continue
            if not _is_abstract(function):
                if _ignores(function, was):
                    yield function.lineno, f"{name} looks at nothing that it is given"
                elif isinstance(_body(function)[0], ast.Raise) and not isinstance(_body(was)[0], ast.Raise):
                    yield function.lineno, f"{name} raises whatever it is given"
            gone = [e for e in _raised(was) - _raised(function) if e and not self.tests.name(called, e)]
            was_wrong = _raised(function) - _raised(was) or _answers_where_it_raised(function, was)
            if gone and not was_wrong and _decisions(function) <= _decisions(was):
                yield function.lineno, f"{name} no longer raises {', '.join(sorted(gone))}, which no test asks for"

    @property
    def _known_shapes(self) -> Counter[tuple[str, str] | None]:
        """Shapes that stood before where the patch wrote something, each with how often."""
        kept = (node for node in ast.walk(self.after) if self.lines.isdisjoint(_lines(node)))
        return Counter(map(_shape, ast.walk(self.before))) - Counter(map(_shape, kept))

    @property
    def _known_entries(self) -> frozenset[tuple[Literals | None, Literals | None]]:
        """What tables held before."""
        return frozenset((written(k), written(v)) for node in ast.walk(self.before) for k, v in entries(node))

    def _is_by_heart(self, given: Literals, answers: Literals | None, *, shown: bool = True) -> bool:
        if not given or not answers:
            return False
        if shown and not given <= PLAIN and all(map(is_far, given | answers)) and self.tests.hold(answers):
            return True  # by whatever it tells an input, what it says to it can come from nowhere else
        if not self.tests.pairs(given, answers, shown=shown):
            return False
        if answers <= ANSWERS:
            return any(is_far(value) for value in given)
        # what is missing has a default, and the first number is written as any program writes it
        return not given <= MISSING and not (given <= PLAIN and not any(map(is_far, answers)))

    def _is_table(
        self,
        entries: Sequence[tuple[ast.AST | None, ast.AST]],
        known: Set[tuple[Literals | None, Literals | None]],
    ) -> bool:
        """True where most of the entries of a table are new, and stand in the tests with what they are answered by."""
        found = 0
        for key, value in entries:
            given, answer = written(key), written(value.body if isinstance(value, ast.Lambda) else value)
            if given and answer and (given, answer) not in known:
                found += self._is_by_heart(given, answer, shown=False)
        return found > len(entries) / 2


def _lines(node: ast.AST) -> Set[int]:
    """The lines of a node; of a statement that holds others, those up to them."""
    if isinstance(node, ast.match_case):
        node = node.pattern
    first = getattr(node, "lineno", 0)
    last = getattr(node, "end_lineno", first) or first
    body: object = getattr(node, "body", None)
    if isinstance(node, ast.If | ast.ExceptHandler) and isinstance(body, list):
        last = max(_last_line(part) for part in node.body)
    return frozenset(range(first, last + 1)) if first else frozenset()


def _last_line(node: ast.AST) -> int:
    return getattr(node, "end_lineno", 0) or 0


def _short(node: ast.AST) -> str:
    """The first line of it; of a branch what it asks."""
    if isinstance(node, ast.If | ast.IfExp):
        node = node.test
    text = ast.unparse(node).strip().splitlines()[0].removesuffix(":")
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


# --- shapes


def _shape(node: ast.AST) -> tuple[str, str] | None:
    """What is said of a place that swallows whatever goes wrong, or finds out who runs it, and by which name."""
    if _swallows(node):
        return "swallows every exception", ""
    name = _looks_round(node)
    return ("looks at who runs it", name) if name else None


def _swallows(node: ast.AST) -> bool:
    """True for what lets any exception pass unnoticed."""
    if isinstance(node, ast.Call):
        return last_name(node.func) == "suppress" and any(map(_is_every, node.args))
    return isinstance(node, ast.ExceptHandler) and _is_every(node.type) and written_out(node.body) is not None


def _is_every(kind: ast.AST | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(_is_every, kind.elts))
    return kind is None or last_name(kind) in EVERY


def _looks_round(node: ast.AST) -> str:
    """The name by which a program finds out who runs it, if that is what it does here; else nothing."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
        names = [module] if module else [alias.name for alias in node.names]
        return next((name for name in names if name.partition(".")[0] in OF_TESTS), "")
    if isinstance(node, ast.Compare):  # "pytest" in sys.modules
        return next((str(w) for side in (node.left, *node.comparators) if (w := text_of(side)) in OF_TESTS), "")
    text = last_name(node) or text_of(node)
    return text if text in LOOKS_ROUND else ""


# --- functions


def _functions(tree: ast.AST, within: str = "") -> Iterator[tuple[str, Function]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield f"{within}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")


def _pairs(before: ast.Module, after: ast.Module) -> Iterator[tuple[str, Function, Function]]:
    """Each function and what it was; of several with one name (overloads, getter and setter) by their decorators."""
    was, found = _by_name(before), _by_name(after)
    for name, functions in found.items():
        old = was.get(name, [])
        if len(functions) == len(old) == 1:
            yield name, old[0], functions[0]
            continue
        rest = [([ast.dump(d) for d in one.decorator_list], one) for one in old]
        for function in functions:
            decorators = [ast.dump(d) for d in function.decorator_list]
            place = next((n for n, (known, _) in enumerate(rest) if known == decorators), None)
            if place is not None:
                yield name, rest.pop(place)[1], function


def _by_name(tree: ast.Module) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for name, function in _functions(tree):
        found.setdefault(name, []).append(function)
    return found


def _parameters(function: Function) -> set[str]:
    every = function.args
    named = [*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg]
    return {a.arg for a in named if a is not None and a.arg not in ("self", "cls") and not a.arg.startswith("_")}


def _body(function: Function) -> list[ast.stmt]:
    """The statements without what documents them."""
    rest = function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body
    return rest or function.body


def _read(body: Sequence[ast.stmt]) -> set[str]:
    return {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _ignores(function: Function, was: Function) -> bool:
    """True where a function no longer looks at what it is given; or did not before, and answers with a value now."""
    parameters, body = _parameters(function), _body(function)
    if not parameters & _parameters(was) or not parameters.isdisjoint(_read(body)):
        return False
    values = written_out(body)
    return not _parameters(was).isdisjoint(_read(_body(was))) or (values is not None and not values <= PLAIN)


def _is_abstract(function: Function) -> bool:
    first = _body(function)[0]
    return isinstance(first, ast.Raise) and first.exc is not None and _error(first.exc) == "NotImplementedError"


def _answers_where_it_raised(function: Function, was: Function) -> bool:
    """True where what led to an exception leads to an answer of its own: the exception was wrong."""
    if isinstance(_body(was)[0], ast.Raise):
        return True
    raised = {_asks(n) for n in _reached(was) if isinstance(n, ast.If) and isinstance(n.body[-1], ast.Raise)}
    answers = (n for n in _reached(function) if isinstance(n, ast.If) and isinstance(n.body[-1], ast.Return))
    otherwise = ast.dump(function.body[-1])
    return any(_asks(node) in raised and ast.dump(node.body[-1]) != otherwise for node in answers)


def _asks(node: ast.If) -> str:
    return ast.dump(node.test)


def _error(raised: ast.expr) -> str:
    return last_name(raised.func if isinstance(raised, ast.Call) else raised)


def _reached(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what lies below it, without what a constant condition keeps from running."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Constant) and not child.test.value):
            yield from _reached(child)


def _raised(function: Function) -> Counter[str]:
    """The exceptions that a function raises, by name; "" stands for those that it lets pass again."""
    found: Counter[str] = Counter()
    for node in _reached(function):
        if isinstance(node, ast.Raise):
            found[_error(node.exc) if node.exc is not None else ""] += 1
        elif isinstance(node, ast.Assert):
            found["AssertionError"] += 1
    return found


def _decisions(function: Function) -> Counter[str]:
    """What a function asks, calls and compares."""
    kinds = (ast.Compare, ast.BoolOp, ast.Call, ast.BinOp, ast.comprehension)
    return Counter(ast.dump(node) for node in _reached(function) if isinstance(node, kinds))
