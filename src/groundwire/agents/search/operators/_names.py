"""Names: another variable in scope, another part of the same file."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import base, element, fit
from groundwire.agents.search._precedence import ATOM, SUM, binding
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, exchange, replace

_CONSTANT_NAMES = ("True", "False", "None")
MAX_BORROWED = 40


def _swap(site: Site, scene: EditContext) -> Iterator[Proposal]:
    node = site.node
    if not isinstance(node, cst.Name) or site.slot == "func" or node.value in _CONSTANT_NAMES:
        return
    kind = scene.kind(site)
    for position, variable in enumerate(v for v in scene.visible(site) if v.name != node.value):
        yield replace("name.swap", site, variable.name, ATOM, fit(kind, variable.kind) * 0.93**position)
    owner = _owner(site)
    if owner and owner != node.value and (site.slot == "value" or not kind):
        yield replace("name.swap", site, owner, ATOM, 0.5)


def _owner(site: Site) -> str:
    """`self` in a method."""
    function = site.function.node if site.function is not None else None
    first = function.params.params[:1] if isinstance(function, cst.FunctionDef) else ()
    return first[0].name.value if first and first[0].name.value in ("self", "cls") else ""


def _assigned(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`max_depth -= 1` where `depth -= 1` was meant: another variable is changed."""
    target = site.child("target")
    if target is None or not isinstance(target.node, cst.Name):
        return
    kind = scene.names(site.function).get(target.node.value, "")
    # what is read here and bound nowhere was to be bound here
    for name in sorted(scene.unbound(site.function)):
        yield replace("name.target", target, name, ATOM, 2.0)
    for position, variable in enumerate(v for v in scene.visible(site) if v.name != target.node.value):
        yield replace("name.target", target, variable.name, ATOM, fit(kind, variable.kind) * 0.93**position)


