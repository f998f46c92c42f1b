"""What is done where a value is not there: look-ups with a default, fallbacks, guards for None, errors caught."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import base
from groundwire.agents.search._precedence import ATOM, COMPARISON, NOT, OR, TERNARY, binding
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, insert, replace
from groundwire.agents.search.operators._statements import (
    is_docstring,
    is_movable,
    line_region,
    own_line,
    reindented,
    siblings,
    simple_of,
    step,
)

_EMPTY = {"list": "[]", "dict": "{}", "str": "''", "int": "0", "float": "0.0", "bool": "False", "set": "set()"}
_PLAIN = ("None", "[]", "''", "0", "{}", "False")
_WORDS = ("True", "False", "None")
MAX_NAMES = 3
MAX_RETURNS = 4


def _empty(kind: str) -> tuple[str, ...]:
    """The empty value of a kind; those of all kinds where it is not known."""
    return (_EMPTY[kind],) if kind in _EMPTY else ("[]", "''", "{}", "0", "False")


def _look_up(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`d[k]` → `d.get(k)`, `d.get(k, [])`, and back."""
    holder, keys = site.child("value"), site.all("slice")
    key = keys[0].child("slice") if len(keys) == 1 else None
    index = key.child("value") if key is not None else None
    if holder is None or index is None or isinstance(index.node, (cst.Integer, cst.UnaryOperation)):
        return
    if base(scene.kind(holder)) not in ("dict", ""):
        return
    call = f"{scene.source.text(holder)}.get({scene.source.text(index)}"
    owner = site.parent
    if owner is not None and isinstance(owner.node, cst.AugAssign) and site.slot == "target":
        return
    yield replace("fallback.get", site, f"{call})", ATOM)
    names = [v.name for v in scene.visible(site) if v.name == "default"]
    for position, other in enumerate((*names, *_empty(base(scene.wanted(site))), scene.source.text(index))):
        yield replace("fallback.get", site, f"{call}, {other})", ATOM, 0.5 * 0.8**position)


