"""What has to be there before the work begins: an import, a state that `__init__` sets, what the base class does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._source import Proposal, Site
from groundwire.agents.search.operators._base import Operator, insert
from groundwire.agents.search.operators._statements import is_docstring, line_region, own_line, siblings, simple_of

_HOME: Mapping[str, str] = {
    **dict.fromkeys(("defaultdict", "OrderedDict", "Counter", "deque", "namedtuple", "ChainMap"), "collections"),
    **dict.fromkeys(("partial", "reduce", "wraps", "lru_cache", "cached_property", "total_ordering"), "functools"),
    **dict.fromkeys(("chain", "islice", "zip_longest", "groupby", "product", "count", "repeat"), "itertools"),
    **dict.fromkeys(("contextmanager", "suppress", "ExitStack"), "contextlib"),
    **dict.fromkeys(("datetime", "date", "timedelta", "timezone"), "datetime"),
    **dict.fromkeys(("Mapping", "Sequence", "Iterable", "Iterator", "MutableMapping", "Callable"), "collections.abc"),
    **dict.fromkeys(("Any", "Optional", "Union", "cast"), "typing"),
    **dict.fromkeys(("deepcopy",), "copy"), **dict.fromkeys(("itemgetter", "attrgetter"), "operator"),
    "Path": "pathlib", "Decimal": "decimal", "Fraction": "fractions", "StringIO": "io", "BytesIO": "io", "Enum": "enum",
    "dataclass": "dataclasses", "field": "dataclasses", "sqrt": "math", "ceil": "math", "floor": "math",
}  # fmt: skip
"""Name → the module of Python's own library that it comes from."""
_PLAIN = ("None", "[]", "{}", "0", "False", "''", "True", "set()")
MAX_LACKING = 3


def _import(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`import json` at the head of the file, where a function reads a name that nothing binds."""
    node = site.node
    if not isinstance(node, cst.Name) or site.slot in ("attr", "keyword") or site not in scene.source.evaluated:
        return
    name = node.value
    if name not in scene.unbound(site.function):
        return
    offset, newline = _head(scene), scene.source.newline
    if name in _HOME:
        yield insert("import.add", offset, f"from {_HOME[name]} import {name}{newline}")
    if name in sys.stdlib_module_names:
        yield insert("import.add", offset, f"import {name}{newline}")


def _head(scene: EditContext) -> int:
    """The first byte of the line where imports may stand: behind the docstring and what comes from `__future__`."""
    offset = 0
    for statement in (s for s in scene.source.root.children if s.is_statement):
        match simple_of(statement):
            case cst.ImportFrom(module=cst.Name(value="__future__")):
                pass
            case _ if not is_docstring(statement):
                return scene.source.line_start(scene.source.first_line(statement))
            case _:
                pass
        offset = line_region(statement, scene)[1]
    return offset


def _method(site: Site, scene: EditContext) -> tuple[Site, Site, cst.FunctionDef] | None:
    """The class and the method in whose body a statement stands first or last."""
    function = site.function
    if function is None or site.parent is None or site.parent.parent is not function:
        return None
    owner = function.parent.parent if function.parent is not None else None
    if owner is None or not isinstance(owner.node, cst.ClassDef) or not scene.source.is_first_on_line(site):
        return None
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    has_self = bool(node.params.params) and node.params.params[0].name.value == "self"
    return (owner, function, node) if has_self else None


def _block(site: Site) -> list[Site]:
    return [s for s in siblings(site) if not is_docstring(s)]


def _state(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`self.seen = []` in `__init__`, for what the class reads of itself and nothing sets."""
    method = _method(site, scene)
    if method is None or method[2].name.value != "__init__" or _block(site)[-1:] != [site]:
        return
    owner, _, node = method
    attributes = (s.node for s in owner.walk() if scene.habits.lacks(s))
    lacking = list(dict.fromkeys(a.attr.value for a in attributes if isinstance(a, cst.Attribute)))
    given = [p.name.value for p in node.params.params[1:]]
    indent, newline = scene.source.indent(site), scene.source.newline
    _, end = line_region(site, scene)
    for name in lacking[:MAX_LACKING]:
        same = [p for p in given if p.strip("_") == name.strip("_")]
        for position, value in enumerate((*same, *_PLAIN, *(p for p in given if p not in same))):
            line = own_line(end, f"{indent}self.{name} = {value}{newline}", scene)
            yield insert("stmt.state", end, line, 0.85**position)


def _super(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`super().method(…)`, where a class has a base and its method does not ask it."""
    method = _method(site, scene)
    block = _block(site)
    if method is None or not block or site not in (block[0], block[-1]):
        return
    owner, function, node = method
    assert isinstance(owner.node, cst.ClassDef)
    if not owner.node.bases or "super(" in scene.source.text(function):
        return
    name, params = node.name.value, node.params
    passed = [p.name.value for p in params.params[1:]]
    passed += [f"{p.name.value}={p.name.value}" for p in params.kwonly_params]
    passed += [f"*{params.star_arg.name.value}"] if isinstance(params.star_arg, cst.Param) else []
    passed += [f"**{params.star_kwarg.name.value}"] if params.star_kwarg is not None else []
    start, end = line_region(site, scene)
    indent, newline = scene.source.indent(site), scene.source.newline
    ends = isinstance(simple_of(site), (cst.Return, cst.Raise))
    likely = 1.0 if name == "__init__" else 0.3
    for position, given in enumerate(dict.fromkeys((", ".join(passed), "", passed[0] if passed else ""))):
        line = f"{indent}super().{name}({given}){newline}"
        if site is block[0]:
            yield insert("super.call", start, line, likely * 0.7**position)
        if site is block[-1] and not ends:
            yield insert("super.call", end, own_line(end, line, scene), 0.6 * likely * 0.7**position)


_STATEMENTS = (cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With, cst.Try)
RULES = (
    Operator((cst.Name,), _import),
    Operator(_STATEMENTS, _state),
    Operator(_STATEMENTS, _super),
)
