"""Which side of a comparison is the expected one: the one that owes less to the code under test, read off the source.

Every name of a test module is ranked by what its value may come from. A comparison has an expected side where one side
ranks strictly below the other; the side that the candidate computed is never taken for it.
"""

# os.path on purpose: pathlib costs time to import, and tests like to fake it
# ruff: noqa: PTH118, PTH120, PTH123
# Python 3.9 knows no zip(strict=…)
# ruff: noqa: B905
from __future__ import annotations

import ast
import builtins
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

LITERAL, CLEAN, TOUCHED, UNKNOWN = 0, 1, 2, 3
"""Made of literals; of nothing of the project's; handed to the project, or read from where it may have written;
computed by the project, or nobody knows."""

MAX_ROUNDS = 6
SELF = "self."
IMPURE = frozenset({"open", "input", "eval", "exec", "globals", "locals", "vars", "compile", "print"})
RUNS = frozenset({"exec", "eval"})
READS = frozenset(
    {"read", "read_text", "read_bytes", "readline", "readlines", "getvalue", "stdout", "stderr", "getsource", "environ"}
)
KNOWN_FIXTURES = {"tmp_path": TOUCHED, "tmpdir": TOUCHED, "tmp_path_factory": TOUCHED}
CATCHES = frozenset(
    {"raises", "warns", "assertRaises", "assertRaisesRegex", "assertWarns", "assertWarnsRegex", "assertLogs",
     "catch_warnings", "redirect_stdout", "redirect_stderr", "capture_output"}
)  # fmt: skip
Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Ranks = dict[str, int]


class Modules:
    """What may be imported, and how far it owes anything to the code under test.

    Args:
        root: the work folder.
        fixed: Python files that a candidate may not edit, relative to it.
        editable: those that it may.
    """

    def __init__(self, root: str, fixed: Sequence[str], editable: Sequence[str]) -> None:
        self._root = root
        packages = {os.path.dirname(path) for path in (*fixed, *editable) if path.endswith("__init__.py")}
        self._editable = {name for path in editable for name in _names_of(path, packages)}
        self._fixed = {name: path for path in fixed for name in _names_of(path, packages)}
        self._known: Ranks = {}

    def rank(self, module: str, level: int, path: str) -> int:
        """Of what is imported from a module.

        Args:
            module: its name.
            level: how many dots go before it.
            path: the file that imports it.
        """
        if level:
            folders = path.split("/")[:-level]
            module = ".".join([*folders, module] if module else folders)
        if any(_within(module, name) or _within(name, module) for name in self._editable):
            return UNKNOWN
        file = self._fixed.get(module)
        return CLEAN if file is None else self._of_file(file)

    def _of_file(self, path: str) -> int:
        """A module of the tests' own owes to the project what it imports of it."""
        if path not in self._known:
            self._known[path] = CLEAN
            try:
                with open(os.path.join(self._root, path), "rb") as file:
                    tree = ast.parse(file.read())
            except (OSError, SyntaxError, ValueError, RecursionError):
                self._known[path] = UNKNOWN
            else:
                imports = (self.of_import(n, path) for n in ast.walk(tree))
                self._known[path] = max((rank for names in imports for rank in names.values()), default=CLEAN)
        return self._known[path]

    def of_import(self, node: ast.AST, path: str) -> Ranks:
        """The names that an import binds; nothing for any other statement."""
        if isinstance(node, ast.Import):
            return {a.asname or a.name.partition(".")[0]: self.rank(a.name, 0, path) for a in node.names}
        if not isinstance(node, ast.ImportFrom):
            return {}
        module = node.module or ""
        found: Ranks = {}
        for alias in node.names:
            inner = f"{module}.{alias.name}" if module else alias.name
            found[alias.asname or alias.name] = max(
                self.rank(module, node.level, path) if module or not node.level else CLEAN,
                self.rank(inner, node.level, path),
            )
        return found


def _names_of(path: str, packages: Iterable[str]) -> Iterator[str]:
    """The names under which a file may be imported: folders in front that are no packages may be left out."""
    parts = path[: -len(".py")].split("/")
    folders = parts[:-1]
    if parts[-1] == "__init__":
        parts = folders
        folders = parts[:-1]
    yield ".".join(parts)
    for left_out in range(1, len(folders) + 1):
        if "/".join(folders[:left_out]) in packages:
            return
        yield ".".join(parts[left_out:])


