"""Results: what is returned, where, and which branch returns which."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from groundwire.agents.search._edit_context import EditContext
from groundwire.agents.search._kinds import base, fit
from groundwire.agents.search._precedence import ATOM
from groundwire.agents.search._source import Proposal, Replacement, Site
from groundwire.agents.search.operators._base import Operator, exchange, replace


def _change(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """Another variable, or a plain value, is returned."""
    value = site.child("value")
    if value is None:
        return
    wanted, text = scene.wanted(value), scene.source.text(value)
    offered = {text}
    for position, variable in enumerate(scene.visible(site)):
        if variable.name not in offered and not isinstance(value.node, cst.Name):
            offered.add(variable.name)
            yield replace("return.change", value, variable.name, ATOM, fit(wanted, variable.kind) * 0.9**position)
    plain = {"bool": ("True", "False"), "int": ("0", "1", "-1", "None"), "str": ("''", "None"), "list": ("[]", "None"),
             "float": ("0.0", "None"), "none": ("False", "[]", "0", "''")}  # fmt: skip
    if text in ("True", "False"):
        return
    for new in plain.get(base(wanted), ("None", "True", "False")):
        if new not in offered:
            yield replace("return.plain", value, new, ATOM, 0.3)


def _exchange(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """Two branches return each other's value."""
    returns = [s for s in site.walk() if isinstance(s.node, cst.Return) and s.function is site]
    values = [value for r in returns if (value := r.child("value")) is not None]
    for position, first in enumerate(values):
        for second in values[position + 1 : position + 4]:
            if scene.source.text(first) != scene.source.text(second):
                yield exchange("return.exchange", first, second, scene)


def _flip_all(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """Every plain True becomes False and the other way round."""
    flips = [
        s
        for r in site.walk()
        if isinstance(r.node, cst.Return) and r.function is site
        for s in [r.child("value")]
        if s is not None and isinstance(s.node, cst.Name) and s.node.value in ("True", "False")
    ]
    if len({scene.source.text(s) for s in flips}) == 2 and len(flips) > 2:
        yield Proposal(
            "return.flip_all",
            tuple(Replacement(s.start, s.end, "False" if scene.source.text(s) == "True" else "True") for s in flips),
        )


def _missing(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A function that falls off its end returns a variable."""
    body = site.child("body")
    if body is None or not isinstance(body.node, cst.IndentedBlock) or not body.children:
        return
    last = body.children[-1]
    if isinstance(last.node, cst.SimpleStatementLine) and isinstance(last.node.body[-1], (cst.Return, cst.Raise)):
        return
    wanted = scene.call_kinds.get(site.node.name.value, "") if isinstance(site.node, cst.FunctionDef) else ""
    indent, newline = scene.source.indent(last), scene.source.newline
    names = [(v.name, fit(wanted, v.kind) * 0.9**i) for i, v in enumerate(scene.variables(site)[:8])]
    plain = [("True", 0.5), ("False", 0.5)] if wanted in ("bool", "") else []
    for text, weight in names + plain + _owned(site, scene):
        yield Proposal("return.add", (Replacement(last.end, last.end, f"{newline}{indent}return {text}"),), weight)


def _owned(function: Site, scene: EditContext) -> list[tuple[str, float]]:
    """`self`, and its attributes of nearly the name of the method, before others that this method reads."""
    node = function.node
    assert isinstance(node, cst.FunctionDef)
    if not node.params.params or node.params.params[0].name.value != "self":
        return []
    own, name, body = scene.vocabulary.usage.attributes.get("self", {}), node.name.value, scene.source.text(function)
    near = [(f"self.{a}", 1.0) for a, called in own.items() if not called and a.strip("_") == name.strip("_")]
    here = [(f"self.{a}", 0.3) for a, called in own.items() if not called and f"self.{a}" in body]
    return [*near, ("self", 0.5), *here[:4]]


def _discarded(site: Site, scene: EditContext) -> Iterator[Proposal]:
    """A value that is computed and thrown away is returned, or kept in the variable that it was made from."""
    small = site.all("body")
    if len(small) != 1 or not isinstance(small[0].node, cst.Expr):
        return
    value = small[0].child("value")
    if value is None or isinstance(value.node, (cst.SimpleString, cst.Ellipsis)):
        return
    # what is no call has no effect: it was meant to be returned, or asked, or kept
    likely = 1.0 if isinstance(value.node, (cst.Call, cst.Await, cst.Yield)) else 6.0
    yield Proposal("return.discarded", (Replacement(value.start, value.start, "return "),), likely)
    for variable in scene.visible(site)[:4]:
        yield Proposal("return.discarded", (Replacement(value.start, value.start, f"{variable.name} = "),), 0.3)


RULES = (
    Operator((cst.Return,), _change),
    Operator((cst.FunctionDef,), _exchange),
    Operator((cst.FunctionDef,), _flip_all),
    Operator((cst.FunctionDef,), _missing),
    Operator((cst.SimpleStatementLine,), _discarded),
)