def _element(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A name stands where an element was meant: `x` → `values[i]`."""
    node = site.node
    if not isinstance(node, cst.Name) or site.slot == "func" or node.value in _CONSTANT_NAMES:
        return
    kind, visible = scene.kind(site), scene.visible(site)
    indexes = [v for v in visible if base(v.kind) == "int" and not v.parameter][:3]
    for position, holder in enumerate(v for v in visible if base(v.kind) in ("list", "str", "tuple")):
        for place, index in enumerate(indexes):
            if node.value not in (index.name, holder.name):
                weight = fit(kind, element(holder.kind)) * 0.8 ** (position + place)
                yield replace("name.element", site, f"{holder.name}[{index.name}]", ATOM, weight)


def _fold(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A running value forgets what it was: `best = f(all)` → `best = max(best, x)`."""
    targets, value = site.all("targets"), site.child("value")
    target = targets[0].child("target") if len(targets) == 1 else None
    if target is None or value is None or not isinstance(target.node, cst.Name):
        return
    if not any(isinstance(a.node, (cst.For, cst.While)) for a in site.above()):
        return
    name, text = target.node.value, scene.source.text(value)
    others = [text, *[v.name for v in scene.visible(site) if v.name != name][:4]]
    for position, other in enumerate(others):
        for template, level in (("max({}, {})", ATOM), ("min({}, {})", ATOM), ("{} + {}", SUM)):
            yield replace("assign.fold", value, template.format(name, other), level, 0.8**position)


def _hoist(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """An expression becomes one of its own parts: `f(x) + y` → `f(x)`, `sorted(x)` → `x`, `x + y + y + x` → `x + y`."""
    if isinstance(site.node, (cst.Name, cst.BaseNumber, cst.SimpleString)) or site.slot == "func":
        return
    wanted = scene.wanted(site)
    offered = {scene.source.text(site)}
    for depth, part in _parts(site):
        text = scene.source.text(part)
        if text in offered or depth > 4:
            continue
        offered.add(text)
        assert isinstance(part.node, cst.BaseExpression)
        # an index that takes the place of its element is seldom meant
        share = 0.2 if any(a.slot == "slice" for a in _between(part, site)) else 0.7 ** (depth - 1)
        yield replace("expr.hoist", site, text, binding(part.node), fit(wanted, scene.kind(part)) * share)


def _between(part: Site, whole: Site) -> Iterator[Site]:
    yield part
    yield from itertools.takewhile(lambda a: a is not whole, part.above())


def _parts(site: Site, depth: int = 0) -> Iterator[tuple[int, Site]]:
    if isinstance(site.node, cst.BaseComp):
        # what is below may use names that only the comprehension binds
        clause = site.child("for_in")
        iterable = clause.child("iter") if clause else None
        if iterable is not None:
            yield depth + 1, iterable
        return
    for child in site.children:
        if child.slot in ("attr", "keyword") or isinstance(site.node, cst.Lambda):
            continue
        below = depth + 1 if child.is_expression and child.slot != "func" else depth
        if below > depth:
            yield below, child
        yield from _parts(child, below)


def _borrow(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """An expression of the same file takes the place of another one of its kind."""
    if site.slot in ("func", "attr") or isinstance(site.parent and site.parent.node, (cst.Expr, cst.Attribute)):
        return
    wanted, text, own = scene.wanted(site), scene.source.text(site), _names(site)
    known = {v.name for v in scene.visible(site)}
    scope = set(scene.names(site.function))
    offers: list[tuple[float, str, int]] = []
    for donor in scene.donors_at(site):
        if donor.text == text or _is_plain(donor.site.node):
            continue
        if isinstance(donor.site.node, cst.Name) or donor.site.slot == "func" or (donor.names & scope) - known:
            continue
        near = 1.0 if donor.site.function is site.function else 0.4
        related = 1.5 if donor.names & own else 1.0
        offers.append(
            (fit(wanted, donor.kind) * near * related * 0.98 ** (len(donor.text) / 2), donor.text, donor.level)
        )
    offers.sort(key=lambda offer: -offer[0])
    for weight, offered, level in offers[:MAX_BORROWED]:
        yield replace("expr.borrow", site, offered, level, weight)


def _is_plain(node: cst.CSTNode) -> bool:
    inner = node.expression if isinstance(node, cst.UnaryOperation) else node
    return isinstance(inner, (cst.BaseNumber, cst.SimpleString))


def _names(site: Site) -> set[str]:
    return {s.node.value for s in site.walk() if isinstance(s.node, cst.Name)}


def _name_exchange(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """Two names of one expression trade places: `x in y` → `y in x`, `end - begin` → `begin - end`."""
    if not isinstance(site.node, (cst.BinaryOperation, cst.Comparison, cst.Call, cst.Subscript, cst.Return)):
        return
    names = [s for s in site.walk() if isinstance(s.node, cst.Name) and s.slot not in ("func", "attr", "keyword")]
    if len(names) == 2 and scene.source.text(names[0]) != scene.source.text(names[1]):
        yield exchange("name.exchange", names[0], names[1], scene)


MAX_ALIKE = 24


def _alike(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """`a or a.get('x')` → `a.get('y') or a.get('x')`: one side is what the other one asks something of."""
    left, right = site.child("left"), site.child("right")
    for side, other in ((left, right), (right, left)):
        if side is None or other is None or isinstance(side.node, (cst.BaseNumber, cst.SimpleString)):
            continue
        text = scene.source.text(side)
        inner = next((s for s in other.walk() if s is not other and scene.source.text(s) == text), None)
        if inner is None or not isinstance(other.node, (cst.Call, cst.Attribute, cst.Subscript)):
            continue
        for position, new in enumerate(itertools.islice(_varied(other, scene), MAX_ALIKE)):
            yield replace("expr.alike", side, new, ATOM, 0.96**position)


def _varied(site: Site, scene: EditContext) -> Iterator[str]:
    """The expression with one of its texts, or its last attribute, exchanged for another one of the file."""
    func = site.child("func")
    usage, start = scene.vocabulary.usage, site.start
    data = scene.source.data[site.start : site.end]
    called = func.node.attr.value if func is not None and isinstance(func.node, cst.Attribute) else ""
    for part in site.walk():
        if isinstance(part.node, cst.SimpleString):
            now = scene.source.text(part)
            given = (t for t in usage.given.get(called, {}) if t[:1] in "\"'" and t != now)
            near = (repr(t) for t in scene.vocabulary.strings(now[1:-1]))
            for text in dict.fromkeys((*given, *near)):
                yield (data[: part.start - start] + text.encode() + data[part.end - start :]).decode()
    if isinstance(site.node, cst.Attribute):
        for name, is_called in scene.vocabulary.attributes.items():
            if not is_called and name != site.node.attr.value:
                yield f"{data.decode().rpartition('.')[0]}.{name}"


MOST_PLACES = 4
MAX_EVERYWHERE = 60


def _everywhere(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """One wrong name, attribute or text that a function uses more than once changes at all its places."""
    places: dict[str, list[Site]] = {}
    for inner in site.walk():
        if inner.function is site and inner in scene.source.evaluated and inner.slot not in ("attr", "keyword"):
            plain = isinstance(inner.node, cst.Name) and inner.node.value not in _CONSTANT_NAMES
            if plain or isinstance(inner.node, (cst.Attribute, cst.SimpleString)):
                places.setdefault(scene.source.text(inner), []).append(inner)
    offered = 0
    for sites in places.values():
        if not 1 < len(sites) <= MOST_PLACES:
            continue
        for position, (text, weight) in enumerate(_others(sites, scene)):
            if offered < MAX_EVERYWHERE:
                offered += 1
                splices = tuple(Replacement(s.start, s.end, text) for s in sites)
                yield Proposal("name.everywhere", splices, weight * 0.9**position)


def _others(sites: list[Site], scene: EditContext) -> list[tuple[str, float]]:
    """What could stand in the place of these equal expressions."""
    site, text = sites[0], scene.source.text(sites[0])
    match site.node:
        case cst.Name():
            kind = scene.kind(site)
            return [(v.name, fit(kind, v.kind)) for v in scene.visible(site) if v.name != text][:8]
        case cst.Attribute(attr=attr):
            owner = text.rpartition(".")[0]
            used = scene.vocabulary.usage.attributes.get(owner, {})
            called = site.slot == "func"
            return [(f"{owner}.{n}", 1.0) for n, c in used.items() if n != attr.value and c == called][:8]
        case cst.SimpleString(evaluated_value=str(now)):
            return [(repr(other), 0.6) for other in scene.vocabulary.strings(now) if other != now][:6]
        case _:
            return []


TOKENS = (Operator((cst.Name,), _swap),)
"""What changes one token."""

RULES = (
    *TOKENS,
    Operator((cst.Name,), _element),
    Operator((cst.Assign,), _fold),
    Operator((cst.AugAssign,), _assigned),
    Operator((cst.AssignTarget,), _assigned),
    Operator((cst.BaseExpression,), _hoist),
    Operator((cst.BaseExpression,), _borrow),
    Operator((cst.BaseExpression,), _name_exchange),
    Operator((cst.BooleanOperation, cst.BinaryOperation), _alike),
    Operator((cst.FunctionDef,), _everywhere),
)