def _within(inner: str, outer: str) -> bool:
    return inner == outer or inner.startswith(f"{outer}.")


class Sides:
    """The ranks of everything in one test module.

    Args:
        tree: the module.
        path: its file, relative to the work folder.
        modules: what its imports are worth.
    """

    def __init__(self, tree: ast.Module, path: str, modules: Modules) -> None:
        self._path = path
        self._modules = modules
        self._module: Ranks = {}
        self._parameters: dict[tuple[str, str], int] = {}
        self._functions: list[tuple[Any, str]] = list(_functions(tree))
        self._by_name = {function.name: function for function, _ in self._functions}
        self._helpers = _only_called(tree) & set(self._by_name)
        self._scopes: dict[Any, Ranks] = {}
        self._classes: dict[str, Ranks] = {owner: {} for _, owner in self._functions}
        self._star = any(isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in ast.walk(tree))
        self._of_others = set(_modules_of_others(tree, modules, path))
        self._seed(tree)
        self._own: Ranks = {}
        self._rose = True
        for _ in range(MAX_ROUNDS):
            if self._rose:
                self._rose = False
                self._round(tree)

    @property
    def functions(self) -> list[tuple[Any, str]]:
        """The outermost functions and methods, each with the name of its class."""
        return self._functions

    def of(self, function: Any) -> Ranks:
        """The ranks of a function's names."""
        return self._scopes.get(function, {})

    def enter(self, owner: str) -> None:
        """From now on `self` is of this class; none: ""."""
        self._own = self._classes.get(owner, {})

    def _seed(self, tree: ast.Module) -> None:
        """Every name that is bound anywhere, at the lowest rank, so that the order of the source does not matter."""
        for node in tree.body:
            if isinstance(node, (*Function, ast.ClassDef)):
                self._module[node.name] = CLEAN
                known = self._classes.setdefault(node.name, {}) if isinstance(node, ast.ClassDef) else {}
                for part in node.body:
                    if not isinstance(part, Function):
                        known.update(dict.fromkeys(_all_bound(part), LITERAL))
            else:
                self._module.update(dict.fromkeys(_all_bound(node), LITERAL))
        for function, owner in self._functions:
            shared = {name for n in ast.walk(function) if isinstance(n, ast.Global) for name in n.names}
            self._scopes[function] = {}
            for name in _all_bound(function):
                if name.startswith(SELF):
                    self._classes[owner][name[len(SELF) :]] = LITERAL
                elif name not in shared:
                    self._scopes[function][name] = LITERAL
            if owner:
                self._classes[owner][function.name] = CLEAN

    # --- one round: ranks only rise, so that a few rounds settle them

    def _round(self, tree: ast.Module) -> None:
        outside = [node for node in tree.body if not isinstance(node, (*Function, ast.ClassDef))]
        for node in outside:
            self._bind(node, self._module)
            for part in ast.walk(node):
                if isinstance(part, ast.Call):
                    self._note_call(part, self._module)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                known = self._classes.setdefault(node.name, {})
                for part in node.body:
                    if not isinstance(part, Function):
                        self._bind(part, known)
                for base in node.bases:  # `self` in a method of the base may be one of these
                    above = self._classes.get(base.id, {}) if isinstance(base, ast.Name) else {}
                    for name in known.keys() & above.keys():
                        self._join(above, name, known[name])
                inherited = max((self.rank(base, self._module) for base in node.bases), default=LITERAL)
                self._join(self._module, node.name, max(CLEAN, inherited, *known.values()))
        for function, owner in self._functions:
            self._enter(function, owner)
            own = self._scopes[function]
            given_back = (n.value for n in ast.walk(function) if isinstance(n, (ast.Return, ast.Yield)) and n.value)
            worth = max((self.rank(value, own) for value in given_back), default=CLEAN)
            if owner:
                self._join(self._classes[owner], function.name, max(CLEAN, worth))
                if function.name != "__init__" and worth > CLEAN:
                    self._join(self._module, owner, TOUCHED)
            else:
                self._join(self._module, function.name, max(CLEAN, worth))

    def _enter(self, function: Any, owner: str) -> None:
        scope = self._scopes[function]
        self.enter(owner)
        self._bind_parameters(function, scope)
        for part in ast.walk(function):
            if part is not function and isinstance(part, (*Function, ast.Lambda)):
                for argument in _arguments(part):
                    self._join(scope, argument, UNKNOWN)
            elif isinstance(part, (ast.Import, ast.ImportFrom)):
                for name, rank in self._modules.of_import(part, self._path).items():
                    self._join(scope, name, rank)
        for part in ast.walk(function):
            self._bind_one(part, scope)
            if isinstance(part, ast.Call):
                self._note_call(part, scope)
        unchanging = _unchanging(function)
        for part in ast.walk(function):
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call):
                self._note_effect(part.value, scope, unchanging)

    def _bind_parameters(self, function: Any, scope: Ranks) -> None:
        given = _given_by_decorators(function)
        for name, default in _defaults(function):
            self._join(scope, name, self.rank(default, self._module))
        strategies = [d for d in function.decorator_list if "given" in _last_name(d)]
        is_test = function.name.startswith("test")
        for place, name in enumerate(_arguments(function)):
            if name in ("self", "cls") and place == 0:
                rank = UNKNOWN
            elif name in given:
                rank = self.rank(given[name], self._module)
            elif strategies:
                rank = max(CLEAN, *(self.rank(d, self._module) for d in strategies))
            elif is_test or function.name not in self._helpers:
                fixture = self._by_name.get(name)
                known = KNOWN_FIXTURES.get(name, UNKNOWN)
                rank = known if fixture is None else self._module.get(name, UNKNOWN)
            else:
                rank = self._parameters.get((function.name, name), LITERAL)
            self._join(scope, name, rank)

    def _bind(self, node: ast.AST, known: Ranks) -> None:
        for name, rank in self._modules.of_import(node, self._path).items():
            self._join(known, name, rank)
        for part in ast.walk(node):
            self._bind_one(part, known)

    def _bind_one(self, part: ast.AST, scope: Ranks) -> None:
        targets: list[Any] = []
        value: Any = None
        if isinstance(part, ast.Assign):
            targets, value = part.targets, part.value
        elif isinstance(part, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            targets, value = [part.target], part.value
        elif isinstance(part, (ast.For, ast.AsyncFor, ast.comprehension)):
            targets, value = [part.target], part.iter
        elif isinstance(part, ast.withitem) and part.optional_vars is not None:
            targets, value = [part.optional_vars], part.context_expr
            if _last_name(value) in CATCHES:  # what it catches is the project's
                for name in _bound(part.optional_vars):
                    self._join(scope, name, UNKNOWN)
        elif isinstance(part, (*Function, ast.ClassDef)) and part.name in scope:
            given_back = (n.value for n in ast.walk(part) if isinstance(n, (ast.Return, ast.Yield)) and n.value)
            self._join(scope, part.name, max((self.rank(value, scope) for value in given_back), default=CLEAN))
        elif isinstance(part, ast.ExceptHandler) and part.name:
            self._join(scope, part.name, UNKNOWN)
        if value is None:
            return
        rank = self.rank(value, scope)
        pairs = [(t, rank) for t in targets]
        unpacked = len(targets) == 1 and isinstance(targets[0], ast.Tuple) and isinstance(value, ast.Tuple)
        if unpacked and len(targets[0].elts) == len(value.elts):
            pairs = [(t, self.rank(v, scope)) for t, v in zip(targets[0].elts, value.elts)]
        if len(targets) == 1 and isinstance(targets[0], ast.Tuple):
            zipped = _zipped(value, len(targets[0].elts))
            pairs = [(t, self.rank(v, scope)) for t, v in zip(targets[0].elts, zipped)] or pairs
        for target, worth in pairs:
            for name in _bound(target):
                self._raise(scope, name, worth)

    def _note_call(self, call: ast.Call, scope: Ranks) -> None:
        """What a call may do to what it is given, and what that tells of the parameters of a helper of the module."""
        name = _last_name(call)
        inside = isinstance(call.func, ast.Name) or _is_own(call.func)
        helper = self._by_name.get(name) if inside else None
        if helper is not None:
            parameters = [a for a in _arguments(helper) if a not in ("self", "cls")]
            for parameter, argument in zip(parameters, call.args):
                self._give(name, parameter, self.rank(argument, scope))
            for keyword in call.keywords:
                self._give(name, keyword.arg or "", self.rank(keyword.value, scope))
        if name.startswith("assert"):
            return
        given = [*call.args, *(k.value for k in call.keywords)]
        runs = isinstance(call.func, ast.Name) and name in RUNS  # what it runs may put anything into its names
        if runs or self.rank(call.func, scope) == UNKNOWN:
            for argument in given:
                for touched in _loaded(argument):
                    self._raise(scope, touched, UNKNOWN if runs else TOUCHED)
        elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and given:
            if call.func.value.id in self._of_others:
                return
            # `seen.append(f(x))`: what goes in may come out
            self._raise(scope, call.func.value.id, max(self.rank(argument, scope) for argument in given))

    def _note_effect(self, call: ast.Call, scope: Ranks, unchanging: set[str]) -> None:
        """A call whose value nobody wants works by what it does to what it is given."""
        if self.rank(call.func, scope) == UNKNOWN and not _last_name(call).startswith("assert"):
            for argument in (*call.args, *(k.value for k in call.keywords)):
                for touched in _loaded(argument) - unchanging:
                    self._raise(scope, touched, UNKNOWN)

    def _raise(self, scope: Ranks, name: str, rank: int) -> None:
        """For names that may be of the module: what is done to one here counts wherever it is looked at."""
        if name.startswith(SELF):
            self._join(self._own, name[len(SELF) :], rank)
            return
        known = self._module if name in self._module and name not in scope else scope
        self._join(known, name, max(rank, self._of_name(name, scope)))

    def _join(self, known: Ranks, name: str, rank: int) -> None:
        before = known.get(name, -1)
        if rank > before:
            known[name] = rank
            self._rose = True

    def _give(self, function: str, parameter: str, rank: int) -> None:
        key = (function, parameter)
        if rank > self._parameters.get(key, -1):
            self._parameters[key] = rank
            self._rose = True

    # --- ranks

    def rank(self, node: ast.AST, scope: Ranks) -> int:
        """What an expression's value may come from: the worst of its parts."""
        if isinstance(node, ast.Name):
            return self._of_name(node.id, scope) if isinstance(node.ctx, ast.Load) else LITERAL
        if _is_own(node):
            return self._own.get(node.attr, UNKNOWN)  # type: ignore[attr-defined]
        worst = TOUCHED if isinstance(node, ast.Attribute) and node.attr in READS else LITERAL
        children = ast.iter_child_nodes(node)
        if isinstance(node, ast.Call) and node.args and _last_name(node) == "approx":
            children = iter((node.func, node.args[0]))  # how near is near enough says nothing of what is expected
        for child in children:
            worst = max(worst, self.rank(child, scope))
        return worst

    def _of_name(self, name: str, scope: Ranks) -> int:
        for known in (scope, self._module):
            if name in known:
                return known[name]
        if self._star or not hasattr(builtins, name):
            return CLEAN if name in ("__file__", "__name__") else UNKNOWN
        return TOUCHED if name in IMPURE else LITERAL


def _modules_of_others(tree: ast.Module, modules: Modules, path: str) -> Iterator[str]:
    """Names that stand for modules which owe nothing to the project: what is handed to one does not come out of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name for name, rank in modules.of_import(node, path).items() if rank == CLEAN)
        elif isinstance(node, ast.Assign) and _last_name(node.value) == "importorskip":
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _functions(tree: ast.Module) -> Iterator[tuple[Any, str]]:
    for node in tree.body:
        yield from _functions_of(node, "")


def _functions_of(node: Any, owner: str) -> Iterator[tuple[Any, str]]:
    if isinstance(node, Function):
        yield node, owner
    elif isinstance(node, ast.ClassDef):
        for part in node.body:
            yield from _functions_of(part, node.name)
    elif isinstance(node, (ast.If, ast.Try, ast.With)):
        for part in ast.iter_child_nodes(node):
            if isinstance(part, (*Function, ast.ClassDef)):
                yield from _functions_of(part, owner)


def _arguments(function: Any) -> list[str]:
    given = function.args
    rest = [a for a in (given.vararg, given.kwarg) if a is not None]
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs, *rest)]


def _defaults(function: Any) -> Iterator[tuple[str, Any]]:
    given = function.args
    placed = [a.arg for a in (*given.posonlyargs, *given.args)]
    yield from zip(placed[len(placed) - len(given.defaults) :], given.defaults)
    yield from ((a.arg, d) for a, d in zip(given.kwonlyargs, given.kw_defaults) if d is not None)


def _bound(target: Any) -> Iterator[str]:
    """The names that an assignment changes; of `a[i]` and `a.b` it is `a`, of `self.b` that."""
    if isinstance(target, ast.Name):
        yield target.id
    elif _is_own(target):
        yield f"{SELF}{target.attr}"
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _bound(part)
    elif isinstance(target, (ast.Attribute, ast.Subscript, ast.Starred)):
        yield from _bound(target.value)


def _zipped(node: Any, width: int) -> list[Any]:
    """The arguments of a `zip` of so many, each of which gives one of the names that are bound; else none."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "zip"
    args: list[Any] = list(getattr(node, "args", ())) if is_call else []
    return args if len(args) == width and not any(isinstance(arg, ast.Starred) for arg in args) else []


def _is_own(node: Any) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _loaded(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _last_name(node: Any) -> str:
    """`c` of `a.b.c(…)`."""
    while isinstance(node, ast.Call):
        node = node.func
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _given_by_decorators(function: Any) -> dict[str, Any]:
    """Parameter → the values that `parametrize` gives it."""
    found: dict[str, Any] = {}
    for decorator in function.decorator_list:
        if _last_name(decorator) == "parametrize" and isinstance(decorator, ast.Call) and len(decorator.args) > 1:
            names, values = decorator.args[0], decorator.args[1]
            if isinstance(names, ast.Constant):
                said = [name.strip() for name in str(names.value).split(",")]
            else:
                said = [str(getattr(n, "value", "")) for n in getattr(names, "elts", ())]
            columns = _columns(values, len(said))
            found.update(zip(said, columns or [values] * len(said)))
    return found


def _columns(values: Any, width: int) -> list[ast.AST]:
    """The values of each parameter by itself, where they are written out as rows; nothing where they are not."""
    if width < 2 or not isinstance(values, (ast.List, ast.Tuple)):
        return []
    rows: list[Any] = [row.args if isinstance(row, ast.Call) else getattr(row, "elts", ()) for row in values.elts]
    if any(len(row) != width for row in rows):
        return []
    return [ast.Tuple([row[i] for row in rows], ast.Load()) for i in range(width)]


def _only_called(tree: ast.Module) -> set[str]:
    """Functions of the module that are called by name and never handed on, so that all their callers can be seen."""
    called: set[str] = set()
    as_callee: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (isinstance(node.func, ast.Name) or _is_own(node.func)):
            called.add(_last_name(node))
            as_callee.add(id(node.func))
    handed_on = (n for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.Attribute)) and id(n) not in as_callee)
    return called - {_last_name(n) for n in handed_on}


def _all_bound(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id
        elif _is_own(part) and isinstance(part.ctx, ast.Store):  # type: ignore[attr-defined]
            yield f"{SELF}{part.attr}"  # type: ignore[attr-defined]
        elif part is not node and isinstance(part, (*Function, ast.ClassDef)):
            yield part.name


def _unchanging(function: ast.AST) -> set[str]:
    """Names that are only ever bound to numbers and texts written out: nobody can change what they stand for."""
    written: set[str] = set()
    others: set[str] = set()
    for part in ast.walk(function):
        if isinstance(part, ast.Assign):
            target = written if isinstance(part.value, ast.Constant) else others
            target.update(name for t in part.targets for name in _bound(t))
        elif isinstance(part, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.comprehension)):
            others.update(_bound(part.target))
        elif isinstance(part, ast.withitem) and part.optional_vars is not None:
            others.update(_bound(part.optional_vars))
    return written - others
