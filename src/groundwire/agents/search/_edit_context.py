"""What can be named and borrowed at a place."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import libcst as cst

from groundwire.agents.search._examples import Examples
from groundwire.agents.search._habits import Habits
from groundwire.agents.search._kinds import RECEIVERS, UNKNOWN, annotation_kind, element, kind_of
from groundwire.agents.search._precedence import binding
from groundwire.agents.search._source import Site, SourceFile
from groundwire.agents.search._vocabulary import Vocabulary

# Which names a function or module binds, where, and what kind of value they hold as far as its text tells.


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
            case cst.AnnAssign(target=cst.Name(value=name), annotation=annotation, value=value):
                told = annotation_kind(annotation.annotation)
                yield name, told or (kind_of(value, names, calls) if value is not None else UNKNOWN)
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


# What can be named and borrowed at a place: variables in scope with their kinds, functions, other expressions.

MAX_DONOR_BYTES = 80
MAX_OWN_DONORS = 150
MAX_OTHER_DONORS = 80
MAX_UNBOUND = 3
"""A function that reads more names which nothing binds is given them in a way that the file does not show."""
_BUILTINS = frozenset((*dir(builtins), "__class__"))
_DEFINITIONS = (cst.FunctionDef, cst.ClassDef)


@dataclass(frozen=True, slots=True)
class DefinedFunction:
    """A function that the file defines."""

    name: str
    least: int
    most: int
    kind: str


class Fit(Enum):
    """Whether a call fits what the file defines under that name."""

    FITS = 0
    TOO_FEW = 1
    TOO_MANY = 2


@dataclass(frozen=True, slots=True)
class Donor:
    """An expression of the file that may be borrowed."""

    text: str
    level: int
    kind: str
    site: Site
    names: frozenset[str]


class EditContext:
    """A source with what its tests tell.

    Args:
        source: the file.
        examples: literals of the visible tests.
    """

    def __init__(self, source: SourceFile, examples: Examples) -> None:
        self.source = source
        self.examples = examples
        self._variables: dict[Site | None, list[Variable]] = {}
        self._visible: dict[Site, Sequence[Variable]] = {}
        self._kinds: dict[Site, str] = {}
        self._names: dict[Site | None, dict[str, str]] = {}
        self._donors: dict[Site | None, list[Donor]] = {}
        self._unread: dict[Site, Mapping[str, Variable]] = {}
        self._unbound: dict[Site, frozenset[str]] = {}
        self.vocabulary = Vocabulary(source, examples)
        self.habits = Habits(source)
        self.conditions: dict[tuple[Site | None, tuple[str, ...]], list[tuple[str, float]]] = {}
        """Conditions that could stand where these variables exist; filled by `operators.conditions`."""
        self.loose: dict[Site | None, list[tuple[Site, frozenset[str], frozenset[str]]]] = {}
        """By function: statements of other functions that may be borrowed, their names, and which of these are local
        there; filled by `operators.statements`."""

    def kind(self, site: Site) -> str:
        """The kind of the value at a site."""
        known = self._kinds.get(site)
        if known is None:
            known = kind_of(site.node, self.names(site.function), self.call_kinds)
            self._kinds[site] = known
        return known

    def wanted(self, site: Site) -> str:
        """The kind of value that the place asks for; that of the value there now, where nothing else is known."""
        if site.parent is not None and isinstance(site.parent.node, cst.Return) and site.function is not None:
            result = self.call_kinds.get(_function_name(site.function))
            if result:
                return result
        return self.kind(site)

    def names(self, function: Site | None) -> Mapping[str, str]:
        """Kinds of all variables of a function, enclosing functions and the module."""
        if function not in self._names:
            self._names[function] = {v.name: v.kind for v in reversed(self.variables(function))}
        return self._names[function]

    def visible(self, site: Site) -> Sequence[Variable]:
        """Variables that exist at a site: those bound before it, the nearest binding first."""
        if site not in self._visible:
            self._visible[site] = self._found_at(site)
        return self._visible[site]

    def _found_at(self, site: Site) -> list[Variable]:
        found = [v for v in self.variables(site.function) if v.start < site.start < v.until or v.parameter]
        loop = next((a for a in site.above() if isinstance(a.node, (cst.For, cst.While))), None)
        if loop is not None:
            late = (v for v in self.variables(site.function) if site.start <= v.start < loop.end and v not in found)
            found.extend(v for v in late if v.until > loop.end)
        comprehension = [v for v in self._comprehension_names(site) if all(v.name != f.name for f in found)]
        return comprehension + sorted(found, key=lambda v: (-v.start, v.name))

    def variables(self, function: Site | None) -> list[Variable]:
        """Variables of a function, then of what is around it."""
        if function not in self._variables:
            scope = function or self.source.root
            own = list(bindings(scope, self.examples))
            outer = self.variables(function.function) if function is not None else []
            taken = {v.name for v in own}
            self._variables[function] = own + [v for v in outer if v.name not in taken]
            self._kinds_from_bindings(function, scope)
        return self._variables[function]

    def unread(self, function: Site) -> Mapping[str, Variable]:
        """What a function binds and never reads, names with a `_` in front left out."""
        if function not in self._unread:
            evaluated = self.source.evaluated
            read = {s.node.value for s in function.walk() if isinstance(s.node, cst.Name) and s in evaluated}
            self._unread[function] = {
                v.name: v for v in bindings(function, self.examples) if v.name not in read and v.name[:1] != "_"
            }
        return self._unread[function]

    def unbound(self, function: Site | None) -> frozenset[str]:
        """What a function reads and nothing binds: not itself, nor what is around it, the module or Python."""
        if function is None or self._module_names is None:
            return frozenset()
        if function not in self._unbound:
            evaluated = self.source.evaluated
            read = {s.node.value for s in function.walk() if isinstance(s.node, cst.Name) and s in evaluated}
            found = read - self._module_names - _BUILTINS
            for scope in (function, *(a for a in function.above() if isinstance(a.node, cst.FunctionDef))):
                inside = (s for s in scope.walk() if s.parent is not scope or s.slot != "name")
                found -= {s.node.value for s in inside if isinstance(s.node, cst.Name) and self._binds(s)}
            strange = len(found) > MAX_UNBOUND or any(isinstance(s.node, cst.Match) for s in function.walk())
            self._unbound[function] = frozenset() if strange else frozenset(found)
        return self._unbound[function]

    def _binds(self, name: Site) -> bool:
        return name not in self.source.evaluated and name.slot not in ("attr", "keyword")

    @cached_property
    def _module_names(self) -> frozenset[str] | None:
        """What the module binds outside of functions and classes; None where its text does not show all of that."""
        if any(isinstance(s.node, cst.ImportStar) for s in self.source.sites) or b"globals()" in self.source.data:
            return None
        found: set[str] = {"__file__", "__name__", "__doc__", "__path__", "__package__", "__spec__", "__loader__"}
        for site in self.source.sites:
            if isinstance(site.node, cst.Name) and self._binds(site):
                defines = site.parent if isinstance(site.parent and site.parent.node, _DEFINITIONS) else None
                around = (defines or site).above()
                is_global = isinstance(site.parent and site.parent.node, cst.NameItem)
                if is_global or not any(isinstance(a.node, _DEFINITIONS) for a in around):
                    found.add(site.node.value)
        return frozenset(found)

    def _kinds_from_bindings(self, function: Site | None, scope: Site) -> None:
        # two rounds: what the first learns (`words = s.split()`) the second builds on (`for w in words`)
        for _ in range(2):
            known = {v.name: v.kind for v in self._variables[function]}
            learned: dict[str, str] = {}
            for name, kind in assigned_kinds(scope, known, self.call_kinds):
                # `best = None` says less than what is put there later
                if kind and learned.get(name, "none") == "none":
                    learned[name] = kind
            self._variables[function] = [
                v if v.kind else replace(v, kind=learned.get(v.name, UNKNOWN)) for v in self._variables[function]
            ]

    def _comprehension_names(self, site: Site) -> list[Variable]:
        found: list[Variable] = []
        inner = site
        for outer in site.above():
            if isinstance(outer.node, cst.BaseComp) and inner.slot != "for_in":
                found.extend(self._targets(outer))
            elif isinstance(outer.node, cst.CompFor) and inner.slot != "iter":
                comprehension = next((a for a in outer.above() if isinstance(a.node, cst.BaseComp)), None)
                found.extend(self._targets(comprehension) if comprehension else [])
            elif isinstance(outer.node, cst.Lambda) and inner.slot == "body":
                found.extend(
                    Variable(s.node.name.value, UNKNOWN, s.start, outer.end)
                    for s in outer.walk()
                    if isinstance(s.node, cst.Param)
                )
            inner = outer
        return list({v.name: v for v in found}.values())

    def _targets(self, comprehension: Site) -> Iterator[Variable]:
        for clause in comprehension.walk():
            target = clause.child("target")
            if isinstance(clause.node, cst.CompFor) and target is not None:
                kind = element(kind_of(clause.node.iter, self.names(comprehension.function), self.call_kinds))
                single = isinstance(target.node, cst.Name)
                for name in target.walk():
                    if isinstance(name.node, cst.Name):
                        found = kind if single else UNKNOWN
                        yield Variable(name.node.value, found, name.start, comprehension.end)

    @cached_property
    def callables(self) -> list[DefinedFunction]:
        """Functions that the file defines."""
        found: list[DefinedFunction] = []
        for site in self.source.functions:
            node = site.node
            assert isinstance(node, cst.FunctionDef)
            least = sum(p.default is None for p in node.params.params)
            kind = self.examples.results.get(node.name.value) or annotation_kind(
                node.returns.annotation if node.returns else None
            )
            found.append(DefinedFunction(node.name.value, least, len(node.params.params), kind))
        return found

    def fit_of(self, call: Site) -> Fit:
        """Whether a call gives the function that it names what that takes, as far as the file alone tells."""
        node = call.node
        if not isinstance(node, cst.Call) or any(a.star for a in node.args):
            return Fit.FITS
        match node.func:
            case cst.Name(value=name):
                bound = False
            case cst.Attribute(value=cst.Name(value="self" | "cls"), attr=cst.Name(value=name)):
                bound = True
            case _:
                return Fit.FITS
        given = sum(a.keyword is None for a in node.args)
        keywords = {a.keyword.value for a in node.args if a.keyword is not None}
        found = {_fit(params, given, keywords) for params in self._signatures.get((name, bound), ())}
        return found.pop() if len(found) == 1 else Fit.FITS

    @cached_property
    def _signatures(self) -> Mapping[tuple[str, bool], Sequence[cst.Parameters | None]]:
        """Name, and whether it is a method's → what all of that name take; None where a decorator or base decides."""
        found: dict[tuple[str, bool], list[cst.Parameters | None]] = {}
        for site in self.source.functions:
            node, owner = site.node, site.parent.parent if site.parent is not None else None
            assert isinstance(node, cst.FunctionDef)
            decorators = {d.decorator.value for d in node.decorators if isinstance(d.decorator, cst.Name)}
            known = len(decorators) == len(node.decorators) and decorators <= {"staticmethod", "classmethod"}
            method = owner is not None and isinstance(owner.node, cst.ClassDef)
            taken = _without_owner(node.params) if method and "staticmethod" not in decorators else node.params
            found.setdefault((node.name.value, method), []).append(taken if known else None)
            if owner is not None and isinstance(owner.node, cst.ClassDef) and node.name.value == "__init__":
                # a base, or a metaclass, may decide what making one takes
                plain = not owner.node.keywords and "__new__" not in self.source.text(owner)
                found.setdefault((owner.node.name.value, False), []).append(taken if known and plain else None)
        return found

    @cached_property
    def call_kinds(self) -> Mapping[str, str]:
        """Function name → kind it returns."""
        return {c.name: c.kind for c in self.callables if c.kind}

    def donors_at(self, site: Site) -> list[Donor]:
        """Expressions that may be borrowed for a site: those of its function, then some of the rest of the file."""
        known = self._donors.get(site.function)
        if known is None:
            own = [d for d in self.donors if d.site.function is site.function]
            rest = [d for d in self.donors if d.site.function is not site.function]
            known = self._donors[site.function] = own[:MAX_OWN_DONORS] + rest[:MAX_OTHER_DONORS]
        return known

    @cached_property
    def donors(self) -> list[Donor]:
        """Expressions of the file that may be borrowed, each text once, in the order of the text."""
        found: dict[str, Donor] = {}
        for site in self.source.expressions:
            node = site.node
            if site.end - site.start > MAX_DONOR_BYTES or not isinstance(node, cst.BaseExpression):
                continue
            if site.parent is not None and isinstance(site.parent.node, cst.Expr):
                continue
            text = self.source.text(site)
            if text not in found and "\n" not in text:
                names = frozenset(s.node.value for s in site.walk() if isinstance(s.node, cst.Name))
                found[text] = Donor(text, binding(node), self.kind(site), site, names)
        return list(found.values())


def _without_owner(params: cst.Parameters) -> cst.Parameters:
    """Without `self`."""
    if params.posonly_params:
        return params.with_changes(posonly_params=params.posonly_params[1:])
    return params.with_changes(params=params.params[1:])


def _fit(params: cst.Parameters | None, given: int, keywords: Set[str]) -> Fit:
    if params is None:
        return Fit.FITS
    places = [*params.posonly_params, *params.params]
    if given > len(places) and not isinstance(params.star_arg, cst.Param):
        return Fit.TOO_MANY
    asked = {p.name.value for p in (*places[given:], *params.kwonly_params) if p.default is None}
    return Fit.TOO_FEW if asked - keywords else Fit.FITS


def _function_name(function: Site) -> str:
    assert isinstance(function.node, cst.FunctionDef)
    return function.node.name.value
