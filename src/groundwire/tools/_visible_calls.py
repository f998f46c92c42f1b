"""Which calls the visible tests make, and calls like them: what a patch does on those shows more than the tests alone.

Arguments are read as far as they are literals, or names that the test binds to literals: once, or by `parametrize`.
Nothing is run.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from groundwire.core._tasks import Task

# Reads from the visible tests which of the project's functions they call, with what, and what they ask of the result.

MAX_FILE_BYTES = 1024 * 1024
MAX_CALLS = 200
ROWS = 20
"""Rows of one `parametrize` that are read."""
Values = Mapping[str, Any]
ArgumentKey = int | str
"""Position or name of an argument."""


@dataclass(frozen=True)
class CallInTest:
    """A call that a test makes.

    Args:
        path: the test file.
        imports: its import statements, which give the names a meaning.
        function: the last name of what is called.
        node: the call.
        values: what the test's names stand for.
    """

    path: str
    imports: tuple[str, ...]
    function: str
    node: ast.Call
    values: Values

    def arguments(self) -> dict[ArgumentKey, Any]:
        """The arguments whose values are known."""
        return dict(_arguments(self.node, self.values))

    def text(self, changed: Mapping[ArgumentKey, Any]) -> str:
        """The call as an expression of its own, with some arguments replaced.

        Raises:
            ValueError, RecursionError: a value can't be written down.
        """
        node = self.node
        args = [_literal(changed[i]) if i in changed else self._plain(a) for i, a in enumerate(node.args)]
        keywords = [
            ast.keyword(k.arg, _literal(changed[k.arg]) if k.arg in changed else self._plain(k.value))
            for k in node.keywords
            if k.arg is not None
        ]
        return ast.unparse(ast.fix_missing_locations(ast.Call(node.func, args, keywords)))

    def _plain(self, node: ast.expr) -> ast.expr:
        known, value = _value(node, self.values)
        return _literal(value) if known else node


@dataclass
class CallsInTests:
    """The calls of all test files.

    Args:
        own: names of the functions and classes that a candidate may edit.
        calls: those that can be made outside of their test.
        wanted: function → names of the types that its result is compared with.
    """

    own: frozenset[str]
    calls: list[CallInTest] = field(default_factory=list[CallInTest])
    wanted: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def read(self, path: str, tree: ast.Module) -> None:
        """Takes up a test file."""
        imports = _imports(tree.body)
        constants = dict(_bound(tree.body, {}))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                for row in _rows(node):
                    values = {**constants, **row}
                    values.update(_bound(node.body, values))
                    self._read_test(path, (*imports, *_imports(ast.walk(node))), node, values)

    def _read_test(self, path: str, imports: tuple[str, ...], test: ast.FunctionDef, values: Values) -> None:
        known = self.own | _imported(imports)
        for node in ast.walk(test):
            if isinstance(node, ast.Call) and len(self.calls) < MAX_CALLS:
                call = CallInTest(path, imports, _name(node.func), node, values)
                if call.function in self.own and _stands_alone(node, values, known) and call.arguments():
                    self.calls.append(call)
            for side, other in _compared(node):
                self._note_wanted(side, other, values)

    def _note_wanted(self, side: ast.expr, other: ast.expr, values: Values) -> None:
        if isinstance(side, ast.Call) and (function := _name(side.func)) in self.own:
            known, value = _value(other, values)
            if known:
                self.wanted.setdefault(function, set()).add(type(value).__name__)


def read_calls(task: Task) -> CallsInTests:
    """The calls of a task's visible test files; files that can't be parsed are left out."""
    found = CallsInTests(frozenset(_defined(task)))
    for path, content in sorted(task.tree.files.items()):
        tree = _parsed(content) if path.endswith(".py") and task.is_test(path) else None
        if tree is not None:
            found.read(path, tree)
    return found


def _defined(task: Task) -> Iterator[str]:
    for path, content in task.tree.files.items():
        tree = _parsed(content) if path.endswith(".py") and task.may_edit(path) else None
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                yield node.name


def _parsed(content: bytes) -> ast.Module | None:
    try:
        return ast.parse(content) if len(content) <= MAX_FILE_BYTES else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _imports(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    return tuple(ast.unparse(n) for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)))


def _imported(statements: Iterable[str]) -> frozenset[str]:
    nodes = [node for text in statements for node in ast.parse(text).body]
    names = [a.asname or a.name for n in nodes if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names]
    return frozenset(name.partition(".")[0] for name in names)


def _stands_alone(call: ast.Call, values: Values, known: frozenset[str]) -> bool:
    """True if the call means something outside of its test: it holds no name that only the test knows."""
    if any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    open_parts = [call.func, *(a for a in (*call.args, *(k.value for k in call.keywords)) if not _value(a, values)[0])]
    names = {n.id for part in open_parts for n in ast.walk(part) if isinstance(n, ast.Name)}
    return names <= known


def _rows(test: ast.FunctionDef) -> Iterator[dict[str, Any]]:
    """The values of the test's parameters, one row after the other; one empty row where it has none."""
    found = False
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(ast.Attribute(attr="parametrize"), [names, ast.List(rows) | ast.Tuple(rows), *_]):
                for bound in (_row(names, row) for row in rows[:ROWS]):
                    if bound:
                        found = True
                        yield bound
            case _:
                pass
    if not found:
        yield {}


