"""A call that was forgotten around a value, or made once where it should be made twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import CALL_KINDS, ITERABLES, base, element, fit
from groundwire.agents.search._precedence import ATOM, binding
from groundwire.agents.search._source import Proposal, Site
from groundwire.agents.search.operators._base import Operator, replace

_WRAPPERS: Mapping[str, tuple[str, ...]] = {
    "int": ("abs({})", "str({})", "float({})", "range({})", "bin({})", "chr({})", "int(str({})[::-1])"),
    "float": ("abs({})", "int({})", "round({})", "str({})", "round({}, 2)"),
    "str": (
        "{}.lower()", "{}.strip()", "{}.upper()", "len({})", "int({})", "list({})", "{}[::-1]", "set({})", "{}.split()",
        "sorted({})", "float({})", "{}.swapcase()", "{}.capitalize()", "ord({})", "''.join(sorted({}))",
        "''.join(set({}))",
    ),
    "list": (
        "sorted({})", "set({})", "len({})", "list(set({}))", "sorted({}, reverse=True)", "{}[::-1]", "sum({})",
        "tuple({})", "max({})", "min({})", "''.join({})", "' '.join({})", "sorted(set({}))", "list({})", "any({})",
        "all({})", "enumerate({})", "list(reversed({}))",
    ),
    "tuple": ("list({})", "sorted({})", "set({})", "len({})", "sum({})", "max({})", "min({})", "{}[::-1]"),
    "set": ("sorted({})", "list({})", "len({})", "sum({})", "tuple({})", "max({})", "min({})"),
    "iter": (
        "list({})", "sorted({})", "set({})", "sum({})", "tuple({})", "reversed({})", "''.join({})", "' '.join({})",
        "enumerate({})", "max({})", "min({})", "any({})", "all({})", "len(list({}))",
    ),
    "dict": ("sorted({})", "len({})", "{}.values()", "{}.items()", "{}.keys()", "list({})", "sum({}.values())"),
    "bool": ("int({})", "str({})"),
    "": (
        "abs({})", "int({})", "str({})", "len({})", "sorted({})", "list({})", "set({})", "sum({})", "{}.lower()",
        "{}.strip()", "float({})", "round({})", "max({})", "min({})", "tuple({})", "bool({})",
    ),
}  # fmt: skip
_ORDERING = ("sorted(", "reversed(", "[::-1]")
_KEEPS = {"len": "int", "int": "int", "str": "str", "float": "float", "round": "int", "set": "set", "tuple": "tuple",
          "list": "list", "sum": "int", "chr": "str", "bin": "str", "range": "iter", "enumerate": "iter", "any": "bool",
          "all": "bool", "ord": "int", "bool": "bool", "reversed": "iter"}  # fmt: skip


MAX_CALLED = 12


def _wrap(site: Site, scene: EditContext) -> Iterator[Proposal]:
    if site.slot in ("func", "attr", "keyword") or isinstance(site.node, (cst.BaseNumber, cst.Lambda)):
        return
    parent = site.parent.node if site.parent is not None else None
    constant = isinstance(site.node, cst.Name) and site.node.value in ("True", "False", "None")
    if constant or isinstance(parent, cst.Expr):
        return
    kind, node, text = scene.kind(site), site.node, scene.source.text(site)
    assert isinstance(node, cst.BaseExpression)
    wanted = scene.wanted(site)
    # of `x.f()` to `int(x).f()` only what the file calls is worth a try
    templates = [] if isinstance(parent, cst.Attribute) else [*_WRAPPERS.get(base(kind), ())]
    if templates and base(kind) in ("list", "iter", "tuple", "set", ""):
        templates += [f"sorted({{}}, key={v.name}.get)" for v in scene.visible(site) if base(v.kind) == "dict"]
    for position, template in enumerate(templates):
        if template.startswith("{}"):
            inner = text if binding(node) >= ATOM else f"({text})"
        else:
            inner = f"({text})" if isinstance(node, cst.Tuple) else text
        result = _result_kind(template, kind)
        name = "call.order" if any(word in template for word in _ORDERING) else "call.wrap"
        yield replace(name, site, template.replace("{}", inner), ATOM, fit(wanted, result) * 0.93**position)
    offered = {template.partition("(")[0] for template in templates}
    own = {c.name for c in scene.callables}
    inner = f"({text})" if isinstance(node, cst.Tuple) else text
    unused = [n for n in scene.vocabulary.unread if n not in own]
    usage = scene.vocabulary.usage
    called = [n for n, _ in usage.calls.most_common() if 1 in usage.functions[n] and n not in offered | own]
    for position, name in enumerate((*unused, *called[:MAX_CALLED])):
        yield replace(
            "call.wrap",
            site,
            f"{name}({inner})",
            ATOM,
            fit(wanted, CALL_KINDS.get(name.rpartition(".")[2], "")) * 0.93**position,
        )


def _result_kind(template: str, kind: str) -> str:
    head = template.split("(", 1)[0]
    if head in ("max", "min") and base(kind) in ITERABLES:
        return element(kind)
    if head in ("sorted", "list"):
        return f"list/{element(kind)}" if element(kind) else "list"
    return "str" if head.startswith("'") else _KEEPS.get(head, kind)


def _self_call(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A call meant to be made twice: `f(x)` → `f(f(x))`; and one of the file's own functions around a value."""
    text = scene.source.text(site)
    func, arguments = site.child("func"), site.all("args")
    if isinstance(site.node, cst.Call) and func is not None and len(arguments) == 1:
        yield replace("call.nest", site, f"{scene.source.text(func)}({text})", ATOM, 0.8)
    if site.slot in ("func", "attr", "keyword") or isinstance(
        site.parent and site.parent.node, (cst.Expr, cst.Attribute)
    ):
        return
    own = _enclosing_name(site)
    for other in scene.callables:
        if other.least <= 1 <= other.most and other.name != own and not isinstance(site.node, cst.Lambda):
            yield replace("call.nest", site, f"{other.name}({text})", ATOM, 0.5 * fit(scene.kind(site), other.kind))


def _enclosing_name(site: Site) -> str:
    node = site.function.node if site.function is not None else None
    return node.name.value if isinstance(node, cst.FunctionDef) else ""


RULES = (
    Operator((cst.BaseExpression,), _wrap),
    Operator((cst.BaseExpression,), _self_call),
)