def _get(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`d.get(k)` → `d[k]`, `d.get(k, [])`."""
    func, arguments = site.child("func"), site.all("args")
    if func is None or not isinstance(func.node, cst.Attribute) or func.node.attr.value != "get" or not arguments:
        return
    holder, key = func.child("value"), arguments[0].child("value")
    if holder is None or key is None or len(arguments) > 2:
        return
    yield replace("fallback.get", site, f"{scene.source.text(holder)}[{scene.source.text(key)}]", ATOM, 0.5)
    if len(arguments) == 1:
        names = [v.name for v in scene.visible(site) if v.name == "default"]
        for position, other in enumerate((*names, *_empty(""), scene.source.text(key))):
            yield insert("fallback.get", key.outer[1], f", {other}", 0.8**position)


def _count(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`d[k] += 1` → `d[k] = d.get(k, 0) + 1`."""
    target, value = site.child("target"), site.child("value")
    holder = target.child("value") if target is not None and isinstance(target.node, cst.Subscript) else None
    if target is None or holder is None or value is None or base(scene.kind(holder)) not in ("dict", ""):
        return
    if not isinstance(site.node, cst.AugAssign) or not isinstance(site.node.operator, cst.AddAssign):
        return
    text, key = scene.source.text(target), scene.source.data[holder.end + 1 : target.end - 1].decode()
    for position, empty in enumerate(_empty(base(scene.kind(value)))[:2] or ("0",)):
        line = f"{text} = {scene.source.text(holder)}.get({key}, {empty}) + {scene.source.text(value)}"
        yield Proposal("fallback.get", (Replacement(site.start, site.end, line),), 0.8**position)


def _attribute(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`x.name` → `getattr(x, 'name', None)`."""
    owner = site.child("value")
    if not isinstance(site.node, cst.Attribute) or owner is None or site.slot == "func":
        return
    if isinstance(site.parent and site.parent.node, (cst.Attribute, cst.Del)) or "\n" in scene.source.text(owner):
        return
    call = f"getattr({scene.source.text(owner)}, {site.node.attr.value!r}"
    for position, other in enumerate(("None", *_empty(base(scene.kind(site)))[:3])):
        yield replace("fallback.attribute", site, f"{call}, {other})", ATOM, 0.5**position)


def _is_given(site: Site) -> bool:
    """True for a whole value that is assigned, returned or passed on."""
    parent = site.parent.node if site.parent is not None else None
    return site.slot == "value" and isinstance(parent, (cst.Assign, cst.Return, cst.Arg, cst.AnnAssign))


def _either(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`x` → `x or []`, `x or y`; `f(x)` → `f(x) if x else None`."""
    node = site.node
    if not _is_given(site) or (isinstance(node, cst.Name) and node.value in _WORDS):
        return
    if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)) or "\n" in scene.source.text(site):
        return
    text, kind = scene.source.text(site), base(scene.kind(site))
    passed = 0.5 if isinstance(site.parent and site.parent.node, cst.Arg) else 1.0
    parameters = [v.name for v in scene.visible(site) if v.parameter and v.name != text]
    scope = set(scene.names(site.function)) - {v.name for v in scene.visible(site)}
    known = [other for other, names in scene.vocabulary.fallbacks if not names & scope and "\n" not in other]
    offers = dict.fromkeys((*known, *_empty(kind), "None", *parameters[:MAX_NAMES]))
    for position, other in enumerate(other for other in offers if other != text):
        yield replace("fallback.or", site, f"{text} or {other}", OR, passed * 0.85**position)
    for name in _asked(site, scene):
        for position, other in enumerate(dict.fromkeys(("None", *_empty(kind)[:2]))):
            for check, likely in ((name, 1.0), (f"{name} is not None", 0.9)):
                offer = f"{text} if {check} else {other}"
                yield replace("fallback.else", site, offer, TERNARY, passed * likely * 0.7**position)
    match node:
        case cst.Subscript(value=cst.Name(value=holder), slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
            if isinstance(index, cst.Integer) and index.value != "0":
                offer = f"{text} if len({holder}) > {index.value} else None"
                yield replace("fallback.else", site, offer, TERNARY, passed)
        case _:
            pass


def _divided(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`a / b` → `a / b if b else 0`: what is divided by may be nothing."""
    operator, right = site.child("operator"), site.child("right")
    if right is None or not isinstance(operator and operator.node, (cst.Divide, cst.FloorDivide, cst.Modulo)):
        return
    if not _is_given(site) or base(scene.kind(site)) == "str" or isinstance(right.node, cst.BaseNumber):
        return
    text, asked = scene.source.text(site), scene.source.text(right)
    for position, other in enumerate(("0", "0.0", "None")):
        if "\n" not in text:
            yield replace("fallback.else", site, f"{text} if {asked} else {other}", TERNARY, 0.7**position)


def _asked(site: Site, scene: EditContext) -> list[str]:
    """The variable or attribute that an expression begins with, or that it is given first; none for a plain name."""
    if isinstance(site.node, cst.Name):
        return []
    known = {v.name for v in scene.visible(site)}
    found = [
        scene.source.text(inner)
        for inner in site.walk()
        if inner is not site
        if (isinstance(inner.node, cst.Name) and inner.node.value in known and inner.slot not in ("attr", "keyword"))
        or (isinstance(inner.node, cst.Attribute) and inner.slot != "func" and scene.source.text(inner)[:5] == "self.")
    ]
    return list(dict.fromkeys(found))[:2]


def _none(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`if x is None: x = []` or `return` at the start of a function, and after `x = f()`."""
    function = site.function
    if function is None or not scene.source.is_first_on_line(site) or not isinstance(function.node, cst.FunctionDef):
        return
    block = [s for s in siblings(site) if not is_docstring(s)]
    start, end = line_region(site, scene)
    if block and block[0] is site and site.parent is not None and site.parent.parent is function:
        names = [v for v in scene.visible(site) if v.parameter]
        for position, variable in enumerate(reversed(names)):
            unset = any(p.name.value == variable.name and _is_none(p.default) for p in function.node.params.params)
            yield from _guards(variable.name, start, site, scene, 0.9**position * (1.0 if unset else 0.4))
    match simple_of(site):
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=cst.Call() | cst.Subscript()):
            yield from _guards(name, end, site, scene, 0.4)
        case _:
            pass


def _is_none(default: cst.BaseExpression | None) -> bool:
    return isinstance(default, cst.Name) and default.value == "None"


def _guards(name: str, offset: int, site: Site, scene: EditContext, weight: float) -> Iterator[Proposal]:
    indent, newline = scene.source.indent(site), scene.source.newline
    body = scene.source.text(site.function) if site.function is not None else ""
    returned = [
        scene.source.text(s)
        for s in scene.source.statements
        if s.function is site.function and isinstance(simple_of(s), cst.Return) and s.end - s.start < 40
    ]
    looped = any(isinstance(a.node, (cst.For, cst.While)) and a.function is site.function for a in site.above())
    ends = list(dict.fromkeys((*(("continue",) if looped else ()), "return None", *returned, f"return {name}")))
    own = [f"{name} = self.{name}"] if name in scene.vocabulary.usage.attributes.get("self", {}) else []
    own += [f"{name} = len({v.name})" for v in scene.visible(site) if v.parameter and v.name != name][:MAX_NAMES]
    sets = [*own, *(f"{name} = {value}" for value in ("[]", "{}", "''", "0"))]
    for check, likely in ((f"{name} is None", 1.0), (f"not {name}", 0.7)):
        if f"if {check}" in body:
            continue
        for position, line in enumerate((*ends[:MAX_RETURNS], *(sets if check.endswith("None") else ()))):
            text = f"{indent}if {check}:{newline}{indent}{step(scene)}{line}{newline}"
            yield insert("fallback.none", offset, own_line(offset, text, scene), weight * likely * 0.85**position)


def _fresh(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`def f(x=[])` → `def f(x=None)`, and `if x is None: x = []`: a default that all calls share."""
    body, declared = site.child("body"), site.child("params")
    if body is None or declared is None or not isinstance(body.node, cst.IndentedBlock):
        return
    block = [s for s in body.children if s.is_statement and not is_docstring(s)]
    if not block or not scene.source.is_first_on_line(block[0]):
        return
    start, indent = line_region(block[0], scene)[0], scene.source.indent(block[0])
    for parameter in declared.walk():
        default = parameter.child("default") if isinstance(parameter.node, cst.Param) else None
        if default is None or not isinstance(parameter.node, cst.Param):
            continue
        called = isinstance(default.node, cst.Call)
        if called or isinstance(default.node, (cst.List, cst.Dict, cst.Set)):
            name, newline = parameter.node.name.value, scene.source.newline
            value = f"{name} = {scene.source.text(default)}"
            guard = f"{indent}if {name} is None:{newline}{indent}{step(scene)}{value}{newline}"
            splices = (Replacement(*default.outer, "None"), Replacement(start, start, guard))
            yield Proposal("fallback.fresh", splices, 0.5 if called else 1.0)


def _caught(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`statement` → `try: statement` with an exception that it may raise, and what is done then."""
    small = simple_of(site)
    if site.function is None or not isinstance(small, (cst.Assign, cst.Return, cst.Expr)) or is_docstring(site):
        return
    if not is_movable(site, scene):
        return
    nodes = [s.node for s in site.walk()]
    called = {n.func.value for n in nodes if isinstance(n, cst.Call) and isinstance(n.func, cst.Name)}
    kinds = ["ValueError"] if called & {"int", "float"} else []
    kinds += ["KeyError", "IndexError"] if any(isinstance(n, cst.Subscript) for n in nodes) else []
    kinds += ["AttributeError"] if any(isinstance(n, cst.Attribute) for n in nodes) else []
    kinds += ["StopIteration"] if "next" in called else []
    kinds += ["ValueError", "TypeError"] if any(isinstance(n, cst.Call) for n in nodes) else []
    looped = any(isinstance(a.node, (cst.For, cst.While)) and a.function is site.function for a in site.above())
    ends = ["continue"] if looped else []
    ends += ["return None", "return False"]
    match small:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            ends.insert(0, f"{name} = None")
        case cst.Expr():
            ends.insert(0, "pass")
        case _:
            pass
    start, end = line_region(site, scene)
    indent, newline, inner = scene.source.indent(site), scene.source.newline, step(scene)
    for place, kind in enumerate(dict.fromkeys(kinds)):
        for position, line in enumerate(ends):
            text = f"{indent}try:{newline}{reindented(site, indent + inner, scene)}"
            text += f"{indent}except {kind}:{newline}{indent}{inner}{line}{newline}"
            yield Proposal("fallback.caught", (Replacement(start, end, text),), 0.8 ** (place + position))


def _for_none(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`if x` → `if x is not None`, `if not x` → `if x is None`, and back."""
    clause = site.slot == "test" or isinstance(site.parent and site.parent.node, cst.BooleanOperation)
    text, node = scene.source.text(site), site.node
    if not clause:
        return
    match node:
        case cst.Name(value=name) if name not in _WORDS:
            yield replace("cond.none", site, f"{text} is not None", COMPARISON)
        case cst.Attribute() | cst.Call() | cst.Subscript():
            yield replace("cond.none", site, f"{text} is not None", COMPARISON, 0.6)
        case cst.UnaryOperation(operator=cst.Not()):
            inner = site.child("expression")
            if inner is not None and isinstance(inner.node, (cst.Name, cst.Attribute, cst.Call)):
                yield replace("cond.none", site, f"{scene.source.text(inner)} is None", COMPARISON)
        case cst.Comparison(
            comparisons=[cst.ComparisonTarget(operator=operator, comparator=cst.Name(value="None"))]
        ) if isinstance(operator, (cst.Is, cst.IsNot)):
            left = site.child("left")
            if left is not None and isinstance(left.node, cst.BaseExpression) and binding(left.node) >= ATOM:
                plain = scene.source.text(left)
                negative = isinstance(operator, cst.Is)
                yield replace("cond.none", site, f"not {plain}" if negative else plain, NOT if negative else ATOM)
        case _:
            pass


RULES = (
    Operator((cst.Subscript,), _look_up),
    Operator((cst.Call,), _get),
    Operator((cst.AugAssign,), _count),
    Operator((cst.Attribute,), _attribute),
    Operator((cst.BaseExpression,), _either),
    Operator((cst.BinaryOperation,), _divided),
    Operator((cst.SimpleStatementLine, cst.If, cst.For, cst.While, cst.With, cst.Try), _none),
    Operator((cst.FunctionDef,), _fresh),
    Operator((cst.SimpleStatementLine,), _caught),
    Operator((cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.UnaryOperation, cst.Comparison), _for_none),
)