def _row(names: ast.expr, row: ast.expr) -> dict[str, Any]:
    known, listed = _value(names, {})
    if isinstance(row, ast.Call) and row.args:  # pytest.param(…)
        row = row.args[0] if len(row.args) == 1 else ast.Tuple(row.args, ast.Load())
    given, value = _value(row, {})
    if not known or not given:
        return {}
    keys = [n.strip() for n in listed.split(",")] if isinstance(listed, str) else list(cast("Sequence[str]", listed))
    if len(keys) == 1:
        return {keys[0]: value}
    parts = cast("Sequence[Any]", value) if isinstance(value, (tuple, list)) else ()
    return dict(zip(keys, parts, strict=True)) if len(parts) == len(keys) else {}


def _bound(body: Iterable[ast.stmt], values: Values) -> Iterator[tuple[str, Any]]:
    """Names that are bound once, to literals."""
    statements = list(body)
    nodes = [node for statement in statements for node in ast.walk(statement)]
    stored = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=expression) if stored.count(name) == 1:
                known, value = _value(expression, values)
                if known:
                    yield name, value
            case _:
                pass


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _compared(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            yield from ((left, right), (right, left))
        case ast.Call(func=ast.Attribute(attr="assertEqual" | "assertEquals"), args=[left, right, *_]):
            yield from ((left, right), (right, left))
        case _:
            pass


def _arguments(call: ast.Call, values: Values) -> Iterator[tuple[ArgumentKey, Any]]:
    for place, argument in enumerate(call.args):
        known, value = _value(argument, values)
        if known:
            yield place, value
    for keyword in call.keywords:
        known, value = _value(keyword.value, values)
        if known and keyword.arg:
            yield keyword.arg, value


def _value(node: ast.expr, values: Values) -> tuple[bool, Any]:
    if isinstance(node, ast.Name) and node.id in values:
        return True, values[node.id]
    try:
        return True, ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False, None


def _literal(value: Any) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


# Values that are a little different from a given one, of the same type.

LETTERS = "abzAZ 01,.()"
DONOR_SHARE = 0.1
LARGE = 1e15


def mutated(value: Any, donors: Sequence[Any], source: random.Random) -> Any:
    """A changed copy; the value itself where nothing is known about its type.

    Args:
        value: what is changed.
        donors: values of which one of the same type may be taken instead.
        source: of chance.
    """
    kind = cast("type[Any]", type(value))
    change = _CHANGES.get(kind)
    if change is None:
        return value
    alike = [d for d in donors if type(d) is kind and d != value]
    if alike and source.random() < DONOR_SHARE:
        return copy.deepcopy(source.choice(alike))
    return change(value, donors, source)


def _bool(value: bool, _donors: Sequence[Any], _source: random.Random) -> bool:
    return not value


def _int(value: int, _donors: Sequence[Any], source: random.Random) -> int:
    near = [value + 1, value - 1, value + 2, 0, 1, 2, -value, value // 2, value + source.randint(3, 9)]
    return source.choice([*near, value * 2, source.randint(0, 20), source.randint(0, max(2, abs(value)))])


def _float(value: float, _donors: Sequence[Any], source: random.Random) -> float:
    if not abs(value) < LARGE:
        return 1.0  # beyond that, and with infinities, most changes are none
    near = [value + 1, value - 1, value + 0.5, 0.0, -value, value * 2, value / 2]
    return source.choice([*near, float(round(value)), round(source.uniform(-10, 10), 1)])


def _str(value: str, _donors: Sequence[Any], source: random.Random) -> str:
    if not value:
        return source.choice(("a", "A", "ab", " "))
    i, j = sorted(source.choices(range(len(value)), k=2))
    letter = source.choice((value[i], value[j], source.choice(LETTERS)))
    made = [
        value[:i] + value[i + 1 :], value[:i] + letter + value[i:], value[:i] + letter + value[i + 1 :],
        value[:i] + value[i] + value[i:], value[:j], value[i:], value[::-1], value + value, value.swapcase(),
        "".join(source.sample(value, len(value))), "",
    ]  # fmt: skip
    return source.choice(made)


def _list(value: Sequence[Any], donors: Sequence[Any], source: random.Random) -> list[Any]:
    items = copy.deepcopy(list(value))
    if not items:
        full = [cast("Sequence[Any]", d) for d in donors if isinstance(d, (list, tuple)) and d]
        return copy.deepcopy(list(source.choice(full)[:1])) if full else [1]
    i, j = sorted(source.choices(range(len(items)), k=2))
    match source.randrange(9):
        case 0:
            del items[i]
        case 1:
            items.insert(i, copy.deepcopy(items[j]))
        case 2:
            items[i] = mutated(items[i], donors, source)
        case 3:
            items.reverse()
        case 4:
            items[i], items[j] = items[j], items[i]
        case 5:
            items.insert(i, mutated(items[i], donors, source))
        case 6:
            items = [mutated(item, donors, source) if source.random() < 0.5 else item for item in items]
        case 7:
            items = items[: j + 1]
        case _:
            items = items[i:] if source.random() < 0.8 else []
    return items


def _tuple(value: tuple[Any, ...], donors: Sequence[Any], source: random.Random) -> tuple[Any, ...]:
    # a tuple's length tends to mean something
    items = list(value)
    if items:
        place = source.randrange(len(items))
        items[place] = mutated(items[place], donors, source)
    return tuple(items)


def _set(value: set[Any], donors: Sequence[Any], source: random.Random) -> set[Any]:
    return {item for item in _list(sorted(value, key=repr), donors, source) if _is_hashable(item)}


def _is_hashable(value: object) -> bool:
    try:
        hash(value)
    except TypeError:  # a tuple has a hash if all that it holds has one
        return False
    return True


def _dict(value: dict[Any, Any], donors: Sequence[Any], source: random.Random) -> dict[Any, Any]:
    items = copy.deepcopy(value)
    if items:
        key = source.choice(list(items))
        match source.randrange(3):
            case 0:
                del items[key]
            case 1:
                items[key] = mutated(items[key], donors, source)
            case _:
                items[mutated(key, donors, source)] = mutated(items[key], donors, source)
    return items


_CHANGES: Mapping[type, Callable[[Any, Sequence[Any], random.Random], Any]] = {
    bool: _bool, int: _int, float: _float, str: _str, list: _list, tuple: _tuple, set: _set, dict: _dict,
}  # fmt: skip

# Calls that are like those of the visible tests: what a patch does on them shows more than the tests alone.

MOST_PROBES = 100
MAX_CHARS = 600
TURNS = 6
"""Attempts for each probe that is wanted: some make what was made before."""
STEPS = (1, 1, 1, 2, 2, 3)
"""Changes to one call, one of these numbers by chance."""


@dataclass(frozen=True)
class UntestedCall:
    """A call that no test makes.

    Args:
        path: the test file that it was taken from.
        imports: that file's import statements, which give its names a meaning.
        call: an expression.
        wanted: names of the types of result that the tests ask of this function; empty where they don't tell.
    """

    path: str
    imports: tuple[str, ...]
    call: str
    wanted: frozenset[str] = frozenset()


def probes_of(task: Task, most: int = MOST_PROBES) -> tuple[UntestedCall, ...]:
    """The probes of a task, always the same for the same task: calls of its tests with arguments changed a little.

    Args:
        task: its visible tests are read, never run.
        most: how many at most.
    """
    read = read_calls(task)
    wanted = {name: frozenset(kinds) for name, kinds in read.wanted.items()}
    found: dict[str, UntestedCall] = {}
    known = {_text(call, {}) for call in read.calls}
    for call, text in _variations(read.calls, most):
        if len(found) >= most:
            break
        if text not in known and 0 < len(text) <= MAX_CHARS:
            found.setdefault(text, UntestedCall(call.path, call.imports, text, wanted.get(call.function, frozenset())))
    return tuple(found.values())


def _variations(calls: Sequence[CallInTest], most: int) -> Iterator[tuple[CallInTest, str]]:
    source = random.Random(0)
    donors = [value for call in calls for value in call.arguments().values()]
    for turn in range(TURNS * most if calls else 0):
        call = calls[turn % len(calls)]
        arguments = call.arguments()
        for _ in range(source.choice(STEPS)):
            place = source.choice(list(arguments))
            arguments[place] = mutated(arguments[place], donors, source)
        yield call, _text(call, arguments)


def _text(call: CallInTest, changed: dict[int | str, Any]) -> str:
    try:
        return call.text(changed)
    except (ValueError, RecursionError, MemoryError):
        return ""
